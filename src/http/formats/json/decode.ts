// http: decodes JSON bodies (RFC 8259).
import { malformed, tooLarge } from '../../../model/failure.ts'
import type { Json } from '../../../model/json/value.ts'
import { characterAt, positionOf, scanJson } from '../../../model/json/scan.ts'
import { excessOf, type JsonLimits } from '../../../model/json/text.ts'

/**
 * @throws FluxError `malformed`, also for nesting deeper than `maxDepth`; `tooLarge` for more than `maxValues` values
 * and names
 */
export function decodeJson(text: string, { maxDepth, maxValues }: JsonLimits): Json {
  // Measured before it is parsed: parsing a megabyte of brackets takes hundreds of milliseconds.
  const excess = excessOf(text, { maxDepth, maxValues })
  if (excess === 'depth') throw malformed(`the body is nested deeper than ${maxDepth}`)
  if (excess === 'values') throw tooMany(maxValues)
  try {
    return JSON.parse(text)
  } catch {
    throw malformed(text.trim() === '' ? 'the body is empty' : `the body is not valid JSON${placeOfFault(text)}`)
  }
}

/** The failure for too many values, used by every format. */
export const tooMany = (maxValues: number) => tooLarge(`the body holds more than ${maxValues} values and names`)

/**
 * Where the JSON is invalid. The parser's own message quotes the body, or names no place; this one contains at most one
 * character of the body.
 */
function placeOfFault(text: string): string {
  const at = scanJson(text)
  if (at < 0) return ''
  const { line, column } = positionOf(text, at)
  return `: unexpected ${characterAt(text, at) ?? 'end'} at line ${line}, column ${column}`
}
