// engine/calls: `execute` starts a context of a loaded service, and answers once the start is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { EXECUTE, type ExecuteAnswer, type ExecuteRequest } from '../../api/execute.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { notFound } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { MessageOutcome, RowsOf } from '../message.ts'
import type { StartOptions } from '../starts.ts'
import { admitted, findService, isRefusable, requireRole, type CallEnv } from './call-env.ts'
import { executeRequest } from './requests.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: ExecuteRequest): Promise<ExecuteAnswer> {
  const wanted = executeRequest(request, env.tagLimits)
  if (wanted.isLarge) await nextTurn()
  if (wanted.idempotencyKey != null) return executeOnce(env, wanted, wanted.idempotencyKey)
  return answerOf((await start(env, wanted)).record)
}

type Wanted = ReturnType<typeof executeRequest>

function executeOnce(env: CallEnv, wanted: Wanted, key: string): Promise<ExecuteAnswer> {
  const { package: given, fluxName, startState, input, tags } = wanted
  const content = { package: given, fluxName, startState, input, tags }
  return env.idempotency.once({ scope: env.scope, of: EXECUTE, key, content }, async ({ partition, rowOf }) => {
    const rows: RowsOf = (_, record) => [rowOf(answerOf(record))]
    return answerOf((await start(env, wanted, { partition, rows })).record)
  })
}

function start(env: CallEnv, wanted: Wanted, options?: StartOptions): Promise<MessageOutcome> {
  const flux = serviceOf(env, wanted)
  requireRole(env, flux, 'invoke')
  const { startState, input, untyped, waits, tags } = wanted
  return admitted(env, input, () =>
    env.mailboxes.start(
      { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null },
      { ...options, isCall: isRefusable(env, waits) },
    ),
  )
}

const answerOf = ({ id, fluxName }: ContextRecord): ExecuteAnswer => ({
  message: `started '${fluxName}' as context ${id}`,
  contextId: id,
})

/**
 * The service of the package that the request names; otherwise of the caller's package; otherwise of the only package
 * that has one.
 */
function serviceOf(
  { catalog, home }: CallEnv,
  { package: given, fluxName }: Pick<ExecuteRequest, 'package' | 'fluxName'>,
): CompiledFlux {
  if (given !== undefined) {
    const flux = catalog.find(given, fluxName)
    if (!flux) throw notFound(`package '${given}' has no service '${fluxName}'`)
    return flux
  }
  return (home === null ? undefined : catalog.find(home, fluxName)) ?? findService(catalog, fluxName)
}
