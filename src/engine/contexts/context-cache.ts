// engine/contexts: a cache of recently committed records, so that a busy context is not read for each event. Correctness does
// not depend on it: every commit is fenced.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { StoredContext } from '../../ports/store.ts'

/** Limit of all texts together. */
const MAX_SUM_CHARACTERS = 64 * 1024 * 1024
/**
 * Bytes of memory per character in the worst case, a text of many tiny values. Counting the actual bytes would cost
 * each commit.
 */
const WORST_FACTOR = 24
/** The fraction of the budget that is left in use after an eviction. */
const SLACK = 0.9
/** The fraction of the budget that one record may take, so that it does not evict all others. */
const LARGEST = 1 / 4
/** Approximate size of a record without its texts. */
const OVERHEAD_BYTES = 2048

interface Kept {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
  readonly size: number
  readonly incarnation: number
}

export class ContextCache {
  /** In the order in which they were put. */
  readonly #kept = new Map<ContextId, Kept>()
  #size = 0
  readonly #budget: number

  /** @param bytes of memory that it may take in the worst case */
  constructor(bytes: number) {
    this.#budget = Math.min(MAX_SUM_CHARACTERS, bytes / WORST_FACTOR)
  }

  /**
   * Returns only what was put in the same incarnation of the store and of the services: in a new one, an id may even
   * belong to another context.
   */
  get(id: ContextId, incarnation: number): Kept | undefined {
    const kept = this.#kept.get(id)
    return kept?.incarnation === incarnation ? kept : undefined
  }

  /** `incarnation`: the one in which the record was decided, which may be over by now. */
  put(
    { record, flux }: { record: ContextRecord; flux: CompiledFlux },
    texts: StoredContext['parts'],
    incarnation: number,
  ): void {
    this.delete(record.id)
    let size = OVERHEAD_BYTES
    for (const name of Object.keys(texts)) size += texts[name]?.length ?? 0
    if (size > this.#budget * LARGEST || isFinished(record.status)) return
    this.#kept.set(record.id, { record, flux, texts, size, incarnation })
    this.#size += size
    // The oldest are looked up only when needed: a map that is often written to takes long to find its first key.
    if (this.#size > this.#budget) this.#deleteOldest()
  }

  #deleteOldest(): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#budget * SLACK) return
      this.delete(oldest)
    }
  }

  delete(id: ContextId): void {
    const kept = this.#kept.get(id)
    if (!kept) return
    this.#kept.delete(id)
    this.#size -= kept.size
  }
}
