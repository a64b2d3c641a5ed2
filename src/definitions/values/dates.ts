// definitions: parses ISO 8601 dates strictly: a day that does not exist in the calendar is refused.
import type { Json } from '../../model/json/value.ts'

const ISO =
  /^([+-]\d{6}|\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/
const MILLISECONDS = /^[+-]?\d{1,16}$/

/** What a date as text looks like. `parseDate` refuses some that look like one, such as the 30th of February. */
export const DATE_TEXT =
  /^(?:[+-]?\d{1,16}|(?:[+-]\d{6}|\d{4})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[Tt](?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?)$/
const MINUTE_MS = 60_000

/** The largest time value of a JavaScript Date, in epoch milliseconds (before or after 1970). */
export const MAX_DATE_MS = 8.64e15

/**
 * Returns the epoch milliseconds of a date (`2026-02-28`: midnight UTC), a date-time (`2026-02-28T10:15:30.5+01:00`;
 * UTC if there is no zone), or milliseconds as a number or digits; null for anything else. Fractions of a millisecond
 * are dropped.
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
  return time !== null && Math.abs(time) <= MAX_DATE_MS ? time + 0 : null
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

/** Parses a zone to minutes east of UTC; null if it is invalid. */
function parseOffset(zone: string): number | null {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', ''))
  return hours > 23 || minutes > 59 ? null : (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
