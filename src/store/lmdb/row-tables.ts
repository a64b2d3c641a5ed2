// store/lmdb: rows on disk, a database for each space, and one in which they lie in the order in which they expire.
import type { Database, RootDatabase } from 'lmdb'
import { ROW_SPACES, type RowSpace, type StoredRow } from '../../model/rows.ts'
import { numberIn } from './lmdb-file.ts'

/** A row without its place. */
export type RowValue = Pick<StoredRow, 'value' | 'expiresAt'>

/** What the first byte of a row says. No other value in the file begins like this. */
const ROW = 0x52
const SPACE_AT = 1
const EXPIRES_AT = 2
const TEXT_AT = 10

/** Bytes of a time in the keys of the expiries. */
const TIME_BYTES = 6
const MAX_TIME = 2 ** (8 * TIME_BYTES) - 1

const NOTHING = Buffer.alloc(0)

export const isExpired = ({ expiresAt }: RowValue, now: number): boolean => expiresAt !== null && expiresAt <= now

export const tableOf = (space: RowSpace): string => `space:${space}`

interface Expiry {
  readonly space: RowSpace
  readonly key: string
  /** Epoch milliseconds. */
  readonly time: number
  /** Its own key. */
  readonly entry: Buffer
}

export class RowTables {
  readonly #tables: ReadonlyMap<RowSpace, Database<Buffer, Buffer>>
  readonly #expiries: Database<Buffer, Buffer>

  constructor(root: RootDatabase) {
    const open = (name: string): Database<Buffer, Buffer> =>
      root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' })
    this.#tables = new Map(ROW_SPACES.map((space) => [space, open(tableOf(space))]))
    this.#expiries = open('expiries')
  }

  /** Whether it is expired or not. @throws TypeError when it can't be read */
  read(space: RowSpace, key: string): RowValue | null {
    const bytes = this.#table(space).get(Buffer.from(key))
    return bytes === undefined ? null : decodeRow(space, bytes)
  }

  /** Rows from a key on, or behind it, in the order of their keys. */
  *from(space: RowSpace, start: string, isExclusive: boolean): Generator<{ key: string; bytes: Buffer }> {
    // No key is empty, and lmdb takes no empty one.
    const options = start === '' ? {} : { start: Buffer.from(start), exclusiveStart: isExclusive }
    for (const { key, value } of this.#table(space).getRange(options)) yield { key: key.toString(), bytes: value }
  }

  /** Rows that a space has, expired ones included. */
  count(space: RowSpace): number {
    return numberIn(this.#table(space).getStats(), 'entryCount')
  }

  /** What expires up to that time, the earliest first. */
  *expiredAt(now: number): Generator<Expiry> {
    for (const entry of this.#expiries.getKeys()) {
      const time = entry.readUIntBE(0, TIME_BYTES)
      if (time > now) return
      const space = ROW_SPACES[entry[TIME_BYTES] ?? ROW_SPACES.length]
      if (space !== undefined) yield { space, key: entry.toString('utf8', TIME_BYTES + 1), time, entry }
    }
  }

  /** To be called by an operation. `before`: what is there. */
  put(space: RowSpace, key: string, row: Buffer, { expiresAt }: RowValue, before: RowValue | null): void {
    void this.#table(space).put(Buffer.from(key), row)
    if (before !== null && before.expiresAt !== expiresAt) this.#forget(space, key, before)
    if (expiresAt !== null) void this.#expiries.put(expiryOf(space, key, expiresAt), NOTHING)
  }

  /** To be called by an operation. `before`: what is there. */
  remove(space: RowSpace, key: string, before: RowValue): void {
    void this.#table(space).remove(Buffer.from(key))
    this.#forget(space, key, before)
  }

  /** To be called by an operation. */
  removeExpiry(entry: Buffer): void {
    void this.#expiries.remove(entry)
  }

  #forget(space: RowSpace, key: string, { expiresAt }: RowValue): void {
    if (expiresAt !== null) this.removeExpiry(expiryOf(space, key, expiresAt))
  }

  #table(space: RowSpace): Database<Buffer, Buffer> {
    const table = this.#tables.get(space)
    if (table === undefined) throw new TypeError(`there is no space '${space}'`)
    return table
  }
}

export function encodeRow(space: RowSpace, { value, expiresAt }: RowValue): Buffer {
  const row = Buffer.allocUnsafe(TEXT_AT + Buffer.byteLength(value))
  row[0] = ROW
  row[SPACE_AT] = ROW_SPACES.indexOf(space)
  row.writeDoubleLE(expiresAt ?? NaN, EXPIRES_AT)
  row.write(value, TEXT_AT)
  return row
}

/** @throws TypeError when these bytes are no row of the space */
export function decodeRow(space: RowSpace, bytes: Buffer): RowValue {
  if (spaceOf(bytes) !== space) throw new TypeError(`a row of '${space}' can't be read`)
  const expiresAt = bytes.readDoubleLE(EXPIRES_AT)
  return { value: bytes.toString('utf8', TEXT_AT, bytes.length), expiresAt: Number.isNaN(expiresAt) ? null : expiresAt }
}

/** The space whose row these bytes are; null when they are none. */
export function spaceOf(bytes: Buffer): RowSpace | null {
  return bytes.length >= TEXT_AT && bytes[0] === ROW ? (ROW_SPACES[bytes[SPACE_AT] ?? ROW_SPACES.length] ?? null) : null
}

function expiryOf(space: RowSpace, key: string, time: number): Buffer {
  const entry = Buffer.allocUnsafe(TIME_BYTES + 1 + Buffer.byteLength(key))
  entry.writeUIntBE(Math.min(time, MAX_TIME), 0, TIME_BYTES)
  entry[TIME_BYTES] = ROW_SPACES.indexOf(space)
  entry.write(key, TIME_BYTES + 1)
  return entry
}
