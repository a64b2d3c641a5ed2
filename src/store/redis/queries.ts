// store/redis: reads pages of contexts and of ids from all partitions. Each script examines a bounded number, so that
// other commands are served in between.
//
// Pages (`queries.ts`, `page.lua`). A list for a caller that may not see everything leaves out the contexts with
// certain index keys: `secured`, and `open:…` of the services that are secured by now. The matches before a page are
// skipped in the index: by rank if no context is left out, otherwise in blocks, a few thousand candidates for each run
// of the script at most. With several partitions, each partition returns the match that is its share of the skip
// ahead; everything below the lowest of these is counted, not read. The embedded store does the same in memory
// (`index/selected.ts`).
import type { ContextId } from '../../model/context.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { StoredContext, WaitingQuery } from '../../ports/store.ts'
import type { PartitionClient } from './partition-client.ts'
import { merged, type Source } from './merge.ts'
import { idsOf, listOf, texts, type Reply } from './scripts.ts'
import { decodeContext, encodeText } from './stored-context.ts'

/**
 * Ids read by one script, and candidates examined for them: a millisecond or two. The candidates are divided by the
 * number of partitions, because these may all be on one Redis.
 */
const PIECE = 1_000
const HOPS = 2_000
/** Ids read by one script for all keys of a query for any of several keys, and the least number for each key. */
const ANY_IDS = 2_000
const LEAST = 16
/** What it costs to look whether an id has an excluded key, in ids that are read. */
const EXCLUDED_COST = 4
/** Matches per partition up to which skipping them in the index is not worth the effort. */
const FEW = 50
/** Most contexts, and bytes, read by one script. */
const BULK = 100
const BULK_BYTES = 512 * 1024
/** Contexts read at once from several partitions while their size is not known. */
const FIRST = 16
/** Most contexts that are remembered as unreadable, so that each is logged once. */
const MAX_LOGGED_IDS = 10_000

/** Matches to skip in order to count them: the parser of replies is not exact for the largest integers. */
export const ALL_SKIPPED = 2 ** 48

/** The keys as they are stored, each once, because the scripts read each key that they get. */
export const storedKeysOf = (keys: readonly string[]): string[] => Array.from(new Set(keys), encodeText)

export class Queries {
  readonly #client: PartitionClient
  readonly #partitions: number
  readonly #log: Log
  readonly #hops: number
  /** Contexts that were logged as unreadable. */
  readonly #damaged = new Set<ContextId>()

  constructor(client: PartitionClient, { partitions, log }: { readonly partitions: number; readonly log: Log }) {
    this.#client = client
    this.#partitions = partitions
    this.#log = log
    this.#hops = Math.ceil(HOPS / partitions)
  }

  /** As `Store.newest`. */
  async newest({ key, partition }: { key: string; partition?: number }): Promise<ContextId | null> {
    const ask = (one: number) => this.#client.run('newest', one, [encodeText(key)])
    const found = partition === undefined ? await this.#client.everywhere(ask) : [await ask(partition)]
    const newest = Math.max(0, ...idsOf(found.flatMap(texts)))
    return newest === 0 ? null : newest
  }

  /** The match of a partition before which so many are skipped; Infinity: there is none. */
  async #matchBehind(
    partition: number,
    keys: readonly (string | number)[],
    { after, skip }: { after: ContextId; skip: number },
  ): Promise<ContextId> {
    let [from, left] = [String(after + 1), skip]
    while (from !== '') {
      const [next = '', skipped = '', ...ids] = texts(
        await this.#client.run('page', partition, [from, Number.MAX_SAFE_INTEGER, left, 1, this.#hops, ...keys]),
      )
      from = next
      left = Number(skipped)
      const [id] = idsOf(ids)
      if (id !== undefined) return id
    }
    return Infinity
  }

  /**
   * Skips most of the matches before a page without reading their ids: each partition names the match that is its share
   * ahead, and everything below the lowest of these is counted. Null when there is no such page.
   */
  async passOver(
    keys: readonly (string | number)[],
    { after, skip }: { after: ContextId; skip: number },
  ): Promise<{ after: ContextId; skip: number } | null> {
    while (skip > FEW * this.#partitions) {
      const share = Math.floor(skip / this.#partitions)
      const ahead = { after, skip: share }
      const lowest = Math.min(
        ...(await this.#client.everywhere((partition) => this.#matchBehind(partition, keys, ahead))),
      )
      if (lowest === Infinity) return null
      const passed = await this.#client.everywhere((partition) => this.count(partition, keys, after, lowest))
      skip -= passed.reduce((sum, count) => sum + count, 0)
      after = lowest - 1
    }
    return { after, skip }
  }

  /** Counts the matches of a partition above one id and below another. */
  async count(
    partition: number,
    keys: readonly (string | number)[],
    after: ContextId,
    before: ContextId,
  ): Promise<number> {
    let [from, left] = [String(after + 1), ALL_SKIPPED]
    while (from !== '') {
      const [next = '', skipped = ''] = texts(
        await this.#client.run('page', partition, [from, before - 1, left, 0, this.#hops, ...keys]),
      )
      from = next
      left = Number(skipped)
    }
    return ALL_SKIPPED - left
  }

  /** As `Store.waitingFor`. */
  async waitingFor({ any, without = [], upTo, after = 0, skip = 0, limit }: WaitingQuery): Promise<ContextId[]> {
    if (limit <= 0 || any.length === 0) return []
    const [keys, excluded] = [storedKeysOf(any), storedKeysOf(without)]
    const looked = keys.length + EXCLUDED_COST * excluded.length
    const piece = Math.max(LEAST, Math.min(PIECE, skip + limit, Math.floor(ANY_IDS / looked)))
    const values = [piece, excluded.length, ...excluded, ...keys]
    const sources = this.#sources((partition) => {
      let from: string = String(after)
      return async () => {
        while (from !== '') {
          const [last = '', ...found] = texts(await this.#client.run('waiting', partition, [from, upTo, ...values]))
          from = last
          const ids = idsOf(found)
          if (ids.length > 0) return ids
        }
        return []
      }
    })
    return merged(sources, { skip, limit })
  }

  /** Decodes a context. A damaged one is left out of the list and logged, once. */
  #readable(id: ContextId, kept: Reply): StoredContext | null {
    try {
      return decodeContext(id, kept)
    } catch (error) {
      if (this.#damaged.has(id)) return null
      if (this.#damaged.size >= MAX_LOGGED_IDS) this.#damaged.clear()
      this.#damaged.add(id)
      this.#log.error("a context is left out of a list: its stored data can't be read", { contextId: id, error })
      return null
    }
  }

  #sources(of: (partition: number) => Source): Source[] {
    return Array.from({ length: this.#partitions }, (_, partition) => of(partition))
  }

  /** Reads the contexts that exist, in the order of their ids, until they have so many characters. */
  async loadAll(ids: readonly ContextId[], characters: number): Promise<StoredContext[]> {
    const [found, read]: [StoredContext[], Map<ContextId, StoredContext | null>] = [[], new Map()]
    // Each partition reads at least one context, however large. So few are requested until it is known that they are
    // small.
    let [stride, size] = [this.#partitions === 1 ? BULK : FIRST, 0]
    for (let place = 0; place < ids.length && size < characters;) {
      const some = ids.slice(place, place + stride)
      await this.#read(
        some.filter((id) => !read.has(id)),
        Math.min(BULK_BYTES, characters - size),
        read,
      )
      for (const id of some) {
        const context = read.get(id)
        // The script stopped at its limit of bytes; the next one reads the rest.
        if (context === undefined || size >= characters) break
        place += 1
        if (context === null) continue
        found.push(context)
        size += charactersOf(context.parts)
      }
      if (size < BULK_BYTES / 2) stride = BULK
    }
    return found
  }

  /**
   * Reads as many contexts as one script of each partition may read, at least the first; null for those that do not
   * exist.
   */
  async #read(ids: readonly ContextId[], bytes: number, read: Map<ContextId, StoredContext | null>): Promise<void> {
    await this.#client.everywhere(async (partition) => {
      const own = ids.filter((id) => id % this.#partitions === partition)
      if (own.length === 0) return
      const contexts = listOf(await this.#client.run('load', partition, [bytes, ...own]))
      for (const [index, kept] of contexts.entries()) {
        const id = own[index] ?? 0
        read.set(id, this.#readable(id, kept))
      }
    })
  }
}
