// engine/calls: `sendEvent` sends an event to one context, or to all that wait for it, and answers once the moves are
// committed. Refused events are logged.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventAnswer, EventRequest } from '../../api/send-event.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { Input } from '../interpreter/decision.ts'
import { standOf } from '../message.ts'
import { decodeRecord } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isLogged } from '../refusal-log.ts'
import { sendTo } from './address.ts'
import { broadcast } from './broadcast.ts'
import { admitted, isRefusable, type CallEnv } from './call-env.ts'
import { eventRequest } from './requests.ts'

/** See `FluxApi`. For an event to one context it calls no other async function, because each creates promises. */
export async function sendEvent(env: CallEnv, request: EventRequest): Promise<EventAnswer> {
  /** Of whatever form, as long as the request is not checked. */
  let target: unknown = request?.contextId
  try {
    const sent = eventRequest(request, env.tagLimits)
    const { contextId, address, event, eventId, isLarge, input, untyped, waits } = sent
    if (isLarge) await nextTurn()
    if (contextId === undefined && address === null) return await sendToAll(env, sent)
    const post = (id: ContextId) => {
      target = id
      const message: Input = { type: 'EVENT', name: event, input, untyped, tags: null, caller: env.caller }
      return env.mailboxes.post(id, message, { isCall: isRefusable(env, waits), waits })
    }
    const outcome = await admitted(env, input, () =>
      contextId === undefined ? sendTo(env, address ?? {}, post) : post(contextId),
    )
    if (outcome.failure) throw new FluxError(await explained(env, event, outcome.failure))
    const stand = standOf(outcome)
    return {
      message: `'${event}' moved context ${stand.contextId}`,
      transitions: [stand],
      executions: [],
      ignored: [],
      eventId,
      pending: [],
    }
  } catch (error) {
    logRefusal(env, request, target, error)
    throw error
  }
}

async function sendToAll(
  env: CallEnv,
  { event, eventId, input, untyped, tags }: ReturnType<typeof eventRequest>,
): Promise<EventAnswer> {
  const parts = { ...env, bound: env.isStep ? null : env.broadcasts }
  const { message, transitions, executions, ignored } = await admitted(env, input, () =>
    broadcast(parts, { event, input, untyped, tags, caller: env.caller }),
  )
  const answer = { message, transitions, executions, ignored, eventId, pending: [] }
  return isWithoutEffect(answer) ? { ...answer, ...(await hintOn(env, event)) } : answer
}

const isWithoutEffect = ({ transitions, executions, ignored }: EventAnswer): boolean =>
  transitions.length + executions.length + ignored.length === 0

const explained = async (env: CallEnv, event: string, failure: Failure): Promise<Failure> =>
  failure.kind === 'conflict' ? { ...failure, ...(await hintOn(env, event)) } : failure

/** The hint whether any service knows the event. If the lookup fails, there is no hint. */
async function hintOn({ hints, log, caller }: CallEnv, event: string): Promise<{ hint?: string }> {
  const hint = await hints.hintFor(event, caller).catch((error: unknown) => {
    log.debug('the lookup of a hint for an event without effect failed', { event, error })
    return null
  })
  return hint === null ? {} : { hint }
}

/** Logs that an event for one context is refused. The request is as the caller gave it, of whatever form. */
function logRefusal(
  env: CallEnv,
  request: Partial<EventRequest> | undefined,
  contextId: unknown,
  error: unknown,
): void {
  const failure = error instanceof FluxError && isLogged(error.failure) ? error.failure : null
  if (failure === null || typeof contextId !== 'number') return
  const facts = async () => ({ ...(await factsOf(env, contextId)), event: request?.event, reason: failure.detail })
  void env.refusals.log('an event was refused', failure.kind, facts)
}

async function factsOf(env: CallEnv, contextId: ContextId) {
  const stored = await env.store.load({ id: contextId })
  if (!stored) return { contextId, fluxName: null, state: null }
  const record = decodeRecord(stored)
  const { states } = await pinnedFluxOf(env, stored, record)
  return { contextId, fluxName: record.fluxName, state: states[record.state]?.name ?? null }
}
