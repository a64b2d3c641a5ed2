// store/lmdb: rows on disk, a database for each space, and one in which they lie in the order in which they expire.
import type { Database, RootDatabase } from 'lmdb'
import { ROW_SPACES, type RowSpace, type StoredRow } from '../../model/rows.ts'

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

export const tableOf = (space: RowSpace): string => `space:${space}`

/** Databases that are made for rows. */
export const ROW_DATABASES = ROW_SPACES.length + 1

interface Expiry {
  readonly space: RowSpace
  readonly key: string
  /** Epoch milliseconds. */
  readonly time: number
  /** Its own key. */
  readonly entry: Buffer
}

const EXPIRIES = 'expiries'
const NAMES: readonly string[] = [...ROW_SPACES.map(tableOf), EXPIRIES]

export class RowTables {
  readonly #root: RootDatabase
  readonly #tables = new Map<string, Database<Buffer, Buffer>>()

  /** Opens those that are there: a file that an earlier version wrote may have fewer. */
  constructor(root: RootDatabase) {
    this.#root = root
    const names: ReadonlySet<unknown> = new Set(root.getKeys())
    for (const name of NAMES) if (names.has(name)) this.#open(name)
  }

  /** Databases that aren't there yet. */
  get missing(): number {
    return ROW_DATABASES - this.#tables.size
  }

  /** Makes those that aren't there, each in a transaction of its own. */
  makeMissing(): void {
    for (const name of NAMES) if (!this.#tables.has(name)) this.#open(name)
  }

  #open(name: string): void {
    this.#tables.set(name, this.#root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' }))
  }

  /** Whether it is expired or not. @throws TypeError when it can't be read */
  read(space: RowSpace, key: string): RowValue | null {
    const bytes = this.#tables.get(tableOf(space))?.get(Buffer.from(key))
    return bytes === undefined ? null : decodeRow(space, bytes)
  }

  /** Rows from a key on, or behind it, in the order of their keys. */
  *from(space: RowSpace, start: string, isExclusive: boolean): Generator<{ key: string; bytes: Buffer }> {
    // No key is empty, and lmdb takes no empty one.
    const options = start === '' ? {} : { start: Buffer.from(start), exclusiveStart: isExclusive }
    for (const { key, value } of this.#tables.get(tableOf(space))?.getRange(options) ?? [])
      yield { key: key.toString(), bytes: value }
  }

  /** Rows that a space has, expired ones included. */
  count(space: RowSpace): number {
    const table = this.#tables.get(tableOf(space))
    if (table === undefined) return 0
    const count: unknown = Reflect.get(table.getStats(), 'entryCount')
    if (typeof count !== 'number') throw new TypeError('lmdb does not tell its entryCount')
    return count
  }

  /** What expires up to that time, the earliest first. */
  *expiredAt(now: number): Generator<Expiry> {
    for (const entry of this.#tables.get(EXPIRIES)?.getKeys() ?? []) {
      const time = entry.readUIntBE(0, TIME_BYTES)
      if (time > now) return
      const space = ROW_SPACES[entry[TIME_BYTES] ?? ROW_SPACES.length]
      if (space !== undefined) yield { space, key: entry.toString('utf8', TIME_BYTES + 1), time, entry }
    }
  }

  /** To be called by an operation. `before`: what is there. */
  put(space: RowSpace, key: string, row: Buffer, { expiresAt }: RowValue, before: RowValue | null): void {
    void this.#table(tableOf(space)).put(Buffer.from(key), row)
    if (before !== null && before.expiresAt !== expiresAt) this.#forget(space, key, before)
    if (expiresAt !== null) void this.#table(EXPIRIES).put(expiryOf(space, key, expiresAt), NOTHING)
  }

  /** To be called by an operation. `before`: what is there. */
  remove(space: RowSpace, key: string, before: RowValue): void {
    void this.#table(tableOf(space)).remove(Buffer.from(key))
    this.#forget(space, key, before)
  }

  /** To be called by an operation. */
  removeExpiry(entry: Buffer): void {
    void this.#table(EXPIRIES).remove(entry)
  }

  #forget(space: RowSpace, key: string, { expiresAt }: RowValue): void {
    if (expiresAt !== null) this.removeExpiry(expiryOf(space, key, expiresAt))
  }

  /** Of those that write: `makeMissing` comes before. */
  #table(name: string): Database<Buffer, Buffer> {
    const table = this.#tables.get(name)
    if (table === undefined) throw new TypeError(`there is no database '${name}'`)
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
