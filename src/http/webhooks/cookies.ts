// http: turns the cookies of `$response` into values of Set-Cookie.
import { validateHeaderValue } from 'node:http'
import { serialize } from 'hono/utils/cookie'
import { z } from 'zod'
import type { Json } from '../../model/json/value.ts'
import { booleanField, numeral, optional, refuse, scalar, fieldOf } from './response-fields.ts'
import { MAX_HEADERS } from './response-headers.ts'

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
  return given.map((entry) => [
    'Set-Cookie',
    cookieOf(fieldOf(cookie, entry, 'a cookie must have a name, and attributes of the right types')),
  ])
}

function cookieOf({
  name,
  value = '',
  path,
  domain,
  maxAge,
  expires,
  httpOnly,
  secure,
  sameSite,
}: z.infer<typeof cookie>): string {
  const date = expires === undefined ? undefined : new Date(expires)
  if (date && Number.isNaN(date.getTime())) refuse('a cookie expires at no date')
  const site = (['Strict', 'Lax', 'None'] as const).find((each) => each.toLowerCase() === sameSite?.toLowerCase())
  if (sameSite !== undefined && site === undefined) refuse('sameSite of a cookie must be Strict, Lax or None')
  if (/\p{Cc}/u.test(String(value))) refuse('a cookie has a value that HTTP forbids')
  let text
  try {
    // The library refuses names, paths and domains that would end their attribute.
    text = serialize(name, '', {
      ...(path === undefined ? {} : { path }),
      ...(domain === undefined ? {} : { domain }),
      ...(httpOnly ? { httpOnly } : {}),
      ...(secure ? { secure } : {}),
      ...(site ? { sameSite: site } : {}),
    })
    text = text.replace('=', () => `=${valueOf(String(value))}`)
    // Written here: the library drops a negative age, which is the usual way to delete a cookie, and refuses more than
    // 400 days, which browsers limit themselves.
    if (maxAge !== undefined) text += `; Max-Age=${Math.trunc(maxAge)}`
    if (date) text += `; Expires=${date.toUTCString()}`
    validateHeaderValue('Set-Cookie', text)
  } catch {
    return refuse('a cookie has a name, a value or an attribute that HTTP forbids')
  }
  return /^[!#$%&'*+\-.^_`|~\w]+$/.test(name) ? text : refuse('a cookie has a name that HTTP forbids')
}

/**
 * The value as it is if a cookie can contain it (RFC 6265, 4.1.1), because it may be signed. Otherwise, and if it has a
 * `%`, it is escaped; this server undoes that.
 */
const valueOf = (value: string): string =>
  /^[\x21\x23-\x24\x26-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]*$/.test(value) ? value : encodeURIComponent(value)
