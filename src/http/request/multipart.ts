// http: decodes multipart/form-data (RFC 7578). A form that is not wholly valid is refused.
import { malformed, tooLarge } from '../../model/failure.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { addField, fieldsToJson, type FormFields } from './form.ts'
import { readHeaderValue, requireUtf8, utf8Of } from './text.ts'

/**
 * A field is a text; a file is `{ filename, contentType, size, content }`, the content in base64.
 * @param boundary as the Content-Type has it
 * @throws FluxError `malformed`; `tooLarge` for more than `maxParts` parts; `unsupportedType` for a field in a charset
 * other than UTF-8
 */
export function readMultipart(
  bytes: Buffer,
  boundary: string | undefined,
  { maxParts }: { readonly maxParts: number },
): JsonObject {
  // As RFC 2046, 5.1.1, but with up to 200 characters instead of 70.
  if (boundary === undefined || !/^[ -~]{1,200}$/.test(boundary))
    throw malformed('the Content-Type of the form names no boundary')
  // The first delimiter may be at the very start.
  const [, ...parts] = `\r\n${bytes.toString('latin1')}`.split(`\r\n--${boundary}`)
  const last = parts.findIndex((part) => part.startsWith('--'))
  const count = last === -1 ? parts.length : last
  if (count > maxParts) throw tooLarge(`the form has more than ${maxParts} parts`)
  if (last === -1) throw malformed('the form ends early')
  const fields: FormFields<Json> = new Map()
  for (const part of parts.slice(0, count)) addPart(fields, part)
  return fieldsToJson(fields)
}

/** Most bytes of the headers of a part. */
const MAX_HEADERS_BYTES = 8192

/**
 * Other headers are ignored, also Content-Transfer-Encoding (RFC 7578, 4.7).
 * @param part what is between two delimiters, from the end of the first one's line on; each character is a byte
 */
function addPart(fields: FormFields<Json>, part: string): void {
  const end = part.indexOf('\r\n\r\n')
  if (end > MAX_HEADERS_BYTES)
    throw malformed(`the headers of a part of the form are longer than ${MAX_HEADERS_BYTES} bytes`)
  const headers = headersOf(utf8Of(Buffer.from(part.slice(0, Math.max(0, end)), 'latin1')))
  const { value: kind, parameters } = readHeaderValue(headers.get('content-disposition') ?? '')
  const name = parameters.get('name')
  if (kind !== 'form-data' || name === undefined) throw malformed('a part of the form has no name')
  const content = Buffer.from(part.slice(end + 4), 'latin1')
  const filename = parameters.get('filename')
  const contentType = headers.get('content-type') ?? 'text/plain'
  const type = readHeaderValue(contentType)
  const isText = filename === undefined && TEXT.test(type.value)
  if (isText) requireUtf8(type.parameters.get('charset'))
  const value = isText
    ? utf8Of(content)
    : {
        filename: filename === undefined ? null : lastOf(unescapeName(filename)),
        contentType,
        size: content.length,
        content: content.toString('base64'),
      }
  addField(fields, unescapeName(name), value)
}

/** The headers by their names in lower case. The first line is the rest of that of the delimiter. */
function headersOf(text: string): ReadonlyMap<string, string> {
  // A header goes on in a line that begins with white space.
  const [padding = '', ...lines] = text.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^\s:]+):(.*)$/s.exec(line) ?? []
    headers.set(name.toLowerCase(), value.trim())
  }
  if (padding.trim() !== '' || headers.has('') || headers.size < lines.length)
    throw malformed('a part of the form has no readable headers')
  return headers
}

/** The types of fields. A part of another type without a filename is a file without a name. */
const TEXT = /^text\/|[/+](?:json|xml)$/

/** Undoes the escapes of the three characters that browsers escape in names. */
const unescapeName = (name: string): string =>
  name.replaceAll(/%(?:22|0[AaDd])/g, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))

/** The filename without directories (RFC 2183, 2.3). */
const lastOf = (path: string): string => path.replace(/^[^]*[/\\]/, '').replace(/^\.\.?$/, '')
