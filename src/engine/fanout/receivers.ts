// engine/fanout: gives an event of a broadcast to contexts, starts the services that it triggers, and reports what became
// of it. What goes wrong with one never fails for all. What an earlier try did without its server hearing of it is found
// by the rows of that try: its commits may come true late, while somebody else carries the broadcast on.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventAnswer } from '../../api/events.ts'
import { type BroadcastEvent, type BroadcastItems, receiverOf } from './broadcast-rows.ts'
import type { Found } from './outcomes.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { standOf } from '../turn/message.ts'
import { decodeHead } from '../record/decode.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { RefusalLog } from './refusal-log.ts'
import type { CompiledFlux, CompiledTrigger } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { holderIn } from '../turn/start-request.ts'

export interface ReceiverParts {
  readonly store: Store
  readonly mailboxes: Pick<Mailboxes, 'post' | 'start'>
  readonly log: Log
  readonly refusals: Pick<RefusalLog, 'log'>
  /** What is kept of a broadcast under a key; null: it has none. */
  readonly items: BroadcastItems | null
}

/** Tries again to reach contexts whose mailboxes were full, in about 2.5 seconds, and the pause before the first one. */
const MAX_TRIES = 8
const FIRST_PAUSE_MS = 10

/** It was refused since its mailbox was full, and not read: a context that keeps no more events has its state here. */
const isFull = (one: Found | undefined): boolean =>
  one?.answer === 'ignored' && one.failure?.kind === 'busy' && one.entry.state === null

/**
 * Moves the contexts; in the same order, what the event came to for each. One whose mailbox is full is tried again for a
 * while before it is one that ignored the event.
 */
export async function moveAll(
  parts: ReceiverParts,
  ids: readonly ContextId[],
  sent: BroadcastEvent,
  how?: { readonly byTags: boolean },
): Promise<Found[]> {
  let found = await Promise.all(ids.map((id) => move(parts, id, sent, how)))
  for (let tries = 0; tries < MAX_TRIES && found.some(isFull); tries += 1) {
    await sleep(FIRST_PAUSE_MS * 2 ** tries)
    found = await Promise.all(
      ids.map((id, place) => (isFull(found[place]) ? move(parts, id, sent, how) : (found[place] ?? null))),
    )
  }
  return found
}

/** Moves the context, or has it keep the event. `byTags`: whether its tags must fit. */
async function move(
  { store, mailboxes, log, refusals, items }: ReceiverParts,
  id: ContextId,
  { event, input, untyped, tags: sentTags, caller, eventId, receipt, traceparent }: BroadcastEvent,
  { byTags }: { readonly byTags: boolean } = { byTags: true },
): Promise<Found> {
  try {
    const arrival = { tags: sentTags, receipt, keep: null }
    const tags = byTags ? sentTags : null
    const sent = { name: event, eventId, input, untyped, tags, caller, arrival, traceparent }
    const message = { type: 'EVENT', ...sent } as const
    const outcome = await mailboxes.post(id, message, { rows: items?.moved })
    const { updatedAt: at } = outcome.record
    if (outcome.kept) return { answer: 'pending', kept: { contextId: id, expiresAt: outcome.kept.expiresAt }, at }
    if (outcome.moved) return { answer: 'transitions', stand: standOf(outcome), at }
    if (!outcome.failure) return null
    const {
      failure,
      record: { status },
      flux: { fluxName },
    } = outcome
    const { contextId, state } = standOf(outcome)
    const entry = { contextId, fluxName, state, reason: failure.detail }
    return { answer: 'ignored', entry, failure, hasEnded: isFinished(status) }
  } catch (error) {
    const done = items?.doneBefore(error)
    if (done) return done.item
    // The context was purged after it was found.
    if (error instanceof FluxError && error.failure.kind === 'notFound') return null
    if (isUnreadable(error, log)) return null
    const fluxName = error instanceof FluxError && error.failure.kind === 'busy' ? await nameOf(store, id) : ''
    return ignored(refusals, { contextId: id, fluxName, state: null }, error)
  }
}

/** Of a context that was not read, since its mailbox is full; empty if it can't be. */
async function nameOf(store: Store, id: ContextId): Promise<string> {
  try {
    const stored = await store.load({ id })
    return stored ? decodeHead(stored).fluxName : ''
  } catch (error) {
    if (error instanceof FluxError) return ''
    throw error
  }
}

/** What goes wrong with one is no reason to fail for all: others may have moved already. */
export function ignored(
  refusals: ReceiverParts['refusals'],
  entry: Omit<EventAnswer['ignored'][number], 'reason'>,
  error: unknown,
): Found {
  const failure = error instanceof FluxError ? error.failure : null
  if (!failure || failure.kind === 'unavailable') {
    void refusals.log(
      'an event did not reach all that it addressed',
      failure?.kind ?? 'internal',
      () => ({ ...entry, error }),
      'error',
    )
  }
  return {
    answer: 'ignored',
    entry: { ...entry, reason: failure?.detail ?? 'the server failed; the reason is in its log' },
    failure,
    hasEnded: false,
  }
}

/**
 * As `moveAll`, of an event that may have been sent to some of them before: one that can't take it now may have taken it
 * then. Null: the store is out of reach for what was done before.
 */
export async function moveAgain(
  receivers: ReceiverParts & { readonly items: BroadcastItems },
  ids: readonly ContextId[],
  sent: BroadcastEvent,
): Promise<Found[] | null> {
  const found = await moveAll(receivers, ids, sent)
  const isOpen = (place: number) => found[place] === null || found[place]?.answer === 'ignored'
  try {
    const items = await receivers.items.doneTo(ids.filter((_, place) => isOpen(place)))
    const earlier = new Map(items.map((item) => [receiverOf(item), item]))
    return found.map((one, place) => (isOpen(place) && earlier.get(ids[place] ?? 0)) || one)
  } catch (error) {
    if (error instanceof FluxError && error.failure.kind === 'unavailable') return null
    throw error
  }
}

/**
 * Makes sure that none of the services is started any more by an earlier try; gives those that were.
 * @throws FluxError `unavailable`
 */
export async function earlierStarts(
  items: BroadcastItems,
  services: readonly CompiledFlux[],
  found: readonly Found[],
): Promise<Found[]> {
  const known = new Set(found.map((one) => (one?.answer === 'executions' ? one.stand.contextId : null)))
  const others = services.filter((flux) => !items.hasStarted(flux))
  const settled = (await Promise.all(others.map((flux) => items.settleStart(flux)))).flat()
  return settled.filter((one) => one.answer === 'executions' && !known.has(one.stand.contextId))
}

/** What the event came to so far. */
export interface OutcomesSoFar {
  readonly hasMoved: boolean
  /**
   * What it did to that context: 'counted' if that was counted, null if it did nothing yet. @throws FluxError `unavailable`
   */
  of(id: ContextId): Found | 'counted' | Promise<Found | 'counted'>
}

/** Those that start only if nobody was moved come last. */
export async function startTriggered(
  parts: ReceiverParts,
  services: readonly CompiledFlux[],
  sent: BroadcastEvent,
  outcomes: OutcomesSoFar,
): Promise<Found[]> {
  const triggered = services.flatMap((flux) => {
    const trigger = flux.triggers.find(({ event }) => event === sent.event)
    const isOut = (flux.secured && denial(sent.caller, 'invoke')) || parts.items?.hasStarted(flux) === true
    return !trigger || isOut ? [] : [{ flux, trigger }]
  })
  const startAll = (some: readonly Triggered[]) => Promise.all(some.map((one) => start(parts, one, sent, outcomes)))
  const always = await startAll(triggered.filter(({ trigger }) => !trigger.unlessMoved))
  if (outcomes.hasMoved || always.some((one) => one?.answer === 'transitions' || one?.answer === 'pending'))
    return always
  return [...always, ...(await startAll(triggered.filter(({ trigger }) => trigger.unlessMoved)))]
}

interface Triggered {
  readonly flux: CompiledFlux
  readonly trigger: CompiledTrigger
}

/** How often a start is tried again since the context that had its key has ended meanwhile. */
const MAX_START_TRIES = 10

/** Where another context has the key, that one gets the event, unless it has it already. */
async function start(
  parts: ReceiverParts,
  { flux, trigger }: Triggered,
  sent: BroadcastEvent,
  outcomes: OutcomesSoFar,
): Promise<Found> {
  const { mailboxes, refusals, items } = parts
  const { event, input, untyped, tags, traceparent } = sent
  const request = {
    flux,
    input,
    untyped,
    unknown: 'ignore' as const,
    tags,
    trigger: event,
    triggerId: sent.eventId,
    key: trigger.key ?? undefined,
    drawn: items?.drawnFor(flux),
    traceparent,
  }
  for (let tries = 1; ; tries += 1) {
    try {
      const outcome = await mailboxes.start(request, { rows: items?.started, partition: items?.partition })
      return { answer: 'executions', stand: standOf(outcome), at: outcome.record.updatedAt }
    } catch (error) {
      const done = items?.doneBefore(error)
      if (done) return done.item
      const holder = holderIn(error)
      if (holder === null) return ignored(refusals, { contextId: null, fluxName: flux.fluxName, state: null }, error)
      const given = await giveToHolder(parts, { flux, holder, outcomes }, sent)
      if (given === 'counted') return null
      const isOver = given === null || (given.answer === 'ignored' && given.hasEnded && flux.keyReuse === 'ended')
      if (!isOver || tries === MAX_START_TRIES) return given
    }
  }
}

/** Unless it has the event already, or is what the event itself has started before. */
async function giveToHolder(
  parts: ReceiverParts,
  { flux, holder, outcomes }: { flux: CompiledFlux; holder: ContextId; outcomes: OutcomesSoFar },
  sent: BroadcastEvent,
): Promise<Found | 'counted'> {
  try {
    const done = (await outcomes.of(holder)) ?? (await parts.items?.startedAs(flux, holder))
    if (done) return done
  } catch (error) {
    return ignored(parts.refusals, { contextId: holder, fluxName: flux.fluxName, state: null }, error)
  }
  const [found = null] = await moveAll(parts, [holder], sent, { byTags: false })
  return found
}
