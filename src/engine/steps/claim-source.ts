// engine: claims unowned steps in the store, and remembers for which kinds of step the store may have more.
import { READY_KINDS, readyOwner, type ReadyKind } from '../../model/record.ts'
import type { StepKind } from '../../ports/step-slots.ts'
import type { AbandonedLease, Store } from '../../ports/store.ts'

/** Milliseconds for which a claim hides a context from other servers. */
const HIDE_MS = 10_000
/**
 * Maximum number of contexts in one claim, and the number if the store has more than the queue of this server can hold.
 */
const CLAIM = { usual: 64, refill: 512 }

export interface ClaimSourceParts {
  readonly store: Pick<Store, 'claimAbandoned' | 'partitions'>
  /** Boot id of this server, as it is now. */
  readonly owner: () => string
  /** Whether nothing may be claimed now; left out: it always may. */
  readonly isHeld?: () => boolean
}

export class ClaimSource {
  readonly #parts: ClaimSourceParts
  /**
   * Kinds of which this server has committed steps that did not fit into its queue. Slow scripts have an entry of their
   * own, so that other scripts do not wait behind them.
   */
  readonly #overfull = new Set<StepKind>()
  /** Kinds of which the store may have steps that are not queued on this server. */
  readonly #mayHave = new Set(READY_KINDS)

  constructor(parts: ClaimSourceParts) {
    this.#parts = parts
  }

  /** Whether, as far as this server knows, the store has no step to claim. */
  get isEmpty(): boolean {
    return this.#mayHave.size === 0
  }

  /** Whether the store may have a step of one of those kinds that is not queued. */
  mayHave(kinds: ReadonlyMap<ReadyKind, number>): boolean {
    return [...kinds.keys()].some((kind) => this.#mayHave.has(kind))
  }

  /** Whether the store has steps of that kind that did not fit into the queue of this server. */
  isOverfull(kind: StepKind): boolean {
    return this.#overfull.has(kind)
  }

  /** Records that a step of that kind is in the store but not queued. */
  overflow(kind: StepKind): void {
    this.#overfull.add(kind)
    this.#mayHave.add(listedAs(kind))
  }

  /** Assumes that the store may have steps of every kind. */
  refresh(): void {
    for (const kind of READY_KINDS) this.#mayHave.add(kind)
  }

  /**
   * Claims steps of kinds with free slots. Returns an empty list if the store has none.
   * @param free number of free slots, by kind
   * @throws FluxError `unavailable`
   */
  async claim(free: ReadonlyMap<ReadyKind, number>): Promise<readonly AbandonedLease[]> {
    const { store, owner } = this.#parts
    const kinds = [...free.keys()].filter((kind) => this.#mayHave.has(kind))
    if (kinds.length === 0) return []
    const slots = kinds.reduce((sum, kind) => sum + (free.get(kind) ?? 0), 0)
    const isBehind = [...this.#overfull].some((kind) => kinds.includes(listedAs(kind)))
    const wanted = isBehind ? CLAIM.refill : Math.min(CLAIM.usual, slots)
    // The limit applies to each partition.
    const limit = Math.ceil(wanted / store.partitions)
    // Removed before the query, because a step committed during it may not be in the result.
    for (const kind of kinds) this.#mayHave.delete(kind)
    const request = { owner: owner(), ready: kinds.map(readyOwner), limit, hideFor: HIDE_MS }
    const leases = await store.claimAbandoned(request).catch((error: unknown) => {
      for (const kind of kinds) this.#mayHave.add(kind)
      throw error
    })
    if (leases.length >= limit) for (const kind of kinds) this.#mayHave.add(kind)
    for (const kind of this.#overfull) if (!this.#mayHave.has(listedAs(kind))) this.#overfull.delete(kind)
    return leases
  }
}

/** The kind under which the store lists ready steps. The store does not know which scripts are slow. */
const listedAs = (kind: StepKind): ReadyKind => (kind === 'slowScript' ? 'script' : kind)
