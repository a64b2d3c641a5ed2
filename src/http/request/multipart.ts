// http: decodes multipart/form-data (RFC 7578). A form that is not wholly valid is refused.
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
  // As RFC 2046, 5.1.1, but with up to 200 characters instead of 70.
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

/** Bytes that are split, and parts that are read, until other requests are served: some milliseconds of work. */
const BYTES_PER_TURN = 16 * 1024
const PARTS_PER_TURN = 100

/** Most bytes of the headers of a part. */
const MAX_HEADERS_BYTES = 8192
/** Dicer cuts longer headers silently, so its limits are higher than those that are checked here. */
const SEEN_HEADERS = { maxHeaderSize: 2 * MAX_HEADERS_BYTES, maxHeaderPairs: MAX_HEADERS_BYTES }

interface Part {
  /** undefined until all headers have been read. */
  headers: { readonly [name: string]: readonly string[] } | undefined
  readonly chunks: Uint8Array[]
}

/** Splits a form into its parts, with the layer below Busboy: Busboy itself skips parts that it cannot read. */
function split(bytes: Buffer, boundary: string, maxParts: number): Promise<Part[]> {
  return new Promise((resolve, reject) => {
    const parts: Part[] = []
    const splitter = new Dicer({ boundary, ...SEEN_HEADERS })
    splitter.on('part', (stream) => {
      // An error here also ends the splitting.
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
      // The splitter reports the same error.
      stream.on('error', () => {})
    })
    splitter.on('error', () => reject(malformed('the form ends early')))
    splitter.on('finish', () => resolve(parts))
    feed(splitter, bytes).catch(reject)
  })
}

/** @throws any error that a listener throws */
async function feed(splitter: Dicer, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += BYTES_PER_TURN) {
    if (at > 0) await nextTurn()
    splitter.write(bytes.subarray(at, at + BYTES_PER_TURN))
  }
  splitter.end()
}

/**
 * The headers of a part, with each byte as a character. Other headers are ignored, also Content-Transfer-Encoding (RFC
 * 7578, 4.7).
 */
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

/** The bytes of the headers, including colons and line ends. */
const lengthOf = (headers: Part['headers']): number =>
  Object.entries(headers ?? {}).reduce(
    (sum, [name, values]) => values.reduce((length, value) => length + name.length + value.length + 3, sum),
    0,
  )

/** The types of fields. A part of another type without a filename is a file without a name. */
const TEXT = /^text\/|[/+](?:json|xml)$/

/** Undoes the escapes of the three characters that browsers escape in names. */
const unescapeName = (name: string): string =>
  name.replaceAll(/%(?:22|0[AaDd])/g, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)))

/** The filename without directories (RFC 2183, 2.3). */
const lastOf = (path: string): string => path.replace(/^[^]*[/\\]/, '').replace(/^\.\.?$/, '')
