// http: reads a request's body: its format, its size, its encoding. What it means is the schemas' matter.
import { isUtf8 } from 'node:buffer'
import type { Context } from 'hono'
import { malformed, unsupportedType } from '../model/failure.ts'
import { isObject } from '../model/json.ts'
import { FORMATS } from './formats.ts'
import { headerOf, readBytes, type Env } from './incoming.ts'
import { formatOf } from './negotiate.ts'

export interface BodyLimits {
  /** Bytes. */
  readonly maxBody: number
  /** Levels of nesting, the body itself counted. */
  readonly maxDepth: number
}

export interface Body {
  readonly value: unknown
  /** Its texts may stand for numbers, booleans and the like. */
  readonly untyped: boolean
}

/**
 * The decoded body.
 * @throws FluxError for a body of a foreign type, too large, or not to be read
 */
export async function readBody(c: Context<Env>, { maxBody, maxDepth }: BodyLimits): Promise<Body> {
  const contentType = headerOf(c, 'content-type')
  const format = formatOf(contentType, FORMATS)
  if (format === null) throw unsupportedType(`the body must be ${FORMATS.map(({ type }) => type).join(' or ')}`)
  if (contentType?.includes('charset') && OTHER_CHARSET.test(contentType)) throw unsupportedType('the body must be in UTF-8')
  const coding = headerOf(c, 'content-encoding')?.toLowerCase() ?? 'identity'
  if (coding !== 'identity') throw unsupportedType('the body must not be compressed')
  const bytes = await readBytes(c, maxBody)
  if (!isUtf8(bytes)) throw malformed('the body is not valid UTF-8')
  const text = bytes.toString()
  // RFC 8259, 8.1: a byte order mark may be ignored.
  const value = format.decode(text.startsWith('\uFEFF') ? text.slice(1) : text, maxDepth)
  if (!format.untyped) return { value, untyped: false }
  return { value: withoutBlanks(value), untyped: true }
}

const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(?:utf-?8|us-ascii)"?\s*(?:;|$))/i

/** An element without content, and no more said about it, is a field that was left empty. */
const withoutBlanks = (value: unknown): unknown =>
  (isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, field]) => typeof field !== 'string' || field.trim() !== '')) : value)
