// engine/fanout: gives an event of a broadcast to contexts, starts the services that it triggers, and reports what
// became of it. An error for one receiver never fails the broadcast. What an earlier try with an unknown outcome did is
// found by the rows of that try: its commits may succeed late, while another server continues the broadcast.
import type { EventAnswer } from '../../api/events.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { SelectedIds, Store } from '../../ports/store.ts'
import { decodeHead } from '../record/decode.ts'
import { hiddenFrom, keysOfReceivers } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { isAway } from '../tasks/task.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { standOf } from '../turn/message.ts'
import { holderIn, type RootRequest } from '../turn/start-request.ts'
import type { BroadcastEvent, BroadcastRows } from './broadcast-rows.ts'
import { contextOf, itemOf, type Found, type Ignored, type RefusalLog } from './outcomes.ts'

export interface ReceiverParts {
  readonly store: Store
  readonly mailboxes: Pick<Mailboxes, 'post' | 'start'>
  readonly log: Log
  readonly refusals: Pick<RefusalLog, 'log'>
  readonly catalog: Pick<Catalog, 'triggeredBy' | 'all'>
}

/** What is sent. */
export interface Sending extends ReceiverParts {
  readonly sent: BroadcastEvent
  /** The rows of a stored broadcast; null: it isn't stored. */
  rows: BroadcastRows | null
}

/** An error: the broadcast is stored, and this is to be tried again, since the store is out of reach. */
export type Dealt = Found | FluxError

/** Contexts up to which a broadcast costs about as little as a call for one context. */
const MAX_SMALL_CONTEXTS = 64

/** The share of a broadcast in the bound: nothing while it is as small as a call for one context. */
export class BroadcastPlace {
  readonly #bound: CountBound | null
  #isTaken: boolean

  /** `isTaken`: the bound counts it already. */
  constructor(bound: CountBound | null, isTaken = false) {
    this.#bound = bound
    this.#isTaken = isTaken
  }

  /** @throws FluxError `overloaded` */
  take(addressed: number): void {
    if (this.#isTaken || addressed <= MAX_SMALL_CONTEXTS) return
    this.#bound?.take()
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
 * The contexts that wait for the event, and that its sender may move. It must not learn how many others there are.
 * All are read before any is moved: a child that the event itself starts may have a lower id than contexts of other
 * partitions that are read later.
 * @throws FluxError `overloaded` when they are many, and there is no place for that
 */
export async function findReceivers(
  { store, catalog }: Pick<ReceiverParts, 'store' | 'catalog'>,
  { event, tags, caller }: BroadcastEvent,
  upTo: ContextId,
  place: BroadcastPlace,
): Promise<ContextId[]> {
  const any = keysOfReceivers(event, tags).map((key) => [key])
  const without = hiddenFrom({ catalog, caller }, 'invoke')
  const query = { any, without, before: upTo + 1, order: 'asc', limit: FOUND_AT_ONCE } as const
  const found: ContextId[] = []
  for (let after: ContextId | null = 0; after !== null;) {
    const { ids, rest }: SelectedIds = await store.selectIds({ ...query, after })
    for (const id of ids) found.push(id)
    place.take(found.length)
    after = rest
  }
  return found
}

const isIgnored = (one: Dealt): one is Ignored => one !== null && 'answer' in one && one.answer === 'ignored'

/**
 * Moves the context, or has it keep the event. `flux`: the context has the key with which the event would start that
 * service. Its tags need not fit, and it may be what the event itself has started.
 */
export async function move(sending: Sending, id: ContextId, flux?: CompiledFlux): Promise<Dealt> {
  const { rows } = sending
  const found = await tryToMove(sending, id, flux)
  if (rows === null || (found !== null && !isIgnored(found))) return found
  try {
    // The context may refuse the event because an earlier try, whose outcome was not known, has moved it.
    return (await rows.doneTo(id)) ?? found
  } catch (error) {
    return ignored(sending, { contextId: id, fluxName: '', state: null }, error)
  }
}

async function tryToMove(sending: Sending, id: ContextId, keyOf?: CompiledFlux): Promise<Dealt> {
  const { store, mailboxes, log, rows, sent } = sending
  const { event: name, input, untyped, caller, eventId, traceparent } = sent
  try {
    const arrival = { tags: sent.tags, receipt: rows?.key ?? null, keep: null }
    const started = keyOf && (await rows?.startedAs(keyOf, id))
    if (started) return started
    const tags = keyOf ? null : sent.tags
    const message = { type: 'EVENT', name, eventId, input, untyped, tags, caller, arrival, traceparent } as const
    const outcome = await mailboxes.post(id, message, { rows: rows?.moved(keyOf) })
    const { failure, kept, record, flux } = outcome
    if (kept) return { answer: 'pending', kept: { contextId: id, expiresAt: kept.expiresAt }, at: record.updatedAt }
    if (outcome.moved) return itemOf('transitions', outcome)
    if (!failure) return null
    const { state } = standOf(outcome)
    const entry = { contextId: id, fluxName: flux.fluxName, state, reason: failure.detail }
    return { answer: 'ignored', entry, failure, hasEnded: isFinished(record.status) }
  } catch (error) {
    const done = rows?.doneBefore(error)
    if (done !== undefined) return done
    const kind = error instanceof FluxError ? error.failure.kind : null
    // The context was purged after it was found.
    if (kind === 'notFound' || isUnreadable(error, log)) return null
    const fluxName = kind === 'busy' ? await nameOf(store, id).catch(() => '') : ''
    return ignored(sending, { contextId: id, fluxName, state: null }, error)
  }
}

/** The service of a context that was not read, since its mailbox is full; empty if there is no such context. */
async function nameOf(store: Store, id: ContextId) {
  const stored = await store.load({ id })
  return stored ? decodeHead(stored).fluxName : ''
}

/** An error for one context does not fail the broadcast: others may have moved already. */
function ignored(
  { refusals, rows }: Sending,
  entry: Omit<EventAnswer['ignored'][number], 'reason'>,
  error: unknown,
): Dealt {
  const failure = error instanceof FluxError ? error.failure : null
  if (!failure || failure.kind === 'unavailable') {
    const kind = failure?.kind ?? 'internal'
    void refusals.log('an event did not reach all that it addressed', kind, () => ({ ...entry, error }), 'error')
  }
  if (rows && isAway(error)) return error
  const reason = failure?.detail ?? 'the server failed; the reason is in its log'
  return { answer: 'ignored', entry: { ...entry, reason }, failure, hasEnded: false }
}

/**
 * Starts the services that the event triggers. Those that start only if no context was moved come last. `isDealtWith`:
 * whether the event was sent to that context before.
 */
export async function startTriggered(
  sending: Sending,
  hasMoved: boolean,
  isDealtWith: (id: ContextId) => boolean,
): Promise<Dealt[]> {
  const { sent, catalog } = sending
  const startAll = (isUnlessMoved: boolean) =>
    Promise.all(
      catalog.triggeredBy(sent.event).flatMap((flux) => {
        const trigger = flux.triggers.find(({ event }) => event === sent.event)
        if (trigger?.unlessMoved !== isUnlessMoved || (flux.secured && denial(sent.caller, 'invoke'))) return []
        return [start(sending, flux, trigger.key ?? undefined, isDealtWith)]
      }),
    )
  const always = await startAll(false)
  const isMoved = (one: Dealt) => one && 'answer' in one && (one.answer === 'transitions' || one.answer === 'pending')
  return hasMoved || always.some(isMoved) ? always : [...always, ...(await startAll(true))]
}

/** How often a start is tried again since the context that had its key has ended meanwhile. */
const MAX_START_TRIES = 10

/**
 * Starts the service by the key of its trigger. If another context has the key, it gets the event, unless it got it
 * already.
 */
async function start(
  sending: Sending,
  flux: CompiledFlux,
  key: RootRequest['key'],
  isDealtWith: (id: ContextId) => boolean,
): Promise<Dealt> {
  const { mailboxes, rows, sent } = sending
  const { event: trigger, eventId: triggerId, input, untyped, tags, traceparent } = sent
  const drawn = rows?.drawnFor(flux)
  const request = {
    flux,
    input,
    untyped,
    unknown: 'ignore',
    tags,
    trigger,
    triggerId,
    key,
    drawn,
    traceparent,
  } as const
  const { fluxName } = flux
  for (let tries = 1; ; tries += 1) {
    try {
      const outcome = await mailboxes.start(request, { rows: rows?.started, partition: rows?.partition })
      return itemOf('executions', outcome)
    } catch (error) {
      const done = rows?.doneBefore(error)
      if (done !== undefined) return done && isDealtWith(contextOf(done)) ? null : done
      const holder = holderIn(error)
      if (holder === null) return ignored(sending, { contextId: null, fluxName, state: null }, error)
      if (isDealtWith(holder)) return null
      const given = await move(sending, holder, flux)
      const isOver = given === null || (isIgnored(given) && given.hasEnded && flux.keyReuse === 'ended')
      if (!isOver || tries === MAX_START_TRIES) return given
    }
  }
}
