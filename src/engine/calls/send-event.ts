// engine/calls: `sendEvent` sends an event to one context, or to all that wait for it, and answers once the moves are
// committed. Refused events are logged.
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { check } from '../../api/call.ts'
import type { Address } from '../../api/address.ts'
import type { KeptEvent } from '../fanout/broadcast-rows.ts'
import type { Manner } from '../fanout/kept-broadcasts.ts'
import { rowKeyOf } from '../idempotency/kept-answer.ts'
import { isNamed } from '../interpreter/early.ts'
import { standOf, type MessageOptions, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { endBroadcast } from '../pending/end-of-broadcast.ts'
import type { EventOutcome } from '../../ports/signals.ts'
import { countAll, countsOf } from '../fanout/event-signals.ts'
import type { RootRequest } from '../turn/start-request.ts'
import type { StartedEvent } from '../turn/tracked-context.ts'
import { decodeHead } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isLogged } from '../fanout/refusal-log.ts'
import { isObject } from '../../model/json/value.ts'
import { addresseeOf, sendTo } from './address.ts'
import { broadcast, type Accepting, type BroadcastParts } from '../fanout/broadcast.ts'
import { BroadcastPlace } from '../fanout/broadcast-place.ts'
import { admitted, isRefusable, type CallEnv } from './call-env.ts'
import { eventRequest } from './requests.ts'
import { sendOrStart } from './send-or-start.ts'

/** What a sender in the engine adds. The first two are for an event that is not kept under an id of its own. */
export interface SendOptions {
  /** What is written with the effect on one context. */
  readonly toOne?: (eventId: string) => Pick<MessageOptions, 'rows' | 'first'>
  /** Sends an event to all, once. */
  readonly toAll?: (env: CallEnv, event: KeptEvent, manner: Manner) => Promise<Told<EventAnswer>>
  /** Of the webhook that sends it: a context that the event starts is one that the webhook started. */
  readonly webhook?: RootRequest['request']
  /** Hides secrets of the request that sends it in what is logged. */
  readonly redact?: ((text: string) => string) | undefined
}

/** See `FluxApi`. For an event to one context it calls no other async function, because each creates promises. */
export async function sendEvent(
  env: CallEnv,
  request: CheckedCall<'sendEvent'>,
  options: SendOptions = NOTHING_ADDED,
): Promise<Told<EventAnswer>> {
  let target = request.contextId
  try {
    const sent = eventRequest(request, env.tagLimits)
    const { address } = sent
    if (sent.isLarge) await nextTurn()
    if (address === null) return await sendToAll(env, sent, options.toAll)
    const onTarget = (id: ContextId) => {
      target = id
    }
    if (sent.isKept) return await sendOnce(env, sent, { address, onTarget, webhook: options.webhook })
    const outcome = await post(env, sent, {
      address,
      onTarget,
      webhook: options.webhook,
      ...options.toOne?.(sent.eventId),
    })
    if (outcome.failure) throw new FluxError(explained(env, sent.event, outcome.failure))
    env.signals.event(outcomeOf(outcome))
    const answer = answerOf(sent, outcome)
    return { answer: outcome.kept ? withHint(env, sent.event, answer, outcome) : answer }
  } catch (error) {
    noteRefusal(env, { ...request, ...options }, target, error)
    throw error
  }
}

/** The request, if its description lets it pass; else that is noted. @throws FluxError */
export function checkedEvent(
  env: CallEnv,
  request: unknown,
  { redact }: Pick<SendOptions, 'redact'> = NOTHING_ADDED,
): CheckedCall<'sendEvent'> {
  try {
    return check(CALLS.sendEvent, request)
  } catch (error) {
    const { event, contextId }: Loose = isObject(request) ? request : {}
    noteRefusal(env, { event, redact }, contextId, error)
    throw error
  }
}

/** A request of whatever form. */
interface Loose {
  readonly event?: unknown
  readonly contextId?: unknown
}

type SentEvent = ReturnType<typeof eventRequest>

const NOTHING_ADDED: SendOptions = {}

interface Target extends Pick<SendOptions, 'webhook'> {
  readonly address: Address
  /** Called with the context, once it is known. */
  readonly onTarget: (id: ContextId) => void
}

function post(
  env: CallEnv,
  { event, eventId, input, untyped, waits, tags: sentTags, ttl, isKept, start }: SentEvent,
  { address, onTarget, webhook, rows, first }: Target & Pick<MessageOptions, 'rows' | 'first'>,
): Promise<MessageOutcome> {
  const { caller, mailboxes, traceparent } = env
  const receipt = isKept ? receiptKeyOf(env.scope, eventId) : null
  const arrival = { tags: sentTags, receipt, keep: start ? ('end' as const) : ttl }
  const sent = { name: event, eventId, input, untyped, tags: null, caller, arrival, traceparent }
  const message = { type: 'EVENT', ...sent } as const
  const postTo = (id: ContextId) => {
    onTarget(id)
    return mailboxes.post(id, message, { isCall: isRefusable(env, waits), waits, rows, first })
  }
  const { contextId } = address
  return admitted(env, input, () => {
    if (contextId !== undefined) return postTo(contextId)
    if (start === null) return sendTo(env, address, postTo)
    const pending = { eventId, event, input, untyped, tags: sentTags, receipt }
    const options = { rows, first, isCall: isRefusable(env, waits) }
    return sendOrStart(env, { address, start, event: pending, options, webhook }, postTo)
  })
}

const receiptKeyOf = (scope: string, eventId: string): string => rowKeyOf({ scope, of: CALLS.sendEvent, key: eventId })

const outcomeOf = ({ kept, started }: MessageOutcome): EventOutcome =>
  started !== undefined ? 'started' : kept ? 'pending' : 'moved'

type Sent = Pick<MessageOutcome, 'record' | 'flux' | 'kept' | 'started'>

function answerOf(sent: SentEvent, outcome: Sent): EventAnswer {
  const { event, eventId } = sent
  const { record, flux, kept, started } = outcome
  if (started !== undefined) return answerOfStart(sent, { record, flux, started })
  return {
    message: `'${event}' ${kept ? 'is kept for' : 'moved'} context ${record.id}`,
    transitions: kept ? [] : [standOf({ record, flux })],
    executions: [],
    ignored: [],
    eventId,
    pending: kept ? [{ contextId: record.id, expiresAt: kept.expiresAt }] : [],
  }
}

/** The event started the context: then it has taken it, keeps it, or has ended without it. */
function answerOfStart(
  { event, eventId }: SentEvent,
  { record, flux, started }: Pick<MessageOutcome, 'record' | 'flux'> & { readonly started: StartedEvent },
): EventAnswer {
  const stand = standOf({ record, flux })
  const { contextId, state } = stand
  const isIgnored = started !== 'moved' && started !== 'pending'
  return {
    message: `'${event}' started '${record.fluxName}' as context ${contextId}`,
    transitions: started === 'moved' ? [stand] : [],
    executions: [stand],
    ignored: isIgnored ? [{ contextId, fluxName: record.fluxName, state, reason: 'the context ended' }] : [],
    eventId,
    pending: started === 'pending' ? [{ contextId, expiresAt: null }] : [],
  }
}

/** What the event did is kept under its id, and it does it once. */
function sendOnce(env: CallEnv, sent: SentEvent, target: Target): Promise<Told<EventAnswer>> {
  const { event, eventId, input, tags, ttl, start } = sent
  const content = { ...target.address, event, input, tags, ttl: ttl ?? undefined, start: start ?? undefined }
  const addressee = addresseeOf(env, target.address, 'invoke')
  const call = { scope: env.scope, of: CALLS.sendEvent, key: eventId, addressee, content, event }
  return env.idempotency.once(call, async ({ rowOf, first }) => {
    const rows: RowsOf = (applied, record, flux) => {
      const kept = applied.kind === 'kept' ? applied : undefined
      const started = applied.kind === 'next' ? applied.started : undefined
      return [rowOf(answerOf(sent, { record, flux, kept, started }))]
    }
    const outcome = await post(env, sent, { ...target, rows, first })
    if (outcome.failure) throw new FluxError(explained(env, event, outcome.failure))
    env.signals.event(outcomeOf(outcome))
    const answer = answerOf(sent, outcome)
    return outcome.kept ? withHint(env, event, answer, outcome) : answer
  })
}

async function sendToAll(env: CallEnv, sent: SentEvent, once: SendOptions['toAll']): Promise<Told<EventAnswer>> {
  const { event, eventId, input, untyped, tags, ttl, isKept, within } = sent
  const { caller, scope, keptBroadcasts, traceparent } = env
  const said = { event, eventId, input, untyped, tags, caller, ttl, receipt: null, traceparent }
  const call = { scope, of: CALLS.sendEvent, key: eventId }
  const bound = env.isStep ? null : env.broadcasts
  const above = sent.respondAsync ? -1 : env.accepts ? env.answeredBroadcast : null
  const told = await admitted(env, input, async () => {
    if (!isKept && once === undefined) {
      const accept: Accepting['accept'] = (receivers, place) =>
        keptBroadcasts.accept(call, said, { receivers, manner: { above, within, place } })
      return broadcastUnkept({ ...env, bound }, said, above === null ? null : { above, accept })
    }
    const place = new BroadcastPlace(bound)
    const manner = { above, within, place }
    const sending = once ? once(env, said, manner) : keptBroadcasts.once(call, said, manner)
    return sending.finally(() => place.release())
  })
  const isOver = !told.replayed && told.ended === undefined
  if (!isOver || !isWithoutEffect(told.answer)) return told
  return { answer: { ...told.answer, ...hintOn(env, event) } }
}

async function broadcastUnkept(
  env: CallEnv & Pick<BroadcastParts, 'bound'>,
  said: KeptEvent,
  accepting: Accepting | null,
): Promise<Told<EventAnswer>> {
  const receivedAt = env.now()
  const told = await broadcast(env, said, accepting)
  if (told.ended !== undefined) return told
  const { answer } = told
  const ended = (await endBroadcast(env.held, said, { answer, receivedAt, receipt: null })) ?? answer
  countAll(env.signals, countsOf(ended))
  return { answer: ended }
}

/** Of an event that is kept, though the context can never wait for it. */
const withHint = (
  env: CallEnv,
  event: string,
  answer: EventAnswer,
  { flux }: Pick<MessageOutcome, 'flux'>,
): EventAnswer => (isNamed(flux, event) ? answer : { ...answer, ...hintOn(env, event) })

/** Nobody may ever wait for an event that is held for nobody yet. */
const isWithoutEffect = ({ transitions, executions, ignored, pending }: EventAnswer): boolean =>
  transitions.length + executions.length + ignored.length === 0 && pending.every(({ contextId }) => contextId === null)

const explained = (env: CallEnv, event: string, failure: Failure): Failure =>
  failure.kind === 'conflict' ? { ...failure, ...hintOn(env, event) } : failure

/** The hint that no loaded service knows the event, if none does. */
function hintOn({ hints, caller }: CallEnv, event: string): { hint?: string } {
  const hint = hints.hintFor(event, caller)
  return hint === null ? {} : { hint }
}

/** Counts an event that is refused, and logs one for a single context. The request may be of whatever form. */
function noteRefusal(
  env: CallEnv,
  { event, redact = (text) => text }: Pick<Loose, 'event'> & Pick<SendOptions, 'redact'>,
  contextId: unknown,
  error: unknown,
): void {
  env.signals.event('refused')
  const failure = error instanceof FluxError && isLogged(error.failure) ? error.failure : null
  if (failure === null || typeof contextId !== 'number') return
  const facts = async () => ({
    ...(await factsOf(env, contextId)),
    event: typeof event === 'string' ? redact(event) : undefined,
    reason: redact(failure.detail),
  })
  void env.refusals.log('an event was refused', failure.kind, facts)
}

async function factsOf(env: CallEnv, contextId: ContextId) {
  const stored = await env.store.load({ id: contextId })
  if (!stored) return { contextId, fluxName: null, state: null }
  const record = decodeHead(stored)
  const { states } = await pinnedFluxOf(env, stored, record)
  return { contextId, fluxName: record.fluxName, state: states[record.state]?.name ?? null }
}
