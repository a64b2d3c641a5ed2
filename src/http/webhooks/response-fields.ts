// http: the fields of `$response` and their types. If a value has another type, nothing of the response is sent.
import { z } from 'zod'

/** The `$response` of a service cannot be sent; the message says why. */
export class UnsafeResponse extends Error {
  override readonly name = 'UnsafeResponse'
}

/** A boolean, also as text, since lines with literals write text. */
export const booleanField = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
/** The value of a header or a cookie. */
export const scalar = z.union([z.string(), z.number(), z.boolean()])
const missing = z.null().transform(() => undefined)
/** null counts as not set. */
export const optional = <T extends z.ZodType>(type: T) => z.union([type, missing]).optional()

/** A number, or a text of digits. */
export const numeral = (pattern: RegExp) => z.union([z.number(), z.string().regex(pattern).transform(Number)])

/** @throws UnsafeResponse with the reason when the value is of another type */
export function fieldOf<T>(type: z.ZodType<T>, value: unknown, reason: string): T {
  const { success, data } = type.safeParse(value)
  return success ? data : refuse(reason)
}

/** @throws UnsafeResponse */
export function refuse(reason: string): never {
  throw new UnsafeResponse(reason)
}
