// engine/calls: `sendEvent` sends an event to one context, or to all that wait for it, and answers once the moves are
// committed. Refused events are logged.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SEND_EVENT, type EventAnswer, type EventRequest } from '../../api/send-event.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { endOfAccepted } from '../../api/accepted.ts'
import { isReplayed } from '../../api/replayed.ts'
import type { Address } from '../../api/address.ts'
import { standOf, type MessageOutcome, type RowsOf } from '../message.ts'
import { decodeRecord } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isLogged } from '../refusal-log.ts'
import { partitionOfEffect, sendTo } from './address.ts'
import { broadcast, type Accepting } from './broadcast.ts'
import { BroadcastPlace } from './broadcast-place.ts'
import { admitted, isRefusable, type CallEnv } from './call-env.ts'
import { eventRequest } from './requests.ts'

/** See `FluxApi`. For an event to one context it calls no other async function, because each creates promises. */
export async function sendEvent(env: CallEnv, request: EventRequest): Promise<EventAnswer> {
  /** Of whatever form, as long as the request is not checked. */
  let target: unknown = request?.contextId
  try {
    const sent = eventRequest(request, env.tagLimits)
    const { address } = sent
    if (sent.isLarge) await nextTurn()
    if (address === null) return await sendToAll(env, sent)
    const onTarget = (id: ContextId) => {
      target = id
    }
    if (sent.isKept) return await sendOnce(env, sent, { address, onTarget })
    const outcome = await post(env, sent, { address, onTarget })
    if (outcome.failure) throw new FluxError(await explained(env, sent.event, outcome.failure))
    return answerOf(sent, outcome)
  } catch (error) {
    logRefusal(env, request, target, error)
    throw error
  }
}

type SentEvent = ReturnType<typeof eventRequest>

interface Target {
  readonly address: Address
  /** Called with the context, once it is known. */
  readonly onTarget: (id: ContextId) => void
}

function post(
  env: CallEnv,
  { event, input, untyped, waits }: SentEvent,
  { address, onTarget, rows }: Target & { readonly rows?: RowsOf },
): Promise<MessageOutcome> {
  const { caller, mailboxes } = env
  const message = { type: 'EVENT', name: event, input, untyped, tags: null, caller } as const
  const postTo = (id: ContextId) => {
    onTarget(id)
    return mailboxes.post(id, message, { isCall: isRefusable(env, waits), waits, rows })
  }
  const { contextId } = address
  return admitted(env, input, () => (contextId === undefined ? sendTo(env, address, postTo) : postTo(contextId)))
}

const answerOf = ({ event, eventId }: SentEvent, moved: Pick<MessageOutcome, 'record' | 'flux'>): EventAnswer => ({
  message: `'${event}' moved context ${moved.record.id}`,
  transitions: [standOf(moved)],
  executions: [],
  ignored: [],
  eventId,
  pending: [],
})

/** What the event did is kept under its id, and it does it once. */
function sendOnce(env: CallEnv, sent: SentEvent, target: Target): Promise<EventAnswer> {
  const { event, eventId, input, tags } = sent
  const content = { ...target.address, event, input, tags }
  const partition = partitionOfEffect(env, target.address)
  const call = { scope: env.scope, of: SEND_EVENT, key: eventId, content, event, partition }
  return env.idempotency.once(call, async ({ rowOf }) => {
    const rows: RowsOf = (_, record, flux) => [rowOf(answerOf(sent, { record, flux }), record.id)]
    const outcome = await post(env, sent, { ...target, rows })
    if (outcome.failure) throw new FluxError(await explained(env, event, outcome.failure))
    return answerOf(sent, outcome)
  })
}

async function sendToAll(env: CallEnv, sent: SentEvent): Promise<EventAnswer> {
  const { event, eventId, input, untyped, tags, isKept, within } = sent
  const { caller, scope, keptBroadcasts } = env
  const said = { event, eventId, input, untyped, tags, caller }
  const call = { scope, of: SEND_EVENT, key: eventId }
  const bound = env.isStep ? null : env.broadcasts
  const above = sent.respondAsync ? -1 : env.accepts ? env.answeredBroadcast : null
  const answer = await admitted(env, input, async () => {
    if (!isKept) {
      const accept: Accepting['accept'] = (receivers, place) =>
        keptBroadcasts.accept(call, said, { receivers, manner: { above, within, place } })
      return broadcast({ ...env, bound }, said, above === null ? null : { above, accept })
    }
    const place = new BroadcastPlace(bound)
    return keptBroadcasts.once(call, said, { above, within, place }).finally(() => place.release())
  })
  const isToldAll = !isReplayed(answer) && endOfAccepted(answer) === null
  return isToldAll && isWithoutEffect(answer) ? { ...answer, ...(await hintOn(env, event)) } : answer
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
