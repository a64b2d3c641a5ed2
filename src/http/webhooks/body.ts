// http: decodes the body of a webhook's request by its Content-Type. Any type is accepted; bodies of unknown types
// become base64.
import { charsetOfXml } from '../../model/charset.ts'
import { FluxError, malformed } from '../../model/failure.ts'
import { isObject, setOwn, type Json } from '../../model/json/value.ts'
import type { BodyLimits } from '../request/body.ts'
import { fieldsToJson, pairsOf, readPairs } from '../request/form-fields.ts'
import { FORMATS, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { readMultipart } from '../request/multipart.ts'
import { formatOf } from '../formats/negotiate.ts'
import { decodeBody, isUtf8Name, readHeaderValue } from '../request/text.ts'
import { pauseFor } from '../answers/turns.ts'

export interface WebhookLimits extends BodyLimits {
  /** Most fields of a form or a query. */
  readonly maxParts: number
}

export interface WebhookBody {
  readonly body: Json
  /** True when the body is base64. */
  readonly encoded: boolean
}

/**
 * Decodes JSON, XML, forms and texts; a body of another type, or of none, becomes base64. An empty body is null, except
 * for an empty text and an empty form.
 * @throws FluxError `malformed` for a body that does not fit its type, `tooLarge` for a form with too many fields,
 * `unsupportedType` for an unknown charset
 */
export async function decodeWebhookBody(
  bytes: Buffer,
  contentType: string | undefined,
  limits: WebhookLimits,
): Promise<WebhookBody> {
  if (contentType === undefined && bytes.length === 0) return { body: null, encoded: false }
  const { value: type, parameters } = readHeaderValue(contentType ?? '')
  const charset = parameters.get('charset')
  const format = type === '' ? null : formatOf(type, FORMATS)
  if (format)
    return { body: bytes.length === 0 ? null : await decodeFormat(bytes, { format, charset, limits }), encoded: false }
  if (type === 'application/x-www-form-urlencoded') return { body: decodeForm(bytes, charset, limits), encoded: false }
  if (type === 'multipart/form-data')
    return { body: await readMultipart(bytes, parameters.get('boundary'), limits), encoded: false }
  if (type.startsWith('text/')) return { body: withoutMark(decodeBody(bytes, charset)), encoded: false }
  return bytes.length === 0 ? { body: null, encoded: false } : { body: bytes.toString('base64'), encoded: true }
}

interface Encoded {
  readonly format: Codec
  readonly charset: string | undefined
  readonly limits: WebhookLimits
}

async function decodeFormat(
  bytes: Buffer,
  { format, charset, limits: { maxDepth, maxValues } }: Encoded,
): Promise<Json> {
  // JSON has no other encoding (RFC 8259, 8.1).
  if (format === JSON_FORMAT && charset !== undefined && !isUtf8Name(charset)) throw malformed('JSON must be in UTF-8')
  const text = decodeBody(bytes, format === JSON_FORMAT ? undefined : charsetOfXml(bytes, charset))
  const body = await format.decode(withoutMark(text), { maxDepth, maxValues, foreign: true })
  await pauseFor(bytes.length)
  if (isInfinite(body)) return null
  dropInfinities(body)
  await pauseFor(bytes.length)
  return body
}

/** JSON text may contain numbers beyond the range of a double, which become infinities. */
const isInfinite = (value: Json): boolean => value === Infinity || value === -Infinity

/** Replaces infinities by null, in place: copying large data takes long. */
function dropInfinities(data: Json): void {
  if (Array.isArray(data)) {
    for (const [index, item] of data.entries()) {
      if (isInfinite(item)) data[index] = null
      else dropInfinities(item)
    }
  } else if (isObject(data)) {
    for (const key of Object.keys(data)) {
      const item = data[key] ?? null
      if (isInfinite(item)) setOwn(data, key, null)
      else dropInfinities(item)
    }
  }
}

function decodeForm(bytes: Buffer, charset: string | undefined, { maxParts }: WebhookLimits): Json {
  const pairs = pairsOf(bytes.toString('latin1'))
  if (pairs.length > maxParts)
    throw new FluxError({ kind: 'tooLarge', detail: `the form has more than ${maxParts} fields` })
  return fieldsToJson(readPairs(pairs, charset))
}

/** The text without its byte order mark. */
const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)
