// http: texts of requests, and the parameters of header values. Text that is not UTF-8 is refused, not repaired;
// parameters of headers that cannot be read are skipped.
import { isUtf8 } from 'node:buffer'
import { malformed, unsupportedType } from '../../model/failure.ts'

/** @throws FluxError `malformed` */
export function utf8Of(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed('a text is not valid UTF-8')
  return bytes.toString()
}

/** Undoes percent-encoding. `what`: for the failure. @throws FluxError `malformed` */
export function unescaped(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw malformed(`${what} is malformed`)
  }
}

/** The text of a body. RFC 8259, 8.1: a byte order mark may be ignored. @throws FluxError `malformed` */
export function bodyText(bytes: Buffer): string {
  const text = utf8Of(bytes)
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** Names of UTF-8, and of ASCII, which is a subset of it. */
const UTF8 = /^(?:utf-?8|us-ascii|ascii)$/i

/** @param charset as a Content-Type has it. @throws FluxError `unsupportedType` */
export function requireUtf8(charset: string | undefined): void {
  if (charset !== undefined && !UTF8.test(charset)) throw unsupportedType('the body must be in UTF-8')
}

export interface HeaderValue {
  /** The text before the first semicolon, in lower case. */
  readonly value: string
  /** The parameters by name, in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/** A name, then a quoted text or a token. `(?!\s)`: without it, white space that goes on could be split in many ways. */
const PARAMETER = /;\s*([^\s;="]+)\s*=\s*(?!\s)(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*(?=;|$)/g

/**
 * Reads a value such as `text/plain; charset=utf-8` or `form-data; name="a"`. Of several parameters of one name the
 * first counts. Parameters that cannot be read are skipped.
 */
export function readHeaderValue(text: string): HeaderValue {
  const parameters = new Map<string, string>()
  for (const [, spelled = '', quoted, token = ''] of text.matchAll(PARAMETER)) {
    const name = spelled.toLowerCase()
    // Only quotes and backslashes are unescaped: browsers send other backslashes as they are.
    if (!parameters.has(name)) parameters.set(name, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token)
  }
  return { value: (text.split(';', 1)[0] ?? '').trim().toLowerCase(), parameters }
}
