// store/lmdb: how a context is stored: a record, with the facts for the index at fixed offsets, the index keys and the
// texts of its parts; and a row for each of its large parts, written only when it changes. The checksum of a value says
// that it is what was written (`arena.ts`), so what it says is not checked again.
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import { setOwn } from '../../model/json/value.ts'
import type { StoredContext, Write } from '../../ports/store.ts'
import { type Arena, unsealed } from './arena.ts'

/** All of a record except the texts of its parts. The index is built from it. */
export type Header = Omit<StoredContext, 'id' | 'parts'> & {
  /** Number of the oldest row of the log that is kept. */
  readonly firstRow: number
  /** Number of the next row of the log. */
  readonly nextRow: number
  readonly large: readonly LargePart[]
}

/** A part that is stored as a row of its own. */
export interface LargePart {
  readonly name: string
  /** Length in UTF-16 units. */
  readonly length: number
  /** Key of the row, together with the id of the context. */
  readonly slot: number
  /** The version of the context in which the row was written. */
  readonly version: number
}

export const NO_LARGE_PARTS: readonly LargePart[] = []

/**
 * Offsets of the facts. Lengths are in bytes; each section follows the one before, and the texts take the rest. Times are
 * floating-point numbers, NaN for null; all others are integers.
 */
const KEYS_LENGTH_AT = 0
const MORE_LENGTH_AT = 4
const TABLE_LENGTH_AT = 8
const ENCODING_AT = 12
const VERSION_AT = 16
const DUE_AT = 24
const ENDED_AT_AT = 32
const PARENT_AT = 40
const FIRST_ROW_AT = 48
const NEXT_ROW_AT = 56
const FACTS_BYTES = 64

/** Encodings of texts, by the number that stands for them. UTF-8 cannot represent lone surrogates. */
const ENCODINGS = ['utf8', 'utf16le'] as const
const encodingOf = (text: string) => (text.isWellFormed() ? 0 : 1)

/** A section that most records lack: the owner, and the large parts. */
type More = readonly [owner: string | null, large: readonly LargePart[]]
const NOTHING_MORE: More = [null, NO_LARGE_PARTS]

/** The other parts. */
type Table = readonly [names: readonly string[], lengths: readonly number[]]

/** Encodes a record. The bytes are valid until the arena is cleared. */
export function encode(arena: Arena, header: Header, { parts }: StoredContext): Buffer {
  const { indexKeys, owner, large } = header
  const elsewhere = large.length === 0 ? null : new Set(large.map(({ name }) => name))
  const [names, lengths]: [string[], number[]] = [[], []]
  let texts = ''
  for (const name of Object.keys(parts)) {
    if (elsewhere?.has(name) === true) continue
    const text = parts[name] ?? ''
    names.push(name)
    lengths.push(text.length)
    texts += text
  }
  const keys = JSON.stringify(indexKeys)
  const more = owner === null && large.length === 0 ? '' : JSON.stringify([owner, large])
  const table = JSON.stringify([names, lengths])
  const encoding = encodingOf(texts)
  const head = keys + more + table
  // A UTF-16 unit takes at most 3 bytes in UTF-8.
  return arena.write(FACTS_BYTES + 3 * (head.length + texts.length), (bytes, start) => {
    const headAt = start + FACTS_BYTES
    const textsAt = headAt + bytes.write(head, headAt)
    const bytesOf = (text: string) => (textsAt - headAt === head.length ? text.length : Buffer.byteLength(text))
    bytes.writeUInt32LE(bytesOf(keys), start + KEYS_LENGTH_AT)
    bytes.writeUInt32LE(bytesOf(more), start + MORE_LENGTH_AT)
    bytes.writeUInt32LE(bytesOf(table), start + TABLE_LENGTH_AT)
    bytes.writeUInt32LE(encoding, start + ENCODING_AT)
    writeInteger(bytes, header.version, start + VERSION_AT)
    bytes.writeDoubleLE(header.due ?? NaN, start + DUE_AT)
    bytes.writeDoubleLE(header.endedAt ?? NaN, start + ENDED_AT_AT)
    writeInteger(bytes, header.parent ?? NO_PARENT, start + PARENT_AT)
    writeInteger(bytes, header.firstRow, start + FIRST_ROW_AT)
    writeInteger(bytes, header.nextRow, start + NEXT_ROW_AT)
    return textsAt + bytes.write(texts, textsAt, ENCODINGS[encoding])
  })
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

/** Reads index keys from their JSON text. */
export type ReadKeys = (text: string) => readonly string[]
export const keysOf: ReadKeys = (text) => JSON.parse(text)

/** @throws FluxError `unreadable` that names the context, if the record is damaged */
export function decodeHeader(id: ContextId, record: Buffer, readKeys: ReadKeys): Header {
  try {
    const bytes = unsealed(record)
    return headerIn(bytes, endsIn(bytes), readKeys)
  } catch (cause) {
    throw unreadable(id, cause)
  }
}

/**
 * `readRow` reads the row of a large part, and may overwrite `record`.
 * @throws FluxError `unreadable` that names the context, if the record or a large part is damaged
 */
export function decodeStored(
  id: ContextId,
  record: Buffer,
  readRow: (part: LargePart) => Buffer | undefined,
): StoredContext {
  try {
    const bytes = unsealed(record)
    const ends = endsIn(bytes)
    const { version, indexKeys, due, owner, endedAt, parent, large } = headerIn(bytes, ends, keysOf)
    const [names, lengths]: Table = JSON.parse(bytes.toString('utf8', ends.more, ends.table))
    const texts = bytes.toString(ENCODINGS[bytes.readUInt32LE(ENCODING_AT)], ends.table)
    const parts: { [name: string]: string } = {}
    let end = 0
    for (const [index, name] of names.entries()) setOwn(parts, name, texts.slice(end, (end += lengths[index] ?? 0)))
    for (const part of large) setOwn(parts, part.name, decodeLargePart(readRow(part), part))
    return { id, version, indexKeys, due, owner, endedAt, parent, parts }
  } catch (cause) {
    throw unreadable(id, cause)
  }
}

/** The offsets at which sections of a record end. */
function endsIn(bytes: Buffer) {
  const keys = FACTS_BYTES + bytes.readUInt32LE(KEYS_LENGTH_AT)
  const more = keys + bytes.readUInt32LE(MORE_LENGTH_AT)
  return { keys, more, table: more + bytes.readUInt32LE(TABLE_LENGTH_AT) }
}

function headerIn(bytes: Buffer, { keys, more }: ReturnType<typeof endsIn>, readKeys: ReadKeys): Header {
  const parent = integerAt(bytes, PARENT_AT)
  const [owner, large]: More = more > keys ? JSON.parse(bytes.toString('utf8', keys, more)) : NOTHING_MORE
  return {
    version: integerAt(bytes, VERSION_AT),
    indexKeys: readKeys(bytes.toString('utf8', FACTS_BYTES, keys)),
    due: timeAt(bytes, DUE_AT),
    owner,
    endedAt: timeAt(bytes, ENDED_AT_AT),
    parent: parent === NO_PARENT ? null : parent,
    firstRow: integerAt(bytes, FIRST_ROW_AT),
    nextRow: integerAt(bytes, NEXT_ROW_AT),
    large,
  }
}

/**
 * A part of at least so many UTF-16 units, each of which takes at least a byte, is a row of its own. lmdb stores a
 * value of about half a page (2 KB) in pages of its own, so a record with such a part would take these for each
 * version. For smaller parts, another key would cost more.
 */
const LARGE_PART_BYTES = 2048

/** Assigns the large parts of a write to rows. Those of its own version must be written. */
export function placeLargeParts(
  { context: { version, parts }, changed }: Write,
  before: readonly LargePart[],
): readonly LargePart[] {
  const names = Object.keys(parts).filter((name) => (parts[name]?.length ?? 0) >= LARGE_PART_BYTES)
  if (names.length === 0) return NO_LARGE_PARTS
  const known = new Map(before.map((part) => [part.name, part]))
  let nextSlot = before.reduce((slot, part) => Math.max(slot, part.slot + 1), 0)
  return names.map((name) => {
    const [length, stored] = [parts[name]?.length ?? 0, known.get(name)]
    if (stored?.length === length && !changed.includes(name)) return stored
    return { name, length, version, slot: stored?.slot ?? nextSlot++ }
  })
}

/** In the row of a large part. The text follows. */
const ROW_ENCODING_AT = 0
const ROW_VERSION_AT = 1
const ROW_TEXT_AT = 9

/** Encodes a row. The bytes are valid until the arena is cleared. */
export function encodeLargePart(arena: Arena, version: number, text: string): Buffer {
  const encoding = encodingOf(text)
  return arena.write(ROW_TEXT_AT + Buffer.byteLength(text, ENCODINGS[encoding]), (row, start) => {
    row.writeUInt8(encoding, start + ROW_ENCODING_AT)
    row.writeDoubleLE(version, start + ROW_VERSION_AT)
    return start + ROW_TEXT_AT + row.write(text, start + ROW_TEXT_AT, ENCODINGS[encoding])
  })
}

/** @throws TypeError when the row is not that of the part */
function decodeLargePart(value: Buffer | undefined, { version }: LargePart): string {
  const row = value && unsealed(value)
  if (row?.readDoubleLE(ROW_VERSION_AT) !== version) throw new TypeError('a large part is lost')
  return row.toString(ENCODINGS[row.readUInt8(ROW_ENCODING_AT)], ROW_TEXT_AT)
}
