// store/lmdb: the record of one context as bytes: a line of JSON for the index, then the texts of the parts, one after the other.
import { isObject, setOwn } from '../../model/json.ts'
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import type { StoredContext } from '../../ports/store.ts'

/** What the index is built from. */
export type Header = Omit<StoredContext, 'id' | 'parts'> & {
  /** Number of the first row of the log that is kept. */
  readonly firstRow: number
  /** Number of the next row of the log. */
  readonly nextRow: number
  /** Names and lengths. */
  readonly parts: readonly (readonly [name: string, length: number])[]
  /** The texts are UTF-16, since UTF-8 can't hold the lone surrogates in them. */
  readonly wide?: true
}

/** Which rows of its log are kept. */
export type Rows = Pick<Header, 'firstRow' | 'nextRow'>

const NEWLINE = 10

/** The header that goes with a context. */
export function headerOf(context: StoredContext, rows: Rows): Header {
  const { version, due, terms, owner, endedAt, parent, parts } = context
  const lengths = Object.keys(parts).map((name): [string, number] => [name, parts[name]?.length ?? 0])
  return { version, due, terms, owner, endedAt, parent, ...rows, parts: lengths }
}

export function encode(header: Header, { parts }: StoredContext): Buffer {
  const texts = Object.values(parts).join('')
  if (texts.isWellFormed()) return Buffer.from(`${JSON.stringify(header)}\n${texts}`)
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...header, wide: true })}\n`), Buffer.from(texts, 'utf16le')])
}

/** @throws FluxError `unreadable` that names the context, if these bytes are no record */
export function decodeHeader(id: ContextId, bytes: Buffer): Header {
  try {
    const header: unknown = JSON.parse(bytes.toString('utf8', 0, endOfHeader(bytes)))
    if (isHeader(header)) return header
  } catch (cause) {
    throw unreadable(id, cause)
  }
  throw unreadable(id)
}

/** @throws FluxError `unreadable` that names the context, if these bytes are no record */
export function decode(id: ContextId, bytes: Buffer): StoredContext {
  const { version, due, terms, owner, endedAt, parent, parts: lengths, wide } = decodeHeader(id, bytes)
  const texts = bytes.toString(wide === true ? 'utf16le' : 'utf8', endOfHeader(bytes) + 1, bytes.length)
  const parts: { [name: string]: string } = {}
  let start = 0
  for (const [name, length] of lengths) setOwn(parts, name, texts.slice(start, start += length))
  if (start !== texts.length) throw unreadable(id)
  return { id, version, due, terms, owner, endedAt, parent, parts }
}

/** We wrote it ourselves: this is to notice that the disk, or someone, has changed it. */
function isHeader(value: unknown): value is Header {
  if (!isObject(value)) return false
  const { version, terms, firstRow, nextRow, parts } = value
  return [version, firstRow, nextRow].every(Number.isSafeInteger) && Array.isArray(terms) && terms.every((word) => typeof word === 'string') && Array.isArray(parts)
    && [value['due'], value['endedAt'], value['parent']].every((fact) => fact === null || typeof fact === 'number')
}

/** A buffer that lmdb lends is longer than its `length`: beyond that is old data. */
function endOfHeader(bytes: Buffer): number {
  const end = bytes.indexOf(NEWLINE)
  return end < bytes.length ? end : -1
}
