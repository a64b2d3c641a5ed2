// http: text out of bytes. Charsets, percent escapes and the parameters of header values; what can't be read is
// refused, not mended.
import { isUtf8 } from 'node:buffer'
import { textIn } from '../../model/charset.ts'
import { malformed, unsupportedType } from '../../model/failure.ts'

/** ASCII is a part of it. */
const UTF8 = /^(?:utf-?8|us-ascii|ascii)$/i

export const isUtf8Name = (charset: string): boolean => UTF8.test(charset)

/**
 * A byte order mark stays in the text.
 * @param charset its name, as a Content-Type has it
 * @throws FluxError `malformed` for bytes that are no such text, `unsupportedType` for a charset nobody here knows
 */
export function decodeBody(bytes: Buffer, charset = 'utf-8'): string {
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

const [PERCENT, PLUS, SPACE] = [37, 43, 32]

/**
 * The bytes that a text with percent escapes stands for.
 * @param text each character is a byte
 * @param form whether `+` stands for a space, as in forms and queries
 * @throws FluxError `malformed` for a % that begins no escape
 */
export function percentDecode(text: string, { form }: { readonly form: boolean }): Buffer {
  // Byte by byte: patterns and their replacements take a tenth of a second for a megabyte of escapes.
  const bytes = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let at = 0; at < text.length; at++, length++) {
    const code = text.charCodeAt(at)
    if (code === PERCENT) {
      bytes[length] = (digitOf(text.charCodeAt(at + 1)) << 4) | digitOf(text.charCodeAt(at + 2))
      at += 2
    } else bytes[length] = form && code === PLUS ? SPACE : code
  }
  return bytes.subarray(0, length)
}

/** @throws FluxError `malformed` for what is no hexadecimal digit, and for NaN */
function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  if (lower >= 97 && lower <= 102) return lower - 87
  throw malformed('an escape is malformed')
}

export interface HeaderValue {
  /** What stands before the first semicolon, in lower case. */
  readonly value: string
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

// The parts of a parameter, each looked for where the last one ended: in one pattern, those that may be empty or white
// space would be tried against one another.
const NAME = /\s*([^\s;="]+)\s*=\s*/y
const QUOTED = /"((?:[^"\\]|\\.)*)"/y
const TOKEN = /[^\s;"]*/y
const END = /\s*(?=;|$)/y

interface Parameter {
  readonly name: string
  readonly quoted: string | undefined
  readonly token: string
}

/** Name, then a text in quotes or a token. What is none of that is passed over. Linear in the length of the text. */
function* parametersOf(text: string): Generator<Parameter> {
  for (let at = text.indexOf(';'); at !== -1;) {
    const start = at + 1
    const name = take(NAME, text, start)
    const quoted = name && take(QUOTED, text, NAME.lastIndex)
    const token = name && !quoted ? take(TOKEN, text, NAME.lastIndex) : null
    const last = quoted ? QUOTED.lastIndex : TOKEN.lastIndex
    const isWhole = name !== null && take(END, text, last) !== null
    if (isWhole) yield { name: name[1] ?? '', quoted: quoted?.[1], token: token?.[0] ?? '' }
    at = text.indexOf(';', isWhole ? last : start)
  }
}

function take(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/**
 * `text/plain; charset=utf-8`, `form-data; name="a"`. The first of several parameters of one name counts, and before
 * all of them `name*=utf-8''…` (RFC 8187). Parameters that can't be read are passed over.
 * @throws FluxError `malformed` for a broken escape in a parameter of the latter kind
 */
export function readHeaderValue(text: string): HeaderValue {
  const plain = new Map<string, string>()
  const extended = new Map<string, string>()
  for (const { name: spelled, quoted, token } of parametersOf(text)) {
    const name = spelled.toLowerCase()
    // Nothing else is escaped: browsers send a backslash as it is.
    if (!plain.has(name)) plain.set(name, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token)
    const [, charset, escaped = ''] = name.endsWith('*') ? (/^([^']+)'[^']*'(.*)$/.exec(token) ?? []) : []
    if (charset !== undefined)
      extended.set(name.slice(0, -1), decodeBody(percentDecode(escaped, { form: false }), charset))
  }
  return { value: (text.split(';', 1)[0] ?? '').trim().toLowerCase(), parameters: new Map([...plain, ...extended]) }
}
