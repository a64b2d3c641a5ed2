// definitions: durations in files, such as "7d".
import type { Json } from '../../model/json/value.ts'

const SECONDS: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds of a number of seconds, or of a text like "90s", "1.5h" or "7d"; NaN for what is no duration. */
export function durationSecondsOf(given: Json): number {
  if (typeof given === 'number') return given
  const [, number, unit = ''] =
    typeof given === 'string' ? (/^(\d{1,9}(?:\.\d{1,3})?)([smhd]?)$/.exec(given) ?? []) : []
  return number === undefined ? NaN : Number(number) * (SECONDS[unit] ?? 1)
}
