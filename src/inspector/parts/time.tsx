// inspector/parts: times and durations, for people.
import type { FC } from 'hono/jsx'
import { useViewer } from '../viewer.ts'

const UNITS = [
  { ms: 86_400_000, unit: 'd' },
  { ms: 3_600_000, unit: 'h' },
  { ms: 60_000, unit: 'min' },
  { ms: 1000, unit: 's' },
] as const

/** With its two largest units: `23 h 41 min`. */
export function durationText(duration: number): string {
  // Rounded first, so that none becomes as large as the next unit.
  const step = duration < 999.5 ? 1 : duration < 9950 ? 100 : 1000
  const ms = Math.max(0, Math.round(duration / step) * step)
  if (ms < 1000) return `${ms} ms`
  const at = UNITS.findIndex((unit) => ms >= unit.ms)
  const [large, small] = UNITS.slice(at, at + 2)
  if (!large) return '0 s'
  if (!small) return `${ms / large.ms} s`
  const whole = Math.floor(ms / large.ms)
  const rest = Math.floor((ms % large.ms) / small.ms)
  return rest === 0 ? `${whole} ${large.unit}` : `${whole} ${large.unit} ${rest} ${small.unit}`
}

/** `12 s ago`, `in 4 s`. */
export const relativeText = (at: number, now: number): string =>
  at <= now ? `${durationText(now - at)} ago` : `in ${durationText(at - now)}`

/** Largest time of a Date. */
const MAX_TIME_MS = 8.64e15

export const isoOf = (at: number): string => (Math.abs(at) <= MAX_TIME_MS ? new Date(at).toISOString() : String(at))

/** Relative, with the absolute time as its title. Scripts show both in the zone of the reader. */
export const When: FC<{ readonly at: number }> = ({ at }) => (
  <time datetime={isoOf(at)} title={isoOf(at)} data-at={at}>
    {relativeText(at, useViewer().now)}
  </time>
)

/** The time of day, with the whole as its title. */
export const clockTime = (at: number, unit: 's' | 'ms' = 's') => (
  <time datetime={isoOf(at)} title={isoOf(at)} data-clock={unit}>
    {isoOf(at).slice(11, unit === 'ms' ? 23 : 19)}
  </time>
)
