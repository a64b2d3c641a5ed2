// model: the note that a server stores when its event loop is blocked (a standstill), for the server that takes its
// steps over.
import { isObject } from './json/value.ts'

/** One attempt of a step, identified as its function sees it. */
export interface StepAttempt {
  readonly stepKey: string
  readonly attempt: number
}

export interface Standstill {
  /** The attempt that blocked the event loop; null if none did, or if it is not known. */
  readonly step: StepAttempt | null
  /** Whether the cause is certain. Then no other step contributed to it. */
  readonly isCertain: boolean
  readonly message: string
  /** Stack frames of the user's own code, one per line; may be empty. */
  readonly stack: string
}

export const stepKeyOf = (contextId: number, epoch: number): string => `${contextId}-${epoch}`

/** Parses a note; null if the text is not one. */
export function readStandstill(text: string): Standstill | null {
  let source: unknown
  try {
    source = JSON.parse(text)
  } catch {
    return null
  }
  if (!isObject(source)) return null
  const { step, isCertain, message, stack } = source
  if (typeof isCertain !== 'boolean' || typeof message !== 'string' || typeof stack !== 'string') return null
  if (!isObject(step)) return step === null ? { step, isCertain, message, stack } : null
  const { stepKey, attempt } = step
  return typeof stepKey === 'string' && typeof attempt === 'number'
    ? { step: { stepKey, attempt }, isCertain, message, stack }
    : null
}
