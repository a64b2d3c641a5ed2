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
  /** For contexts that are queued or being claimed: the owner of the step when it was found. */
  readonly #owners = new Map<ContextId, string>()
  /** Steps of dead servers. The kind of slot that they need is not known yet. */
  #found: AbandonedLease[] = []
  /** Memory reserved for queued contexts. */
  readonly #rooms = new Map<ContextId, () => void>()
  #forRoom = 0
  /** Number of entries of `#found` that are being taken over. */
  #examining = 0
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
    return this.#owners.has(id)
  }

  /** Queues a ready step that this server has committed. */
  ready(id: ContextId, kind: StepKind): void {
    this.#parts.hints.notify()
    if (this.#stopped || this.#owners.has(id)) return
    // Not queued while older steps are in the store but not in the queue.
    if (this.#source.isOverfull(kind) || !this.#parts.slots.wait(kind, id)) this.#source.overflow(kind)
    else this.#owners.set(id, UNOWNED)
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

  #pull(kind: StepKind): void {
    const { slots, admission } = this.#parts
    while (this.#mayTake) {
      const id = slots.next(kind)
      if (id === null) break
      const slot = admission.slotOf(kind)
      const room = this.#rooms.get(id)
      if (room) slot.addRoom(room)
      this.#rooms.delete(id)
      void this.#take({ id, owner: this.#owners.get(id) ?? UNOWNED }, slot)
    }
    this.#examineFound()
    this.#askForMore()
  }

  get #mayTake(): boolean {
    return !this.#stopped && !this.#isPaused && this.#forRoom < MAX_FOR_ROOM
  }

  /** Number of free slots, for kinds that have any. */
  get #free(): ReadonlyMap<ReadyKind, number> {
    const free = READY_KINDS.map((kind) => [kind, this.#parts.slots.free(kind)] as const)
    return new Map(free.filter(([, count]) => count > 0))
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
    await this.#take(lease, null)
    this.#examining -= 1
    this.#examineFound()
    if (this.#examining === 0) for (const kind of KINDS) this.#pull(kind)
  }

  async #take(lease: AbandonedLease, slot: Slot | null): Promise<void> {
    const isLost = lease.owner !== UNOWNED
    if (isLost) await this.#turnstile.enter()
    try {
      const shortage = await this.#parts.recovery.takeOver(lease, slot)
      if (shortage) this.#queue(lease, shortage)
      else this.#owners.delete(lease.id)
    } catch (error) {
      this.#failed(lease, error)
    }
    if (isLost) this.#turnstile.leave()
  }

  /** Schedules another try. If the store is unavailable, all claims are paused. */
  #failed(lease: AbandonedLease, error: unknown): void {
    const { log, clock } = this.#parts
    if (isUnreadable(error, log)) {
      this.#owners.delete(lease.id)
      return
    }
    log.error('a context could not be taken over; it will be tried again', { contextId: lease.id, error })
    const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
    if (isAway) this.#pause()
    clock.after(isAway ? PAUSE_MS : TRY_AGAIN_MS, () => {
      if (this.#stopped) return
      this.#found.push(lease)
      this.#examineFound()
    })
  }

  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#parts.clock.after(PAUSE_MS, () => {
      this.#isPaused = false
      for (const kind of KINDS) this.#pull(kind)
    })
  }

  /** Queues a step that could not start for lack of a slot or of memory. */
  #queue({ id, owner }: AbandonedLease, { kind, weight }: StepShortage): void {
    const { slots, admission } = this.#parts
    if (this.#stopped) return
    if (weight === null) {
      // A ready step lacks a slot only if it is a script that is known to be slow by now: it goes behind those.
      if (owner === UNOWNED) slots.waitLast(kind, id)
      else slots.waitFirst(kind, id)
      if (slots.free(kind) > 0) this.#pull(kind)
      return
    }
    this.#forRoom += 1
    void admission.waitForRoom(weight).then((release) => {
      this.#forRoom -= 1
      if (this.#stopped) return release()
      this.#rooms.set(id, release)
      slots.waitFirst(kind, id)
      return this.#pull(kind)
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

  /** Claims unowned steps, for kinds with free slots, until the store has no more. */
  async #claim(): Promise<void> {
    while (this.#mayTake && this.#found.length === 0) {
      const leases = await this.#source.claim(this.#free)
      const fresh = leases.filter(({ id }) => !this.#owners.has(id))
      if (fresh.length === 0) return
      this.#sort(fresh)
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
      this.#owners.set(lease.id, kind === null ? lease.owner : UNOWNED)
    }
    const lost = leases.filter(({ owner }) => owner !== UNOWNED && readyKindOf(owner) === null)
    if (lost.length > 0) log.info('steps that another server left are taken over', { contexts: lost.length })
    // Steps that a dead server was running go first.
    this.#examineFound()
    if (this.#examining === 0) for (const kind of READY_KINDS) this.#pull(kind)
  }
}

const KINDS: readonly StepKind[] = [...READY_KINDS, 'slowScript']
