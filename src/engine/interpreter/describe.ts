// engine/interpreter: refuses an input, with its errors in one sentence.
import { FluxError, type Failure, type FieldError } from '../../model/failure.ts'

/** Approximate length. A detail may quote what the client sent; the list of errors is complete. */
const MAX_DETAIL_CHARACTERS = 1000

function describeInputErrors(errors: readonly FieldError[]) {
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

/** @throws FluxError `invalid` if there are errors */
export function requireValid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new FluxError(invalidInput(errors))
}

/** @throws FluxError `invalid` for what is there */
export function refuseInput(pointer: string, detail: string): never {
  throw new FluxError(invalidInput([{ pointer, detail }]))
}
