// http: JSON as bodies have it (RFC 8259).
import { FluxError, malformed } from '../model/failure.ts'
import type { Json } from '../model/json.ts'
import { excessOf, type JsonLimits } from '../model/json-text.ts'

/** @throws FluxError `malformed`, also for what nests deeper than `maxDepth`; `tooLarge` for more than `maxValues` values and names */
export function decodeJson(text: string, { maxDepth, maxValues }: JsonLimits): Json {
  // Looked at before it is parsed: to parse a megabyte of brackets takes hundreds of milliseconds.
  const excess = excessOf(text, { maxDepth, maxValues })
  if (excess === 'depth') throw malformed(`the body is nested deeper than ${maxDepth}`)
  if (excess === 'values') throw tooMany(maxValues)
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own words quote the body.
    throw malformed(text.trim() === '' ? 'the body is empty' : 'the body is not valid JSON')
  }
}

/** For every format. */
export const tooMany = (maxValues: number) => new FluxError({ kind: 'tooLarge', detail: `the body holds more than ${maxValues} values and names` })
