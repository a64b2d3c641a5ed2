// http: reads a request's body: its format, its size, its encoding. What it means is the schemas' matter.
import { isUtf8 } from 'node:buffer'
import type { Context } from 'hono'
import type { ByteBudget, Hold } from '../model/byte-budget.ts'
import { malformed, unsupportedType } from '../model/failure.ts'
import { isObject } from '../model/json.ts'
import { FORMATS } from './formats.ts'
import { headerOf, readBytes, type Env } from './incoming.ts'
import { formatOf } from './negotiate.ts'
import { isUtf8Name, readHeaderValue } from './text.ts'
import { isBlank, trimSpace } from './xml-names.ts'

export interface BodyLimits {
  /** Bytes. */
  readonly maxBody: number
  /** Levels of nesting, the body itself counted. */
  readonly maxDepth: number
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

async function readBody(c: Context<Env>, { maxBody, maxDepth }: BodyLimits, hold: Hold): Promise<Body> {
  const contentType = headerOf(c, 'content-type')
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
  const value = await format.decode(text.startsWith('\uFEFF') ? text.slice(1) : text, { maxDepth })
  return { value: format.untyped ? laidOut(value) : value, untyped: format.untyped }
}

/** The fields as XML means them that tells no types and may be laid out over lines: empty ones were left out, and there is white space around the others. */
function laidOut(value: unknown): unknown {
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => typeof field !== 'string' || !isBlank(field))
  return Object.fromEntries(fields.map(([name, field]) => [name, name === 'input' ? inputOf(field) : name === 'tags' ? tagsOf(field) : trimmed(field)]))
}

const trimmed = (field: unknown): unknown => (typeof field === 'string' ? trimSpace(field) : field)
/** A single one is a list of one. */
const tagsOf = (field: unknown): unknown => (Array.isArray(field) ? field.map(trimmed) : typeof field === 'string' ? [trimSpace(field)] : field)
/** With `item` alone it looks like a list. */
const inputOf = (field: unknown): unknown => (Array.isArray(field) && field.length > 0 ? { item: field.length === 1 ? field[0] : field } : field)
