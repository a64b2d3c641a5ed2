// testing/scenario: patterns of scenario files.
import { setFlagsFromString } from 'node:v8'
import type { Json } from '../../model/json/value.ts'
import { messageOf } from '../../model/error-message.ts'

// An engine of V8 whose time grows with the text alone, whatever the pattern is. It runs patterns with the flag `l`.
setFlagsFromString('--enable-experimental-regexp-engine')
const LINEAR = 'l'

const patterns = new Map<string, RegExp>()

/** @throws SyntaxError for what is no pattern, and for one that can't be matched in linear time */
export function patternOf(source: string): RegExp {
  const known = patterns.get(source) ?? new RegExp(source, LINEAR)
  patterns.set(source, known)
  return known
}

/** Why it can't be used; null: it can. */
export function patternFault(source: Json): string | null {
  if (typeof source !== 'string') return 'must be a pattern, as text'
  try {
    patternOf(source)
    return null
  } catch (error) {
    return messageOf(error)
  }
}
