// engine/calls: `execute` starts a context of a loaded service, and answers once the start is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import type { ExecuteAnswer } from '../../api/commands.ts'
import { FluxError } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { addresseeOfNew } from '../idempotency/drawn-turn.ts'
import { rowKeyOf } from '../idempotency/kept-answer.ts'
import { RowTaken, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { holderIn } from '../turn/start-key.ts'
import type { RootRequest } from '../turn/start-request.ts'
import type { StartOptions } from '../turn/turn-loop.ts'
import { faultOfService, serviceNamed } from './address.ts'
import { admitted, isRefusable, requireRole, type CallEnv } from './call-env.ts'
import { checkedInput, checkedTags } from './requests.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: CheckedCall<'execute'>): Promise<Told<ExecuteAnswer>> {
  const { idempotencyKey } = request
  const { input, isLarge } = checkedInput(request.input)
  const wanted = wantedOf(request, input, checkedTags(request.tags, '/tags', env.tagLimits))
  if (isLarge) await nextTurn()
  if (idempotencyKey != null) return executeOnce(env, wanted, idempotencyKey)
  try {
    return { answer: await start(env, wanted, requestOf(env, wanted)) }
  } catch (error) {
    return { answer: usedAnswer(wanted, error) }
  }
}

type Wanted = ReturnType<typeof wantedOf>

function wantedOf(request: CheckedCall<'execute'>, input: JsonObject, tags: readonly string[]) {
  const { package: owner, fluxName, startState, key, existing, untyped = false, waits = false } = request
  return {
    package: owner,
    fluxName,
    startState: startState ?? undefined,
    input,
    untyped,
    waits,
    tags,
    // The service gives its own where none is given.
    key: key ?? undefined,
    existing: existing ?? undefined,
  }
}

function executeOnce(env: CallEnv, wanted: Wanted, key: string): Promise<Told<ExecuteAnswer>> {
  const { untyped: _untyped, waits: _waits, ...content } = wanted
  const call = { scope: env.scope, of: CALLS.execute, key, content }
  const asked = requestOrRefusal(env, wanted)
  // Where the service is refused, only a start without a key is known as a repeat.
  const { addressee, drawn } =
    asked instanceof FluxError ? { addressee: null } : addresseeOfNew(env, asked, rowKeyOf(call))
  return env.idempotency.once({ ...call, addressee }, async ({ partition, rowOf, first }) => {
    if (asked instanceof FluxError) throw asked
    const rows: RowsOf = (_, record, __, replaced) => [rowOf(answerOf(env, { record, replaced: replaced ?? null }))]
    try {
      return await start(env, wanted, { ...asked, drawn }, { partition, rows, first })
    } catch (error) {
      // That a context has the key already is remembered, too.
      const answer = usedAnswer(wanted, error)
      const outcome = await env.store.commit({ writes: [], rows: [rowOf(answer)] })
      if ('row' in outcome) throw new RowTaken(outcome.row)
      return answer
    }
  })
}

function requestOrRefusal(env: CallEnv, wanted: Wanted): RootRequest | FluxError {
  try {
    return requestOf(env, wanted)
  } catch (error) {
    if (error instanceof FluxError) return error
    throw error
  }
}

function requestOf(env: CallEnv, wanted: Wanted): RootRequest {
  const flux = serviceNamed(env, wanted)
  requireRole(env, flux, 'invoke')
  const { startState, input, untyped, tags, key } = wanted
  const existing = wanted.existing === 'replace' ? { caller: env.caller } : wanted.existing
  const { traceparent } = env
  return { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null, key, existing, traceparent }
}

async function start(
  env: CallEnv,
  { input, waits }: Wanted,
  request: RootRequest,
  options?: StartOptions,
): Promise<ExecuteAnswer> {
  const isCall = isRefusable(env, waits)
  return answerOf(env, await admitted(env, input, () => env.mailboxes.start(request, { ...options, isCall })))
}

function answerOf(env: CallEnv, { record, replaced }: Pick<MessageOutcome, 'record' | 'replaced'>): ExecuteAnswer {
  const { id, fluxName } = record
  const fault = faultOfService(env, record)
  const message = `started '${fluxName}' as context ${id}${fault === null ? '' : `, as it was loaded before${fault}`}`
  return { message, contextId: id, started: true, ...(replaced && { replaced }) }
}

/** The answer where the context that has the key is used. @throws the error, if it isn't that */
function usedAnswer({ existing, fluxName }: Wanted, error: unknown): ExecuteAnswer {
  const contextId = existing === 'use' ? holderIn(error) : null
  if (contextId === null) throw error
  return { message: `context ${contextId} of '${fluxName}' has the key already`, contextId, started: false }
}
