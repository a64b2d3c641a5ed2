// model: rows, small key-value records beside the contexts of a partition, and what makes a commit of them well-formed.
//
// A commit may write rows beside its contexts (`model/rows.ts`): small records in a partition, in one of a few spaces
// (`idempotency`, `items`, `pending`, `deliveries`, `ends`, `operations`, `definitions` and others), under a key of at
// most 1,000 bytes. A commit is written whole or not at all. If there are several reasons to refuse it, the first of these is
// reported: a context is stale, an id that was given ahead is overtaken, the guard of a row fails, a unique key is
// another's.
// - A guard names exactly the value that must be there, or that there must be none. Guards look at what was there
//   before the commit; in the embedded store that includes the commits before it in the same group (`write-group.ts`).
// - An expired row is as if absent, by the store's time, whether or not a sweep came by. `countRows` counts it until
//   it is swept.
// - In Redis, a row is a string, and a member of the sorted set of expiries; spaces that can be listed by prefix have
//   a sorted set of their keys besides. A script reads 500 of them at most.
// - A unique index key (`Write.unique`) belongs to one context of a partition. The commit looks who has it, and who is
//   left with it when the commit is done, so a key passes from one context to another in one commit. `selectIds`
//   gives the highest id that has an index key.
// - In the memory of the embedded store, a key that one context has alone is a number and not a set (`key-index.ts`).
// - A commit that gives a context an index key reports whether its partition has rows in `lookups`.

/** What rows are kept, each kind for itself. The order is part of the embedded store's format: append only. */
export const ROW_SPACES = [
  'idempotency',
  'items',
  'pending',
  'lookups',
  'broadcasts',
  'held',
  'copies',
  'deliveries',
  'ends',
  'operations',
  'marks',
  'definitions',
] as const

export type RowSpace = (typeof ROW_SPACES)[number]

/** Spaces that can be listed by a prefix of the key; the others save what that costs. */
export type ListedSpace = Exclude<RowSpace, 'idempotency'>

export const isListed = (space: RowSpace): space is ListedSpace => space !== 'idempotency'

/** Bytes of a key in UTF-8, at most. Longer texts must be hashed. */
export const MAX_ROW_KEY_BYTES = 1000

/** A row that isn't expired. */
export interface StoredRow {
  readonly partition: number
  readonly key: string
  readonly value: string
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
}

/** A row without its place. */
export type RowValue = Pick<StoredRow, 'value' | 'expiresAt'>

/** Between the time and the value of a row, in the text that is stored. */
const SEPARATOR = '\x1f'

export const textOfRow = ({ value, expiresAt }: RowValue): string => `${expiresAt ?? ''}${SEPARATOR}${value}`

export function rowIn(text: string): RowValue {
  const end = text.indexOf(SEPARATOR)
  return { value: text.slice(end + 1), expiresAt: end > 0 ? Number(text.slice(0, end)) : null }
}

export interface RowWrite {
  readonly partition: number
  readonly space: RowSpace
  /** Well-formed Unicode of 1 to `MAX_ROW_KEY_BYTES` bytes. */
  readonly key: string
  /**
   * A guard: exactly the value that is there; null: there must be none, or an expired one. Left out: whatever is there.
   */
  readonly expects?: string | null
  /** Well-formed Unicode; null deletes the row. */
  readonly value: string | null
  /** Epoch milliseconds, by the store's time, from which on the row is as if absent; null: never. */
  readonly expiresAt: number | null
}

/**
 * The partition of a commit; null when there is nothing to write.
 * @throws TypeError when contexts and rows are of several partitions, or a row can't be kept, or is written twice
 */
export function partitionOfCommit(
  writes: readonly { readonly context: { readonly id: number } }[],
  rows: readonly RowWrite[],
  partitions: number,
): number | null {
  const [write] = writes
  const partition = write === undefined ? rows[0]?.partition : write.context.id % partitions
  if (partition === undefined) return null
  if (
    writes.some(({ context }) => context.id % partitions !== partition) ||
    rows.some((row) => row.partition !== partition)
  ) {
    throw new TypeError('the contexts and rows of a commit must be in one partition')
  }
  if (!Number.isSafeInteger(partition) || partition < 0 || partition >= partitions)
    throw new TypeError(`there is no partition ${partition}`)
  for (const row of rows) checkRow(row)
  if (rows.length > 1 && new Set(rows.map(({ space, key }) => `${space}:${key}`)).size < rows.length)
    throw new TypeError('a commit writes each row once')
  return partition
}

function checkRow({ key, expects, value, expiresAt }: RowWrite) {
  if (key === '' || !key.isWellFormed() || Buffer.byteLength(key) > MAX_ROW_KEY_BYTES)
    throw new TypeError(`the key of a row must be Unicode of 1 to ${MAX_ROW_KEY_BYTES} bytes`)
  if (value?.isWellFormed() === false || expects?.isWellFormed() === false)
    throw new TypeError('the value of a row must be well-formed Unicode')
  if (expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt >= 0))
    throw new TypeError('a row expires at a whole number of milliseconds')
}

/** Orders rows by the bytes of their keys, then by partition. */
export function compareRows(
  one: Pick<StoredRow, 'key' | 'partition'>,
  other: Pick<StoredRow, 'key' | 'partition'>,
): number {
  return Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)) || one.partition - other.partition
}

/**
 * Where a list of rows of a partition begins: at a key, or behind it. `after` may lie before all keys of the prefix; of an
 * equal key, only rows of later partitions follow.
 */
export function startOfRows(
  partition: number,
  prefix: string,
  after: Pick<StoredRow, 'key' | 'partition'> | undefined,
): [key: string, isBehind: boolean] {
  const begin = { key: prefix, partition: 0 }
  return after === undefined || compareRows(begin, { ...begin, key: after.key }) > 0
    ? [prefix, false]
    : [after.key, partition <= after.partition]
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/**
 * In which partition something is kept that is known by a text. Fixed for ever. FNV-1a, 32 bits, over its UTF-8 bytes.
 */
export function partitionOf(text: string, partitions: number): number {
  if (partitions === 1) return 0
  let hash = FNV_OFFSET
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return (hash >>> 0) % partitions
}
