// engine/deliveries: the stored deliveries of some endpoints, newest first, read piece by piece from all partitions. Each
// row is read once, and only a little ahead.
import type { StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import { deliveryKeyOf, storedDeliveryOf, type StoredDelivery } from './delivery-rows.ts'

/** Rows of an endpoint and a partition that are read at once: first a few, then more and more. */
const STRIDE = { first: 4, last: 128 }
/** Queries that are under way at once. */
const MAX_QUERIES = 32

/** What is read of an endpoint in a partition. */
interface Source {
  readonly prefix: string
  readonly partition: number
  rows: readonly StoredRow[]
  at: number
  stride: number
  isAtEnd: boolean
}

export interface DeliveryRow extends StoredRow {
  readonly prefix: string
}

export class NewestFirst {
  readonly #store: Pick<Store, 'listRows' | 'partitions'>
  readonly #prefixes: readonly string[]
  readonly #after: string | null
  /** Those that have a row, the one with the newest first; null: nothing was read yet. */
  #sources: Source[] | null = null

  /** @param after only deliveries before the one with this id; null: all */
  constructor(store: Pick<Store, 'listRows' | 'partitions'>, prefixes: readonly string[], after: string | null) {
    this.#store = store
    this.#prefixes = prefixes
    this.#after = after
  }

  /** The next row; null: there are no more. */
  async next(): Promise<DeliveryRow | null> {
    this.#sources ??= await this.#open()
    const source = this.#sources.shift()
    const row = source?.rows[source.at]
    if (source === undefined || row === undefined) return null
    source.at += 1
    if (source.at === source.rows.length && !source.isAtEnd) await this.#read(source, row.key)
    if (source.at < source.rows.length) insert(this.#sources, source)
    return { ...row, prefix: source.prefix }
  }

  async #open(): Promise<Source[]> {
    const all: Source[] = this.#prefixes.flatMap((prefix) =>
      Array.from({ length: this.#store.partitions }, (_, partition) => ({
        prefix,
        partition,
        rows: [],
        at: 0,
        stride: STRIDE.first,
        isAtEnd: false,
      })),
    )
    const after = this.#after
    for (let from = 0; from < all.length; from += MAX_QUERIES)
      await Promise.all(
        all
          .slice(from, from + MAX_QUERIES)
          .map((source) => this.#read(source, after === null ? null : deliveryKeyOf(source.prefix, after))),
      )
    return all.filter(({ rows }) => rows.length > 0).sort((one, other) => compare(headOf(one), headOf(other)))
  }

  async #read(source: Source, after: string | null): Promise<void> {
    const { prefix, partition, stride } = source
    const behind = after === null ? undefined : { key: after, partition }
    const query = { partition, space: 'deliveries', prefix, after: behind, limit: stride } as const
    source.rows = await this.#store.listRows(query)
    source.at = 0
    source.isAtEnd = source.rows.length < stride
    source.stride = Math.min(stride * 2, STRIDE.last)
  }
}

/** The next delivery that can be read, with its row; null: there are no more. One that can't be read is logged. */
export async function nextDelivery(
  rows: NewestFirst,
  log: Log,
): Promise<{ readonly row: DeliveryRow; readonly delivery: StoredDelivery } | null> {
  for (;;) {
    const row = await rows.next()
    if (row === null) return null
    try {
      return { row, delivery: storedDeliveryOf(row) }
    } catch (error) {
      if (!isUnreadableRow(error, { space: 'deliveries', key: row.key }, log)) throw error
    }
  }
}

/** Ascends from the newest delivery on, whichever endpoint it is of. */
const headOf = ({ prefix, rows, at }: Source): string => (rows[at]?.key ?? '').slice(prefix.length)

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

function insert(sources: Source[], source: Source): void {
  const head = headOf(source)
  let [from, to] = [0, sources.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const other = sources[middle]
    if (other !== undefined && headOf(other) < head) from = middle + 1
    else to = middle
  }
  sources.splice(from, 0, source)
}
