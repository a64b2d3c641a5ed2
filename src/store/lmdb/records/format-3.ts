// store/lmdb: reads records of format 3, which version 0.1 wrote: a line of JSON, then the texts of the parts. A commit
// writes them in the present format.
import { isObject, setOwn } from '../../../model/json/value.ts'
import type { ContextId } from '../../../model/context.ts'
import { unreadable } from '../../../model/failure.ts'
import type { StoredContext } from '../../../ports/store.ts'
import { type Header, NO_LARGE_PARTS } from './header.ts'

type OldHeader = Omit<Header, 'large' | 'indexKeys'> & {
  /** The index keys. */
  readonly terms: Header['indexKeys']
  /** Names and lengths of the parts. */
  readonly parts: readonly (readonly [name: string, length: number])[]
  /** Whether the texts are UTF-16. */
  readonly wide?: true
}

const BRACE = 0x7b
const NEWLINE = 10

export const isFormat3 = (bytes: Buffer): boolean => bytes[0] === BRACE

/** @throws FluxError `unreadable` that names the context, if these bytes are no record */
export function headerOfFormat3(id: ContextId, bytes: Buffer): Header {
  const { version, due, terms: indexKeys, owner, endedAt, parent, firstRow, nextRow } = oldHeaderOf(id, bytes)
  return { version, due, indexKeys, owner, endedAt, parent, firstRow, nextRow, large: NO_LARGE_PARTS }
}

/** @throws FluxError `unreadable` that names the context, if these bytes are no record */
export function decodeFormat3(id: ContextId, bytes: Buffer): StoredContext {
  const { version, due, terms: indexKeys, owner, endedAt, parent, parts: lengths, wide } = oldHeaderOf(id, bytes)
  const texts = bytes.toString(wide === true ? 'utf16le' : 'utf8', endOfHeader(bytes) + 1, bytes.length)
  const parts: { [name: string]: string } = {}
  let start = 0
  for (const [name, length] of lengths) setOwn(parts, name, texts.slice(start, (start += length)))
  if (start !== texts.length) throw unreadable(id)
  return { id, version, due, indexKeys, owner, endedAt, parent, parts }
}

function oldHeaderOf(id: ContextId, bytes: Buffer): OldHeader {
  try {
    const header: unknown = JSON.parse(bytes.toString('utf8', 0, endOfHeader(bytes)))
    if (isOldHeader(header)) return header
  } catch (cause) {
    throw unreadable(id, cause)
  }
  throw unreadable(id)
}

/** Checks the shape of the header. The server wrote it, so this detects changes by the disk or by others. */
function isOldHeader(value: unknown): value is OldHeader {
  if (!isObject(value)) return false
  const { version, terms, firstRow, nextRow, parts } = value
  return (
    [version, firstRow, nextRow].every(Number.isSafeInteger) &&
    Array.isArray(parts) &&
    Array.isArray(terms) &&
    terms.every((word) => typeof word === 'string') &&
    [value['due'], value['endedAt'], value['parent']].every((fact) => fact === null || typeof fact === 'number')
  )
}

/** Where the header ends. A buffer of lmdb is longer than its `length`, and has old data behind it. */
function endOfHeader(bytes: Buffer): number {
  const end = bytes.indexOf(NEWLINE)
  return end < bytes.length ? end : -1
}
