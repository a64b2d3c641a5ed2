// model: the note that a server stores when its event loop is blocked (a standstill), for the server that takes its
// steps over.

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

/** Parses a note, which a server wrote; null if the text is damaged. */
export function readStandstill(text: string): Standstill | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
