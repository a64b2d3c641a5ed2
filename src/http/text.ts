// http: text out of bytes. Charsets, percent escapes and the parameters of header values; what can't be read is refused, not mended.
import { isUtf8 } from 'node:buffer'
import { textIn } from '../model/charset.ts'
import { malformed, unsupportedType } from '../model/failure.ts'

/** ASCII is a part of it. */
const UTF8 = /^(?:utf-?8|us-ascii|ascii)$/i

export const isUtf8Name = (charset: string): boolean => UTF8.test(charset)

/**
 * A byte order mark stays in the text.
 * @param charset its name, as a Content-Type has it
 * @throws FluxError `malformed` for bytes that are no such text, `unsupportedType` for a charset nobody here knows
 */
export function decodeText(bytes: Buffer, charset = 'utf-8'): string {
  if (isUtf8Name(charset)) {
    if (!isUtf8(bytes)) throw malformed('a text is not valid UTF-8')
    return bytes.toString()
  }
  try {
    return textIn(bytes, charset, { strict: true })
  } catch (error) {
    if (error instanceof RangeError) throw unsupportedType('the charset of the body is not known here')
    throw malformed('a text is not valid in the charset that it names')
  }
}

/**
 * The bytes that a text with percent escapes stands for.
 * @param text each character is a byte
 * @throws FluxError `malformed` for a % that begins no escape
 */
export function percentDecode(text: string): Buffer {
  // Many escapes at a time: a call for each makes a long text slow.
  const bytes = text.replaceAll(/(?:%[\dA-Fa-f]{2}){1,1000}|%/g, (escapes) => {
    if (escapes === '%') throw malformed('an escape is malformed')
    return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('latin1')
  })
  return Buffer.from(bytes, 'latin1')
}

export interface HeaderValue {
  /** What stands before the first semicolon, in lower case. */
  readonly value: string
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Name, then a text in quotes or a token. */
const PARAMETER = /;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*(?=;|$)/g

/**
 * `text/plain; charset=utf-8`, `form-data; name="a"`. The first of several parameters of one name counts, and before all of them `name*=utf-8''…` (RFC 8187).
 * Parameters that can't be read are passed over.
 * @throws FluxError `malformed` for a broken escape in a parameter of the latter kind
 */
export function readHeaderValue(text: string): HeaderValue {
  const plain = new Map<string, string>()
  const extended = new Map<string, string>()
  for (const [, spelled = '', quoted, token = ''] of text.matchAll(PARAMETER)) {
    const name = spelled.toLowerCase()
    // Nothing else is escaped: browsers send a backslash as it is.
    if (!plain.has(name)) plain.set(name, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token)
    const [, charset, escaped = ''] = name.endsWith('*') ? /^([^']+)'[^']*'(.*)$/.exec(token) ?? [] : []
    if (charset !== undefined) extended.set(name.slice(0, -1), decodeText(percentDecode(escaped), charset))
  }
  return { value: (text.split(';', 1)[0] ?? '').trim().toLowerCase(), parameters: new Map([...plain, ...extended]) }
}
