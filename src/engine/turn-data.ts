// engine: what one turn has at hand: contexts in the cache, and what was fetched for it. It is kept over all tries of
// the turn, and its share of the memory budget is released at the end.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ByteBudget } from '../model/byte-budget.ts'
import type { ContextId } from '../model/context.ts'
import type { Move } from '../model/record.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { movesOf } from './record/move-log.ts'
import type { Ids } from './ids.ts'
import { noRoom, type ContextLoader } from './context-loader.ts'
import type { Pins } from './pins.ts'
import type { ContextCache } from './context-cache.ts'
import { isUnreadable } from './record/unreadable.ts'
import type { KnownContexts, KnownContext, Need } from './known-contexts.ts'

export interface TurnDataParts {
  readonly store: Store
  readonly log: Log
  readonly catalog: Catalog
  readonly ids: Ids
  readonly cache: ContextCache
  readonly loader: ContextLoader
  readonly pins: Pins
  /** For contexts that are parsed to be decided on: who finds no room waits. */
  readonly turns: ByteBudget
}

export class TurnData implements KnownContexts {
  /** See `ContextLoader`. */
  incarnation: number
  readonly partitions: number
  readonly #parts: TurnDataParts
  #fetched: Map<ContextId, KnownContext | null> | null = null
  #histories: Map<ContextId, readonly Move[]> | null = null
  #holder: { readonly key: string; readonly id: ContextId | null } | null = null
  /** Ids that earlier tries of this turn have taken, or that were fetched for it. */
  #ids: ContextId[] | null = null
  #nextId = 0
  /** Gives back the room of what was loaded. */
  #release: (() => void) | null = null

  constructor(parts: TurnDataParts) {
    this.#parts = parts
    this.incarnation = parts.loader.incarnation
    this.partitions = parts.store.partitions
  }

  context(id: ContextId): KnownContext | null | undefined {
    return (
      this.#fetched?.get(id) ??
      this.#parts.cache.get(id, this.incarnation) ??
      (this.#fetched?.has(id) === true ? null : undefined)
    )
  }

  history(id: ContextId): readonly Move[] | undefined {
    return this.#histories?.get(id)
  }

  /** A turn takes ids of one partition only: all that it changes is in one. */
  newId(partition: number): ContextId | undefined {
    const known = this.#ids?.[this.#nextId]
    const id = known ?? this.#parts.ids.tryTake(partition)
    if (id === undefined) return undefined
    if (known === undefined) (this.#ids ??= []).push(id)
    this.#nextId += 1
    return id
  }

  holder(key: string): ContextId | null | undefined {
    return this.#holder?.key === key ? this.#holder.id : undefined
  }

  isPinned(flux: CompiledFlux): boolean {
    return this.#parts.pins.has(flux)
  }

  service(packageName: string, fluxName: string): CompiledFlux | undefined | 'ambiguous' {
    return this.#parts.catalog.resolve(packageName, fluxName)
  }

  /** The turn is run again. */
  rewind(): void {
    this.#nextId = 0
  }

  /** Another server was faster: nothing that was fetched counts any more. */
  forget(): void {
    this.incarnation = this.#parts.loader.incarnation
    this.#fetched = null
    this.#histories = null
    this.#holder = null
    this.#ids = null
    this.#nextId = 0
    this.release()
  }

  /** Fetches what the turn of that context lacks. A relative that can't be read counts as gone. */
  async fetch(need: Need, id: ContextId | null): Promise<void> {
    const { store, log, ids, pins } = this.#parts
    switch (need.kind) {
      case 'context':
        ;(this.#fetched ??= new Map()).set(
          need.id,
          await (need.id === id ? this.#load(id) : this.#loadRelative(need.id)),
        )
        return
      case 'history': {
        const record = this.context(need.id)?.record
        if (record) (this.#histories ??= new Map()).set(need.id, await movesOf(record, { store, log }))
        return
      }
      case 'id':
        ;(this.#ids ??= []).push(await ids.take(need.partition))
        return
      case 'holder':
        this.#holder = { key: need.key, id: await store.newest({ key: need.key, partition: need.partition }) }
        return
      case 'definition':
        await pins.pin(need.flux)
    }
  }

  /** Nothing of it is needed any more. */
  release(): void {
    this.#release?.()
    this.#release = null
  }

  async #loadRelative(id: ContextId): Promise<KnownContext | null> {
    try {
      return await this.#load(id)
    } catch (error) {
      if (isUnreadable(error, this.#parts.log)) return null
      throw error
    }
  }

  async #load(id: ContextId): Promise<KnownContext | null> {
    const { loader, turns } = this.#parts
    // Relatives don't wait: two turns that each have one and want another would wait for ever.
    const opened = this.#release ? await loader.open(id, null) : await loader.openLater(id, turns)
    if (!opened || !('record' in opened)) return null
    this.#release ??= opened.release === noRoom ? null : opened.release
    return opened
  }
}
