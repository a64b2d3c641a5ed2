// engine: gets this server its steps. Slots that become free are given to ready steps that this server committed, in
// that order, and then to what the store finds: ready steps of other servers, and steps of servers that are gone.
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
 * Steps of gone servers taken over at a time, each until it has begun: more would count as lost again, should one of
 * them take the server down. The same number of contexts is looked at in a claim at a time.
 */
const AT_ONCE = 8
/** Contexts that may wait for memory. With more, nothing else is claimed. */
const MAX_FOR_ROOM = 64
/** Milliseconds until a context that couldn't be taken over is tried again. */
const TRY_AGAIN_MS = 5_000
/** Milliseconds for which nothing is claimed when the store is out of reach. */
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
  /** Of contexts that are queued here or being taken: whom the step was leased to when it was found. */
  readonly #owners = new Map<ContextId, string>()
  /** Steps of gone servers; where they run is not known yet. */
  #found: AbandonedLease[] = []
  /** Memory that contexts have waited for. */
  readonly #rooms = new Map<ContextId, () => void>()
  #forRoom = 0
  /** Of these, those that are being taken over. */
  #looking = 0
  /** Before takeovers from gone servers. */
  readonly #turnstile = new Turnstile(AT_ONCE)
  readonly #source: ClaimSource
  /** Until when nothing is claimed, since the store is out of reach. */
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

  /** Whether the step of that context is queued here or being taken. */
  has(id: ContextId): boolean {
    return this.#owners.has(id)
  }

  /** This server has committed a step that nobody has a lease to. */
  ready(id: ContextId, kind: StepKind): void {
    this.#parts.hints.notify()
    if (this.#stopped || this.#owners.has(id)) return
    const listed = listedAs(kind)
    // Behind those that are in the store alone, and older.
    if (this.#source.isOverfull(listed) || !this.#parts.slots.wait(kind, id)) this.#source.overflow(listed)
    else this.#owners.set(id, UNOWNED)
    if (this.#parts.slots.free(kind) > 0) this.#pull(kind)
  }

  /** Asks the store for steps that nobody runs, if any slot is free. */
  look(): Promise<void> {
    this.#source.refresh()
    return this.#ask()
  }

  /** Claims nothing any more. What waits is for others to claim. */
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
    this.#lookThrough()
    this.#askForMore()
  }

  get #mayTake(): boolean {
    return !this.#stopped && !this.#isPaused && this.#forRoom < MAX_FOR_ROOM
  }

  /** Slots that are free, of kinds that have any. */
  get #free(): ReadonlyMap<ReadyKind, number> {
    const free = READY_KINDS.map((kind) => [kind, this.#parts.slots.free(kind)] as const)
    return new Map(free.filter(([, count]) => count > 0))
  }

  /** Takes over steps of gone servers while slots are free. */
  #lookThrough(): void {
    while (this.#mayTake && this.#looking < AT_ONCE && this.#found.length > 0 && this.#free.size > 0) {
      const lease = this.#found.shift()
      if (!lease) return
      this.#looking += 1
      void this.#lookAt(lease)
    }
  }

  async #lookAt(lease: AbandonedLease): Promise<void> {
    await this.#take(lease, null)
    this.#looking -= 1
    this.#lookThrough()
    if (this.#looking === 0) for (const kind of KINDS) this.#pull(kind)
  }

  async #take(lease: AbandonedLease, slot: Slot | null): Promise<void> {
    const isLost = lease.owner !== UNOWNED
    if (isLost) await this.#turnstile.enter()
    try {
      const shortage = await this.#parts.recovery.takeOver(lease, slot)
      if (shortage) this.#queue(lease.id, shortage)
      else this.#owners.delete(lease.id)
    } catch (error) {
      this.#failed(lease, error)
    }
    if (isLost) this.#turnstile.leave()
  }

  /** While the store is out of reach, nothing else is tried. */
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
      this.#lookThrough()
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

  /** It was looked at, and could not be started. */
  #queue(id: ContextId, { kind, weight }: StepShortage): void {
    const { slots, admission } = this.#parts
    if (this.#stopped) return
    if (weight === null) {
      slots.waitFirst(kind, id)
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
      this.#parts.log.warn('steps that nobody runs could not be claimed', { error })
      this.#pause()
    })
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#claim().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  /** Claims what nobody runs, for kinds with free slots, until there is no more. */
  async #claim(): Promise<void> {
    while (this.#mayTake && this.#found.length === 0) {
      const leases = await this.#source.claim(this.#free)
      const fresh = leases.filter(({ id }) => !this.#owners.has(id))
      if (fresh.length === 0) return
      this.#sort(fresh)
    }
  }

  /** Ready steps queue up for a slot. Of others it must first be seen where they run. */
  #sort(leases: readonly AbandonedLease[]): void {
    const { slots, log } = this.#parts
    if (this.#stopped) return
    for (const lease of leases) {
      const kind = readyKindOf(lease.owner)
      if (kind === null) this.#found.push(lease)
      // It is hidden in the store now, so it has to be remembered here.
      else slots.waitLast(kind, lease.id)
      this.#owners.set(lease.id, kind === null ? lease.owner : UNOWNED)
    }
    const lost = leases.filter(({ owner }) => owner !== UNOWNED && readyKindOf(owner) === null)
    if (lost.length > 0) log.info('steps that another server left are taken over', { contexts: lost.length })
    // Steps that a gone server was running go first.
    this.#lookThrough()
    if (this.#looking === 0) for (const kind of READY_KINDS) this.#pull(kind)
  }
}

const KINDS: readonly StepKind[] = [...READY_KINDS, 'slowScript']

/** As what the store lists ready steps of that kind: it does not know which scripts are slow. */
const listedAs = (kind: StepKind): ReadyKind => (kind === 'slowScript' ? 'script' : kind)
