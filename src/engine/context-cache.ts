// engine: a cache of records that were committed last, so that a busy context isn't read for each event. It decides
// nothing: every commit is fenced.
import type { CompiledFlux } from '../definitions/flux.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import type { ContextRecord } from '../model/record.ts'
import type { StoredContext } from '../ports/store.ts'

/** Characters of one record's texts: a few large contexts must not drive out all others. */
const MAX_CONTEXT_CHARACTERS = 64 * 1024
/** Characters of all texts together, at most. */
const MAX_SUM_CHARACTERS = 64 * 1024 * 1024
/**
 * Bytes of memory that a character may stand for, texts of tiny values that strangers send. To count them would cost
 * each commit.
 */
const WORST_FACTOR = 24
/** How full it is after it was overfull. */
const SLACK = 0.9
/** What a record costs besides its texts, about. */
const OVERHEAD_BYTES = 2048

interface Kept {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
  readonly size: number
  readonly incarnation: number
}

export class ContextCache {
  /** In order of last use. */
  readonly #kept = new Map<ContextId, Kept>()
  #size = 0
  readonly #budget: number

  /** @param bytes of memory that it may take, whatever the records hold */
  constructor(bytes: number) {
    this.#budget = Math.min(MAX_SUM_CHARACTERS, bytes / WORST_FACTOR)
  }

  /**
   * In a new incarnation, of the store or of the services, nothing of before counts: an id may even have become another
   * context's.
   */
  get(id: ContextId, incarnation: number): Kept | undefined {
    const kept = this.#kept.get(id)
    return kept?.incarnation === incarnation ? kept : undefined
  }

  /** `incarnation`: in which it was decided; that may be over by now. */
  put(
    { record, flux }: { record: ContextRecord; flux: CompiledFlux },
    texts: StoredContext['parts'],
    incarnation: number,
  ): void {
    this.delete(record.id)
    let size = OVERHEAD_BYTES
    for (const name of Object.keys(texts)) size += texts[name]?.length ?? 0
    if (size > MAX_CONTEXT_CHARACTERS || isFinished(record.status)) return
    this.#kept.set(record.id, { record, flux, texts, size, incarnation })
    this.#size += size
    // Not looked for until it is needed: a map that is often written to takes long to find its first key.
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
