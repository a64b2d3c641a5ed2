// engine/deliveries: the request of a delivery, as it is kept: without secrets, and without more of its body than the
// API shows; and what is needed to send it again.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { redactRequest } from '../redact/redactor.ts'

/** Bytes of a body that are kept, unparsed and as text. */
const MAX_KEPT_BODY_BYTES = 64 * 1024

/** Bytes that such a body may take as JSON, where a control character takes six. */
const MAX_KEPT_JSON_BYTES = 2 * MAX_KEPT_BODY_BYTES

/** Field of a request whose body was longer. */
const TRUNCATED = 'bodyTruncated'

export interface KeptRequest {
  /** `$request` without its secrets. A longer body is cut to its first bytes, as a text, and marked. */
  readonly request: JsonObject
  /** The unparsed body, where `request` does not have it. */
  readonly base64?: string
}

/** Its work grows with the size of the request, or of what is kept of it. */
export function keptRequestOf(request: JsonObject, rawBody: Uint8Array): KeptRequest {
  const { shown } = redactRequest(request)
  const raw = Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  const body = getOwn(request, 'body') ?? null
  if (raw.length > MAX_KEPT_BODY_BYTES || !isShort(textOf(body)))
    return { request: { ...shown, body: firstOf(raw, request['encoded'] === true), [TRUNCATED]: true } }
  return { request: shown, ...(!bytesOf(request).equals(raw) && { base64: raw.toString('base64') }) }
}

/** The unparsed body; null: not all of it was kept. */
export function keptBodyOf({ request, base64 }: KeptRequest): Uint8Array | null {
  if (request[TRUNCATED] === true) return null
  return base64 === undefined ? bytesOf(request) : Buffer.from(base64, 'base64')
}

const textOf = (body: Json) => (typeof body === 'string' ? body : JSON.stringify(body))

const isShort = (text: string) =>
  Buffer.byteLength(text) <= MAX_KEPT_BODY_BYTES && Buffer.byteLength(JSON.stringify(text)) <= MAX_KEPT_JSON_BYTES

/** What the body most likely was before it was parsed. */
function bytesOf(request: JsonObject) {
  const body = getOwn(request, 'body') ?? null
  if (body === null) return Buffer.alloc(0)
  return Buffer.from(textOf(body), request['encoded'] === true ? 'base64' : 'utf8')
}

/** In base64 three bytes take four, a byte that is no text is replaced by three, and a character may be escaped. */
function firstOf(raw: Buffer, isEncoded: boolean) {
  if (isEncoded) return raw.subarray(0, (MAX_KEPT_BODY_BYTES / 4) * 3).toString('base64')
  let text = raw
    .subarray(0, MAX_KEPT_BODY_BYTES)
    .toString()
    .replace(/\uFFFD$/, '')
  while (!isShort(text)) text = text.slice(0, (text.length / 4) * 3)
  return text
}
