// definitions: how messages of errors describe values, in a few words.
import { shortened } from '../../model/error-message.ts'
import type { Json } from '../../model/json/value.ts'

const MAX_CHARACTERS = 100

/** The kind of a value, and what it is if that is short: a part of a secret would not be recognized in views and logs. */
export function toldOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object') return 'an object'
  if (typeof value !== 'string') return `the ${typeof value} ${value}`
  return value.length > MAX_CHARACTERS ? `a text of ${value.length} characters` : `the text '${value}'`
}

/** The start of a text that may be long. */
export const startOf = (text: string): string => shortened(text, MAX_CHARACTERS)
