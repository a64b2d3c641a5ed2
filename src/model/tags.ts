// model: what a tag may be.
import type { FieldError } from './failure.ts'

export const MAX_TAGS = 64
/** Bytes of UTF-8. */
const MAX_TAG_BYTES = 256

/** What is wrong with these tags; `pointer` is where the list stands in the request. */
export function tagErrors(tags: readonly string[], pointer: string): FieldError[] {
  // Counted first: a hostile list could hold a fault in each of half a million.
  if (tags.length > MAX_TAGS) return [{ pointer, detail: `must not have more than ${MAX_TAGS} elements` }]
  return tags.flatMap((tag, index) => {
    const detail = reasonAgainst(tag)
    return detail ? [{ pointer: `${pointer}/${index}`, detail }] : []
  })
}

/** Why this can't be a tag; null if it can. */
export function reasonAgainst(tag: unknown): string | null {
  if (typeof tag !== 'string') return 'must be a text'
  if (tag === '') return 'must not be empty'
  if (tag.includes(',')) return 'must not have a comma'
  return new TextEncoder().encode(tag).length > MAX_TAG_BYTES ? `must not be longer than ${MAX_TAG_BYTES} bytes` : null
}
