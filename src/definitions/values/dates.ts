// definitions: a moment in ISO 8601, read strictly: what isn't in the calendar is no date.
import type { Json } from '../../model/json/value.ts'

const ISO =
  /^([+-]\d{6}|\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/
const MILLISECONDS = /^[+-]?\d{1,16}$/
const MINUTE_MS = 60_000

/** The furthest moment from 1970 that a JavaScript date can hold, in milliseconds. */
const MAX_DATE = 8.64e15

/**
 * Epoch milliseconds of a date (`2026-02-28`: midnight UTC), a date-time (`2026-02-28T10:15:30.5+01:00`; without a zone
 * it is UTC), or milliseconds as a number or digits; null for anything else. What is finer than a millisecond is
 * dropped.
 */
export function parseDate(value: Json): number | null {
  const time =
    typeof value === 'number'
      ? Math.trunc(value)
      : typeof value !== 'string'
        ? null
        : MILLISECONDS.test(value)
          ? Number(value)
          : parseIso(value)
  return time !== null && Math.abs(time) <= MAX_DATE ? time + 0 : null
}

function parseIso(text: string): number | null {
  const match = ISO.exec(text)
  if (match === null) return null
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match
  const [h, m, s, ms] = [Number(hour), Number(minute), Number(second), Number(fraction.slice(0, 3).padEnd(3, '0'))]
  const midnight = h === 24 && m === 0 && s === 0 && ms === 0 // the end of the day
  if (year === '-000000' || (h > 23 && !midnight) || m > 59 || s > 59) return null
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null
  const offset = parseOffset(zone)
  return offset === null ? null : date.getTime() + (h * 60 + m - offset) * MINUTE_MS + s * 1000 + ms
}

/** Minutes east of UTC. */
function parseOffset(zone: string): number | null {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', ''))
  return hours > 23 || minutes > 59 ? null : (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
