// engine/contexts: contexts as the store has them, and a cache of recently committed records, so that a busy context is
// not read for each event. Correctness does not depend on the cache: every commit is fenced. Reads have bounded
// concurrency; a large context is parsed only if it fits into a memory budget.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { type ContextId, type ContextRecord, isFinished } from '../../model/context.ts'
import type { StoredContext, Store } from '../../ports/store.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import { decodeRecord, decodeHead, type Extent } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { notFound } from '../../model/failure.ts'

/** Limit of all texts together. */
const MAX_SUM_CHARACTERS = 64 * 1024 * 1024
/**
 * Bytes of memory per character in the worst case, a text of many tiny values. Counting the actual bytes would cost
 * each commit.
 */
const CACHED_FACTOR = 24
/** The fraction of the budget that is left in use after an eviction. */
const SLACK = 0.9
/** The fraction of the budget that one record may take, so that it does not evict all others. */
const LARGEST = 1 / 4
/** What a record takes besides its texts, in characters that take as much memory. */
const OVERHEAD_CHARACTERS = 128

/** A context as it was last read or committed. */
export interface KnownContext {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
}

interface Kept extends KnownContext {
  readonly size: number
  readonly incarnation: number
}

export class ContextCache {
  /** In the order in which they came to be known: one that is put again stays in its place, which costs least. */
  readonly #kept = new Map<ContextId, Kept>()
  #size = 0
  readonly #budget: number

  /** @param bytes of memory that it may take in the worst case */
  constructor(bytes: number) {
    this.#budget = Math.min(MAX_SUM_CHARACTERS, bytes / CACHED_FACTOR)
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
    const size = OVERHEAD_CHARACTERS + charactersOf(texts)
    if (size > this.#budget * LARGEST || isFinished(record.status)) return this.delete(record.id)
    this.#size += size - (this.#kept.get(record.id)?.size ?? 0)
    // Without the head, which each commit writes anew.
    this.#kept.set(record.id, { record, flux, texts: { ...texts, head: '' }, size, incarnation })
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

/**
 * Concurrent reads: one for each `bytes` of memory, within these bounds. The size of a context is unknown until it is
 * read.
 */
const READS = { bytes: 2 * 1024 * 1024, least: 8, most: 256 }
/** Contexts up to this weight are not charged: their number is bounded elsewhere. */
export const LIGHT_BYTES = 64 * 1024
/** Bytes of memory per character of JSON in the worst case. */
const WORST_FACTOR = 65

interface Opened extends KnownContext {
  /** Releases its share of the memory budget. */
  readonly release: () => void
}

export interface MemoryLimits {
  /** Requests of callers, while they are handled. */
  readonly requests: ByteBudget
  /** Bytes of memory that running steps may take, and as many again for contexts that turns parse. */
  readonly steps: number
  /** Bytes of memory that the cache of contexts may take. */
  readonly cache: number
  /** Characters of JSON that a context may have. */
  readonly record: number
}

export interface ContextLoaderParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly cache: ContextCache
  /** Approximate bytes of memory that concurrent reads may take together. */
  readonly bytes: number
}

/** Approximate bytes of memory that those parts of a context take, their texts included. */
export function weightOf(parts: StoredContext['parts'], names: readonly string[] = Object.keys(parts)): number {
  const length = charactersOf(parts, names)
  if (length * WORST_FACTOR <= LIGHT_BYTES) return length
  let bytes = length
  for (const name of names) bytes += parsedBytes(parts[name] ?? '')
  return bytes
}

export const noRoom = () => {}

export class ContextLoader {
  readonly #parts: ContextLoaderParts
  readonly #places: Turnstile

  constructor(parts: ContextLoaderParts) {
    this.#parts = parts
    this.#places = new Turnstile(Math.min(READS.most, Math.max(READS.least, Math.floor(parts.bytes / READS.bytes))))
  }

  /**
   * Changes when the store may have lost data, or when the services have changed (one may be secured now). Both numbers
   * only increase, so their sum changes if either does.
   */
  get incarnation(): number {
    return this.#parts.store.incarnation + this.#parts.catalog.generation
  }

  /** The context's texts, none of them parsed. */
  read(id: ContextId): Promise<StoredContext | null> {
    return this.#places.run(() => this.#parts.store.load({ id }))
  }

  /**
   * The context, parsed as soon as it fits into the budget; nothing of it is kept in memory while it waits. null if it
   * does not exist. A null budget charges nothing more than what was `granted` already.
   */
  async open(id: ContextId, budget: ByteBudget | null, granted = noRoom): Promise<Opened | null> {
    let release = granted
    try {
      const stored = await this.read(id)
      if (!stored) {
        release()
        return null
      }
      const pause = breathe(charactersOf(stored.parts), 'acting')
      if (pause) await pause
      const weight = weightOf(stored.parts)
      if (budget && weight > LIGHT_BYTES) {
        const room = budget.tryTake(weight)
        // Returned, not awaited: this function would keep the text in memory.
        if (!room) return budget.wait(weight).then((waited) => this.open(id, null, waited))
        release = room
      }
      const record = decodeRecord(stored)
      return { record, flux: await this.flux(stored, record), texts: stored.parts, release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** The record that this server committed last, which may be outdated; null: it is not cached. */
  cache(id: ContextId): ContextRecord | null {
    return this.#parts.cache.get(id, this.incarnation)?.record ?? null
  }

  /** See `pinnedFluxOf`. */
  flux(stored: StoredContext, record: ContextRecord): Promise<CompiledFlux> {
    return pinnedFluxOf(this.#parts, stored, record)
  }
}

/** Characters up to which a context is parsed without a place, and is not charged. */
const SMALL_CHARACTERS = 8 * 1024
/** Places for contexts that are larger. Each may have the text of one in memory. */
const LARGE_AT_ONCE = 4

export interface Reading extends Omit<Opened, 'texts'> {
  /** Characters that were parsed. */
  readonly characters: number
}

export interface OpenOptions {
  readonly extent: Extent
  /** Throws if this caller may not read contexts of that service. */
  readonly check?: (flux: CompiledFlux) => void
  readonly signal?: AbortSignal | undefined
}

interface RecordReaderParts extends ContextLoaderParts {
  /** For contexts that turns and readers parse. */
  readonly turns: ByteBudget
}

/**
 * The way in which callers read contexts. A large one is parsed in a turn of the event loop of its own, within a memory
 * budget, and only as far as the caller needs it.
 */
export class RecordReader {
  readonly #parts: RecordReaderParts
  /** Its own: turns do not wait for readers. */
  readonly #loader: ContextLoader
  readonly #places = new Turnstile(LARGE_AT_ONCE)

  constructor(parts: RecordReaderParts) {
    this.#parts = parts
    this.#loader = new ContextLoader(parts)
  }

  /** The context as the store has it. @throws FluxError `notFound`, `unreadable`; what `check` and `signal` throw */
  async open(id: ContextId, options: OpenOptions): Promise<Reading> {
    const { stored, flux, names } = await this.#read(id, options)
    if (charactersOf(stored.parts, names) <= SMALL_CHARACTERS) return { ...(await this.parse(stored, names)), flux }
    // Returned, not awaited: this function would keep the text in memory. It is read again, since a place may be long
    // in coming.
    return this.#places.run(async () => {
      const large = await this.#read(id, options)
      return { ...(await this.parse(large.stored, large.names)), flux: large.flux }
    })
  }

  /** A context that was read already, parsed. Its text is in memory while it waits: few callers may do so at once. */
  async parse(stored: StoredContext, names: readonly string[]): Promise<Omit<Reading, 'flux'>> {
    const characters = charactersOf(stored.parts, names)
    await breathe(characters)
    const weight = characters <= SMALL_CHARACTERS ? 0 : weightOf(stored.parts, names)
    const release = weight <= LIGHT_BYTES ? noRoom : await this.#parts.turns.wait(weight)
    try {
      return { record: decodeRecord(stored, names), characters, release }
    } catch (error) {
      release()
      throw error
    }
  }

  async #read(id: ContextId, { extent, check, signal }: OpenOptions) {
    signal?.throwIfAborted()
    const stored = await this.#loader.read(id)
    if (!stored) throw notFound(`there is no context ${id}`)
    const flux = await this.#loader.flux(stored, decodeHead(stored))
    check?.(flux)
    return { stored, flux, names: extent(stored.parts, flux) }
  }
}
