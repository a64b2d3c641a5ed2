// engine/interpreter: how long an action, or a webhook at the end of a context, waits until its next attempt.
import type { Retry } from '../../definitions/flux.ts'
import type { RetryHint } from '../../model/action-error.ts'

/** The longest pause before another attempt: 100 years. */
const MAX_PAUSE_MS = 100 * 365 * 86_400_000

/**
 * Milliseconds until the next attempt, not before the failed one says.
 *
 * @param attempt that failed, from 1
 * @param random at least 0, below 1
 */
export function pauseAfter(retry: Retry, attempt: number, random: () => number, hint?: RetryHint): number {
  const { delay, factor, maxDelay, schedule, jitter } = retry
  // The power may overflow to infinity, and 0 times infinity is NaN.
  const grown = delay === 0 ? 0 : Math.min(maxDelay, delay * factor ** (attempt - 1))
  const pause = schedule ? (schedule[attempt - 1] ?? schedule.at(-1) ?? 0) : grown
  const varied = jitter === undefined ? pause : pause * (1 + jitter * (2 * random() - 1))
  return Math.ceil(Math.min(MAX_PAUSE_MS, Math.max(varied, hint?.afterMs ?? 0)))
}
