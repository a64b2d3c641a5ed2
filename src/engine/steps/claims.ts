// engine: claims steps for this server. Free slots are given to the ready steps that this server committed, in the
// order of commit, and then to steps that the store returns: ready steps of other servers, and steps of dead servers.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { READY_KINDS, readyKindOf, UNOWNED, type ReadyKind } from '../../model/record.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { StepKind, StepSlots } from '../../ports/step-slots.ts'
import type { AbandonedLease } from '../../ports/store.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { Admission, Slot } from './admission.ts'
import { ClaimedContexts } from './claimed-contexts.ts'
import { ClaimSource, type ClaimSourceParts } from './claim-source.ts'
import type { ReadyHints } from './ready-hints.ts'
import type { StepShortage, Recovery } from './recovery.ts'
import { Turnstile } from './turnstile.ts'

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

export interface ClaimsParts extends ClaimSourceParts {
  readonly clock: Clock
  readonly log: Log
  readonly slots: StepSlots
  readonly admission: Admission
  readonly recovery: Pick<Recovery, 'takeOver'>
  readonly hints: ReadyHints
}

export class Claims {
  readonly #parts: ClaimsParts
  readonly #known = new ClaimedContexts()
  /** Steps of dead servers. The kind of slot that they need is not known yet. */
  #found: AbandonedLease[] = []
  /** Number of entries of `#found` that are being taken over. */
  #examining = 0
  /** Memory reserved for queued contexts. */
  readonly #rooms = new Map<ContextId, () => void>()
  #forRoom = 0
  /** Limits concurrent takeovers from dead servers. */
  readonly #turnstile = new Turnstile(AT_ONCE)
  readonly #source: ClaimSource
  /** True while nothing is claimed because the store was unavailable. */
  #isPaused = false
  #asking: Promise<void> | null = null
  #stopped = false

  constructor(parts: ClaimsParts) {
    this.#parts = parts
    this.#source = new ClaimSource(parts)
    parts.slots.onFree((kind) => this.#pull(kind))
    parts.hints.onNotified(() => {
      this.#source.refresh()
      this.#askForMore()
    })
  }

  /** Whether the step of that context is queued or being claimed by this server. */
  has(id: ContextId): boolean {
    return this.#known.has(id)
  }

  /** Queues a ready step that this server has committed. */
  ready(id: ContextId, kind: StepKind): void {
    this.#parts.hints.notify()
    if (this.#stopped || this.#known.becameReady(id, kind)) return
    // Not queued while older steps are in the store but not in the queue.
    if (this.#source.isOverfull(kind) || !this.#parts.slots.wait(kind, id)) this.#source.overflow(kind)
    else this.#known.add(id, UNOWNED)
    if (this.#parts.slots.free(kind) > 0) this.#pull(kind)
  }

  /** Claims unowned steps in the store if a slot is free. */
  look(): Promise<void> {
    this.#source.refresh()
    return this.#ask()
  }

  /** Stops claiming. Other servers can claim the queued steps. */
  stop(): void {
    this.#stopped = true
    this.#found = []
    for (const release of this.#rooms.values()) release()
    this.#rooms.clear()
    this.#parts.hints.stop()
  }

  /** To be called when the last step was released. */
  readonly close = (): void => this.#parts.hints.close()

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
    return !this.#stopped && !this.#isPaused && this.#forRoom < MAX_FOR_ROOM && !this.#parts.isHeld?.()
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
      void this.#examine(lease)
    }
  }

  async #examine(lease: AbandonedLease): Promise<void> {
    await this.#take(lease.id, null)
    this.#examining -= 1
    this.#examineFound()
    if (this.#examining === 0) this.#pullAll()
  }

  async #take(id: ContextId, slot: Slot | null): Promise<void> {
    const lease = { id, owner: this.#known.take(id) }
    const isLost = lease.owner !== UNOWNED
    if (isLost) await this.#turnstile.enter()
    try {
      const shortage = await this.#parts.recovery.takeOver(lease, slot)
      // It may have moved on while it was taken, to a step that is ready.
      const next = shortage ? null : this.#known.delete(id)
      if (shortage) this.#queue(id, shortage, slot?.kind)
      else if (next !== null) this.ready(id, next)
    } catch (error) {
      this.#failed(lease, error)
    }
    if (isLost) this.#turnstile.leave()
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
    if (this.#asking || this.#source.isEmpty) return
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
    while (this.#mayTake && this.#found.length === 0 && this.#source.mayHave(this.#free)) {
      const leases = await this.#source.claim(this.#free)
      const fresh = leases.filter(({ id }) => !this.#known.has(id))
      if (leases.length > 0 && fresh.length === 0) return
      if (fresh.length > 0) this.#sort(fresh)
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
      this.#known.add(lease.id, kind === null ? lease.owner : UNOWNED)
    }
    const lost = leases.filter(({ owner }) => owner !== UNOWNED && readyKindOf(owner) === null)
    if (lost.length > 0) log.info('steps that another server left are taken over', { contexts: lost.length })
    // Steps that a dead server was running go first.
    this.#examineFound()
    if (this.#examining === 0) for (const kind of READY_KINDS) this.#pull(kind)
  }
}

const KINDS: readonly StepKind[] = [...READY_KINDS, 'slowScript']
