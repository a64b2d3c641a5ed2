// http: reads a request's body: its format, its size, its encoding. What it means is the schemas' matter.
import { isUtf8 } from 'node:buffer'
import type { Context } from 'hono'
import type { ByteBudget, Hold } from '../../model/byte-budget.ts'
import { malformed, unsupportedType } from '../../model/failure.ts'
import { isObject } from '../../model/json.ts'
import type { JsonLimits } from '../../model/json-text.ts'
import { FORMATS } from '../formats/codecs.ts'
import { headerOf, readBytes, type Env } from './incoming.ts'
import { isFromPage } from './origin-guard.ts'
import { formatOf, namesType } from '../formats/negotiate.ts'
import { isUtf8Name, readHeaderValue } from './text.ts'
import { pauseFor } from '../answers/turns.ts'
import { isBlank, trimSpace } from '../formats/xml/names.ts'

export interface BodyLimits extends JsonLimits {
  /** Bytes. */
  readonly maxBody: number
}

/** What requests may hold of the server's memory at once. */
export interface Admission { readonly inFlight: ByteBudget }

export interface Body {
  readonly value: unknown
  /** Its texts may stand for numbers, booleans and the like. */
  readonly untyped: boolean
}

/**
 * Does something with the decoded body, which counts among what is in flight until that is done.
 * @throws FluxError for a body of a foreign type, too large, or not to be read; `overloaded`
 */
export async function withBody<T>(c: Context<Env>, limits: BodyLimits & Admission, use: (body: Body) => Promise<T>): Promise<T> {
  const hold = limits.inFlight.hold()
  try {
    return await use(await readBody(c, limits, hold))
  } finally {
    hold.release()
  }
}

async function readBody(c: Context<Env>, { maxBody, maxDepth, maxValues }: BodyLimits, hold: Hold): Promise<Body> {
  const contentType = headerOf(c, 'content-type')
  // Without a type a page may send a body wherever it likes: its browser asks nobody first.
  if (!namesType(contentType) && isFromPage(c)) throw unsupportedType('a body that a page sends needs a Content-Type')
  const format = formatOf(contentType, FORMATS)
  if (format === null) throw unsupportedType(`the body must be ${FORMATS.map(({ type }) => type).join(' or ')}`)
  const charset = contentType?.includes(';') ? readHeaderValue(contentType).parameters.get('charset') : undefined
  if (charset !== undefined && !isUtf8Name(charset)) throw unsupportedType('the body must be in UTF-8')
  const coding = headerOf(c, 'content-encoding')?.toLowerCase() ?? 'identity'
  if (coding !== 'identity') throw unsupportedType('the body must not be compressed')
  const bytes = await readBytes(c, { limit: maxBody, charge: hold.resize })
  if (!isUtf8(bytes)) throw malformed('the body is not valid UTF-8')
  const text = bytes.toString()
  // RFC 8259, 8.1: a byte order mark may be ignored.
  const value = await format.decode(text.startsWith('\uFEFF') ? text.slice(1) : text, { maxDepth, maxValues })
  await pauseFor(bytes.length)
  return { value: format.untyped ? laidOut(value) : value, untyped: format.untyped }
}

/** Empty elements of these count as left out. */
const OPTIONAL: ReadonlySet<string> = new Set(['startState', 'input', 'tags'])

/** The fields as XML means them that tells no types and may be laid out over lines: optional ones that are empty were left out, and there is white space around the others. */
function laidOut(value: unknown): unknown {
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([name, field]) => typeof field !== 'string' || !OPTIONAL.has(name) || !isBlank(field))
  return Object.fromEntries(fields.map(([name, field]) => [name, name === 'input' ? inputOf(field) : name === 'tags' ? tagsOf(field) : trimmed(field)]))
}

const trimmed = (field: unknown): unknown => (typeof field === 'string' ? trimSpace(field) : field)
/** A single one is a list of one. */
const tagsOf = (field: unknown): unknown => (Array.isArray(field) ? field.map(trimmed) : typeof field === 'string' ? [trimSpace(field)] : field)
/** With `item` alone it looks like a list. */
const inputOf = (field: unknown): unknown => (Array.isArray(field) && field.length > 0 ? { item: field.length === 1 ? field[0] : field } : field)
