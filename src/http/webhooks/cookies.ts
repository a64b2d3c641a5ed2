// http: turns the cookies of `$response` into values of Set-Cookie.
import { z } from 'zod'
import type { Json } from '../../model/json/value.ts'
import { booleanField, numeral, optional, refuse, scalar, fieldOf } from './response-fields.ts'
import { headerOf, MAX_HEADERS } from './response-headers.ts'

const cookie = z.looseObject({
  name: z.string().refine((name) => name !== ''),
  value: optional(scalar),
  path: optional(z.string()),
  domain: optional(z.string()),
  /** Seconds. */
  maxAge: optional(numeral(/^-?\d+$/)),
  /** Epoch milliseconds, or a date as text. */
  expires: optional(z.union([numeral(/^-?\d{5,}$/), z.string()])),
  httpOnly: optional(booleanField),
  secure: optional(booleanField),
  sameSite: optional(z.string()),
})

/** @throws UnsafeResponse */
export function cookiesOf(given: Json): [string, string][] {
  if (!Array.isArray(given)) refuse('cookies must be a list')
  if (given.length > MAX_HEADERS) refuse(`there are more than ${MAX_HEADERS} cookies`)
  return given.flatMap((entry) =>
    headerOf(
      'Set-Cookie',
      cookieOf(fieldOf(cookie, entry, 'a cookie must have a name, and attributes of the right types')),
    ),
  )
}

function cookieOf(given: z.infer<typeof cookie>): string {
  const { name, value = '', path, domain, maxAge, expires, httpOnly, secure, sameSite } = given
  if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) refuse('a cookie has a name that HTTP forbids')
  if (/\p{Cc}/u.test(String(value))) refuse('a cookie has a value that HTTP forbids')
  for (const text of [path, domain])
    if (text !== undefined && /[;\p{Cc}]/u.test(text)) refuse('a cookie has an attribute that HTTP forbids')
  const date = expires === undefined ? undefined : new Date(expires)
  if (date && Number.isNaN(date.getTime())) refuse('a cookie expires at no date')
  const site = ['Strict', 'Lax', 'None'].find((each) => each.toLowerCase() === sameSite?.toLowerCase())
  if (sameSite !== undefined && site === undefined) refuse('sameSite of a cookie must be Strict, Lax or None')
  return [
    `${name}=${valueOf(String(value))}`,
    ...(domain === undefined ? [] : [`Domain=${domain}`]),
    ...(path === undefined ? [] : [`Path=${path}`]),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(secure ? ['Secure'] : []),
    ...(site === undefined ? [] : [`SameSite=${site}`]),
    ...(maxAge === undefined ? [] : [`Max-Age=${Math.trunc(maxAge)}`]),
    ...(date ? [`Expires=${date.toUTCString()}`] : []),
  ].join('; ')
}

/**
 * The value as it is if a cookie can contain it (RFC 6265, 4.1.1), because it may be signed. Otherwise, and if it has a
 * `%`, it is escaped; this server undoes that.
 */
const valueOf = (value: string): string =>
  /^[\x21\x23-\x24\x26-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]*$/.test(value) ? value : encodeURIComponent(value)
