// engine/cluster: claims steps for this server. Free slots are given to the ready steps that this server committed, in
// the order of commit, and then to steps that the store returns: ready steps of other servers, and steps of dead
// servers. This server notifies the others of ready steps for which it has no slot, at most ten times a second.
//
// A step needs a slot (`model/slots.ts`) and, if its context is large, memory. `engine/turn/admission.ts` gives it
// both while the turn writes its commit, so the lease is in that commit. If the commit fails, or another server was
// faster, slot and memory are given back.
// - Without a free slot the context is committed as ready: its lease is to `UNOWNED`, so no takeover is counted when a
//   server dies. The store lists it under an owner that names the kind of slot that it needs (`readyOwner` in
//   `model/context.ts`): function, isolated function, or script.
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
// - Scripts have slots of their own, more than there are processes: 64 scripts run or are queued for a process.
import { type ContextId, STEP_KINDS, type StepKind, readyKindOf, readyOwner, UNOWNED } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { AbandonedLease } from '../../ports/store.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { pause, Periodic } from '../../ports/periodic.ts'
import type { Admission, Slot } from '../turn/admission.ts'
import type { StepShortage, Recovery } from './recovery.ts'
import type { Servers } from './servers.ts'

/**
 * Maximum number of concurrent takeovers of steps of dead servers, each until the step has begun. If one of them kills
 * this server, the takeovers of all others in progress are counted, too.
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
/** Maximum number of contexts in one claim. */
const MAX_CLAIMED = 64
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
  readonly id: ContextId
  /** The server to which the step was leased when it was found. */
  owner: string
  /** It has become ready since it was last taken. */
  readyAs: StepKind | null
  /** Gives back the memory that is reserved for its data. */
  room: (() => void) | null
}

export class Claims {
  readonly #parts: ClaimsParts
  readonly #known = new Map<ContextId, Known>()
  /** Number of takeovers in progress without a slot: the kind of slot that they need is not known yet. */
  #unplaced = 0
  /** Number of contexts that wait for memory. */
  #forRoom = 0
  /** Limits concurrent takeovers from dead servers. */
  readonly #turnstile = new Turnstile(AT_ONCE)
  /** Kinds of which this server has committed steps that did not fit into its queue. */
  readonly #overfull = new Set<StepKind>()
  /** Kinds of which the store may have steps that are not queued on this server. */
  readonly #mayHave = new Set(STEP_KINDS)
  /** True while nothing is claimed because the store was unavailable. */
  #isPaused = false
  #asking: Promise<void> | null = null
  #stopped = false
  /** Hints to other servers, `HINT_MS` apart. */
  readonly #hints: Periodic

  constructor(parts: ClaimsParts) {
    this.#parts = parts
    this.#hints = new Periodic(parts.clock, async (signal) => {
      parts.feed?.notifyReady()
      await pause(parts.clock, HINT_MS, signal)
      return null
    })
    parts.slots.onFree((kind) => this.#pull(kind))
    parts.feed?.onReady(() => void this.look())
  }

  /** Whether the step of that context is queued or being claimed by this server. */
  has(id: ContextId): boolean {
    return this.#known.has(id)
  }

  /** Queues a ready step that this server has committed. */
  ready(id: ContextId, kind: StepKind): void {
    if (this.#parts.feed) this.#hints.within(0)
    if (this.#stopped) return
    const known = this.#known.get(id)
    if (known) return void Object.assign(known, { owner: UNOWNED, readyAs: kind })
    // Not queued while older steps are in the store but not in the queue.
    if (this.#overfull.has(kind) || !this.#parts.slots.wait(kind, id)) {
      this.#overfull.add(kind)
      this.#mayHave.add(kind)
    } else this.#know(id, UNOWNED)
    if (this.#parts.slots.free(kind) > 0) this.#pull(kind)
  }

  /** Claims unowned steps in the store if a slot is free. */
  look(): Promise<void> {
    for (const kind of STEP_KINDS) this.#mayHave.add(kind)
    return this.#ask()
  }

  /** Stops claiming. Other servers can claim the queued steps. */
  stop(): void {
    this.#stopped = true
    for (const { room } of this.#known.values()) room?.()
    this.#parts.feed?.notifyReady()
  }

  /** To be called when the last step was released: a hint that is due is given now. */
  close(): void {
    void this.#hints.stop()
    this.#parts.feed?.notifyReady()
  }

  #know(id: ContextId, owner: string): Known {
    const known: Known = { id, owner, readyAs: null, room: null }
    this.#known.set(id, known)
    return known
  }

  #pull(kind: StepKind): void {
    const { slots, admission } = this.#parts
    while (this.#mayTake) {
      const id = slots.next(kind)
      if (id === null) break
      const slot = admission.slotOf(kind)
      const known = this.#known.get(id) ?? this.#know(id, UNOWNED)
      if (known.room) slot.addRoom(known.room)
      known.room = null
      void this.#take(known, slot)
    }
    void this.#ask()
  }

  #pullAll(): void {
    for (const kind of STEP_KINDS) this.#pull(kind)
  }

  get #mayTake(): boolean {
    return !this.#stopped && !this.#isPaused && this.#forRoom < MAX_FOR_ROOM && !this.#parts.gate.isClosed
  }

  /** Takes a step that finds its slot itself. Queued steps get slots after it. */
  async #takeUnplaced(known: Known): Promise<void> {
    this.#unplaced += 1
    await this.#take(known, null)
    this.#unplaced -= 1
    if (this.#unplaced === 0) this.#pullAll()
  }

  async #take(known: Known, slot: Slot | null): Promise<void> {
    const { id, owner } = known
    known.readyAs = null
    const take = () => this.#parts.recovery.takeOver({ id, owner }, slot)
    try {
      const shortage = await (owner === UNOWNED ? take() : this.#turnstile.run(take))
      if (shortage) return this.#queue(known, shortage)
      this.#known.delete(id)
      // It may have moved on while it was taken, to a step that is ready.
      if (known.readyAs !== null) this.ready(id, known.readyAs)
    } catch (error) {
      this.#failed(known, error)
    }
  }

  /** Schedules another try. If the store is unavailable, all claims are paused. */
  #failed(known: Known, error: unknown): void {
    const { log, clock } = this.#parts
    if (isUnreadable(error, log)) return void this.#known.delete(known.id)
    log.error('a context could not be taken over; it will be tried again', { contextId: known.id, error })
    const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
    if (isAway) this.#pause()
    clock.after(isAway ? PAUSE_MS : TRY_AGAIN_MS, () => void this.#takeUnplaced(known))
  }

  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#parts.clock.after(PAUSE_MS, () => {
      this.#isPaused = false
      this.#pullAll()
    })
  }

  /** Queues a step that lacks a slot or memory. */
  #queue(known: Known, { kind, weight }: StepShortage): void {
    const { slots, admission } = this.#parts
    if (this.#stopped) return
    if (weight === null) {
      slots.waitFirst(kind, known.id)
      if (slots.free(kind) > 0) this.#pull(kind)
      return
    }
    this.#forRoom += 1
    void admission.waitForRoom(weight).then((release) => {
      this.#forRoom -= 1
      if (this.#stopped) return release()
      known.room = release
      slots.waitFirst(kind, known.id)
      // Steps of all kinds: none was given a slot while too many waited for memory.
      return this.#pullAll()
    })
  }

  #ask(): Promise<void> {
    if (this.#wanted.length > 0) this.#asking ??= this.#claim()
    return this.#asking ?? Promise.resolve()
  }

  /** Kinds with free slots, of which the store may have steps. */
  get #wanted(): readonly StepKind[] {
    return this.#mayTake && this.#unplaced === 0
      ? [...this.#mayHave].filter((kind) => this.#parts.slots.free(kind) > 0)
      : []
  }

  /** Claims unowned steps until the store has no more, as far as is known by then. */
  async #claim(): Promise<void> {
    const { store, servers, slots, log } = this.#parts
    try {
      for (let kinds = this.#wanted; kinds.length > 0; kinds = this.#wanted) {
        const free = kinds.reduce((sum, kind) => sum + slots.free(kind), 0)
        // The limit applies to each partition.
        const limit = Math.ceil(Math.min(MAX_CLAIMED, free) / store.partitions)
        // Removed before the query, because a step committed during it may not be in the result.
        for (const kind of kinds) this.#mayHave.delete(kind)
        let mayHaveMore = true
        try {
          const request = { owner: servers.own, ready: kinds.map(readyOwner), limit, hideFor: HIDE_MS }
          const leases = await store.claimAbandoned(request)
          mayHaveMore = leases.length >= limit
          this.#sort(leases.filter(({ id }) => !this.#known.has(id)))
        } finally {
          if (mayHaveMore) for (const kind of kinds) this.#mayHave.add(kind)
          else for (const kind of this.#overfull) if (!this.#mayHave.has(kind)) this.#overfull.delete(kind)
        }
      }
    } catch (error) {
      log.warn('unowned steps could not be claimed', { error })
      this.#pause()
    } finally {
      this.#asking = null
    }
  }

  /** Queues ready steps for a slot. For steps of dead servers, the kind of slot must be found out first. */
  #sort(leases: readonly AbandonedLease[]): void {
    const { slots, log } = this.#parts
    if (this.#stopped) return
    for (const { id, owner } of leases) {
      const kind = readyKindOf(owner)
      const known = this.#know(id, kind === null ? owner : UNOWNED)
      if (kind === null) void this.#takeUnplaced(known)
      // It is hidden in the store now, so it must be queued whatever the length of the queue.
      else slots.waitLast(kind, id)
    }
    const contexts = this.#unplaced
    if (contexts > 0) log.info('steps that another server left are taken over', { contexts })
    // Steps that a dead server was running go first.
    else this.#pullAll()
  }
}
