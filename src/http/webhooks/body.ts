// http: decodes the body of a webhook's request by its Content-Type. Any type is accepted; bodies of unknown types
// become base64.
import { isObject, setOwn, type Json } from '../../model/json/value.ts'
import { FORMATS } from '../formats/codecs.ts'
import { formatOf } from '../formats/negotiate.ts'
import { decodeBody, type BodyLimits } from '../request/body.ts'
import { fieldsToJson, formFieldsOf } from '../request/form.ts'
import { readMultipart } from '../request/multipart.ts'
import { bodyText, readHeaderValue, requireUtf8, utf8Of } from '../request/text.ts'

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
 * `unsupportedType` for a charset other than UTF-8
 */
export function decodeWebhookBody(bytes: Buffer, contentType: string | undefined, limits: WebhookLimits): WebhookBody {
  const body = parsed(bytes, contentType ?? '', limits)
  return body === undefined ? packed(bytes) : { body, encoded: false }
}

/** undefined: the type is not one that is decoded. */
function parsed(bytes: Buffer, contentType: string, limits: WebhookLimits): Json | undefined {
  const { value: type, parameters } = readHeaderValue(contentType)
  if (type === 'multipart/form-data') return readMultipart(bytes, parameters.get('boundary'), limits)
  const format = type === '' ? null : formatOf(type, FORMATS)
  const isForm = type === 'application/x-www-form-urlencoded'
  const isText = type.startsWith('text/')
  if (format || isForm || isText) requireUtf8(parameters.get('charset'))
  if (isForm) return fieldsToJson(formFieldsOf(utf8Of(bytes), limits.maxParts))
  if (format === null) return isText ? bodyText(bytes) : undefined
  return bytes.length === 0 ? null : finite(decodeBody(bytes, format, { ...limits, foreign: true }))
}

/** The bytes as base64; null if there are none. */
export const packed = (bytes: Buffer): WebhookBody =>
  bytes.length === 0 ? { body: null, encoded: false } : { body: bytes.toString('base64'), encoded: true }

/**
 * JSON text may contain numbers beyond the range of a double, which become infinities: they are replaced by null, in
 * place, because copying large data takes long.
 */
function finite(data: Json): Json {
  if (data === Infinity || data === -Infinity) return null
  if (Array.isArray(data)) for (const [index, item] of data.entries()) data[index] = finite(item)
  else if (isObject(data)) {
    for (const key of Object.keys(data)) {
      const item = data[key] ?? null
      if (finite(item) !== item) setOwn(data, key, null)
    }
  }
  return data
}
