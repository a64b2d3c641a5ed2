// definitions: durations in files, such as "7d".
import type { Json } from '../../model/json/value.ts'
import { quantityOf } from '../../model/quantity.ts'

const UNITS_MS = { '': 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** What a duration is, for descriptions. */
export const DURATION = 'a number of seconds, or a text like "90s", "15m", "1h" or "7d"'

/** Seconds of a number of seconds, or of a text like "90s", "1.5h" or "7d"; NaN for what is no duration. */
export function durationSecondsOf(given: Json): number {
  if (typeof given === 'number') return given
  return typeof given === 'string' ? quantityOf(given, UNITS_MS) / 1000 : NaN
}
