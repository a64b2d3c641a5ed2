// engine/contexts: reads contexts from the store, with bounded concurrency. Large ones are parsed only if they fit into a memory
// budget.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { decodeRecord } from '../record/decode.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import type { ContextCache } from './context-cache.ts'

/**
 * Concurrent reads: one for each `bytes` of memory, within these bounds. The size of a context is unknown until it is
 * read.
 */
const READS = { bytes: 2 * 1024 * 1024, least: 8, most: 256 }
/** Contexts up to this weight are not charged: their number is bounded elsewhere. */
export const LIGHT_BYTES = 64 * 1024
/** Bytes of memory per character of JSON in the worst case. */
const WORST_FACTOR = 65

export interface Opened {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
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
   * The context, parsed; its weight if it does not fit into the budget now; null if it does not exist. A null budget
   * charges nothing, for a caller that has already been granted the memory.
   */
  async open(id: ContextId, budget: ByteBudget | null): Promise<Opened | { readonly weight: number } | null> {
    const stored = await this.read(id)
    if (!stored) return null
    const pause = breathe(charactersOf(stored.parts), 'acting')
    if (pause) await pause
    const weight = weightOf(stored.parts)
    const release = budget === null || weight <= LIGHT_BYTES ? noRoom : budget.tryTake(weight)
    if (!release) return { weight }
    try {
      const record = decodeRecord(stored)
      return { record, flux: await this.flux(stored, record), texts: stored.parts, release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** The context, parsed as soon as it fits into the budget. Nothing of it is kept in memory while it waits. */
  async openLater(id: ContextId, budget: ByteBudget): Promise<Opened | null> {
    const opened = await this.open(id, budget)
    if (!opened || 'record' in opened) return opened
    const release = await budget.wait(opened.weight)
    try {
      const again = await this.open(id, null)
      if (again && 'record' in again) return { ...again, release }
      release()
      return null
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
