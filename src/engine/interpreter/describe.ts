// engine/interpreter: describes the errors of an input in one sentence.
import type { Failure, FieldError } from '../../model/failure.ts'

/** Approximate length. A detail may quote what the client sent; the list of errors is complete. */
const MAX_DETAIL_CHARACTERS = 1000

export function describeInputErrors(errors: readonly FieldError[]): string {
  let text = 'invalid input: '
  for (const [index, { pointer, detail }] of errors.entries()) {
    if (text.length > MAX_DETAIL_CHARACTERS) return `${text}; and ${errors.length - index} more`
    text += `${index === 0 ? '' : '; '}${pointer} ${detail}`
  }
  return text
}

/** Why an input with those errors is refused. */
export const invalidInput = (errors: readonly FieldError[]): Failure => ({
  kind: 'invalid',
  detail: describeInputErrors(errors),
  errors,
})
