// model: what a server writes down when its event loop stands still, for whoever takes its steps over.
import { isObject } from './json/value.ts'

/** One attempt of a step, as its function knows it. */
export interface StepAttempt {
  readonly stepKey: string
  readonly attempt: number
}

export interface Standstill {
  /** The attempt that held up all others; null: it was none, or nobody knows. */
  readonly step: StepAttempt | null
  /** Whether it is known what stood still: then none of the other steps had a part in it. */
  readonly isCertain: boolean
  readonly message: string
  /** Frames of the user's own code, a line each; empty: there are none. */
  readonly stack: string
}

export const stepKeyOf = (contextId: number, epoch: number): string => `${contextId}-${epoch}`

/** null: it isn't one. */
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
