// definitions: durations in files, such as "7d".
import type { Json, JsonObject } from '../../model/json/value.ts'

const SECONDS: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 }

/** What a duration is, for descriptions. */
export const DURATION = 'a number of seconds, or a text like "90s", "15m", "1h" or "7d"'

/** Seconds of a number of seconds, or of a text like "90s", "1.5h" or "7d"; NaN for what is no duration. */
export function durationSecondsOf(given: Json): number {
  if (typeof given === 'number') return given
  const [, number, unit = ''] =
    typeof given === 'string' ? (/^(\d{1,9}(?:\.\d{1,3})?)([smhd]?)$/.exec(given) ?? []) : []
  return number === undefined ? NaN : Number(number) * (SECONDS[unit] ?? 1)
}

interface DurationBounds {
  /** Seconds. The least is one. */
  readonly most: number
  readonly orZero: boolean
  readonly orNull: boolean
}

/** The JSON Schema of durations within bounds. */
export function durationFacts({ most, orZero, orNull }: DurationBounds): JsonObject {
  const number = { minimum: 1, maximum: most }
  return {
    type: orNull ? ['number', 'string', 'null'] : ['number', 'string'],
    anyOf: [
      ...(orNull ? [{ type: 'null' }] : []),
      ...(orZero ? [{ const: 0 }] : []),
      { type: 'number', ...number },
      { type: 'string', pattern: patternOf(most, orZero), errorMessage: `must be ${DURATION}` },
    ],
    examples: ['90s', '15m', '1h', '7d'],
  }
}

/** A text of so many units that are a second at least, and `most` seconds at most. */
function patternOf(most: number, orZero: boolean): string {
  const zero = orZero ? '(?!0+\\.\\d*[1-9]\\d*s?$)' : '(?!0+(?:\\.0+)?[smhd]?$)(?!0+\\.\\d+s?$)'
  // The least fraction of a minute that is a second, in thousandths, is 17.
  const minutes = '(?!0+\\.0(?:0[1-9]|1[0-6]?)m$)'
  const units = Object.entries(SECONDS).map(
    ([unit, seconds]) => `${upTo(Math.floor(most / seconds))}${unit === 's' ? 's?' : unit}`,
  )
  return `^(?=\\d{1,9}(?:\\.|[smhd]?$))${zero}${minutes}0*(?:${units.join('|')})$`
}

/** Numbers from 0 to a whole one, with up to three decimals. */
const upTo = (most: number): string => `(?:(?:${below(String(most))})(?:\\.\\d{1,3})?|${most}(?:\\.0{1,3})?)`

/** Whole numbers less than the given one, without leading zeros, or with them up to its length; none is empty. */
function below(most: string): string {
  const shorter = most.length > 1 ? [`\\d{0,${most.length - 1}}`] : []
  const same = [...most].flatMap((digit, at) => {
    if (digit === '0') return []
    const rest = most.length - at - 1
    const lower = digit === '1' ? '0' : `[0-${Number(digit) - 1}]`
    return [`${most.slice(0, at)}${lower}${rest > 0 ? `\\d{${rest}}` : ''}`]
  })
  return [...shorter, ...same].join('|')
}
