// engine/fanout: gives an event of a broadcast to contexts, starts the services that it triggers, and reports what became
// of it. What goes wrong with one never fails for all. What an earlier try did without its server hearing of it is found
// by the rows of that try: its commits may come true late, while somebody else carries the broadcast on.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventAnswer } from '../../api/events.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux, CompiledTrigger } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { decodeHead } from '../record/decode.ts'
import { hiddenFrom, keysOfEarly, keysOfEvent } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { standOf } from '../turn/message.ts'
import { holderIn } from '../turn/start-request.ts'
import { receiverOf, type BroadcastEvent, type BroadcastRows } from './broadcast-rows.ts'
import type { Found, RefusalLog } from './outcomes.ts'

export interface ReceiverParts {
  readonly store: Store
  readonly mailboxes: Pick<Mailboxes, 'post' | 'start'>
  readonly log: Log
  readonly refusals: Pick<RefusalLog, 'log'>
  readonly catalog: Pick<Catalog, 'triggeredBy' | 'all'>
}

/** What is sent. `rows`: of a broadcast that is stored; null: it isn't. */
export interface Sending<R = BroadcastRows | null> extends ReceiverParts {
  readonly sent: BroadcastEvent
  readonly rows: R
}

/** Contexts up to which a broadcast costs about as little as a call for one context. */
const MAX_SMALL_CONTEXTS = 64

/** What a broadcast has of the bound: nothing while it is as small as a call for one context. */
export class BroadcastPlace {
  readonly #bound: CountBound | null
  #isTaken = false

  constructor(bound: CountBound | null) {
    this.#bound = bound
  }

  /** @throws FluxError `overloaded` */
  take(addressed: number): void {
    if (this.#isTaken || this.#bound === null || addressed <= MAX_SMALL_CONTEXTS) return
    this.#bound.take()
    this.#isTaken = true
  }

  /** Of a broadcast that was accepted before: it is never refused. */
  add(): void {
    if (this.#isTaken || this.#bound === null) return
    this.#bound.add()
    this.#isTaken = true
  }

  release(): void {
    if (this.#isTaken) this.#bound?.release()
    this.#isTaken = false
  }
}

/** Contexts that are found at once. */
const FOUND_AT_ONCE = 1000

/**
 * The contexts that wait for the event, and that its sender may move: of others it must not learn how many they are. All
 * are read before any is moved: a child that the event itself starts may have a lower id than contexts of other partitions
 * that are read later.
 * @throws FluxError `overloaded` when they are many, and there is no place for that
 */
export async function findReceivers(
  { store, catalog }: Pick<ReceiverParts, 'store' | 'catalog'>,
  { event, tags, caller }: Pick<BroadcastEvent, 'event' | 'tags' | 'caller'>,
  { place, upTo, after = 0 }: { readonly place: BroadcastPlace; readonly upTo: ContextId; readonly after?: ContextId },
): Promise<ContextId[]> {
  const any = [...keysOfEvent(event, tags), ...keysOfEarly(event, tags)]
  const without = hiddenFrom({ catalog, caller }, 'invoke')
  const found: ContextId[] = []
  for (;;) {
    const ids = await store.waitingFor({ any, without, upTo, after: found.at(-1) ?? after, limit: FOUND_AT_ONCE })
    for (const id of ids) found.push(id)
    place.take(found.length)
    if (ids.length < FOUND_AT_ONCE) return found
  }
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
  sending: Sending,
  ids: readonly ContextId[],
  how?: { readonly byTags: boolean },
): Promise<Found[]> {
  let found = await Promise.all(ids.map((id) => move(sending, id, how)))
  for (let tries = 0; tries < MAX_TRIES && found.some(isFull); tries += 1) {
    await sleep(FIRST_PAUSE_MS * 2 ** tries)
    found = await Promise.all(
      ids.map((id, place) => (isFull(found[place]) ? move(sending, id, how) : (found[place] ?? null))),
    )
  }
  return found
}

/** Moves the context, or has it keep the event. `byTags`: whether its tags must fit. */
async function move(
  { store, mailboxes, log, refusals, rows, sent }: Sending,
  id: ContextId,
  { byTags }: { readonly byTags: boolean } = { byTags: true },
): Promise<Found> {
  try {
    const { event: name, input, untyped, caller, eventId, receipt, traceparent } = sent
    const arrival = { tags: sent.tags, receipt, keep: null }
    const tags = byTags ? sent.tags : null
    const message = { type: 'EVENT', name, eventId, input, untyped, tags, caller, arrival, traceparent } as const
    const outcome = await mailboxes.post(id, message, { rows: rows?.moved })
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
    const done = rows?.doneBefore(error)
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
function ignored(
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
export async function moveAgain(sending: Sending<BroadcastRows>, ids: readonly ContextId[]): Promise<Found[] | null> {
  const found = await moveAll(sending, ids)
  const isOpen = (place: number) => found[place] === null || found[place]?.answer === 'ignored'
  try {
    const items = await sending.rows.doneTo(ids.filter((_, place) => isOpen(place)))
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
  rows: BroadcastRows,
  services: readonly CompiledFlux[],
  found: readonly Found[],
): Promise<Found[]> {
  const known = new Set(found.map((one) => (one?.answer === 'executions' ? one.stand.contextId : null)))
  const others = services.filter((flux) => !rows.hasStarted(flux))
  const settled = (await Promise.all(others.map((flux) => rows.settleStart(flux)))).flat()
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

/** Starts the services that the event triggers. Those that start only if nobody was moved come last. */
export async function startTriggered(
  sending: Sending,
  services: readonly CompiledFlux[],
  outcomes: OutcomesSoFar,
): Promise<Found[]> {
  const { sent, rows } = sending
  const triggered = services.flatMap((flux) => {
    const trigger = flux.triggers.find(({ event }) => event === sent.event)
    const isOut = (flux.secured && denial(sent.caller, 'invoke')) || rows?.hasStarted(flux) === true
    return !trigger || isOut ? [] : [{ flux, trigger }]
  })
  const startAll = (some: readonly Triggered[]) => Promise.all(some.map((one) => start(sending, one, outcomes)))
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

/** Starts the service by the key of its trigger. Where another context has the key, that one gets the event, unless it has. */
async function start(sending: Sending, { flux, trigger }: Triggered, outcomes: OutcomesSoFar): Promise<Found> {
  const { mailboxes, refusals, rows, sent } = sending
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
    drawn: rows?.drawnFor(flux),
    traceparent,
  }
  for (let tries = 1; ; tries += 1) {
    try {
      const outcome = await mailboxes.start(request, { rows: rows?.started, partition: rows?.partition })
      return { answer: 'executions', stand: standOf(outcome), at: outcome.record.updatedAt }
    } catch (error) {
      const done = rows?.doneBefore(error)
      if (done) return done.item
      const holder = holderIn(error)
      if (holder === null) return ignored(refusals, { contextId: null, fluxName: flux.fluxName, state: null }, error)
      const given = await giveToHolder(sending, { flux, holder, outcomes })
      if (given === 'counted') return null
      const isOver = given === null || (given.answer === 'ignored' && given.hasEnded && flux.keyReuse === 'ended')
      if (!isOver || tries === MAX_START_TRIES) return given
    }
  }
}

/** Unless it has the event already, or is what the event itself has started before. */
async function giveToHolder(
  sending: Sending,
  { flux, holder, outcomes }: { flux: CompiledFlux; holder: ContextId; outcomes: OutcomesSoFar },
): Promise<Found | 'counted'> {
  try {
    const done = (await outcomes.of(holder)) ?? (await sending.rows?.startedAs(flux, holder))
    if (done) return done
  } catch (error) {
    return ignored(sending.refusals, { contextId: holder, fluxName: flux.fluxName, state: null }, error)
  }
  const [found = null] = await moveAll(sending, [holder], { byTags: false })
  return found
}
