// settings: the types of the variables' values: durations, sizes, names, lists. The error of each shows what a valid
// value looks like.
import { delimiter } from 'node:path'
import { z } from 'zod'
import { quantityOf } from '../model/quantity.ts'

/** An integer within bounds, both included. */
export const integer = (from: number, to: number) => {
  const error = `must be an integer from ${from} to ${to}`
  return z
    .string()
    .regex(/^\d{1,15}$/, { error })
    .transform(Number)
    .refine((value) => value >= from && value <= to, { error })
}

/** A number with one of the units, converted to the smallest unit. */
const quantity = (units: { readonly [unit: string]: number }, error: string, least = 1) =>
  z.string().transform((text, context) => {
    const value = quantityOf(text, units)
    if (Number.isSafeInteger(value) && value >= least) return value
    context.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })

const TIMES = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Milliseconds. */
export const duration = quantity(TIMES, 'must be a duration such as 1500ms, 30s, 5m, 12h or 7d')
/** Milliseconds; 0 means never, or none. */
export const durationOrNever = quantity(
  { ...TIMES, '': 0 },
  'must be a duration such as 1500ms, 30s, 5m or 12h, or 0',
  0,
).refine((time) => time === 0 || time >= 100, { error: 'must be at least 100ms, or 0' })
/** Bytes. */
export const byteCount = quantity(
  { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 },
  'must be a size such as 65536, 512kb or 1mb',
)
/** Bytes of something that is held in memory as a whole. */
export const memorySize = byteCount.refine((bytes) => bytes <= 1024 ** 3 / 2, { error: 'must not be more than 512mb' })
export const trueOrFalse = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true')
/** The name of a namespace: part of a file name and of keys in Redis. */
export const namespaceName = z
  .string()
  .regex(/^(?!\.+$)[\w.-]{1,64}$/, { error: 'must be letters, digits, -, _ and ., at most 64, and not only dots' })
/** Folders, separated like those in PATH. */
export const folders = z
  .string()
  .transform((list): readonly string[] => list.split(delimiter).filter((folder) => folder !== ''))
  .refine((list) => list.length > 0, { error: 'must name a folder' })
/** Origins as browsers send them, or `*`. */
export const origins = z
  .string()
  .transform((list) => list.split(',').map((origin) => origin.trim()))
  .refine(
    (list) => list.every((origin) => origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)),
    {
      error: 'must be origins such as https://shop.example, separated by commas, or *',
    },
  )
/** Host names as in URLs, in lower case and ASCII, or `*`. */
export const hosts = z.string().transform((list, context) =>
  list.split(',').map((entry) => {
    const host = entry.trim()
    if (host === '*') return host
    if (!/[@/\\?#\s]|^$|[^\]]:\d*$|\]:/.test(host) && URL.canParse(`http://${host}`))
      return new URL(`http://${host}`).hostname
    context.addIssue({
      code: 'custom',
      message:
        'must be host names or addresses such as flux.example or [2001:db8::1], without ports, separated by commas, or *',
    })
    return z.NEVER
  }),
)
/** A URL before which nothing else stands, and to which the path and query of a request are added. */
export const publicUrl = z.string().refine((url) => isPlainUrl(url), {
  error: 'must be a URL such as https://flux.example, without user, query and fragment',
})

/** A scheme compares the URL as text: spaces around it, which a URL may have, would never fit. */
function isPlainUrl(text: string) {
  if (!/^https?:\/\/[^\s?#\\@]+$/i.test(text) || !URL.canParse(text)) return false
  return new URL(text).host !== ''
}

/** The URL of a Redis server, or of several nodes of a cluster. */
export const redisUrls = z.string().refine((urls) => urls.split(',').every((url) => isRedisUrl(url.trim())), {
  error:
    'must be redis://… or rediss://…, several nodes separated by commas, each with a valid port, and with user and password as a URL has them',
})

function isRedisUrl(url: string) {
  if (!/^rediss?:\/\/[^\s,]+$/.test(url) || !URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return isEscaped(username) && isEscaped(password)
}

/** Whether every % begins a valid escape. */
function isEscaped(text: string) {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
