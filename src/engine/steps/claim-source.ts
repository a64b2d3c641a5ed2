// engine: asks the store for steps that nobody runs, and remembers for which kinds of step the store may have more.
import { READY_KINDS, readyOwner, type ReadyKind } from '../../model/record.ts'
import type { AbandonedLease, Store } from '../../ports/store.ts'

/** Milliseconds for which a claim keeps others away from a context. */
const HIDE_MS = 10_000
/** Contexts claimed at once, and as many when more are there than are remembered. */
const CLAIM = { usual: 64, refill: 512 }

export interface ClaimSourceParts {
  readonly store: Pick<Store, 'claimAbandoned' | 'partitions'>
  /** Boot id of this server, as it is now. */
  readonly owner: () => string
}

export class ClaimSource {
  readonly #parts: ClaimSourceParts
  /** Kinds of which the store has steps that were committed here and are not queued. */
  readonly #overfull = new Set<ReadyKind>()
  /** Kinds of which the store may have steps that are not queued. */
  readonly #mayHave = new Set(READY_KINDS)

  constructor(parts: ClaimSourceParts) {
    this.#parts = parts
  }

  /** Whether the store has no step that could be claimed, as far as this server knows. */
  get isEmpty(): boolean {
    return this.#mayHave.size === 0
  }

  /** Whether the store has steps of that kind that are older than the queue of this server is long. */
  isOverfull(kind: ReadyKind): boolean {
    return this.#overfull.has(kind)
  }

  /** A step of that kind is in the store alone. */
  overflow(kind: ReadyKind): void {
    this.#overfull.add(kind)
    this.#mayHave.add(kind)
  }

  /** The store may have steps of every kind. */
  refresh(): void {
    for (const kind of READY_KINDS) this.#mayHave.add(kind)
  }

  /**
   * Claims steps of kinds with free slots; empty when the store has none.
   * @param free slots that are free, by kind
   * @throws FluxError `unavailable`
   */
  async claim(free: ReadonlyMap<ReadyKind, number>): Promise<readonly AbandonedLease[]> {
    const { store, owner } = this.#parts
    const kinds = [...free.keys()].filter((kind) => this.#mayHave.has(kind))
    if (kinds.length === 0) return []
    const slots = kinds.reduce((sum, kind) => sum + (free.get(kind) ?? 0), 0)
    const wanted = kinds.some((kind) => this.#overfull.has(kind)) ? CLAIM.refill : Math.min(CLAIM.usual, slots)
    // Of each partition.
    const limit = Math.ceil(wanted / store.partitions)
    // What is committed from here on may not be among them.
    for (const kind of kinds) this.#mayHave.delete(kind)
    const request = { owner: owner(), ready: kinds.map(readyOwner), limit, hideFor: HIDE_MS }
    const leases = await store.claimAbandoned(request).catch((error: unknown) => {
      for (const kind of kinds) this.#mayHave.add(kind)
      throw error
    })
    if (leases.length >= limit) for (const kind of kinds) this.#mayHave.add(kind)
    for (const kind of kinds) if (!this.#mayHave.has(kind)) this.#overfull.delete(kind)
    return leases
  }
}
