// testing/scenario: compares what a scenario expects with what is seen. Objects are compared as far as they are expected,
// lists as a whole, and a number stands for a list of that length.
import { setFlagsFromString } from 'node:v8'
import { messageOf } from '../../model/error-message.ts'
import { escapedKey } from '../../model/failure.ts'
import { getOwn, isObject, type Json } from '../../model/json/value.ts'

export interface Mismatch {
  /** JSON pointer into what is expected. */
  readonly pointer: string
  readonly expected: Json
  /** null also for what is missing. */
  readonly seen: Json
}

/** `$any`: anything but null. `$matches`: a text that has a match of that pattern. */
export const MATCHERS = ['$any', '$matches'] as const

/** Where the two differ. */
export function mismatchesOf(expected: Json, seen: Json, pointer = ''): Mismatch[] {
  const differs = [{ pointer, expected, seen }]
  if (Array.isArray(expected)) {
    if (!Array.isArray(seen) || seen.length !== expected.length) return differs
    return expected.flatMap((item, index) => mismatchesOf(item, seen[index] ?? null, `${pointer}/${index}`))
  }
  if (!isObject(expected))
    return expected === (typeof expected === 'number' && Array.isArray(seen) ? seen.length : seen) ? [] : differs
  const [any, pattern] = MATCHERS.map((name) => getOwn(expected, name))
  if (any !== undefined) return (seen !== null) === (any === true) ? [] : differs
  if (pattern !== undefined) return typeof seen === 'string' && patternOf(String(pattern)).test(seen) ? [] : differs
  if (!isObject(seen)) return differs
  return Object.entries(expected).flatMap(([name, value]) =>
    mismatchesOf(value, getOwn(seen, name) ?? null, `${pointer}/${escapedKey(name)}`),
  )
}

// An engine of V8 whose time grows with the text alone, whatever the pattern is. It runs patterns with the flag `l`.
setFlagsFromString('--enable-experimental-regexp-engine')
const LINEAR = 'l'

/** @throws SyntaxError for what is no pattern, and for one that can't be matched in linear time */
const patternOf = (source: string) => new RegExp(source, LINEAR)

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
