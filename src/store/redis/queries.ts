// store/redis: pages of contexts and of ids, over all partitions. Each script looks at a bounded number, so that others
// are served in between.
import type { ContextId } from '../../model/context.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { ListQuery, PageRequest, StoredContext } from '../../ports/store.ts'
import type { PartitionClient } from './partition-client.ts'
import { merged, type Source } from './merge.ts'
import { idsOf, listOf, texts, type Reply } from './scripts.ts'
import { decodeContext, encodeText } from './stored-context.ts'

/**
 * Ids read at once, and candidates looked at for them: a millisecond or two. What all partitions are asked for together
 * may come to one Redis.
 */
const PIECE = 1_000
const HOPS = 2_000
/** Ids read by one script for all keys together of which a context has any, and the fewest for each of them. */
const ANY_IDS = 2_000
const LEAST = 16
/** Matches for each partition, of which it isn't worth the while to find out how many may be passed over. */
const FEW = 50
/** Contexts read by one script, and bytes. */
const BULK = 100
const BULK_BYTES = 512 * 1024
/** Contexts read together from many partitions, as long as it isn't known how large they are. */
const FIRST = 16
/** Contexts that can't be read of which the log tells once each. */
const MAX_LOGGED_IDS = 10_000

/** As the keys have them, each once: the scripts look at each that they are given. */
const keysOf = (keys: readonly string[]): string[] => Array.from(new Set(keys), encodeText)

export class Queries {
  readonly #client: PartitionClient
  readonly #partitions: number
  readonly #log: Log
  readonly #hops: number
  /** Contexts of which the log has said that they can't be read. */
  readonly #damaged = new Set<ContextId>()

  constructor(client: PartitionClient, { partitions, log }: { readonly partitions: number; readonly log: Log }) {
    this.#client = client
    this.#partitions = partitions
    this.#log = log
    this.#hops = Math.ceil(HOPS / partitions)
  }

  /** As `Store.list`. */
  async list({
    all,
    without = [],
    after = 0,
    skip = 0,
    limit,
    characters = Infinity,
  }: ListQuery): Promise<StoredContext[]> {
    if (limit <= 0) return []
    const [excluded, shared] = [keysOf(without), keysOf(all)]
    const keys = [excluded.length, ...excluded, ...shared]
    const start = this.#partitions === 1 ? { after, skip } : await this.#passOver(keys, { after, skip })
    if (start === null) return []
    // Only a lone partition can pass over matches by itself.
    const alone = this.#partitions === 1
    const contexts: StoredContext[] = []
    let size = 0
    // Some may have been purged meanwhile, or can't be read, however many: others follow them, and who gets less than
    // was asked for takes that for the end.
    for (let [from, left] = [start.after, start.skip]; contexts.length < limit && size < characters; left = 0) {
      const wanted = limit - contexts.length
      const piece = Math.min(PIECE, alone ? wanted : left + wanted)
      const sources = this.#sources((partition) =>
        this.#pages(partition, keys, { after: from, skip: alone ? left : 0, piece }),
      )
      const ids = await merged(sources, { skip: alone ? 0 : left, limit: wanted })
      const some = await this.#loadAll(ids, characters - size)
      for (const { parts } of some) size += charactersOf(parts)
      contexts.push(...some)
      from = ids.at(-1) ?? from
      if (ids.length < wanted) break
    }
    return contexts
  }

  /** As `Store.newest`. */
  async newest({ key, partition }: { key: string; partition?: number }): Promise<ContextId | null> {
    const ask = (one: number) => this.#client.run('newest', one, [encodeText(key)])
    const found = partition === undefined ? await this.#client.everywhere(ask) : [await ask(partition)]
    const newest = Math.max(0, ...idsOf(found.flatMap(texts)))
    return newest === 0 ? null : newest
  }

  #pages(
    partition: number,
    keys: readonly (string | number)[],
    { after, skip, piece }: { after: ContextId; skip: number; piece: number },
  ): Source {
    let [from, left] = [String(after + 1), skip]
    return async () => {
      while (from !== '') {
        const [next = '', skipped = '', ...ids] = texts(
          await this.#client.run('page', partition, [from, Number.MAX_SAFE_INTEGER, left, piece, this.#hops, ...keys]),
        )
        from = next
        left = Number(skipped)
        const numbers = idsOf(ids)
        if (numbers.length > 0) return numbers
      }
      return []
    }
  }

  /**
   * Most of the way to a page, without reading the ids that lie before it: each partition names the match that is a
   * fair share ahead, and all that lie before the lowest of these can be passed over. Null when there is no such page.
   */
  async #passOver(
    keys: readonly (string | number)[],
    { after, skip }: { after: ContextId; skip: number },
  ): Promise<{ after: ContextId; skip: number } | null> {
    while (skip > FEW * this.#partitions) {
      const share = Math.floor(skip / this.#partitions)
      const heads = await this.#client.everywhere((partition) =>
        this.#pages(partition, keys, { after, skip: share, piece: 1 })(),
      )
      const lowest = Math.min(...heads.map(([id = Infinity]) => id))
      if (lowest === Infinity) return null
      const passed = await this.#client.everywhere((partition) => this.#count(partition, keys, after, lowest))
      skip -= passed.reduce((sum, count) => sum + count, 0)
      after = lowest - 1
    }
    return { after, skip }
  }

  /** Matches above one id and below another. */
  async #count(
    partition: number,
    keys: readonly (string | number)[],
    after: ContextId,
    before: ContextId,
  ): Promise<number> {
    let [from, left] = [String(after + 1), Number.MAX_SAFE_INTEGER]
    while (from !== '') {
      const [next = '', skipped = ''] = texts(
        await this.#client.run('page', partition, [from, before - 1, left, 0, this.#hops, ...keys]),
      )
      from = next
      left = Number(skipped)
    }
    return Number.MAX_SAFE_INTEGER - left
  }

  /** As `Store.waitingFor`. */
  async waitingFor({
    any,
    upTo,
    after = 0,
    skip = 0,
    limit,
  }: { any: readonly string[]; upTo: ContextId } & PageRequest): Promise<ContextId[]> {
    if (limit <= 0 || any.length === 0) return []
    const keys = keysOf(any)
    const piece = Math.max(LEAST, Math.min(PIECE, skip + limit, Math.floor(ANY_IDS / keys.length)))
    const sources = this.#sources((partition) => {
      let last: ContextId | undefined = after
      return async () => {
        if (last === undefined) return []
        const found = texts(await this.#client.run('waiting', partition, [last, upTo, piece, ...keys]))
        const ids = idsOf(found)
        last = found.length === piece ? ids.at(-1) : undefined
        return ids
      }
    })
    return merged(sources, { skip, limit })
  }

  /** One that is damaged spoils no list: it is left out, and the log says so. */
  #readable(id: ContextId, kept: Reply): StoredContext | null {
    try {
      return decodeContext(id, kept)
    } catch (error) {
      if (this.#damaged.has(id)) return null
      if (this.#damaged.size >= MAX_LOGGED_IDS) this.#damaged.clear()
      this.#damaged.add(id)
      this.#log.error("a context is left out of a list: what is kept of it can't be read", { contextId: id, error })
      return null
    }
  }

  #sources(of: (partition: number) => Source): Source[] {
    return Array.from({ length: this.#partitions }, (_, partition) => of(partition))
  }

  /** Those that are there, in that order, and no more once they have so many characters. */
  async #loadAll(ids: readonly ContextId[], characters: number): Promise<StoredContext[]> {
    const [found, read]: [StoredContext[], Map<ContextId, StoredContext | null>] = [[], new Map()]
    // Each partition reads one at least, however large: few are asked for until it is known that they are small.
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
        // Too much for one script: the rest is read by the next ones.
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

  /** As many of them as one script of each partition may read, the first at least; null for those that aren't there. */
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
