// engine: reads contexts from the store, few at a time. Large ones are parsed only while they fit into a memory budget.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ByteBudget } from '../model/byte-budget.ts'
import type { ContextId } from '../model/context.ts'
import type { ContextRecord } from '../model/record.ts'
import { parsedBytes } from '../model/json/weight.ts'
import type { Store, StoredContext } from '../ports/store.ts'
import { decodeRecord } from './record/decode.ts'
import { pinnedFluxOf } from './record/pinned-flux.ts'
import type { ContextCache } from './context-cache.ts'

/**
 * Reads at once, since how much comes isn't known before it is there: one for so many bytes of memory, within these
 * bounds.
 */
const READS = { bytes: 2 * 1024 * 1024, least: 8, most: 256 }
/** What weighs no more isn't counted: how many of them there are at once is bounded elsewhere. */
export const LIGHT_BYTES = 64 * 1024
/** Bytes of memory that a character of JSON stands for, in the worst case. */
const WORST_FACTOR = 65

export interface Opened {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
  /** Gives back the room that it takes. */
  readonly release: () => void
}

export interface MemoryLimits {
  /** What callers ask for, as long as it is handled. */
  readonly requests: ByteBudget
  /** Bytes of memory that steps under way may take, and as many for contexts that are decided on. */
  readonly steps: number
  /** Bytes of memory that contexts may take which are kept to save a read. */
  readonly cache: number
  /** Characters of JSON that a context may have. */
  readonly record: number
}

export interface ContextLoaderParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly cache: ContextCache
  /** Bytes of memory that what is read may take together, about. */
  readonly bytes: number
}

/** Bytes of memory that a context takes with its texts, about. */
export function weightOf(parts: StoredContext['parts']): number {
  let length = 0
  for (const name of Object.keys(parts)) length += parts[name]?.length ?? 0
  if (length * WORST_FACTOR <= LIGHT_BYTES) return length
  let bytes = length
  for (const name of Object.keys(parts)) bytes += parsedBytes(parts[name] ?? '')
  return bytes
}

export const noRoom = () => {}

export class ContextLoader {
  readonly #parts: ContextLoaderParts
  readonly #most: number
  #reading = 0
  readonly #waiting: (() => void)[] = []

  constructor(parts: ContextLoaderParts) {
    this.#parts = parts
    this.#most = Math.min(READS.most, Math.max(READS.least, Math.floor(parts.bytes / READS.bytes)))
  }

  /**
   * Changes when the store may have forgotten something, or a service may be secured that was not. Both numbers only
   * ever rise, so their sum tells whether either has.
   */
  get incarnation(): number {
    return this.#parts.store.incarnation + this.#parts.catalog.generation
  }

  /** The context's texts, none of them parsed. */
  async read(id: ContextId): Promise<StoredContext | null> {
    if (this.#reading >= this.#most)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    else this.#reading += 1
    try {
      return await this.#parts.store.load({ id })
    } finally {
      // Whoever waits takes the place over.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#reading -= 1
    }
  }

  /**
   * The context, parsed; or what it weighs, when it is heavy and there is no room for it in the budget now. Whoever has
   * waited for that much, and so has room already, gives no budget.
   */
  async open(id: ContextId, budget: ByteBudget | null): Promise<Opened | { readonly weight: number } | null> {
    const stored = await this.read(id)
    if (!stored) return null
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

  /** The context, parsed, as soon as there is room for it in the budget. Meanwhile nothing of it is held. */
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

  /** As lately committed here, which may be old. */
  cache(id: ContextId): ContextRecord | null {
    return this.#parts.cache.get(id, this.incarnation)?.record ?? null
  }

  /** See `fluxOf`. */
  flux(stored: StoredContext, record: ContextRecord): Promise<CompiledFlux> {
    return pinnedFluxOf(this.#parts, stored, record)
  }
}
