// engine/interpreter: events that come early. A context keeps them in its record, and takes them as soon as it waits
// for them. Pure, as all decisions.
//
// - A context keeps them in its record (`pending`, a part of its own), so the commits of the context alone decide
//   about them. `interpreter/early.ts` has the rules, `definitions/service.ts` the times.
// - After each decision that leaves the context waiting, the turn takes the oldest that the state names (`takeNext` in
//   `unit-of-work.ts`), in the same commit. When the work of the turn is spent, the rest stays, and the stored due
//   time, not that of the record, is now: the next turn goes on, also after a crash. A turn first takes what the one
//   before it left, then decides an overdue wake-up, then messages.
// - Rows list what is pending, and record what became of it, for receipts. They are computed from the record before and
//   after the turn (`pending-events.ts`) and are written in its commit, so they always agree with it. Turns without
//   such events make none. A context that ends without a turn (`recovery.ts`) gives them up as well.
// - A broadcast finds those who would keep its event by the index keys `early:…`, which do not change while the
//   context lives, except with its tags.
// - An event with `orStart` that reaches no context is the first entry in the record of the context that it starts
//   (`calls/send-event.ts`). The unique key decides between several that do so at once.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { conflict, FluxError, invalid } from '../../model/failure.ts'
import { type ContextRecord, NO_PENDING, type PendingEvent } from '../../model/context.ts'
import type { Decision, Input } from './decision.ts'
import { takes } from './nodes.ts'

/** What one context may keep: events, bytes of their inputs as JSON, and of their names and tags. */
const MAX_PENDING = { count: 100, bytes: 64 * 1024, words: 64 * 1024 }

/** Whether a waiting state of the service has a transition for the event. */
export const isNamed = ({ states }: CompiledFlux, event: string): boolean =>
  states.some(({ waiting, choice }) => waiting && choice.events.has(event))

type Event = Input & { readonly type: 'EVENT' }

/** Keeps an event that the context can't take now, if its sender or its definition asks for that; else refuses it. */
export function keepOrRefuse(
  flux: CompiledFlux,
  record: ContextRecord,
  event: Event,
  now: number,
  refusal: string,
): Decision {
  const { name, arrival } = event
  const keep = arrival?.keep ?? flux.early.get(name)
  if (arrival === undefined || keep === undefined) throw conflict(refusal)
  if (keep === 'end') requireNamed(flux, name)
  return kept(record, event, now, { expiresAt: keep === 'end' ? null : now + keep })
}

/**
 * Keeps an event for a paused context until it is resumed, and then until it waits for it. `expiresAt` is null unless
 * its sender says otherwise.
 */
export function keepWhilePaused(flux: CompiledFlux, record: ContextRecord, event: Event, now: number): Decision {
  const { name, arrival, isHeld } = event
  if (isHeld) throw conflict(`context ${record.id} is paused`)
  if (!flux.states.some((state) => state.waiting && takes(state, name))) throw conflict(noState(flux, name))
  const expiresAt = typeof arrival?.keep === 'number' ? now + arrival.keep : null
  return kept(record, event, now, { expiresAt, takesAny: true })
}

function kept(
  record: ContextRecord,
  { name, eventId, input, untyped, arrival, tags: sent }: Event,
  now: number,
  rules: Pick<PendingEvent, 'expiresAt' | 'takesAny'>,
): Decision {
  const { tags = sent ?? [], receipt = null } = arrival ?? {}
  const event = { eventId, event: name, input, untyped, tags, receivedAt: now, receipt, ...rules }
  const others = unexpired(record.pending, now)
  requireRoom(record, others, event)
  return { kind: 'kept', record: { ...record, pending: [...others, event], updatedAt: now }, event }
}

const noState = ({ fluxName }: CompiledFlux, event: string) => `no state of '${fluxName}' waits for '${event}'`

/** @throws FluxError for an event that is to wait for a context until it ends, and for which none ever waits */
export function requireNamed(flux: CompiledFlux, event: string): void {
  if (isNamed(flux, event)) return
  const detail = noState(flux, event)
  throw invalid(detail, [{ pointer: '/event', detail }])
}

/** @throws FluxError when the context can't keep the event beside those that it keeps */
function requireRoom({ id }: ContextRecord, kept: readonly PendingEvent[], event: PendingEvent) {
  const { bytes, count, words } = MAX_PENDING
  if (bytesOfInput(event) > bytes) {
    const detail = `context ${id} can't keep the event: its input has more than ${bytes} bytes`
    throw new FluxError({ kind: 'tooLarge', detail })
  }
  const all = (sizeOf: (one: PendingEvent) => number) => kept.reduce((sum, one) => sum + sizeOf(one), sizeOf(event))
  // However many words it has, one is kept: how many tags it may have is a setting.
  const isWordy = kept.length > 0 && all(bytesOfWords) > words
  if (kept.length < count && all(bytesOfInput) <= bytes && !isWordy) return
  const detail = `context ${id} can't keep more events until it takes some`
  throw new FluxError({ kind: 'busy', detail, retryAfter: 1 })
}

const bytesOfInput = ({ input }: PendingEvent) => Buffer.byteLength(JSON.stringify(input))

const bytesOfWords = ({ event, tags }: PendingEvent) =>
  tags.reduce((sum, tag) => sum + Buffer.byteLength(tag), Buffer.byteLength(event))

/** @throws FluxError when the context can't keep the event that it was started with */
export function requireKeepable(record: ContextRecord): void {
  const [event] = record.pending
  if (event) requireRoom(record, NO_PENDING, event)
}

export const unexpired = (pending: readonly PendingEvent[], now: number): readonly PendingEvent[] =>
  pending.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)

/**
 * The first of the events that the context keeps and waits for now; null: there is none. It may be over. Only the
 * version that wrote the definition takes it.
 */
export function nextPending({ states, isForeign }: CompiledFlux, record: ContextRecord): PendingEvent | null {
  const { pending, position, state } = record
  if (pending.length === 0 || position.phase !== 'waiting' || record.isPaused || isForeign) return null
  const next = states[state]
  if (!next) return null
  return pending.find(({ event, takesAny }) => (takesAny ? takes(next, event) : next.choice.events.has(event))) ?? null
}

/** The record without those events, and without what is over. */
export function without(record: ContextRecord, gone: readonly PendingEvent[], now: number): ContextRecord {
  const left = unexpired(record.pending, now).filter((event) => !gone.includes(event))
  return { ...record, pending: left.length === 0 ? NO_PENDING : left }
}

/** `receipt`: only the events of that sender; null: those of all senders. */
export function withdraw(record: ContextRecord, input: Input & { type: 'WITHDRAW' }, now: number): Decision {
  const { eventId, receipt } = input
  const events = unexpired(record.pending, now).filter(
    (event) => event.eventId === eventId && (receipt === null || event.receipt === receipt),
  )
  if (events.length === 0) return { kind: 'noop' }
  return { kind: 'withdrawn', record: { ...without(record, events, now), updatedAt: now }, events }
}
