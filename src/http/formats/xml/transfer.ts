// http: transfers large data from a thread in pieces of JSON text, so that other requests are served while it is
// assembled.
import { isObject, setOwn, type Json, type JsonObject } from '../../../model/json/value.ts'
import { nextTurn } from '../../answers/turns.ts'

/**
 * JSON text of small data, else the parts of a list or an object. A part is JSON text of several values, or one large
 * value with its key.
 */
export type TransferredPieces = string | { readonly list: readonly Part[] } | { readonly object: readonly Part[] }
type Part = string | readonly [key: string, value: TransferredPieces]

/** Characters of a piece: about a millisecond of work. */
const PIECE_CHARACTERS = 32_768

/** Splits data. It must not contain -0, infinities or NaN, which JSON text cannot represent. */
export function cut(value: Json): TransferredPieces {
  if (Array.isArray(value)) {
    const parts = partsOf(
      value.map((item) => ['', item]),
      (texts) => `[${texts.map(([, text]) => text).join()}]`,
    )
    return typeof parts === 'string' ? parts : { list: parts }
  }
  if (!isObject(value)) return JSON.stringify(value)
  const parts = partsOf(
    Object.entries(value),
    (texts) => `{${texts.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join()}}`,
  )
  return typeof parts === 'string' ? parts : { object: parts }
}

type Texts = (readonly [key: string, text: string])[]

function partsOf(
  entries: readonly (readonly [string, Json])[],
  textOf: (texts: Texts) => string,
): string | readonly Part[] {
  const parts: Part[] = []
  let texts: Texts = []
  let size = 0
  const flush = () => {
    if (texts.length > 0) parts.push(textOf(texts))
    texts = []
    size = 0
  }
  for (const [key, value] of entries) {
    const pieces = cut(value)
    if (typeof pieces !== 'string') {
      flush()
      parts.push([key, pieces])
      continue
    }
    texts.push([key, pieces])
    size += key.length + pieces.length
    if (size > PIECE_CHARACTERS) flush()
  }
  if (parts.length === 0) return textOf(texts)
  flush()
  return parts
}

/** Assembles the data. */
export async function joinTransferred(pieces: TransferredPieces): Promise<Json> {
  if (typeof pieces === 'string') return parse(pieces)
  if ('list' in pieces) {
    const list: Json[] = []
    for (const part of pieces.list) {
      if (typeof part === 'string') append(list, await parse(part))
      else list.push(await joinTransferred(part[1]))
    }
    return list
  }
  const object: JsonObject = {}
  for (const part of pieces.object) {
    if (typeof part === 'string') assign(object, await parse(part))
    else setOwn(object, part[0], await joinTransferred(part[1]))
  }
  return object
}

async function parse(text: string): Promise<Json> {
  await nextTurn()
  return JSON.parse(text)
}

function append(list: Json[], items: Json): void {
  if (Array.isArray(items)) for (const item of items) list.push(item)
}

function assign(object: JsonObject, fields: Json): void {
  if (isObject(fields)) for (const key of Object.keys(fields)) setOwn(object, key, fields[key] ?? null)
}
