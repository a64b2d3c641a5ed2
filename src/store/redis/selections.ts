// store/redis: selects and counts contexts in all partitions. A script looks for lists of keys in one partition, and
// examines a bounded number of candidates, so that other commands are served in between; so does a page as a whole.
//
// 1. Each partition gives the first ids of each list, and where the list continues. What lies before all these places is
//    known, and is merged; the rest is asked for again. The embedded store does the same in memory (`index/selected.ts`).
// 2. A list for a caller that may not see everything leaves out the contexts with certain index keys: `secured`, and
//    `open:…` of the services that are secured by now.
// 3. The matches before a page are skipped in the index. With several partitions, each partition returns the match that is
//    its share of the skip ahead; everything below the lowest of these is counted, not read.
// 4. The contexts are read in bulk. A damaged one is left out of lists and logged, once.
import type { ContextId } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import { logOnce } from '../../model/log-once.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { IdRange, Selection, SelectQuery, Store, StoredContext } from '../../ports/store.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, listOf, texts } from './scripts.ts'
import { decodeContext, encodeText } from './stored-context.ts'

/** Ids that one script reads for a list, and for all, and candidates that it examines for them: a millisecond or two. */
const PIECE = 1000
const MOST_IDS = 2000
const HOPS = 2000
/** Rounds of scripts for each list of a page, if no matches are to be skipped. */
const MAX_ROUNDS = 2
/** Matches per partition up to which skipping them in the index is not worth the effort. */
const FEW = 50
/** Matches to skip in order to count them: the parser of replies is not exact for the largest integers. */
const ALL_SKIPPED = 2 ** 48
/** Most contexts, and bytes, that are read at once. */
const BULK = 100
const BULK_BYTES = 512 * 1024

/** The keys as they are stored, each once, because the scripts read each key that they get, with their number. */
function storedKeys(keys: readonly string[]): (string | number)[] {
  const stored = Array.from(new Set(keys), encodeText)
  return [stored.length, ...stored]
}

type Piece = Pick<SelectQuery, 'order' | 'limit'> & { readonly skip: number }

/** What a script found of a list in a partition. */
interface Found {
  readonly ids: readonly ContextId[]
  /** The id at which the list continues; null: there are no more. */
  readonly next: ContextId | null
  /** Matches that are left to skip there. */
  readonly skip: number
}

const stepOf = (order: SelectQuery['order']) => (order === 'asc' ? 1 : -1)
const behind = (order: SelectQuery['order'], id: ContextId): IdRange =>
  order === 'asc' ? { after: id } : { before: id }

/** Looks for each list of keys. */
async function find(
  client: PartitionClient,
  partition: number,
  selection: Selection,
  { skip, limit, order }: Piece,
): Promise<Found[]> {
  const { any, without = [], after = 0, before = Infinity, partition: only = partition, due, ended } = selection
  const window = selection.windows?.[partition]
  const lowest = Math.max(after, window?.after ?? 0) + 1
  const highest = Math.min(before, window?.before ?? Infinity, Number.MAX_SAFE_INTEGER) - 1
  if (lowest > highest || only !== partition) return any.map(() => ({ ids: [], next: null, skip }))
  const scores = ended ? [`(${ended.after ?? '-inf'}`, `(${ended.before ?? '+inf'}`] : ['', '']
  const hops = Math.ceil(HOPS / client.partitions / any.length)
  const range = [lowest, highest, skip, limit, hops, order === 'desc' ? 1 : 0, due?.before ?? '', ...scores]
  const values = [...range, ...storedKeys(without), ...any.flatMap(storedKeys)]
  return listOf(await client.run('select', partition, values)).map((found) => {
    const [next = '', left, ...ids] = texts(found)
    return { ids: idsOf(ids), next: next === '' ? null : Number(next), skip: Number(left) }
  })
}

/** Skips matches of one list in a partition, by as many scripts as that takes; `limit` 1: gives the id behind them. */
async function pass(client: PartitionClient, partition: number, selection: Selection, piece: Piece): Promise<Found> {
  const { order } = piece
  for (let [from, skip] = [selection, piece.skip]; ;) {
    const [found = { ids: [], next: null, skip }] = await find(client, partition, from, { ...piece, skip })
    if (found.ids.length > 0 || found.next === null) return found
    skip = found.skip
    from = { ...from, ...behind(order, found.next - stepOf(order)) }
  }
}

async function count(client: PartitionClient, { any, ...selection }: Selection) {
  const all = { order: 'asc', skip: ALL_SKIPPED, limit: 0 } as const
  const passed = await Promise.all(
    any.map((keys) => client.everywhere((partition) => pass(client, partition, { ...selection, any: [keys] }, all))),
  )
  return passed.flat().reduce((sum, { skip }) => sum + ALL_SKIPPED - skip, 0)
}

/** Skips most of many matches of several partitions without reading their ids; null: there are not so many. */
async function passOver(client: PartitionClient, selection: Selection, order: SelectQuery['order'], skip: number) {
  const { partitions } = client
  let [from, left] = [selection, skip]
  const mostLeft = partitions > 1 && selection.any.length === 1 ? FEW * partitions : Infinity
  while (left > mostLeft) {
    const share = { order, skip: Math.floor(left / partitions), limit: 1 }
    const ahead = await client.everywhere((partition) => pass(client, partition, from, share))
    const ids = ahead.flatMap((passed) => passed.ids)
    if (ids.length === 0) return null
    const nearest = order === 'asc' ? Math.min(...ids) : Math.max(...ids)
    left -= await count(client, { ...from, [order === 'asc' ? 'before' : 'after']: nearest })
    from = { ...from, ...behind(order, nearest - stepOf(order)) }
  }
  return { from, left }
}

async function selectIds(client: PartitionClient, { limit, skip = 0, order, ...selection }: SelectQuery) {
  const ids: ContextId[] = []
  if (limit <= 0) return { ids, rest: null }
  const sign = stepOf(order)
  const start = await passOver(client, selection, order, skip)
  if (start === null) return { ids, rest: null }
  // A single list of a single partition skips matches in its script; several know only their own matches.
  const isAlone = client.partitions === 1 && selection.any.length === 1
  for (let [{ from, left }, round] = [start, 1]; ; round += 1) {
    const { any } = from
    const wanted = limit - ids.length
    const most = Math.min(isAlone ? wanted : left + wanted, PIECE, Math.ceil(MOST_IDS / any.length))
    const piece = { order, skip: isAlone ? left : 0, limit: most }
    const found = await client.everywhere((partition) => find(client, partition, from, piece))
    const lists = found.flat()
    // All matches before this place are known. Under descending order, places are negated ids.
    const end = Math.min(...lists.map(({ next }) => (next === null ? Infinity : sign * next)))
    const places = new Set(lists.flatMap((list) => list.ids.map((id) => sign * id)))
    const known = [...places].filter((place) => place < end).sort((one, other) => one - other)
    if (isAlone) left = lists[0]?.skip ?? 0
    const passed = isAlone ? 0 : Math.min(left, known.length)
    if (!isAlone) left -= passed
    const taken = known.slice(passed, passed + wanted)
    for (const place of taken) ids.push(sign * place)
    const isCut = known.length - passed > taken.length
    if (!isCut && end === Infinity) return { ids, rest: null }
    const last = sign * (isCut ? (taken.at(-1) ?? 0) : end - 1)
    const isDone = left === 0 && round >= MAX_ROUNDS * selection.any.length
    if (isDone || ids.length === limit) return { ids, rest: last }
    const isOver = (list: number) =>
      found.every(({ [list]: one }) => one?.next === null && one.ids.every((id) => sign * id < end))
    from = { ...selection, any: any.filter((_, list) => !isOver(list)), ...behind(order, last) }
  }
}

/** As many of these contexts as one script of each partition may read, at least the first; null: it can't be read. */
async function read(client: PartitionClient, log: Log, ids: readonly ContextId[], bytes: number) {
  const contexts = await client.everywhere(async (partition) => {
    const own = ids.filter((id) => id % client.partitions === partition)
    const most = Math.ceil(bytes / client.partitions)
    const stored = own.length === 0 ? [] : listOf(await client.run('load', partition, [most, ...own]))
    return stored.map((reply, place): [ContextId, StoredContext | null] => {
      const id = own[place] ?? 0
      try {
        return [id, decodeContext(id, reply)]
      } catch (error) {
        logOnce(log, messageOf(error), { contextId: id, error })
        return [id, null]
      }
    })
  })
  return new Map(contexts.flat())
}

/** The verbs of the port that find contexts by their keys. */
export const selections = (client: PartitionClient, log: Log) =>
  ({
    count: (selection) => count(client, selection),
    selectIds: (query) => selectIds(client, query),
    async select({ characters = Infinity, ...query }) {
      const { ids, rest } = await selectIds(client, query)
      const contexts: StoredContext[] = []
      let [place, left] = [0, characters]
      while (place < ids.length && left > 0) {
        const some = await read(client, log, ids.slice(place, place + BULK), Math.min(BULK_BYTES, left))
        for (; place < ids.length && left > 0; place += 1) {
          const context = some.get(ids[place] ?? 0)
          // The script stopped at its limit of bytes; the next one reads the rest.
          if (context === undefined) break
          if (context === null) continue
          contexts.push(context)
          left -= charactersOf(context.parts)
        }
      }
      return { contexts, rest: place < ids.length ? (ids[place - 1] ?? null) : rest }
    },
  }) satisfies Partial<Store>
