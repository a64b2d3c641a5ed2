// testing/scenario: compares what a scenario expects with what is seen. Objects are compared as far as they are expected,
// lists as a whole.
import { setFlagsFromString } from 'node:v8'
import { escapedKey } from '../../model/failure.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'

export interface Mismatch {
  /** JSON pointer into what is expected. */
  readonly pointer: string
  readonly expected: Json
  /** Left out for what isn't there. */
  readonly seen?: Json | undefined
}

/**
 * Where the two differ. `seen`: undefined for what isn't there.
 * @throws Error for a matcher that can't be used
 */
export function mismatchesOf(expected: Json, seen: Json | undefined, pointer = ''): Mismatch[] {
  const differs = [{ pointer, expected, seen }]
  if (Array.isArray(expected)) {
    if (!Array.isArray(seen) || seen.length !== expected.length) return differs
    return expected.flatMap((item, index) => mismatchesOf(item, seen[index], `${pointer}/${index}`))
  }
  if (!isObject(expected)) return expected === seen ? [] : differs
  const matches = matcherOf(expected, pointer)
  if (matches) return matches(seen ?? null) ? [] : differs
  if (!isObject(seen)) return differs
  return Object.entries(expected).flatMap(([name, value]) =>
    mismatchesOf(value, getOwn(seen, name), `${pointer}/${escapedKey(name)}`),
  )
}

/**
 * What `{ "$any": true }` stands for, anything but null, or `{ "$matches": "a pattern" }`, a text with a match; null: it
 * is no matcher.
 */
function matcherOf(expected: JsonObject, pointer: string): ((seen: Json) => boolean) | null {
  const { $any: any, $matches: pattern, ...others } = expected
  if (any === undefined && pattern === undefined) return null
  const isAlone = Object.keys(others).length === 0
  if (isAlone && any === true && pattern === undefined) return (seen) => seen !== null
  if (!isAlone || any !== undefined || typeof pattern !== 'string')
    throw new Error(`${pointer}: a matcher is {"$any": true} or {"$matches": "a pattern"}, alone in its object`)
  const regExp = new RegExp(pattern, LINEAR)
  return (seen) => typeof seen === 'string' && regExp.test(seen)
}

// An engine of V8 whose time grows with the text alone, whatever the pattern is. It runs patterns with the flag `l`, and
// refuses those that can't be matched so.
setFlagsFromString('--enable-experimental-regexp-engine')
const LINEAR = 'l'
