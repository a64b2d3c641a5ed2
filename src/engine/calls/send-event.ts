// engine/calls: `sendEvent` sends an event to one context, or to all that wait for it, and answers once the moves are
// committed. An event by key may start a context where none has the key. Refused events are logged.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from '../../api/fields.ts'
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import { MAX_TIMEOUT_SECONDS } from '../../api/contexts.ts'
import { MAX_TTL_SECONDS, type EventAnswer } from '../../api/events.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError, malformed, nullIf, type Failure } from '../../model/failure.ts'
import { newEventId } from '../contexts/ids.ts'
import type { BroadcastEvent } from '../fanout/broadcast-rows.ts'
import type { Manner } from '../fanout/kept-broadcasts.ts'
import { isLogged } from '../fanout/outcomes.ts'
import { rowKeyOf } from '../idempotency/kept-answer.ts'
import { isNamed, requireNamed } from '../interpreter/early.ts'
import { relativeOf } from '../record/relatives.ts'
import { standOf, type MessageOptions, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { holderIn, requireInputs, type RootRequest } from '../turn/start-request.ts'
import { addresseeOf, holderOfKey, keyNamed, sendTo, serviceNamed } from './address.ts'
import { admitted, checkedInput, checkedTags, isRefusable, type CallEnv } from './call-env.ts'
import { refuseInput } from '../interpreter/describe.ts'
import { hintOn } from './event-hint.ts'

/** How often a start is tried again, because the context that had the key has ended, or another start was faster. */
const MAX_TRIES = 10

/** What a sender in the engine adds. The first two are for an event that is not kept under an id of its own. */
export interface SendOptions {
  /** What is written with the effect on one context. */
  readonly toOne?: (eventId: string) => Pick<MessageOptions, 'rows'>
  /** Sends an event to all, once. */
  readonly toAll?: (event: BroadcastEvent, manner: Manner) => Promise<Told<EventAnswer>>
  /** The webhook that sends it. A context that the event starts counts as started by the webhook. */
  readonly webhook?: RootRequest['request']
  /** Hides secrets of the request that sends it in what is logged. */
  readonly redact?: ((text: string) => string) | undefined
  /** See `Placing`. */
  readonly onPlaced?: (() => void) | undefined
}

/** See `FluxApi`. For an event to one context it calls no other async function, because each creates promises. */
export async function sendEvent(
  env: CallEnv,
  request: CheckedCall<'sendEvent'>,
  options: SendOptions = {},
): Promise<Told<EventAnswer>> {
  /** The context, once it is known. */
  let target = request.contextId
  try {
    const sent = sentOf(env, request)
    if (sent.isLarge) await nextTurn()
    const { address, input, start, waits } = sent
    if (address === null) return await sendToAll(env, sent, options.toAll)
    const post = (rows: RowsOf | undefined) => {
      const message = messageOf(env, sent)
      const postTo = (id: ContextId) => {
        target = id
        return env.mailboxes.post(id, message, { isCall: isRefusable(env, waits), waits, rows })
      }
      return admitted(env, input, () => {
        if (address.contextId !== undefined) {
          const posted = postTo(address.contextId)
          options.onPlaced?.()
          return posted
        }
        // Where a version is named, the context must be there.
        if (start === null || sent.version !== undefined) return sendTo(env, address, postTo)
        return sendOrStart(env, sent, { address, start, rows, webhook: options.webhook }, postTo)
      })
    }
    if (sent.isKept) return await sendOnce(env, sent, address, post)
    return { answer: concluded(env, sent, await post(options.toOne?.(sent.eventId).rows)) }
  } catch (error) {
    env.signals.event('refused')
    const failure = error instanceof FluxError && isLogged(error.failure) ? error.failure : null
    if (failure && target !== undefined) logRefusal(env, request.event, target, failure, options.redact)
    throw error
  }
}

/** Logs an event for a single context that was refused. */
function logRefusal(
  env: CallEnv,
  event: string,
  contextId: ContextId,
  { kind, detail }: Failure,
  redact = (text: string) => text,
) {
  const facts = async () => ({
    ...(await relativeOf(contextId, { ...env, isVisible: () => true })),
    event: redact(event),
    reason: redact(detail),
  })
  void env.refusals.log('an event was refused', kind, facts)
}

type Sent = ReturnType<typeof sentOf>

/** What is sent. @throws FluxError `malformed`, `invalid` */
function sentOf(env: CallEnv, request: CheckedCall<'sendEvent'>) {
  const { contextId, key, event, untyped = false, waits = false, idempotencyKey, ttl, respondWithin = 0 } = request
  const { version } = request
  const given = request.eventId ?? request.cloudEventId ?? idempotencyKey ?? null
  if (given !== null && (idempotencyKey ?? given) !== given)
    throw malformed('the eventId and the idempotency key must be the same, or one of them be left out')
  const { orStart } = request
  const start = orStart
    ? {
        fluxName: orStart.fluxName ?? undefined,
        package: orStart.package ?? undefined,
        input: checkedInput(orStart.input, '/orStart/input').input,
        tags: checkedTags(env, orStart.tags, '/orStart/tags'),
      }
    : null
  const service = { fluxName: request.fluxName ?? start?.fluxName, package: request.package ?? start?.package }
  if (ttl != null && (!Number.isInteger(ttl) || ttl < 1 || ttl > MAX_TTL_SECONDS))
    refuseInput('/ttl', `must be a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`)
  const { input, isLarge } = checkedInput(request.input)
  // Each field is named: a spread of the input's would take as long as the whole decision.
  return {
    input,
    isLarge,
    tags: checkedTags(env, request.tags, '/tags'),
    event,
    eventId: given ?? env.uuid?.() ?? newEventId(),
    /** Whether what becomes of it is kept under that id. */
    isKept: given !== null || request.receipt === true,
    /** null: it is for all that wait for it. */
    address: contextId === undefined && key === undefined ? null : { contextId, key, ...service },
    /** How a context is started if none has the key; null: none is. */
    start,
    version,
    /** Milliseconds; null: its sender says nothing of it. */
    ttl: ttl == null ? null : ttl * 1000,
    respondAsync: request.respondAsync ?? false,
    /** Milliseconds. */
    within: Math.min(respondWithin, MAX_TIMEOUT_SECONDS) * 1000,
    untyped,
    waits,
  }
}

function messageOf(env: CallEnv, sent: Sent) {
  const { caller, traceparent } = env
  const { event: name, eventId, input, untyped, tags, ttl, start, version } = sent
  const arrival = { tags, receipt: receiptOf(env, sent), keep: start ? ('end' as const) : ttl }
  return { type: 'EVENT', name, eventId, input, untyped, tags: null, caller, version, arrival, traceparent } as const
}

/** The key of what is kept of it; null: nothing is. */
const receiptOf = ({ scope }: CallEnv, { isKept, eventId }: Sent) =>
  isKept ? rowKeyOf({ scope, of: CALLS.sendEvent, key: eventId }) : null

interface StartTarget extends Pick<SendOptions, 'webhook'>, Pick<MessageOptions, 'rows'> {
  readonly address: Address
  readonly start: NonNullable<Sent['start']>
}

/**
 * The outcome of an event by key, or that of the start of a context that takes it as soon as it waits for it, in its
 * first commit if it can. @throws FluxError when a context can't be started, or can't wait for the event
 */
async function sendOrStart(
  env: CallEnv,
  sent: Sent,
  target: StartTarget,
  postTo: (id: ContextId) => Promise<MessageOutcome>,
) {
  const { flux, named } = keyNamed(env, target.address, 'invoke')
  for (let tries = 1; ; tries += 1) {
    const isLast = tries === MAX_TRIES
    const id = await holderOfKey(env, named)
    // Wrong inputs are reported whether or not there is a context already, so that their sender learns it at once.
    // Those of a service that is no longer loaded can't be checked; its contexts are moved without a check.
    if (id !== null && flux && tries === 1)
      requireInputs(startRequestOf(env, flux, sent, target), env.clock.now(), '/orStart/input')
    // Null: there is none, or it was deleted after it was found.
    const outcome = id === null ? null : await postTo(id).catch(nullIfGone)
    if (outcome && (isLast || !hasFreedKey(outcome))) return outcome
    try {
      const service = flux ?? serviceNamed(env, named)
      requireNamed(service, sent.event)
      const options = { rows: target.rows, isCall: isRefusable(env, sent.waits) }
      const request = startRequestOf(env, service, sent, target)
      return await admitted(env, request.input, () => env.mailboxes.start(request, options))
    } catch (error) {
      if (isLast || holderIn(error) === null) throw error
    }
  }
}

const nullIfGone = nullIf('notFound')

const hasFreedKey = ({ failure, record, flux }: MessageOutcome) =>
  failure !== null && isFinished(record.status) && flux.keyReuse === 'ended'

function startRequestOf(
  env: CallEnv,
  flux: CompiledFlux,
  sent: Sent,
  { address: { key }, start: { input, tags }, webhook }: StartTarget,
): RootRequest {
  const { eventId, event, untyped } = sent
  return {
    flux,
    input,
    untyped,
    // A webhook gives a service what it declares; a client gets a fault for what the service does not declare.
    unknown: webhook ? 'ignore' : 'refuse',
    tags,
    trigger: null,
    request: webhook,
    key,
    existing: 'refuse',
    event: { eventId, event, input: sent.input, untyped, tags: sent.tags, receipt: receiptOf(env, sent) },
    traceparent: env.traceparent,
  }
}

type Outcome = Pick<MessageOutcome, 'record' | 'flux' | 'kept' | 'started'>

/** An event that started a context was taken by it, is kept by it, or had no effect, since the context has ended. */
function answerOf({ event, eventId }: Sent, { record, flux, kept, started }: Outcome): EventAnswer {
  const stand = standOf({ record, flux })
  const { contextId, state } = stand
  const { fluxName } = record
  const became = started ?? (kept ? 'pending' : 'moved')
  const isIgnored = became !== 'moved' && became !== 'pending'
  const done = started ? `started '${fluxName}' as` : kept ? 'is kept for' : 'moved'
  return {
    message: `'${event}' ${done} context ${contextId}`,
    transitions: became === 'moved' ? [stand] : [],
    executions: started ? [stand] : [],
    ignored: isIgnored ? [{ contextId, fluxName, state, reason: 'the context ended' }] : [],
    eventId,
    pending: became === 'pending' ? [{ contextId, expiresAt: kept?.expiresAt ?? null }] : [],
  }
}

/** @throws FluxError when the event was refused */
function concluded(env: CallEnv, sent: Sent, outcome: MessageOutcome) {
  const { failure, flux, kept, started } = outcome
  const { event } = sent
  if (failure) throw new FluxError(failure.kind === 'conflict' ? { ...failure, ...hintOn(env, event) } : failure)
  env.signals.event(started ? 'started' : kept ? 'pending' : 'moved')
  const answer = answerOf(sent, outcome)
  // It may be kept though the context can never wait for it.
  return kept && !isNamed(flux, event) ? { ...answer, ...hintOn(env, event) } : answer
}

/** What the event did is kept under its id, and it does it once. */
function sendOnce(env: CallEnv, sent: Sent, address: Address, post: (rows: RowsOf) => Promise<MessageOutcome>) {
  const { event, eventId, input, tags, ttl, start } = sent
  const content = { ...address, event, input, tags, ttl: ttl ?? undefined, start: start ?? undefined }
  const addressee = addresseeOf(env, address, 'invoke')
  const call = { scope: env.scope, of: CALLS.sendEvent, key: eventId, addressee, content, event }
  return env.idempotency.once(call, async ({ rowOf }) => {
    const rows: RowsOf = (applied, record, flux) => {
      const kept = applied.kind === 'kept' ? applied : undefined
      const started = applied.kind === 'next' ? applied.started : undefined
      return [rowOf(answerOf(sent, { record, flux, kept, started }))]
    }
    return concluded(env, sent, await post(rows))
  })
}

async function sendToAll(env: CallEnv, sent: Sent, once: SendOptions['toAll']) {
  const { event, eventId, input, untyped, tags, ttl, isKept, within } = sent
  const { caller, scope, keptBroadcasts, toAll, traceparent } = env
  const said = { event, eventId, input, untyped, tags, caller, ttl, traceparent }
  const call = { scope, of: CALLS.sendEvent, key: eventId }
  const above = sent.respondAsync ? -1 : env.accepts ? env.given.bounds.answeredBroadcast : null
  const told = await admitted(env, input, async () => {
    const manner = { above, within, bound: env.isStep ? null : env.broadcasts }
    if (once) return once(said, manner)
    if (toAll) return toAll(said, isKept ? call : null)
    return keptBroadcasts.send(call, said, manner, isKept)
  })
  const { transitions, executions, ignored, pending } = told.answer
  const isOver = !told.replayed && told.ended === undefined
  // It is possible that no context ever waits for an unclaimed event.
  const hasEffect =
    [...transitions, ...executions, ...ignored].length > 0 || pending.some((one) => one.contextId !== null)
  return isOver && !hasEffect ? { answer: { ...told.answer, ...hintOn(env, event) } } : told
}
