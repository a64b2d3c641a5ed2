// http: reads the form of a page.
import type { Context } from 'hono'
import { FluxError, unsupportedType } from '../../model/failure.ts'
import { readHeaderValue } from './text.ts'
import type { BodyAdmission, BodyLimits } from './body.ts'
import { pairsOf, readPairs, type FormFields } from './form-fields.ts'
import { headerOf, readBytes, type Env } from './incoming.ts'

export interface FormLimits extends Pick<BodyLimits, 'maxBody'>, BodyAdmission {
  /** Most fields of a form. */
  readonly maxParts: number
}

/** @throws FluxError `unsupportedType`, `tooLarge`, `malformed`; `overloaded` when the budget is used up */
export async function readForm(
  c: Context<Env>,
  { maxBody, maxParts, inFlight }: FormLimits,
): Promise<FormFields<string>> {
  const { value: type } = readHeaderValue(headerOf(c, 'content-type') ?? '')
  if (type !== 'application/x-www-form-urlencoded') throw unsupportedType('the body must be a form')
  const hold = inFlight.hold()
  try {
    return await readBytes(c, { limit: maxBody, charge: hold.resize }, (bytes) => {
      const pairs = pairsOf(bytes.toString('latin1'))
      if (pairs.length > maxParts)
        throw new FluxError({ kind: 'tooLarge', detail: `the form has more than ${maxParts} fields` })
      return readPairs(pairs)
    })
  } finally {
    hold.release()
  }
}
