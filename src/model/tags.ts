// model: what a tag may be.
import type { FieldError } from './failure.ts'

export interface TagLimits {
  /** Tags of one context, or one request. */
  readonly count: number
  /** Bytes of UTF-8 of one tag. */
  readonly bytes: number
}

/** What is wrong with these tags; `pointer` is where the list stands in the request. */
export function tagErrors(tags: readonly unknown[], pointer: string, limits: TagLimits): FieldError[] {
  // Counted first: a hostile list could hold a fault in each of half a million.
  if (tags.length > limits.count) return [{ pointer, detail: `must not have more than ${limits.count} elements` }]
  return tags.flatMap((tag, index) => {
    const detail = reasonAgainst(tag, limits)
    return detail ? [{ pointer: `${pointer}/${index}`, detail }] : []
  })
}

/** Why this can't be a tag; null if it can. */
function reasonAgainst(tag: unknown, { bytes }: TagLimits): string | null {
  if (typeof tag !== 'string') return 'must be a text'
  if (tag === '') return 'must not be empty'
  if (tag.includes(',')) return 'must not have a comma'
  return Buffer.byteLength(tag) > bytes ? `must not be longer than ${bytes} bytes` : null
}
