// model: the rules for tags.
import type { FieldError } from './failure.ts'

export interface TagLimits {
  /** Maximum number of tags of one context or one request. */
  readonly count: number
  /** Maximum length of a tag in bytes of UTF-8. */
  readonly bytes: number
}

/** Returns the errors of a list of tags. `pointer` is the JSON pointer of the list in the request. */
export function tagErrors(tags: readonly unknown[], pointer: string, limits: TagLimits): FieldError[] {
  // The count is checked first: a hostile list could have an error in each of half a million elements.
  if (tags.length > limits.count) return [{ pointer, detail: `must not have more than ${limits.count} elements` }]
  return tags.flatMap((tag, index) => {
    const detail = reasonAgainst(tag, limits)
    return detail ? [{ pointer: `${pointer}/${index}`, detail }] : []
  })
}

/** Why a value can't be a tag; null if it can. */
function reasonAgainst(tag: unknown, { bytes }: TagLimits) {
  if (typeof tag !== 'string') return 'must be a text'
  if (tag === '') return 'must not be empty'
  if (tag.includes(',')) return 'must not have a comma'
  return Buffer.byteLength(tag) > bytes ? `must not be longer than ${bytes} bytes` : null
}
