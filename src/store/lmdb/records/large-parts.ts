// store/lmdb: parts that are too large to be written with each version of their context. Each is a row of its own,
// written when it changes.
import { isObject } from '../../../model/json/value.ts'
import type { Write } from '../../../ports/store.ts'
import type { Arena } from '../arena.ts'
import type { LargePart } from './header.ts'

/**
 * A part of so many UTF-16 units, of a byte at least each, is a row of its own. lmdb gives a value of about half a page
 * (2 KB) pages of its own, so a record with such a part would take these for each version. Smaller parts cost less than
 * another key.
 */
const LARGE_PART_BYTES = 2048

/** What the first byte of a row says. A row of a log begins with a bracket. */
const UTF8 = 1
const UTF16 = 2
const VERSION_AT = 1
const TEXT_AT = 9

export interface Placement {
  /** All large parts of the next version. */
  readonly parts: readonly LargePart[]
  /** Those of them that are to be written. */
  readonly written: readonly LargePart[]
  /** Slots whose rows are to be removed. */
  readonly freed: readonly number[]
}

/** Which parts are rows of their own; null: none, before or after. */
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

/** The bytes lie in the arena until it is cleared. */
export function encodeLargePart(arena: Arena, version: number, text: string): Buffer {
  const encoding = text.isWellFormed() ? 'utf8' : 'utf16le'
  return arena.write(TEXT_AT + Buffer.byteLength(text, encoding), (row, start) => {
    row[start] = encoding === 'utf8' ? UTF8 : UTF16
    row.writeDoubleLE(version, start + VERSION_AT)
    return start + TEXT_AT + row.write(text, start + TEXT_AT, encoding)
  })
}

/** Whether these bytes may be the row of a large part, and not of a log. */
export const isLargePartRow = (row: Buffer): boolean => row.length >= TEXT_AT && (row[0] === UTF8 || row[0] === UTF16)

/** The version of the context that wrote the row. */
export const versionOfRow = (row: Buffer): number => row.readDoubleLE(VERSION_AT)

/** @throws TypeError when the row isn't that of the part */
export function decodeLargePart(row: Buffer | undefined, { length, version }: LargePart): string {
  if (row === undefined || !isLargePartRow(row) || versionOfRow(row) !== version) {
    throw new TypeError('this is no large part, or one of another version')
  }
  // lmdb lends a larger buffer, of which only `length` tells the end.
  const text = row.toString(row[0] === UTF8 ? 'utf8' : 'utf16le', TEXT_AT, row.length)
  if (text.length !== length) throw new TypeError('this large part has another length')
  return text
}

/** Whether this is what a record says of a large part. */
export function isLargePart(value: unknown): value is LargePart {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    [value['length'], value['slot'], value['version']].every(Number.isSafeInteger)
  )
}
