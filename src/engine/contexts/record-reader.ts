// engine/contexts: the way in which callers read contexts. A large one is parsed in a turn of the event loop of its own, within a
// memory budget, only as far as the caller needs it, and once for all that read the same version.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { ContextId } from '../../model/context.ts'
import { notFound } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StoredContext } from '../../ports/store.ts'
import { ContextLoader, LIGHT_BYTES, noRoom, weightOf, type ContextLoaderParts } from './context-loader.ts'
import { decodeHead, decodeRecord, type Extent } from '../record/decode.ts'

/** Characters up to which a context is parsed without a place, and is not charged. */
const SMALL_CHARACTERS = 8 * 1024
/** Places for contexts that are larger. Each may have the text of one in memory. */
const LARGE_AT_ONCE = 4

export interface Reading {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  /** Of what was parsed. */
  readonly characters: number
  /** Releases its share of the memory budget. */
  readonly release: () => void
}

export interface OpenOptions {
  readonly extent: Extent
  /** Throws if this caller may not read contexts of that service. */
  readonly check?: (flux: CompiledFlux) => void
  readonly signal?: AbortSignal | undefined
  /** Whether the record may be that of other callers: this one does not change it. */
  readonly isShared?: boolean
}

/** One version that is parsed for several callers. */
interface Shared {
  readonly reading: Promise<Omit<Reading, 'characters'>>
  readonly signals: (AbortSignal | undefined)[]
  users: number
}

interface RecordReaderParts extends ContextLoaderParts {
  /** For contexts that turns and readers parse. */
  readonly turns: ByteBudget
}

export class RecordReader {
  readonly #parts: RecordReaderParts
  /** Its own: turns do not wait for readers. */
  readonly #loader: ContextLoader
  readonly #places = new Turnstile(LARGE_AT_ONCE)
  readonly #shared = new Map<string, Shared>()

  constructor(parts: RecordReaderParts) {
    this.#parts = parts
    this.#loader = new ContextLoader(parts)
  }

  /** The context as the store has it. @throws FluxError `notFound`, `unreadable`; what `check` and `signal` throw */
  async open(id: ContextId, options: OpenOptions): Promise<Reading> {
    options.signal?.throwIfAborted()
    const { incarnation } = this.#loader
    const { stored, flux, names } = await this.#read(id, options)
    const characters = charactersOf(stored.parts, names)
    if (characters <= SMALL_CHARACTERS) {
      await breathe(characters)
      return { record: decodeRecord(stored, names), flux, characters, release: noRoom }
    }
    const key = [incarnation, id, stored.version, ...names].join()
    // Returned, not awaited: this function would keep the text in memory.
    return this.#openLarge(id, options, { key, characters })
  }

  /** A context that was read already, parsed. Its text is in memory while it waits: few callers may do so at once. */
  async parse(stored: StoredContext, names: readonly string[]): Promise<Pick<Reading, 'record' | 'release'>> {
    const characters = charactersOf(stored.parts, names)
    await breathe(characters)
    const weight = characters <= SMALL_CHARACTERS ? 0 : weightOf(stored.parts, names)
    const release = weight <= LIGHT_BYTES ? noRoom : await this.#parts.turns.wait(weight)
    try {
      return { record: decodeRecord(stored, names), release }
    } catch (error) {
      release()
      throw error
    }
  }

  async #read(id: ContextId, { extent, check }: OpenOptions) {
    const stored = await this.#loader.read(id)
    if (!stored) throw notFound(`there is no context ${id}`)
    const flux = await this.#loader.flux(stored, decodeHead(stored))
    check?.(flux)
    return { stored, flux, names: extent(stored.parts, flux) }
  }

  async #openLarge(
    id: ContextId,
    options: OpenOptions,
    { key, characters }: { readonly key: string; readonly characters: number },
  ): Promise<Reading> {
    const { signal, check, isShared = false } = options
    const shared = (isShared && this.#shared.get(key)) || this.#begin(id, options)
    if (isShared) this.#shared.set(key, shared)
    shared.users += 1
    shared.signals.push(signal)
    const release = () => {
      shared.users -= 1
      if (shared.users > 0) return
      if (this.#shared.get(key) === shared) this.#shared.delete(key)
      shared.reading.then((reading) => reading.release(), noRoom)
    }
    try {
      const { record, flux } = await shared.reading
      // All that share it go on together.
      await breathe(characters)
      signal?.throwIfAborted()
      check?.(flux)
      return { record, flux, characters, release }
    } catch (error) {
      release()
      throw error
    }
  }

  #begin(id: ContextId, options: OpenOptions): Shared {
    const signals: (AbortSignal | undefined)[] = []
    const reading = this.#places.run(async () => {
      if (signals.every((signal) => signal?.aborted)) signals[0]?.throwIfAborted()
      const { incarnation } = this.#loader
      const { stored, flux, names } = await this.#read(id, options)
      const cached = options.isShared ? this.#parts.cache.get(id, incarnation) : undefined
      if (cached?.record.version === stored.version)
        return { record: cached.record, flux: cached.flux, release: noRoom }
      return { ...(await this.parse(stored, names)), flux }
    })
    return { reading, signals, users: 0 }
  }
}
