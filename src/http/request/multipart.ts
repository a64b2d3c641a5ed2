// http: multipart/form-data (RFC 7578). Either the whole form is understood, or it is refused.
import { Dicer } from '@fastify/busboy'
import { z } from 'zod'
import { FluxError, malformed } from '../../model/failure.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { addField, fieldsToJson, type FormFields } from './form-fields.ts'
import { decodeBody, readHeaderValue } from './text.ts'
import { nextTurn } from '../answers/turns.ts'

/**
 * A field is a text; a file is `{ filename, contentType, size, content }`, the content in base64.
 * @param boundary as the Content-Type has it
 * @throws FluxError `malformed`; `tooLarge` for more than `maxParts` parts; `unsupportedType` for a field in an unknown
 * charset
 */
export async function readMultipart(
  bytes: Buffer,
  boundary: string | undefined,
  { maxParts }: { readonly maxParts: number },
): Promise<JsonObject> {
  // RFC 2046, 5.1.1, save that more than 70 characters are taken.
  if (boundary === undefined || !/^[ -~]{1,200}$/.test(boundary))
    throw malformed('the Content-Type of the form names no boundary')
  const fields: FormFields<Json> = new Map()
  const parts = await split(bytes, boundary, maxParts)
  for (const [index, part] of parts.entries()) {
    if (index > 0 && index % PARTS_PER_TURN === 0) await nextTurn()
    const { name, value } = readPart(part)
    addField(fields, name, value)
  }
  return fieldsToJson(fields)
}

/** Bytes that are split, and parts that are read, before others are served: some milliseconds. */
const BYTES_PER_TURN = 16 * 1024
const PARTS_PER_TURN = 100

/** Bytes of the headers of a part. */
const MAX_HEADERS_BYTES = 8192
/** What is more is cut off without a word: so it is given more than may be. */
const SEEN_HEADERS = { maxHeaderSize: 2 * MAX_HEADERS_BYTES, maxHeaderPairs: MAX_HEADERS_BYTES }

interface Part {
  /** undefined until they have come whole. */
  headers: { readonly [name: string]: readonly string[] } | undefined
  readonly chunks: Uint8Array[]
}

/** Busboy itself would pass over parts that it can't read, without a word; so this is the layer beneath. */
function split(bytes: Buffer, boundary: string, maxParts: number): Promise<Part[]> {
  return new Promise((resolve, reject) => {
    const parts: Part[] = []
    const splitter = new Dicer({ boundary, ...SEEN_HEADERS })
    splitter.on('part', (stream) => {
      // Breaks off the splitting, too.
      if (parts.length === maxParts)
        throw new FluxError({ kind: 'tooLarge', detail: `the form has more than ${maxParts} parts` })
      const part: Part = { headers: undefined, chunks: [] }
      parts.push(part)
      stream.on('header', (headers: Part['headers']) => {
        part.headers = headers
      })
      stream.on('data', (chunk) => {
        part.chunks.push(Buffer.from(chunk))
      })
      // That it breaks off the splitter says as well.
      stream.on('error', () => {})
    })
    splitter.on('error', () => reject(malformed('the form ends early')))
    splitter.on('finish', () => resolve(parts))
    feed(splitter, bytes).catch(reject)
  })
}

/** @throws whatever a listener throws */
async function feed(splitter: Dicer, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += BYTES_PER_TURN) {
    if (at > 0) await nextTurn()
    splitter.write(bytes.subarray(at, at + BYTES_PER_TURN))
  }
  splitter.end()
}

/** Bytes as characters. Anything else in them plays no part, Content-Transfer-Encoding neither (RFC 7578, 4.7). */
const PartHeaders = z.object({
  'content-disposition': z.tuple([z.string()]),
  'content-type': z.tuple([z.string()]).default(['text/plain']),
})

function readPart({ headers, chunks }: Part): { name: string; value: Json } {
  const read = PartHeaders.safeParse(headers)
  if (!read.success) throw malformed('a part of the form has no readable headers')
  if (lengthOf(headers) > MAX_HEADERS_BYTES)
    throw malformed(`the headers of a part of the form are longer than ${MAX_HEADERS_BYTES} bytes`)
  const {
    'content-disposition': [disposition],
    'content-type': [contentType],
  } = read.data
  const { value: kind, parameters } = readHeaderValue(decodeBody(Buffer.from(disposition, 'latin1')))
  const name = parameters.get('name')
  if (kind !== 'form-data' || name === undefined) throw malformed('a part of the form has no name')
  const content = Buffer.concat(chunks)
  const filename = parameters.get('filename')
  const type = readHeaderValue(contentType)
  const value =
    filename === undefined && TEXT.test(type.value)
      ? decodeBody(content, type.parameters.get('charset'))
      : {
          filename: filename === undefined ? null : lastOf(unescapeName(filename)),
          contentType,
          size: content.length,
          content: content.toString('base64'),
        }
  return { name: unescapeName(name), value }
}

/** With the colon and the end of each line. */
const lengthOf = (headers: Part['headers']): number =>
  Object.entries(headers ?? {}).reduce(
    (sum, [name, values]) => values.reduce((length, value) => length + name.length + value.length + 3, sum),
    0,
  )

/** What has another type and no file name is a file without a name. */
const TEXT = /^text\/|[/+](?:json|xml)$/

/** The three characters that browsers escape in names, and so that they do. */
const unescapeName = (name: string): string =>
  name.replaceAll(/%(?:22|0[AaDd])/g, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))

/** Without directories (RFC 2183, 2.3). */
const lastOf = (path: string): string => path.replace(/^[^]*[/\\]/, '').replace(/^\.\.?$/, '')
