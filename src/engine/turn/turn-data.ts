// engine/turn: the data of one turn, which it reads without waiting: cached contexts, and what was fetched because the turn
// lacked it. It is kept for all tries of the turn; its share of the memory budget is released at the end.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId, Move } from '../../model/context.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { movesOf } from '../record/move-log.ts'
import type { EngineParts } from '../contexts/deps.ts'
import type { Ids, Pins } from '../contexts/ids.ts'
import { noRoom, type ContextLoader, type KnownContext } from '../contexts/context-loader.ts'
import { isUnreadable } from '../record/unreadable.ts'

/** Data that a turn needs and that must be fetched first. */
export type Need =
  | { readonly kind: 'context' | 'history'; readonly id: ContextId }
  | { readonly kind: 'id'; readonly partition: number }
  /** The newest context of the partition that has the index key. */
  | { readonly kind: 'holder'; readonly key: string; readonly partition: number }
  /** The store must have the definition before a commit names it. */
  | { readonly kind: 'definition'; readonly flux: CompiledFlux }

/** Thrown when a turn lacks something. Not an Error: it is always caught, and needs no stack. */
export class Lacking {
  readonly need: Need
  constructor(need: Need) {
    this.need = need
  }
}

/** Data that is available without waiting. `undefined`: it must be fetched first (`service`: there is none). */
export type KnownContexts = Pick<TurnData, 'context' | 'history' | 'newId' | 'holder' | 'isPinned' | 'service'>

export interface TurnDataParts extends Pick<EngineParts, 'store' | 'log' | 'catalog'> {
  readonly ids: Pick<Ids, keyof Ids>
  readonly cache: { get(id: ContextId, incarnation: number): KnownContext | undefined }
  readonly loader: ContextLoader
  readonly pins: Pick<Pins, keyof Pins>
  /** Budget for contexts that turns parse. A turn waits until its context fits. */
  readonly turns: ByteBudget
}

export class TurnData {
  /** See `ContextLoader`. */
  incarnation: number
  readonly #parts: TurnDataParts
  #fetched: Map<ContextId, KnownContext | null> | null = null
  #histories: Map<ContextId, readonly Move[]> | null = null
  #holder: { readonly key: string; readonly id: ContextId | null } | null = null
  /** Ids that earlier tries of this turn have taken, or that were fetched for it. */
  #ids: ContextId[] | null = null
  #nextId = 0
  /** Releases the memory of the loaded context. */
  #release: (() => void) | null = null

  constructor(parts: TurnDataParts) {
    this.#parts = parts
    this.incarnation = parts.loader.incarnation
  }

  /** null: there is no such context. */
  context(id: ContextId): KnownContext | null | undefined {
    const fetched = this.#fetched?.get(id)
    return fetched ?? this.#parts.cache.get(id, this.incarnation) ?? fetched
  }

  history(id: ContextId): readonly Move[] | undefined {
    return this.#histories?.get(id)
  }

  /** All ids of a turn are of one partition, because everything that a turn changes is in one. */
  newId(partition: number): ContextId | undefined {
    const id = this.#ids?.[this.#nextId] ?? this.#parts.ids.tryTake(partition)
    if (id !== undefined) (this.#ids ??= [])[this.#nextId++] = id
    return id
  }

  /** The newest context that has the index key; null: there was none. */
  holder(key: string): ContextId | null | undefined {
    return this.#holder?.key === key ? this.#holder.id : undefined
  }

  isPinned(flux: CompiledFlux): boolean {
    return this.#parts.pins.has(flux)
  }

  /** The service of that name, resolved from that package; undefined: there is none. */
  service(packageName: string, fluxName: string): CompiledFlux | undefined | 'ambiguous' {
    return this.#parts.catalog.resolve(packageName, fluxName)
  }

  /** Prepares for another run of the turn. */
  rewind(): void {
    this.#nextId = 0
  }

  /** Discards all fetched data, because another server was faster. */
  forget(): void {
    this.incarnation = this.#parts.loader.incarnation
    this.#fetched = null
    this.#histories = null
    this.#holder = null
    this.#ids = null
    this.#nextId = 0
    this.release()
  }

  /**
   * Fetches what the turn of context `id` lacks; null: it has no id yet. A relative that cannot be read counts as
   * deleted.
   */
  async fetch(need: Need, id: ContextId | null): Promise<void> {
    const { store, log, ids, pins } = this.#parts
    switch (need.kind) {
      case 'context': {
        const context = await this.#load(need.id, need.id === id)
        this.#fetched = (this.#fetched ?? new Map()).set(need.id, context)
        return
      }
      case 'history': {
        const record = this.context(need.id)?.record
        if (record) this.#histories = (this.#histories ?? new Map()).set(need.id, await movesOf(record, { store, log }))
        return
      }
      case 'id':
        ;(this.#ids ??= []).push(await ids.take(need.partition))
        return
      case 'holder': {
        const { key, partition } = need
        const { ids: holders } = await store.selectIds({ any: [[key]], partition, order: 'desc', limit: 1 })
        this.#holder = { key, id: holders[0] ?? null }
        return
      }
      case 'definition':
        await pins.pin(need.flux)
    }
  }

  /** Releases the memory of the turn's data. */
  release(): void {
    this.#release?.()
    this.#release = null
  }

  async #load(id: ContextId, isOwn: boolean): Promise<KnownContext | null> {
    const { loader, turns, log } = this.#parts
    try {
      // Once the turn holds memory, relatives are not charged and do not wait: two turns that each hold memory and wait
      // for more would deadlock.
      const opened = await loader.open(id, this.#release ? null : turns)
      if (opened && opened.release !== noRoom) this.#release = opened.release
      return opened
    } catch (error) {
      if (isOwn || !isUnreadable(error, log)) throw error
      return null
    }
  }
}
