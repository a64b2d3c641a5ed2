// steps: one execution of a script: what a caller asks for, and the outcomes that the pool itself gives.
import type { JsonObject } from '../../model/json/value.ts'
import type { ScriptOutcome } from './sandbox.ts'

export interface Execution {
  readonly script: string
  /** Or a way to get their JSON text once there is a process for it; null: it is only parsed. */
  readonly names: JsonObject | (() => Promise<string>) | null
  /** Milliseconds. */
  readonly timeout: number
  /** Bytes that its result may have as JSON. */
  readonly maxResult: number
  /** Called when it is counted among the slow ones. */
  readonly onSlow?: (() => void) | undefined
}

/** An execution in the pool. */
export interface ScriptJob extends Execution {
  /** Whether it uses the processes for slow scripts. */
  isSlow: boolean
  /** How often its process ended unexpectedly. */
  breaks: number
  settle(outcome: ScriptOutcome): void
  reject(error: unknown): void
}

/** Characters of the JSON text of what a script sees. */
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
