// http: the formats in which bodies are read and answers written. The first is the default.
import { malformed } from '../model/failure.ts'
import type { Format } from './negotiate.ts'

export interface Codec extends Format {
  /** Content-Type of an answer, and of a problem (RFC 9457). */
  readonly answerType: string
  readonly problemType: string
  encode(value: unknown): string
  /** @throws FluxError `malformed` */
  decode(text: string): unknown
}

/** Nesting beyond which a body is refused, the body itself counted. */
const MAX_DEPTH = 64

export const JSON_FORMAT: Codec = {
  type: 'application/json',
  suffix: '+json',
  answerType: 'application/json',
  problemType: 'application/problem+json',
  encode: (value) => JSON.stringify(value),
  decode(text) {
    // Looked at before it is parsed: to parse a megabyte of brackets takes hundreds of milliseconds.
    if (nestsDeeper(text, MAX_DEPTH)) throw malformed(`the body is nested deeper than ${MAX_DEPTH}`)
    try {
      return JSON.parse(text)
    } catch {
      // The parser's own words quote the body.
      throw malformed(text.trim() === '' ? 'the body is empty' : 'the body is not valid JSON')
    }
  },
}

export const FORMATS: readonly Codec[] = [JSON_FORMAT]

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125]

/** True when lists and objects open deeper than that. Of text that isn't JSON it may say either. */
function nestsDeeper(text: string, limit: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth > limit) return true
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--
  }
  return false
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at
  }
  return text.length
}
