// http: reads a request's body: its format, its size, its encoding. What it means is the schemas' matter.
import { isUtf8 } from 'node:buffer'
import type { Context } from 'hono'
import { malformed } from '../model/failure.ts'
import { FORMATS } from './formats.ts'
import { headerOf, readBytes, type Env } from './incoming.ts'
import { formatOf } from './negotiate.ts'
import { HttpError } from './problem.ts'

/**
 * The decoded body.
 * @param limit in bytes
 * @throws FluxError, HttpError for a body of a foreign type, too large, or not to be read
 */
export async function readBody(c: Context<Env>, limit: number): Promise<unknown> {
  const format = formatOf(headerOf(c, 'content-type'), FORMATS)
  if (format === null) throw new HttpError({ kind: 'unsupportedType', detail: `the body must be ${FORMATS.map(({ type }) => type).join(' or ')}` })
  const coding = headerOf(c, 'content-encoding')?.toLowerCase() ?? 'identity'
  if (coding !== 'identity') throw new HttpError({ kind: 'unsupportedType', detail: 'the body must not be compressed' })
  const bytes = await readBytes(c, limit)
  if (!isUtf8(bytes)) throw malformed('the body is not valid UTF-8')
  const text = bytes.toString()
  // RFC 8259, 8.1: a byte order mark may be ignored.
  return format.decode(text.startsWith('\uFEFF') ? text.slice(1) : text)
}
