// store/lmdb: rows on disk, a database for each space, and one in which they lie in the order in which they expire.
import type { Database, RootDatabase } from 'lmdb'
import { ROW_SPACES, rowIn, type RowSpace, type RowValue } from '../../model/rows.ts'
import { unsealed } from './arena.ts'
import { numberIn } from './lmdb-file.ts'

/** Bytes of a time in the keys of the expiries. */
const TIME_BYTES = 6
const MAX_TIME = 2 ** (8 * TIME_BYTES) - 1

const NOTHING = Buffer.alloc(0)

/** @throws TypeError when the row is damaged */
export const decodeRow = (bytes: Buffer): RowValue => rowIn(unsealed(bytes).toString())

export const isExpired = ({ expiresAt }: RowValue, now: number): boolean => expiresAt !== null && expiresAt <= now

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
    this.#tables = new Map(ROW_SPACES.map((space) => [space, open(`space:${space}`)]))
    this.#expiries = open('expiries')
  }

  /** Whether it is expired or not. @throws TypeError when it can't be read */
  read(space: RowSpace, key: string): RowValue | null {
    const bytes = this.#table(space).get(Buffer.from(key))
    return bytes === undefined ? null : decodeRow(bytes)
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

  /** To be called by an operation. `row`: null deletes it; `before`: what is there. */
  write(
    space: RowSpace,
    key: string,
    row: (RowValue & { readonly bytes: Buffer }) | null,
    before: RowValue | null,
  ): void {
    const [table, name] = [this.#table(space), Buffer.from(key)]
    const [expiresAt, expiredAt] = [row?.expiresAt ?? null, before?.expiresAt ?? null]
    if (row === null) void table.remove(name)
    else void table.put(name, row.bytes)
    if (expiredAt !== null && expiredAt !== expiresAt) this.removeExpiry(expiryOf(space, key, expiredAt))
    if (expiresAt !== null) void this.#expiries.put(expiryOf(space, key, expiresAt), NOTHING)
  }

  /** To be called by an operation. */
  removeExpiry(entry: Buffer): void {
    void this.#expiries.remove(entry)
  }

  #table(space: RowSpace): Database<Buffer, Buffer> {
    const table = this.#tables.get(space)
    if (table === undefined) throw new TypeError(`there is no space '${space}'`)
    return table
  }
}

function expiryOf(space: RowSpace, key: string, time: number): Buffer {
  const entry = Buffer.allocUnsafe(TIME_BYTES + 1 + Buffer.byteLength(key))
  entry.writeUIntBE(Math.min(time, MAX_TIME), 0, TIME_BYTES)
  entry[TIME_BYTES] = ROW_SPACES.indexOf(space)
  entry.write(key, TIME_BYTES + 1)
  return entry
}
