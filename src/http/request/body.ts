// http: reads the body of a call, and checks its format, size and encoding. The schemas check the content.
import type { Context } from 'hono'
import type { ByteBudget, BudgetShare } from '../../model/byte-budget.ts'
import { tooLarge, unsupportedType } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import type { JsonLimits } from '../../model/json/text.ts'
import { FORMATS, type Codec } from '../formats/codecs.ts'
import { headerOf, readBytes, socketed, type Env } from './incoming.ts'
import { isFromPage } from './origin-guard.ts'
import { formatOf, namesType, type Format } from '../formats/negotiate.ts'
import type { XmlOptions } from '../formats/xml/decode.ts'
import { bodyText, readHeaderValue, requireUtf8 } from './text.ts'

export interface BodyLimits extends JsonLimits {
  /** Bytes. */
  readonly maxBody: number
}

/** The budget of memory for the requests under way. */
export interface BodyAdmission {
  readonly inFlight: ByteBudget
}

export interface ReadBody {
  readonly value: unknown
  /** Texts may stand for numbers, booleans and other types, because the format need not name types. */
  readonly untyped: boolean
}

/**
 * Reads the body of a call. Its memory is charged to `hold` until that is released. Costs one promise if the body is
 * small.
 * @throws FluxError `unsupportedType`, `tooLarge`, `malformed`; `overloaded` when the budget is used up
 */
export function readBody(c: Context<Env>, limits: BodyLimits, hold: BudgetShare): Promise<ReadBody> {
  const format = formatOfBody(c)
  return readBytes(c, { limit: limits.maxBody, charge: hold.resize }, (bytes) => parseBody(bytes, format, limits))
}

/** Whether the request has a body, as its headers say. */
export function hasBody(c: Context<Env>): boolean {
  if (!socketed(c)) return c.req.raw.body !== null
  const { headers } = c.env.incoming
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** @throws FluxError for what isn't to be read */
export function decodeBody(bytes: Buffer, format: Codec, options: XmlOptions): Json {
  if (bytes.length > format.maxBytes) throw tooLarge(`a body of ${format.type} has at most ${format.maxBytes} bytes`)
  return format.decode(bodyText(bytes), options)
}

/** @throws FluxError for what isn't to be read */
export const parseBody = (bytes: Buffer, format: Codec, limits: JsonLimits): ReadBody => ({
  value: decodeBody(bytes, format, limits),
  untyped: format.untyped,
})

/** The format of an uncompressed body that is one of the calls'. @throws FluxError `unsupportedType` */
export function formatOfBody(c: Context<Env>): Codec {
  const format = typeOfBody(c, FORMATS)
  requireUncompressed(c)
  return format
}

/** In lower case, the coding of the body; `identity`: it is not compressed. */
export const codingOf = (c: Context<Env>): string => headerOf(c, 'content-encoding')?.trim().toLowerCase() || 'identity'

/** @throws FluxError `unsupportedType` */
export function requireUncompressed(c: Context<Env>): void {
  if (codingOf(c) !== 'identity') throw unsupportedType('the body must not be compressed')
}

/** Which of the formats the body has. @throws FluxError `unsupportedType`: none of them, or not in UTF-8 */
export function typeOfBody<F extends Format>(c: Context<Env>, offered: readonly F[]): F {
  const contentType = headerOf(c, 'content-type')
  // Browsers let pages send a body without a type to other origins, without asking the server first.
  if (!namesType(contentType) && isFromPage(c)) throw unsupportedType('a body that a page sends needs a Content-Type')
  const format = formatOf(contentType, offered)
  if (format === null) throw unsupportedType(`the body must be ${offered.map(({ type }) => type).join(' or ')}`)
  if (contentType?.includes(';')) requireUtf8(readHeaderValue(contentType).parameters.get('charset'))
  return format
}
