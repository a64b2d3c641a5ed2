// engine/cluster: claims steps for this server. Free slots are given to the ready steps that this server committed, in the
// order of commit, and then to steps that the store returns: ready steps of other servers, and steps of dead servers.
// Other servers are told of ready steps for which this one has no slot, at most ten times a second.
//
// A step needs a slot (`steps/slots.ts`) and, if its context is large, memory. `engine/steps/admission.ts` gives it
// both while the turn writes its commit, so the lease is in that commit. If the commit fails, or another server was
// faster, slot and memory are given back.
// - Without a free slot the context is committed as ready: its lease is to `UNOWNED`, so no takeover is counted when a
//   server dies. The store lists it under an owner that names the kind of slot that it needs (`readyOwner` in
//   `model/record.ts`): function, isolated function, or script.
// - A free slot is given to the step that has waited longest (`claims.ts`): this server remembers the ids of the first
//   10,000 of each kind that it committed. It claims one with a fenced commit (`recovery.ts`) that takes the lease
//   before any data is parsed, and does not count a takeover. Steps that were not remembered are found in the store
//   once the list is empty.
// - Other servers help. A server that commits a ready step notifies the others, at most ten times a second
//   (`claims.ts`). A server with free slots then queries the store, as it does at each heartbeat. A step that gets a
//   slot at once causes no query.
// - Steps of dead servers take the same slots. They go first, and at most eight are between the commit that counts the
//   takeover and their start.
// - A step for whose data there is not enough memory is not claimed until there is; smaller steps continue to start.
// - A step that is leased to this server and does not run, because the outcome of a commit was unknown, is released
//   (`RELEASE` in `redelivery.ts`), and so are the steps that still run when the server stops.
// - Scripts have slots of their own, more than there are processes: 64 scripts, and 16 that are known to be slow, run
//   or are queued for a process. A script that turns out to be slow takes one of these 16; if none is free, it is
//   released.
// - `steps/dispatcher.ts` runs a step with its time limit and signal; it knows neither contexts nor definitions.
import { type ContextId, READY_KINDS, type ReadyKind, readyKindOf, readyOwner, UNOWNED } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { StepKind } from '../../ports/steps.ts'
import type { AbandonedLease } from '../../ports/store.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { Periodic } from '../time/periodic.ts'
import type { Admission, Slot } from '../turn/admission.ts'
import type { StepShortage, Recovery } from './recovery.ts'
import type { Servers } from './servers.ts'

/**
 * Maximum number of concurrent takeovers of steps of dead servers, each until the step has begun. If one of them kills
 * this server, the takeovers of all others in progress are counted, too. The same limit applies to the claimed contexts
 * that are examined at a time.
 */
const AT_ONCE = 8
/** Number of contexts waiting for memory at which nothing else is claimed. */
const MAX_FOR_ROOM = 64
/** Milliseconds until a failed takeover is repeated. */
const TRY_AGAIN_MS = 5_000
/** Milliseconds for which nothing is claimed after the store was unavailable. */
const PAUSE_MS = 1_000
/** Milliseconds for which a claim hides a context from other servers. */
const HIDE_MS = 10_000
/** Contexts in one claim: as many as there are slots, or many if the queue of this server can't hold all of its own. */
const CLAIM = { usual: 64, refill: 512 }
/** Milliseconds between two hints to other servers. */
const HINT_MS = 100

export interface ClaimsParts extends Deps, Pick<EngineParts, 'slots'> {
  /** null: there are no other servers. */
  readonly feed: CommitFeed | null
  readonly admission: Admission
  readonly recovery: Pick<Recovery, 'takeOver'>
  readonly servers: Pick<Servers, 'own'>
  /** While it is closed, nothing may be claimed. */
  readonly gate: { readonly isClosed: boolean }
}

/** A context whose step is queued in this server or is being taken. */
interface Known {
  /** The server to which the step was leased when it was found. */
  owner: string
  /** It has become ready since it was last taken. */
  readyAs: StepKind | null
}

export class Claims {
  readonly #parts: ClaimsParts
  readonly #known = new Map<ContextId, Known>()
  /** Steps of dead servers. The kind of slot that they need is not known yet. */
  #found: AbandonedLease[] = []
  /** Number of entries of `#found` that are being taken over. */
  #examining = 0
  /** Memory reserved for queued contexts. */
  readonly #rooms = new Map<ContextId, () => void>()
  #forRoom = 0
  /** Limits concurrent takeovers from dead servers. */
  readonly #turnstile = new Turnstile(AT_ONCE)
  /**
   * Kinds of which this server has committed steps that did not fit into its queue. Slow scripts have an entry of their
   * own, so that other scripts do not wait behind them.
   */
  readonly #overfull = new Set<StepKind>()
  /** Kinds of which the store may have steps that are not queued on this server. */
  readonly #mayHave = new Set(READY_KINDS)
  /** True while nothing is claimed because the store was unavailable. */
  #isPaused = false
  #asking: Promise<void> | null = null
  #stopped = false
  /** Hints to other servers. */
  readonly #hints: Periodic
  /** When the last one was given, epoch milliseconds. */
  #hintedAt = -Infinity

  constructor(parts: ClaimsParts) {
    this.#parts = parts
    this.#hints = new Periodic(parts.clock, async () => {
      this.#hintedAt = parts.clock.now()
      parts.feed?.notifyReady()
      return null
    })
    parts.slots.onFree((kind) => this.#pull(kind))
    parts.feed?.onReady(() => {
      this.#refresh()
      this.#askForMore()
    })
  }

  /** Whether the step of that context is queued or being claimed by this server. */
  has(id: ContextId): boolean {
    return this.#known.has(id)
  }

  /** Queues a ready step that this server has committed. */
  ready(id: ContextId, kind: StepKind): void {
    this.#hint()
    if (this.#stopped) return
    const known = this.#known.get(id)
    if (known) return void Object.assign(known, { owner: UNOWNED, readyAs: kind })
    // Not queued while older steps are in the store but not in the queue.
    if (this.#overfull.has(kind) || !this.#parts.slots.wait(kind, id)) {
      this.#overfull.add(kind)
      this.#mayHave.add(listedAs(kind))
    } else this.#known.set(id, { owner: UNOWNED, readyAs: null })
    if (this.#parts.slots.free(kind) > 0) this.#pull(kind)
  }

  /** Claims unowned steps in the store if a slot is free. */
  look(): Promise<void> {
    this.#refresh()
    return this.#ask()
  }

  /** Stops claiming. Other servers can claim the queued steps. */
  stop(): void {
    this.#stopped = true
    this.#found = []
    for (const release of this.#rooms.values()) release()
    this.#rooms.clear()
    this.#parts.feed?.notifyReady()
  }

  /** To be called when the last step was released: a hint that is due is given now. */
  close(): void {
    void this.#hints.stop()
    this.#parts.feed?.notifyReady()
  }

  /** Tells other servers that a step is ready, now or `HINT_MS` after the last hint. */
  #hint(): void {
    const { feed, clock } = this.#parts
    if (feed) this.#hints.within(Math.max(0, this.#hintedAt + HINT_MS - clock.now()))
  }

  /** Assumes that the store may have steps of every kind. */
  #refresh(): void {
    for (const kind of READY_KINDS) this.#mayHave.add(kind)
  }

  #pull(kind: StepKind): void {
    const { slots, admission } = this.#parts
    while (this.#mayTake) {
      const id = slots.next(kind)
      if (id === null) break
      const slot = admission.slotOf(kind)
      const room = this.#rooms.get(id)
      if (room) slot.addRoom(room)
      this.#rooms.delete(id)
      void this.#take(id, slot)
    }
    this.#examineFound()
    this.#askForMore()
  }

  #pullAll(): void {
    for (const kind of KINDS) this.#pull(kind)
  }

  get #mayTake(): boolean {
    return !this.#stopped && !this.#isPaused && this.#forRoom < MAX_FOR_ROOM && !this.#parts.gate.isClosed
  }

  /** Number of free slots, for kinds that have any. No script is claimed while the queue of slow ones is full. */
  get #free(): ReadonlyMap<ReadyKind, number> {
    const { slots } = this.#parts
    const kinds = READY_KINDS.filter((kind) => kind !== 'script' || !slots.isFull('slowScript'))
    return new Map(kinds.map((kind) => [kind, slots.free(kind)] as const).filter(([, count]) => count > 0))
  }

  /** Takes over steps of dead servers while slots are free. */
  #examineFound(): void {
    while (this.#mayTake && this.#examining < AT_ONCE && this.#found.length > 0 && this.#free.size > 0) {
      const lease = this.#found.shift()
      if (!lease) return
      this.#examining += 1
      void this.#take(lease.id, null).finally(() => {
        this.#examining -= 1
        this.#examineFound()
        if (this.#examining === 0) this.#pullAll()
      })
    }
  }

  async #take(id: ContextId, slot: Slot | null): Promise<void> {
    const known = this.#known.get(id) ?? { owner: UNOWNED, readyAs: null }
    known.readyAs = null
    const lease = { id, owner: known.owner }
    const take = () => this.#parts.recovery.takeOver(lease, slot)
    try {
      const shortage = await (lease.owner === UNOWNED ? take() : this.#turnstile.run(take))
      if (shortage) return this.#queue(id, shortage, slot?.kind)
      this.#known.delete(id)
      // It may have moved on while it was taken, to a step that is ready.
      if (known.readyAs !== null) this.ready(id, known.readyAs)
    } catch (error) {
      this.#failed(lease, error)
    }
  }

  /** Schedules another try. If the store is unavailable, all claims are paused. */
  #failed(lease: AbandonedLease, error: unknown): void {
    const { log, clock } = this.#parts
    if (isUnreadable(error, log)) return void this.#known.delete(lease.id)
    log.error('a context could not be taken over; it will be tried again', { contextId: lease.id, error })
    const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
    if (isAway) this.#pause()
    clock.after(isAway ? PAUSE_MS : TRY_AGAIN_MS, () => {
      this.#found.push(lease)
      this.#examineFound()
    })
  }

  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#parts.clock.after(PAUSE_MS, () => {
      this.#isPaused = false
      this.#pullAll()
    })
  }

  /** Queues a step that lacks a slot or memory. `from`: the kind of slot that it has waited for. */
  #queue(id: ContextId, { kind, weight }: StepShortage, from: StepKind = kind): void {
    const { slots, admission } = this.#parts
    if (this.#stopped) return
    if (weight === null) {
      slots[kind === from ? 'waitFirst' : 'waitLast'](kind, id)
      if (slots.free(kind) > 0) this.#pull(kind)
      return
    }
    this.#forRoom += 1
    void admission.waitForRoom(weight).then((release) => {
      this.#forRoom -= 1
      if (this.#stopped) return release()
      this.#rooms.set(id, release)
      slots.waitFirst(kind, id)
      // Of all kinds: none was given a slot while too many waited for memory.
      return this.#pullAll()
    })
  }

  #askForMore(): void {
    if (this.#asking || this.#mayHave.size === 0) return
    this.#ask().catch((error: unknown) => {
      this.#parts.log.warn('unowned steps could not be claimed', { error })
      this.#pause()
    })
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#claim().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  /** Claims unowned steps, for kinds with free slots, until the store has no more, as far as is known by then. */
  async #claim(): Promise<void> {
    while (this.#mayTake && this.#found.length === 0) {
      const free = [...this.#free].filter(([kind]) => this.#mayHave.has(kind))
      if (free.length === 0) return
      const leases = await this.#claimFor(free)
      const fresh = leases.filter(({ id }) => !this.#known.has(id))
      if (leases.length > 0 && fresh.length === 0) return
      if (fresh.length > 0) this.#sort(fresh)
    }
  }

  /** @param free number of free slots, by kind @throws FluxError `unavailable` */
  async #claimFor(free: readonly (readonly [ReadyKind, number])[]): Promise<readonly AbandonedLease[]> {
    const { store, servers } = this.#parts
    const kinds = free.map(([kind]) => kind)
    const slots = free.reduce((sum, [, count]) => sum + count, 0)
    const isBehind = [...this.#overfull].some((kind) => kinds.includes(listedAs(kind)))
    const wanted = isBehind ? CLAIM.refill : Math.min(CLAIM.usual, slots)
    // The limit applies to each partition.
    const limit = Math.ceil(wanted / store.partitions)
    // Removed before the query, because a step committed during it may not be in the result.
    for (const kind of kinds) this.#mayHave.delete(kind)
    let mayHaveMore = true
    try {
      const request = { owner: servers.own, ready: kinds.map(readyOwner), limit, hideFor: HIDE_MS }
      const leases = await store.claimAbandoned(request)
      mayHaveMore = leases.length >= limit
      return leases
    } finally {
      if (mayHaveMore) for (const kind of kinds) this.#mayHave.add(kind)
      else for (const kind of this.#overfull) if (!this.#mayHave.has(listedAs(kind))) this.#overfull.delete(kind)
    }
  }

  /** Queues ready steps for a slot. For steps of dead servers, the kind of slot must be found out first. */
  #sort(leases: readonly AbandonedLease[]): void {
    const { slots, log } = this.#parts
    if (this.#stopped) return
    for (const lease of leases) {
      const kind = readyKindOf(lease.owner)
      if (kind === null) this.#found.push(lease)
      // It is hidden in the store now, so it must be queued whatever the length of the queue.
      else slots.waitLast(kind, lease.id)
      this.#known.set(lease.id, { owner: kind === null ? lease.owner : UNOWNED, readyAs: null })
    }
    const contexts = this.#found.length
    if (contexts > 0) log.info('steps that another server left are taken over', { contexts })
    // Steps that a dead server was running go first.
    this.#examineFound()
    if (this.#examining === 0) for (const kind of READY_KINDS) this.#pull(kind)
  }
}

const KINDS: readonly StepKind[] = [...READY_KINDS, 'slowScript']

/** The kind under which the store lists ready steps. The store does not know which scripts are slow. */
const listedAs = (kind: StepKind): ReadyKind => (kind === 'slowScript' ? 'script' : kind)
