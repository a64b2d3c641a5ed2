// engine/calls: `execute` starts a context of a loaded service, and answers once the start is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ExecuteAnswer, ExecuteRequest } from '../../api/execute.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { notFound } from '../../model/failure.ts'
import { admitted, findService, requireRole, type CallEnv } from './call-env.ts'
import { executeRequest } from './requests.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: ExecuteRequest): Promise<ExecuteAnswer> {
  const wanted = executeRequest(request, env.tagLimits)
  if (wanted.isLarge) await nextTurn()
  const flux = serviceOf(env, wanted)
  requireRole(env, flux, 'invoke')
  const { startState, input, untyped, tags } = wanted
  const { record } = await admitted(env, input, () =>
    env.mailboxes.start({ flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null }),
  )
  return { message: `started '${flux.fluxName}' as context ${record.id}`, contextId: record.id }
}

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
