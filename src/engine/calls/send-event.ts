// engine/calls: `sendEvent` sends an event to one context, or to all that wait for it, and answers once the moves are
// committed. An event by key may start a context where none has the key. Refused events are logged.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from '../../api/address.ts'
import { check } from '../../api/call.ts'
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import { MAX_TIMEOUT_SECONDS } from '../../api/contexts.ts'
import { MAX_TTL_SECONDS, type EventAnswer } from '../../api/events.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError, malformed } from '../../model/failure.ts'
import { isObject } from '../../model/json/value.ts'
import { newEventId } from '../contexts/ids.ts'
import type { BroadcastEvent } from '../fanout/broadcast-rows.ts'
import type { Manner } from '../fanout/kept-broadcasts.ts'
import { isLogged } from '../fanout/outcomes.ts'
import { rowKeyOf } from '../idempotency/kept-answer.ts'
import { isNamed, notNamed } from '../interpreter/early.ts'
import { relativeOf } from '../record/relatives.ts'
import { standOf, type MessageOptions, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { holderIn, requireInputs, type RootRequest } from '../turn/start-request.ts'
import { addresseeOf, holderOfKey, sendTo, serviceNamed } from './address.ts'
import { admitted, checkedInput, checkedTags, isRefusable, refuse, requireRole, type CallEnv } from './call-env.ts'

/** How often a start is tried again, because the context that had the key has ended, or another start was faster. */
const MAX_TRIES = 10

/** What a sender in the engine adds. The first two are for an event that is not kept under an id of its own. */
export interface SendOptions {
  /** What is written with the effect on one context. */
  readonly toOne?: (eventId: string) => Pick<MessageOptions, 'rows'>
  /** Sends an event to all, once. */
  readonly toAll?: (env: CallEnv, event: BroadcastEvent, manner: Manner) => Promise<Told<EventAnswer>>
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
  let noted = request.contextId
  try {
    const { sent, isLarge } = sentOf(env, request)
    if (isLarge) await nextTurn()
    const { address } = sent
    if (address === null) return await sendToAll(env, sent, options.toAll)
    const { webhook } = options
    const onTarget = (id: ContextId) => {
      noted = id
    }
    if (sent.isKept) return await sendOnce(env, sent, { address, onTarget, webhook })
    const outcome = await post(env, sent, { address, onTarget, webhook, ...options.toOne?.(sent.eventId) })
    return { answer: concluded(env, sent, outcome) }
  } catch (error) {
    noteRefusal(env, { ...request, ...options }, noted, error)
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

const NOTHING_ADDED: SendOptions = {}

type Sent = ReturnType<typeof sentOf>['sent']

/** What is sent. @throws FluxError `malformed`, `invalid` */
function sentOf(env: CallEnv, request: CheckedCall<'sendEvent'>) {
  const { contextId, key, event, untyped = false, waits = false, idempotencyKey, ttl, respondWithin = 0 } = request
  const given = request.eventId ?? request.cloudEventId ?? idempotencyKey ?? null
  if (given !== null && (idempotencyKey ?? given) !== given)
    throw malformed('the eventId and the idempotency key must be the same, or one of them be left out')
  const { input, isLarge } = checkedInput(request.input)
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
    refuse('/ttl', `must be a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`)
  const sent = {
    /** null: it is for all that wait for it. */
    address: contextId === undefined && key === undefined ? null : { contextId, key, ...service },
    /** Milliseconds; null: its sender says nothing of it. */
    ttl: ttl == null ? null : ttl * 1000,
    /** How a context is started if none has the key; null: none is. */
    start,
    event,
    eventId: given ?? newEventId(),
    /** Whether what becomes of it is kept under that id. */
    isKept: given !== null || request.receipt === true,
    respondAsync: request.respondAsync ?? false,
    /** Milliseconds. */
    within: Math.min(respondWithin, MAX_TIMEOUT_SECONDS) * 1000,
    input,
    untyped,
    waits,
    tags: checkedTags(env, request.tags, '/tags'),
  }
  return { sent, isLarge }
}

interface Target extends Pick<SendOptions, 'webhook'>, Pick<MessageOptions, 'rows'> {
  readonly address: Address
  /** Called with the context, once it is known. */
  readonly onTarget: (id: ContextId) => void
}

function post(env: CallEnv, sent: Sent, target: Target): Promise<MessageOutcome> {
  const { event: name, eventId, input, untyped, waits, tags, ttl, start } = sent
  const { caller, mailboxes, traceparent } = env
  const { address, onTarget, rows } = target
  const arrival = { tags, receipt: receiptOf(env, sent), keep: start ? ('end' as const) : ttl }
  const message = { type: 'EVENT', name, eventId, input, untyped, tags: null, caller, arrival, traceparent } as const
  const postTo = (id: ContextId) => {
    onTarget(id)
    return mailboxes.post(id, message, { isCall: isRefusable(env, waits), waits, rows })
  }
  const { contextId } = address
  return admitted(env, input, () => {
    if (contextId !== undefined) return postTo(contextId)
    return start === null ? sendTo(env, address, postTo) : sendOrStart(env, sent, { ...target, start }, postTo)
  })
}

/** The key of what is kept of it; null: nothing is. */
const receiptOf = ({ scope }: CallEnv, { isKept, eventId }: Sent): string | null =>
  isKept ? rowKeyOf({ scope, of: CALLS.sendEvent, key: eventId }) : null

interface StartTarget extends Target {
  readonly start: NonNullable<Sent['start']>
}

/**
 * The outcome of an event by key, or that of the start of a context that takes it as soon as it waits for it, in its first
 * commit if it can. @throws FluxError when a context can't be started, or can't wait for the event
 */
async function sendOrStart(
  env: CallEnv,
  sent: Sent,
  target: StartTarget,
  postTo: (id: ContextId) => Promise<MessageOutcome>,
): Promise<MessageOutcome> {
  for (let tries = 1; ; tries += 1) {
    const isLast = tries === MAX_TRIES
    const id = await holderOfKey(env, target.address, 'invoke')
    if (id !== null && tries === 1) checkInputs(env, sent, target)
    // Null: there is none, or it was deleted after it was found.
    const outcome = id === null ? null : await postTo(id).catch(nullIfGone)
    if (outcome && (isLast || !hasFreedKey(outcome))) return outcome
    try {
      return await startWith(env, sent, target)
    } catch (error) {
      if (isLast || holderIn(error) === null) throw error
    }
  }
}

function nullIfGone(error: unknown): null {
  if (error instanceof FluxError && error.failure.kind === 'notFound') return null
  throw error
}

const hasFreedKey = ({ failure, record, flux }: MessageOutcome): boolean =>
  failure !== null && isFinished(record.status) && flux.keyReuse === 'ended'

/**
 * Wrong inputs are reported whether or not there is a context already, so that who sends them learns it at once.
 * Those of a service that is no longer loaded can't be checked: its contexts are moved all the same.
 */
function checkInputs(env: CallEnv, { untyped }: Sent, { address, start: { input }, webhook }: StartTarget): void {
  const { fluxName = '', package: owner } = address
  const flux = owner === undefined ? serviceNamed(env, { fluxName }) : env.catalog.find(owner, fluxName)
  const request = flux && { flux, input, untyped, unknown: unknownInputs(webhook) }
  if (request) requireInputs(request, env.clock.now(), '/orStart/input')
}

/** A webhook gives a service what it declares; a client gets a fault for what the service does not declare. */
const unknownInputs = (webhook: SendOptions['webhook']): RootRequest['unknown'] => (webhook ? 'ignore' : 'refuse')

function startWith(
  env: CallEnv,
  sent: Sent,
  { address, start: { input, tags }, webhook, rows }: StartTarget,
): Promise<MessageOutcome> {
  const { fluxName = '', package: given, key } = address
  const flux = serviceNamed(env, { package: given, fluxName })
  requireRole(env, flux, 'invoke')
  const { eventId, event, untyped, waits } = sent
  if (!isNamed(flux, event)) throw new FluxError(notNamed(flux, event))
  const request: RootRequest = {
    flux,
    input,
    untyped,
    unknown: unknownInputs(webhook),
    tags,
    trigger: null,
    request: webhook,
    key,
    existing: 'refuse',
    event: { eventId, event, input: sent.input, untyped, tags: sent.tags, receipt: receiptOf(env, sent) },
    traceparent: env.traceparent,
  }
  const options = { rows, isCall: isRefusable(env, waits) }
  return admitted(env, input, () => env.mailboxes.start(request, options))
}

type Outcome = Pick<MessageOutcome, 'record' | 'flux' | 'kept' | 'started'>

/** An event that started a context was taken by it, is kept by it, or came to nothing, since the context has ended. */
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
function concluded(env: CallEnv, sent: Sent, outcome: MessageOutcome): EventAnswer {
  const { failure, flux, kept, started } = outcome
  const { event } = sent
  if (failure) throw new FluxError(failure.kind === 'conflict' ? { ...failure, ...hintOn(env, event) } : failure)
  env.signals.event(started ? 'started' : kept ? 'pending' : 'moved')
  const answer = answerOf(sent, outcome)
  // It may be kept though the context can never wait for it.
  return kept && !isNamed(flux, event) ? { ...answer, ...hintOn(env, event) } : answer
}

/** What the event did is kept under its id, and it does it once. */
function sendOnce(env: CallEnv, sent: Sent, target: Target): Promise<Told<EventAnswer>> {
  const { event, eventId, input, tags, ttl, start } = sent
  const content = { ...target.address, event, input, tags, ttl: ttl ?? undefined, start: start ?? undefined }
  const addressee = addresseeOf(env, target.address, 'invoke')
  const call = { scope: env.scope, of: CALLS.sendEvent, key: eventId, addressee, content, event }
  return env.idempotency.once(call, async ({ rowOf }) => {
    const rows: RowsOf = (applied, record, flux) => {
      const kept = applied.kind === 'kept' ? applied : undefined
      const started = applied.kind === 'next' ? applied.started : undefined
      return [rowOf(answerOf(sent, { record, flux, kept, started }))]
    }
    return concluded(env, sent, await post(env, sent, { ...target, rows }))
  })
}

async function sendToAll(env: CallEnv, sent: Sent, once: SendOptions['toAll']): Promise<Told<EventAnswer>> {
  const { event, eventId, input, untyped, tags, ttl, isKept, within } = sent
  const { caller, scope, keptBroadcasts, traceparent } = env
  const said = { event, eventId, input, untyped, tags, caller, ttl, traceparent }
  const call = { scope, of: CALLS.sendEvent, key: eventId }
  const above = sent.respondAsync ? -1 : env.accepts ? env.given.bounds.answeredBroadcast : null
  const told = await admitted(env, input, async () => {
    const manner = { above, within, bound: env.isStep ? null : env.broadcasts }
    if (once) return once(env, said, manner)
    return keptBroadcasts.send(call, said, manner, isKept)
  })
  const isOver = !told.replayed && told.ended === undefined
  if (!isOver || !isWithoutEffect(told.answer)) return told
  return { answer: { ...told.answer, ...hintOn(env, event) } }
}

/** Nobody may ever wait for an event that is held for nobody yet. */
const isWithoutEffect = ({ transitions, executions, ignored, pending }: EventAnswer): boolean =>
  transitions.length + executions.length + ignored.length === 0 && pending.every(({ contextId }) => contextId === null)

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
    ...(await relativeOf(contextId, { ...env, isVisible: () => true })),
    event: typeof event === 'string' ? redact(event) : undefined,
    reason: redact(failure.detail),
  })
  void env.refusals.log('an event was refused', failure.kind, facts)
}
