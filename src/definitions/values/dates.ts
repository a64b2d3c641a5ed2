// definitions: parses ISO 8601 dates strictly: a day that does not exist in the calendar is refused.
import type { Json } from '../../model/json/value.ts'

const ISO =
  /^([+-]\d{6}|\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:[Tt]([01]\d|2[0-4]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?([Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/
const MILLISECONDS = /^[+-]?\d{1,16}$/

/** What a date as text looks like. `parseDate` refuses some that look like one, such as the 30th of February. */
export const DATE_TEXT = new RegExp(`${MILLISECONDS.source}|${ISO.source}`)
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** The largest time value of a JavaScript Date, in epoch milliseconds (before or after 1970). */
export const MAX_DATE_MS = 8.64e15

/**
 * Returns the epoch milliseconds of a date (`2026-02-28`: midnight UTC), a date-time (`2026-02-28T10:15:30.5+01:00`;
 * UTC if there is no zone), or milliseconds as a number or digits; null for anything else. Fractions of a millisecond
 * are dropped.
 */
export function parseDate(value: Json): number | null {
  if (typeof value === 'string' && !MILLISECONDS.test(value)) return inRange(parseIso(value))
  return typeof value === 'number' || typeof value === 'string' ? inRange(Math.trunc(Number(value))) : null
}

const inRange = (time: number) => (Math.abs(time) <= MAX_DATE_MS ? time + 0 : null)

/** NaN for a text that is no date. */
function parseIso(text: string) {
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = ISO.exec(text) ?? []
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCDate() !== Number(day) || year === '-000000') return NaN
  const ms = Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  const time = (Number(hour) * 60 + Number(minute)) * MINUTE_MS + ms
  // The zone, in minutes east of UTC.
  const offset = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(':', ''))
  // 24:00 is the end of the day.
  if (time > DAY_MS) return NaN
  return date.getTime() + time - (zone.startsWith('-') ? -offset : offset) * MINUTE_MS
}
