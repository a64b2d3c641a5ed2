// steps: one execution of a script: its parameters, and the outcomes that the pool itself produces.
import type { JsonObject } from '../../model/json/value.ts'
import type { ScriptOutcome } from './sandbox.ts'

export interface Execution {
  readonly script: string
  /**
   * The names that the script sees, or a function that returns their JSON text when there is a process for it; null:
   * the script is only parsed.
   */
  readonly names: JsonObject | (() => Promise<string>) | null
  /** Milliseconds. */
  readonly timeout: number
  /** Maximum size of the result, in bytes of JSON. */
  readonly maxResult: number
  /** Called when the script is classified as slow. */
  readonly onSlow?: (() => void) | undefined
}

/** An execution in the pool. */
export interface ScriptJob extends Execution {
  /** Whether it uses a process for slow scripts. */
  isSlow: boolean
  /** Number of times that its process ended unexpectedly. */
  breaks: number
  settle(outcome: ScriptOutcome): void
  reject(error: unknown): void
}

/** Maximum length of the JSON text of the names that a script sees. */
export const MAX_NAMES_CHARACTERS = 16 * 1024 * 1024

export const BROKEN: ScriptOutcome = { name: 'InternalError', message: 'the process of the script broke off' }

export const CLOSED: ScriptOutcome = { name: 'AbortError', message: 'the server stops' }

export const TOO_LONG: ScriptOutcome = {
  name: 'RangeError',
  message: `what the script would see is longer than ${MAX_NAMES_CHARACTERS} characters`,
}

export const lateOutcome = ({ timeout }: Execution): ScriptOutcome => ({
  name: 'TimeoutError',
  message: `the script computed for longer than ${timeout / 1000} s`,
})
