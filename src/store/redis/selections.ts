// store/redis: selects and counts contexts in all partitions. A script looks for one list of keys in one partition, and
// examines a bounded number of candidates; so does a page as a whole.
import type { ContextId } from '../../model/context.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Selection, SelectQuery, TimeRange, StoredContext, SelectedPage } from '../../ports/store.ts'
import type { PartitionClient } from './partition-client.ts'
import { ALL_SKIPPED, storedKeysOf, type Queries } from './queries.ts'
import { idsOf, texts } from './scripts.ts'

/** Ids that one script reads, and candidates that all scripts of a round examine: a millisecond or two. */
const PIECE = 1000
const HOPS = 2000
/** Rounds of scripts for one page, if no matches are to be skipped. */
const MAX_ROUNDS = 2

/** A list of keys in a partition. */
interface Source {
  readonly partition: number
  readonly keys: readonly string[]
}

/** `next`: where the list continues, under `desc` the highest id to look at; null: there are no more. */
interface Found {
  readonly ids: readonly ContextId[]
  readonly next: number | null
  readonly skip: number
}

interface Piece {
  readonly skip: number
  readonly limit: number
}

export class Selections {
  readonly #client: PartitionClient
  readonly #queries: Queries
  readonly #partitions: number

  constructor(client: PartitionClient, queries: Queries, partitions: number) {
    this.#client = client
    this.#queries = queries
    this.#partitions = partitions
  }

  /** As `Store.select`. */
  async select({ limit, skip = 0, characters = Infinity, order, ...selection }: SelectQuery): Promise<SelectedPage> {
    if (limit <= 0) return { contexts: [], rest: null }
    const [sign, bound] = order === 'asc' ? [1, 'after' as const] : [-1, 'before' as const]
    const sources = this.#sourcesOf(selection)
    const contexts: StoredContext[] = []
    let [from, left, size]: [Selection, number, number] = [selection, skip, 0]
    const ahead = order === 'asc' ? await this.#passOver(selection, sources, skip) : null
    if (ahead !== null) {
      if (ahead.after === null) return { contexts, rest: null }
      ;[from, left] = [{ ...selection, after: ahead.after }, ahead.skip]
    }
    for (let round = 1; ; round += 1) {
      const wanted = limit - contexts.length
      // One source skips matches in its script; several cannot, since each knows only its own matches.
      const alone = sources.length === 1
      const piece = { skip: alone ? left : 0, limit: Math.min(PIECE, alone ? wanted : left + wanted) }
      const found = await Promise.all(sources.map((source) => this.#find(source, from, { ...piece, order })))
      // All matches before this place are known.
      const end = Math.min(...found.map(({ next }) => (next === null ? Infinity : sign * next)))
      const known = [...new Set(found.flatMap(({ ids }) => ids.map((id) => sign * id)))]
        .filter((place) => place < end)
        .sort((one, other) => one - other)
      const passed = alone ? 0 : Math.min(left, known.length)
      left = alone ? (found[0]?.skip ?? 0) : left - passed
      const ids = known.slice(passed, passed + wanted).map((place) => sign * place)
      const some = await this.#queries.loadAll(ids, characters - size)
      for (const { parts } of some) size += charactersOf(parts)
      contexts.push(...some)
      const last = some.at(-1)
      if (last && size >= characters) return { contexts, rest: last.id }
      const isCut = known.length - passed > wanted
      if (!isCut && end === Infinity) return { contexts, rest: null }
      const behind = isCut ? (ids.at(-1) ?? 0) : sign * (end - 1)
      const isDone = contexts.length === limit || (left === 0 && round >= MAX_ROUNDS)
      if (isDone) return { contexts, rest: behind }
      from = { ...selection, [bound]: behind }
    }
  }

  /** As `Store.count`. */
  async count(selection: Selection): Promise<number> {
    const counts = await Promise.all(
      this.#sourcesOf(selection).map(async (source) => {
        let [from, left]: [Selection, number] = [selection, ALL_SKIPPED]
        for (;;) {
          const { next, skip } = await this.#find(source, from, { skip: left, limit: 0, order: 'asc' })
          left = skip
          if (next === null) return ALL_SKIPPED - left
          from = { ...selection, after: next - 1 }
        }
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  #sourcesOf({ any }: Selection): Source[] {
    return any.flatMap((keys) =>
      Array.from({ length: this.#partitions }, (_, partition) => ({ partition, keys: storedKeysOf(keys) })),
    )
  }

  /** Skips most of many matches, where that takes no look at each of them; null: it does. */
  async #passOver(
    { without = [], after = 0, before, windows, due, ended }: Selection,
    sources: readonly Source[],
    skip: number,
  ): Promise<{ readonly after: ContextId | null; readonly skip: number } | null> {
    const [first] = sources
    const isPlain = !due && !ended && !windows && before === undefined
    if (skip === 0 || !isPlain || !first || sources.length === 1 || sources.length > this.#partitions) return null
    const excluded = storedKeysOf(without)
    const ahead = await this.#queries.passOver([excluded.length, ...excluded, ...first.keys], { after, skip })
    return ahead ?? { after: null, skip: 0 }
  }

  async #find(
    { partition, keys }: Source,
    { after = 0, before = Infinity, windows, without = [], due, ended }: Selection,
    { skip, limit, order }: Piece & { readonly order: SelectQuery['order'] },
  ): Promise<Found> {
    const window = windows?.[partition] ?? {}
    const lowest = Math.max(after, window.after ?? 0) + 1
    const highest = Math.min(before, window.before ?? Infinity, Number.MAX_SAFE_INTEGER) - 1
    if (lowest > highest) return { ids: [], next: null, skip }
    const excluded = storedKeysOf(without)
    const range = [lowest, highest, skip, limit, Math.ceil(HOPS / this.#partitions)]
    const names = [excluded.length, ...excluded, ...keys]
    const isPlain = order === 'asc' && !due && !ended
    const reply = isPlain
      ? await this.#client.run('page', partition, [...range, ...names])
      : await this.#client.run('select', partition, [
          ...range,
          order === 'desc' ? 1 : 0,
          due?.before ?? '',
          ...scoresOf(ended),
          ...names,
        ])
    const [next = '', skipped = '', ...ids] = texts(reply)
    return { ids: idsOf(ids), next: next === '' ? null : Number(next), skip: Number(skipped) }
  }
}

function scoresOf(range: TimeRange | undefined): [from: string, to: string] {
  if (!range) return ['', '']
  const { after, before } = range
  return [after === undefined ? '-inf' : `(${after}`, before === undefined ? '+inf' : `(${before}`]
}
