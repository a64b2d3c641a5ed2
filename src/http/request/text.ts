// http: decodes charsets, percent escapes and the parameters of header values. Malformed text is refused, not repaired;
// only unreadable parameters of headers are skipped.
import { isUtf8 } from 'node:buffer'
import { textIn } from '../../model/charset.ts'
import { malformed, unsupportedType } from '../../model/failure.ts'

/** Names of UTF-8, and of ASCII, which is a subset of it. */
const UTF8 = /^(?:utf-?8|us-ascii|ascii)$/i

export const isUtf8Name = (charset: string): boolean => UTF8.test(charset)

/**
 * Decodes a body. A byte order mark stays in the text.
 * @param charset the name, as in Content-Type
 * @throws FluxError `malformed` for bytes that are not valid in the charset, `unsupportedType` for an unknown charset
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
 * @throws FluxError `malformed` for a `%` that begins no escape
 */
export function percentDecode(text: string, { form }: { readonly form: boolean }): Buffer {
  // Byte by byte: replacing by a pattern takes a tenth of a second for a megabyte of escapes.
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

/** @throws FluxError `malformed` for a code that is no hexadecimal digit, and for NaN */
function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  if (lower >= 97 && lower <= 102) return lower - 87
  throw malformed('an escape is malformed')
}

export interface HeaderValue {
  /** The text before the first semicolon, in lower case. */
  readonly value: string
  /** The parameters by name, in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

// The parts of a parameter. Each is matched where the previous one ended: in a single pattern, adjacent parts that may
// be empty or white space would take more than linear time.
const NAME = /\s*([^\s;="]+)\s*=\s*/y
const QUOTED = /"((?:[^"\\]|\\.)*)"/y
const TOKEN = /[^\s;"]*/y
const END = /\s*(?=;|$)/y

interface Parameter {
  readonly name: string
  readonly quoted: string | undefined
  readonly token: string
}

/** Each parameter is a name, then a quoted text or a token. Anything else is skipped. Takes linear time. */
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
 * Reads a value such as `text/plain; charset=utf-8` or `form-data; name="a"`. Of several parameters of one name the
 * first counts, and `name*=utf-8''…` (RFC 8187) has precedence. Parameters that cannot be read are skipped.
 * @throws FluxError `malformed` for an invalid escape in a parameter of RFC 8187
 */
export function readHeaderValue(text: string): HeaderValue {
  const plain = new Map<string, string>()
  const extended = new Map<string, string>()
  for (const { name: spelled, quoted, token } of parametersOf(text)) {
    const name = spelled.toLowerCase()
    // Only quotes and backslashes are unescaped: browsers send other backslashes as they are.
    if (!plain.has(name)) plain.set(name, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token)
    const [, charset, escaped = ''] = name.endsWith('*') ? (/^([^']+)'[^']*'(.*)$/.exec(token) ?? []) : []
    if (charset !== undefined)
      extended.set(name.slice(0, -1), decodeBody(percentDecode(escaped, { form: false }), charset))
  }
  return { value: (text.split(';', 1)[0] ?? '').trim().toLowerCase(), parameters: new Map([...plain, ...extended]) }
}
