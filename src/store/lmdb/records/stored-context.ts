// store/lmdb: encodes and decodes the record of a context: the facts for the index at fixed offsets, then its index
// keys, then its parts. Large parts are rows of their own, to which the record refers.
import type { ContextId } from '../../../model/context.ts'
import { unreadable } from '../../../model/failure.ts'
import { setOwn } from '../../../model/json/value.ts'
import type { StoredContext } from '../../../ports/store.ts'
import type { Arena } from '../arena.ts'
import { type Header, type LargePart, NO_LARGE_PARTS } from './header.ts'
import { decodeLargePart, isLargePart } from './large-parts.ts'

/** The first byte of a record: its layout. */
const LAYOUT = 4

/**
 * Offsets of the facts. Lengths are in bytes. Times are floating-point numbers, NaN for null; all others are integers.
 */
const FLAGS_AT = 1
const WORDS_LENGTH_AT = 4
const TABLE_LENGTH_AT = 8
const TEXTS_LENGTH_AT = 12
const VERSION_AT = 16
const DUE_AT = 24
const ENDED_AT_AT = 32
const PARENT_AT = 40
const FIRST_ROW_AT = 48
const NEXT_ROW_AT = 56
const FACTS_BYTES = 64

/** Flag: the texts are UTF-16, because UTF-8 cannot represent lone surrogates in them. */
const WIDE = 1
/** Flag: the table has an owner, or large parts. */
const HAS_MORE = 2

/**
 * JSON between the keys and the texts: alternating names and lengths of the other parts, the owner, and the large
 * parts.
 */
type Table = readonly [parts: readonly unknown[], owner: string | null, large: readonly LargePart[]]

/** Encodes a record. The bytes are valid until the arena is cleared. */
export function encode(arena: Arena, header: Header, { parts }: StoredContext): Buffer {
  const { indexKeys, owner, large } = header
  const elsewhere = large.length === 0 ? null : new Set(large.map(({ name }) => name))
  const lengths: (string | number)[] = []
  let texts = ''
  for (const name of Object.keys(parts)) {
    if (elsewhere?.has(name) === true) continue
    const text = parts[name] ?? ''
    lengths.push(name, text.length)
    texts += text
  }
  const hasMore = owner !== null || large.length > 0
  const keys = JSON.stringify(indexKeys)
  const table = JSON.stringify(hasMore ? [lengths, owner, large] : [lengths])
  const isWide = !texts.isWellFormed()
  // A UTF-16 unit takes at most 3 bytes in UTF-8.
  return arena.write(FACTS_BYTES + 3 * (keys.length + table.length + texts.length), (bytes, start) => {
    const keysEnd = start + FACTS_BYTES + bytes.write(keys, start + FACTS_BYTES)
    const tableEnd = keysEnd + bytes.write(table, keysEnd)
    const end = tableEnd + bytes.write(texts, tableEnd, isWide ? 'utf16le' : 'utf8')
    bytes.writeUInt32LE(LAYOUT, start)
    bytes[start + FLAGS_AT] = (isWide ? WIDE : 0) + (hasMore ? HAS_MORE : 0)
    bytes.writeUInt32LE(keysEnd - start - FACTS_BYTES, start + WORDS_LENGTH_AT)
    bytes.writeUInt32LE(tableEnd - keysEnd, start + TABLE_LENGTH_AT)
    bytes.writeUInt32LE(end - tableEnd, start + TEXTS_LENGTH_AT)
    writeInteger(bytes, header.version, start + VERSION_AT)
    bytes.writeDoubleLE(header.due ?? NaN, start + DUE_AT)
    bytes.writeDoubleLE(header.endedAt ?? NaN, start + ENDED_AT_AT)
    writeInteger(bytes, header.parent ?? NO_PARENT, start + PARENT_AT)
    writeInteger(bytes, header.firstRow, start + FIRST_ROW_AT)
    writeInteger(bytes, header.nextRow, start + NEXT_ROW_AT)
    return end
  })
}

/** Reads index keys from their JSON text. @throws Error when the text is no JSON list of texts */
export type ReadKeys = (text: string) => readonly string[]

/** @throws FluxError `unreadable` that names the context, if these bytes are no record */
export function decodeHeader(id: ContextId, bytes: Buffer, readKeys: ReadKeys = keysOf): Header {
  try {
    const ends = endsOf(bytes)
    return headerOf(bytes, ends, (ends.flags & HAS_MORE) === 0 ? NOTHING_MORE : tableIn(bytes, ends), readKeys)
  } catch (cause) {
    throw unreadable(id, cause)
  }
}

/**
 * `readRow` reads the row of a large part, and may overwrite `bytes`.
 * @throws FluxError `unreadable` that names the context, if these bytes are no record, or a large part is lost
 */
export function decodeStored(
  id: ContextId,
  bytes: Buffer,
  readRow: (part: LargePart) => Buffer | undefined,
): StoredContext {
  try {
    const ends = endsOf(bytes)
    const table = tableIn(bytes, ends)
    const { version, indexKeys, due, owner, endedAt, parent, large } = headerOf(bytes, ends, table, keysOf)
    const encoding = (ends.flags & WIDE) === 0 ? 'utf8' : 'utf16le'
    const parts = partsOf(table[0], bytes.toString(encoding, ends.table, ends.texts))
    for (const part of large) setOwn(parts, part.name, decodeLargePart(readRow(part), part))
    return { id, version, indexKeys, due, owner, endedAt, parent, parts }
  } catch (cause) {
    throw unreadable(id, cause)
  }
}

/** The offsets at which the sections of a record end. */
interface Ends {
  readonly keys: number
  readonly table: number
  readonly texts: number
  readonly flags: number
}

/**
 * A buffer of lmdb is longer than its `length`, and has old data behind it. @throws TypeError when the bytes are no
 * record
 */
function endsOf(bytes: Buffer): Ends {
  if (bytes.length >= FACTS_BYTES && bytes[0] === LAYOUT) {
    const keys = FACTS_BYTES + bytes.readUInt32LE(WORDS_LENGTH_AT)
    const table = keys + bytes.readUInt32LE(TABLE_LENGTH_AT)
    const texts = table + bytes.readUInt32LE(TEXTS_LENGTH_AT)
    if (texts === bytes.length) return { keys, table, texts, flags: bytes[FLAGS_AT] ?? 0 }
  }
  throw new TypeError('this is no record')
}

/** @throws Error when these are no facts, or no keys */
function headerOf(bytes: Buffer, { keys }: Ends, [, owner, large]: Table, readKeys: ReadKeys): Header {
  const version = integerAt(bytes, VERSION_AT)
  const parent = integerAt(bytes, PARENT_AT)
  const firstRow = integerAt(bytes, FIRST_ROW_AT)
  const nextRow = integerAt(bytes, NEXT_ROW_AT)
  if (!Number.isSafeInteger(version) || !Number.isSafeInteger(firstRow) || !Number.isSafeInteger(nextRow)) {
    throw new TypeError('this is no record')
  }
  const indexKeys = readKeys(bytes.toString('utf8', FACTS_BYTES, keys))
  return {
    version,
    indexKeys,
    due: timeAt(bytes, DUE_AT),
    owner,
    endedAt: timeAt(bytes, ENDED_AT_AT),
    parent: parent === NO_PARENT ? null : parent,
    firstRow,
    nextRow,
    large,
  }
}

/** A number above all ids, for a context without parent. */
const NO_PARENT = 2 ** 53

function writeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value % 2 ** 32, at)
  bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4)
}

/** Reads an integer in two halves: for each floating-point number, V8 would create an object. */
function integerAt(bytes: Buffer, at: number): number {
  const low = bytes.readUInt32LE(at)
  const high = bytes.readUInt32LE(at + 4)
  return high === 0 ? low : high * 2 ** 32 + low
}

function timeAt(bytes: Buffer, at: number): number | null {
  const value = bytes.readDoubleLE(at)
  return Number.isNaN(value) ? null : value
}

/** @throws Error when the text is no JSON list of texts */
export function keysOf(text: string): string[] {
  const keys: unknown = JSON.parse(text)
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return keys
  throw new TypeError('these are no index keys')
}

const NOTHING_MORE: Table = [[], null, NO_LARGE_PARTS]

/** Reads the table. Only its shape is checked, because the server wrote it. @throws Error when there is no table */
function tableIn(bytes: Buffer, ends: Ends): Table {
  const table: unknown = JSON.parse(bytes.toString('utf8', ends.keys, ends.table))
  if (!Array.isArray(table)) throw new TypeError('this is no table of parts')
  const [lengths, owner = null, large = NO_LARGE_PARTS]: unknown[] = table
  if (Array.isArray(lengths) && (owner === null || typeof owner === 'string') && isLargeParts(large)) {
    return [lengths, owner, large]
  }
  throw new TypeError('this is no table of parts')
}

const isLargeParts = (value: unknown): value is readonly LargePart[] => Array.isArray(value) && value.every(isLargePart)

/** @throws TypeError when the lengths do not fit the texts */
function partsOf(lengths: readonly unknown[], texts: string): { [name: string]: string } {
  const parts: { [name: string]: string } = {}
  let start = 0
  for (let at = 0; at < lengths.length; at += 2) {
    const [name, length] = [lengths[at], lengths[at + 1]]
    if (typeof name !== 'string' || typeof length !== 'number') throw new TypeError('this is no table of parts')
    setOwn(parts, name, texts.slice(start, (start += length)))
  }
  if (start !== texts.length) throw new TypeError('the texts of the parts have another length')
  return parts
}
