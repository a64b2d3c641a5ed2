// runtime: what a tag may be.
import type { FieldError } from '../model/failure.ts'

export const MAX_TAGS = 64
/** Bytes of UTF-8. */
const MAX_TAG_BYTES = 256

/** What is wrong with these tags; `pointer` is where the list stands in the request. */
export function tagErrors(tags: readonly string[], pointer: string): FieldError[] {
  const errors = tags.flatMap((tag, index) => {
    const detail = reasonAgainst(tag)
    return detail ? [{ pointer: `${pointer}/${index}`, detail }] : []
  })
  return tags.length > MAX_TAGS ? [...errors, { pointer, detail: `has ${tags.length} tags; ${MAX_TAGS} are allowed` }] : errors
}

function reasonAgainst(tag: unknown): string | null {
  if (typeof tag !== 'string') return 'must be text'
  if (tag === '') return 'is empty'
  if (tag.includes(',')) return 'holds a comma'
  return Buffer.byteLength(tag) > MAX_TAG_BYTES ? `is longer than ${MAX_TAG_BYTES} bytes` : null
}
