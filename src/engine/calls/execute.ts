// engine/calls: `execute` starts a context of a loaded service, and answers once the start is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { EXECUTE, type ExecuteAnswer, type ExecuteRequest } from '../../api/execute.ts'
import type { ContextId } from '../../model/context.ts'
import { RowTaken, type MessageOutcome, type RowsOf } from '../message.ts'
import { holderIn } from '../start-key.ts'
import type { StartOptions } from '../starts.ts'
import type { Keeping } from '../idempotency/key-try.ts'
import { admitted, isRefusable, requireRole, serviceNamed, type CallEnv } from './call-env.ts'
import { executeRequest } from './requests.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: ExecuteRequest): Promise<ExecuteAnswer> {
  const wanted = executeRequest(request, env.tagLimits)
  if (wanted.isLarge) await nextTurn()
  const { idempotencyKey } = wanted
  if (idempotencyKey != null) return executeOnce(env, wanted, idempotencyKey)
  try {
    return answerOf(await start(env, wanted))
  } catch (error) {
    return usedAnswer(wanted, error)
  }
}

type Wanted = ReturnType<typeof executeRequest>

function executeOnce(env: CallEnv, wanted: Wanted, key: string): Promise<ExecuteAnswer> {
  const { package: given, fluxName, startState, input, tags, key: contextKey, existing } = wanted
  const content = { package: given, fluxName, startState, input, tags, key: contextKey, existing }
  return env.idempotency.once({ scope: env.scope, of: EXECUTE, key, content }, async (keeping) => {
    const { partition, first } = keeping
    const rows: RowsOf = (_, record, __, replaced) => [
      keeping.rowOf(answerOf({ record, replaced: replaced ?? null }), record.id),
    ]
    try {
      return answerOf(await start(env, wanted, { partition, rows, first }))
    } catch (error) {
      return keepUsed(env, usedAnswer(wanted, error), keeping)
    }
  })
}

/** That a context has the key already is remembered, too, unless an earlier answer is. @throws RowTaken */
async function keepUsed({ store }: CallEnv, answer: ExecuteAnswer, { rowOf, first }: Keeping): Promise<ExecuteAnswer> {
  for (;;) {
    await first?.before(answer.contextId % store.partitions)
    const outcome = await store.commit({ writes: [], rows: [rowOf(answer, answer.contextId)] })
    if (!('row' in outcome)) return answer
    const taken = new RowTaken(outcome.row)
    if (first?.tryAgain(taken) !== true) throw taken
  }
}

function start(env: CallEnv, wanted: Wanted, options?: StartOptions): Promise<MessageOutcome> {
  const flux = serviceNamed(env, wanted)
  requireRole(env, flux, 'invoke')
  const { startState, input, untyped, waits, tags, key } = wanted
  const { traceparent } = env
  const existing = wanted.existing === 'replace' ? { caller: env.caller } : wanted.existing
  return admitted(env, input, () =>
    env.mailboxes.start(
      { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null, key, existing, traceparent },
      { ...options, isCall: isRefusable(env, waits) },
    ),
  )
}

function answerOf({ record: { id, fluxName }, replaced }: Pick<MessageOutcome, 'record' | 'replaced'>): ExecuteAnswer {
  const message = `started '${fluxName}' as context ${id}`
  return { message, contextId: id, started: true, ...(replaced && { replaced }) }
}

/** The answer where the context that has the key is used. @throws the error, if it isn't that */
function usedAnswer({ existing, fluxName }: Wanted, error: unknown): ExecuteAnswer {
  const contextId: ContextId | null = existing === 'use' ? holderIn(error) : null
  if (contextId === null) throw error
  return { message: `context ${contextId} of '${fluxName}' has the key already`, contextId, started: false }
}
