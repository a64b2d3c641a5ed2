// store/lmdb: large parts of contexts. Each is a row of its own, written only when it changes.
import { isObject } from '../../../model/json/value.ts'
import type { Write } from '../../../ports/store.ts'
import type { Arena } from '../arena.ts'
import type { LargePart } from './header.ts'

/**
 * A part of at least so many UTF-16 units, each of which takes at least a byte, is a row of its own. lmdb stores a
 * value of about half a page (2 KB) in pages of its own, so a record with such a part would take these for each
 * version. For smaller parts, another key would cost more.
 */
const LARGE_PART_BYTES = 2048

/** The first byte of a row: the encoding of its text. Rows of a log begin with a bracket instead. */
const UTF8 = 1
const UTF16 = 2
const VERSION_AT = 1
const TEXT_AT = 9

export interface Placement {
  /** All large parts of the new version. */
  readonly parts: readonly LargePart[]
  /** Those of them that must be written. */
  readonly written: readonly LargePart[]
  /** Slots whose rows must be removed. */
  readonly freed: readonly number[]
}

/** Assigns the large parts of a write to rows; null if there are none, before and after. */
export function placeLargeParts(write: Write, before: readonly LargePart[]): Placement | null {
  const {
    context: { version, parts },
    changed,
  } = write
  const large = Object.keys(parts).filter((name) => (parts[name]?.length ?? 0) >= LARGE_PART_BYTES)
  if (large.length === 0 && before.length === 0) return null
  const known = new Map(before.map((part) => [part.name, part]))
  const isChanged = new Set(changed)
  let nextSlot = before.reduce((slot, part) => Math.max(slot, part.slot + 1), 0)
  const written: LargePart[] = []
  const all = large.map((name) => {
    const [length, stored] = [parts[name]?.length ?? 0, known.get(name)]
    known.delete(name)
    if (stored !== undefined && stored.length === length && !isChanged.has(name)) return stored
    const part = { name, length, version, slot: stored?.slot ?? nextSlot++ }
    written.push(part)
    return part
  })
  return { parts: all, written, freed: Array.from(known.values(), ({ slot }) => slot) }
}

/** Encodes a row. The bytes are valid until the arena is cleared. */
export function encodeLargePart(arena: Arena, version: number, text: string): Buffer {
  const encoding = text.isWellFormed() ? 'utf8' : 'utf16le'
  return arena.write(TEXT_AT + Buffer.byteLength(text, encoding), (row, start) => {
    row[start] = encoding === 'utf8' ? UTF8 : UTF16
    row.writeDoubleLE(version, start + VERSION_AT)
    return start + TEXT_AT + row.write(text, start + TEXT_AT, encoding)
  })
}

/** Whether these bytes may be the row of a large part, as opposed to one of a log. */
export const isLargePartRow = (row: Buffer): boolean => row.length >= TEXT_AT && (row[0] === UTF8 || row[0] === UTF16)

/** The version of the context in which the row was written. */
export const versionOfRow = (row: Buffer): number => row.readDoubleLE(VERSION_AT)

/** @throws TypeError when the row is not that of the part */
export function decodeLargePart(row: Buffer | undefined, { length, version }: LargePart): string {
  if (row === undefined || !isLargePartRow(row) || versionOfRow(row) !== version) {
    throw new TypeError('this is no large part, or one of another version')
  }
  // The buffer of lmdb is larger; only `length` says where the row ends.
  const text = row.toString(row[0] === UTF8 ? 'utf8' : 'utf16le', TEXT_AT, row.length)
  if (text.length !== length) throw new TypeError('this large part has another length')
  return text
}

/** Whether a value of a record's table describes a large part. */
export function isLargePart(value: unknown): value is LargePart {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    [value['length'], value['slot'], value['version']].every(Number.isSafeInteger)
  )
}
