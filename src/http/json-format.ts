// http: JSON as bodies have it (RFC 8259).
import { malformed } from '../model/failure.ts'
import { characterAt, positionOf, scanJson } from '../model/json-scan.ts'

/** @throws FluxError `malformed`, also for what nests deeper than `maxDepth`, the body itself counted */
export function decodeJson(text: string, { maxDepth }: { readonly maxDepth: number }): unknown {
  // Looked at before it is parsed: to parse a megabyte of brackets takes hundreds of milliseconds.
  if (nestsDeeper(text, maxDepth)) throw malformed(`the body is nested deeper than ${maxDepth}`)
  try {
    return JSON.parse(text)
  } catch {
    throw malformed(text.trim() === '' ? 'the body is empty' : `the body is not valid JSON${placeOfFault(text)}`)
  }
}

/** The parser's own words quote the body, or tell no place: of ours, one character is the body's. */
function placeOfFault(text: string): string {
  const at = scanJson(text)
  if (at < 0) return ''
  const { line, column } = positionOf(text, at)
  return `: unexpected ${characterAt(text, at) ?? 'end'} at line ${line}, column ${column}`
}

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
