// store/redis: lists of contexts: which they are, by the index of each partition, and what they are, a few at a time.
import type { ContextId } from '../../model/context.ts'
import { charactersOf } from '../../model/texts.ts'
import type { ListQuery, StoredContext } from '../../ports/store.ts'
import type { Line } from './line.ts'
import { merged, type Source } from './merge.ts'
import { lists, texts } from './scripts.ts'
import { decodeContext, encodeText } from './stored-context.ts'

/** Ids read at once, and candidates looked at for them: a millisecond or two. What all partitions are asked for together may come to one Redis. */
const PIECE = 1_000
const HOPS = 2_000
/** Matches for each partition, of which it isn't worth the while to find out how many may be passed over. */
const FEW = 50
/** Contexts read by one script, and bytes of them: others want to be served too. */
const BULK = 100
const BULK_BYTES = 512 * 1024
/** Contexts read together from many partitions, as long as it isn't known how large they are. */
const FIRST = 16

/** Number of words to be left out, those words, and the words to be there, as the script has them. */
type Words = readonly (string | number)[]

/** A place in a list: above an id, and so many matches further. */
interface Place { readonly after: ContextId; readonly skip: number }

export class Lists {
  readonly #line: Line
  readonly #partitions: number
  readonly #hops: number

  constructor(line: Line, partitions: number) {
    this.#line = line
    this.#partitions = partitions
    this.#hops = Math.ceil(HOPS / partitions)
  }

  async list({ all, without = [], after = 0, skip = 0, limit, characters = Infinity }: ListQuery): Promise<StoredContext[]> {
    if (limit <= 0) return []
    const words = [without.length, ...[...without, ...all].map(encodeText)]
    const start = this.#partitions === 1 ? { after, skip } : await this.#passOver(words, { after, skip })
    if (start === null) return []
    // Only a lone partition can pass over matches by itself.
    const alone = this.#partitions === 1
    const piece = Math.min(PIECE, alone ? limit : start.skip + limit)
    const sources = Array.from({ length: this.#partitions }, (_, partition) => this.#pages(partition, words, { after: start.after, skip: alone ? skip : 0, piece }))
    return this.#loadAll(await merged(sources, { skip: alone ? 0 : start.skip, limit }), characters)
  }

  #pages(partition: number, words: Words, { after, skip, piece }: Place & { readonly piece: number }): Source {
    let [from, left] = [`(${after}`, skip]
    return async () => {
      while (from !== '') {
        const [next = '', skipped = '', ...ids] = texts(await this.#line.run('page', partition, [from, '+inf', left, piece, this.#hops, ...words]))
        from = next
        left = Number(skipped)
        if (ids.length > 0) return ids.map(Number)
      }
      return []
    }
  }

  /**
   * Most of the way to a page, without reading the ids that lie before it: each partition names the match that is a fair share ahead, and all
   * that lie before the lowest of these can be passed over. Null when there is no such page.
   */
  async #passOver(words: Words, { after, skip }: Place): Promise<Place | null> {
    while (skip > FEW * this.#partitions) {
      const share = Math.floor(skip / this.#partitions)
      const heads = await this.#line.everywhere((partition) => this.#pages(partition, words, { after, skip: share, piece: 1 })())
      const lowest = Math.min(...heads.map(([id = Infinity]) => id))
      if (lowest === Infinity) return null
      const passed = await this.#line.everywhere((partition) => this.#count(partition, words, after, lowest))
      skip -= passed.reduce((sum, count) => sum + count, 0)
      after = lowest - 1
    }
    return { after, skip }
  }

  /** Matches above one id and below another. */
  async #count(partition: number, words: Words, after: ContextId, before: ContextId): Promise<number> {
    let [from, left] = [`(${after}`, Number.MAX_SAFE_INTEGER]
    while (from !== '') {
      const [next = '', skipped = ''] = texts(await this.#line.run('page', partition, [from, `(${before}`, left, 0, this.#hops, ...words]))
      from = next
      left = Number(skipped)
    }
    return Number.MAX_SAFE_INTEGER - left
  }

  /** Those that are there, in that order, and no more once they have so many characters. */
  async #loadAll(ids: readonly ContextId[], characters: number): Promise<StoredContext[]> {
    const [found, read]: [StoredContext[], Map<ContextId, StoredContext | null>] = [[], new Map()]
    // Each partition reads one at least, however large: few are asked for until it is known that they are small.
    let [stride, size] = [this.#partitions === 1 ? BULK : FIRST, 0]
    for (let place = 0; place < ids.length && size < characters;) {
      const some = ids.slice(place, place + stride)
      await this.#read(some.filter((id) => !read.has(id)), Math.min(BULK_BYTES, characters - size), read)
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
    await this.#line.everywhere(async (partition) => {
      const own = ids.filter((id) => id % this.#partitions === partition)
      if (own.length === 0) return
      const contexts = lists(await this.#line.run('load', partition, [bytes, ...own]))
      for (const [index, fields] of contexts.entries()) {
        const id = own[index] ?? 0
        read.set(id, decodeContext(id, fields))
      }
    })
  }
}
