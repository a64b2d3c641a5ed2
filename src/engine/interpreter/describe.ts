// engine/interpreter: refuses an input, with its errors in one sentence.
import { invalid, type FieldError, type FluxError } from '../../model/failure.ts'

/** Approximate length. A detail may quote what the client sent; the list of errors is complete. */
const MAX_DETAIL_CHARACTERS = 1000

/** The refusal of an input with those errors. */
export function invalidInput(errors: readonly FieldError[]): FluxError {
  let text = 'invalid input:'
  for (const [index, { pointer, detail }] of errors.entries()) {
    if (text.length > MAX_DETAIL_CHARACTERS) {
      text += `; and ${errors.length - index} more`
      break
    }
    text += `${index === 0 ? '' : ';'} ${pointer} ${detail}`
  }
  return invalid(text, errors)
}

/** @throws FluxError `invalid` if there are errors */
export function requireValid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidInput(errors)
}

/** @throws FluxError `invalid` for what is there */
export function refuseInput(pointer: string, detail: string): never {
  throw invalidInput([{ pointer, detail }])
}
