// engine: a message to a context, and its outcome. The sender gets the outcome once the turn is committed.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ContextId } from '../model/context.ts'
import type { Failure } from '../model/failure.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Input } from './interpreter/decision.ts'

export interface MessageOutcome {
  /** False: the message was refused, stale, or not addressed to the context. */
  readonly moved: boolean
  /** Why it was refused. */
  readonly failure: Failure | null
  /** As committed. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  /** Of a start: the context that was ended for it. */
  readonly replaced?: ContextId | null
}

/** The sender, who waits for the outcome. */
export interface Sender {
  readonly resolve: (outcome: MessageOutcome) => void
  readonly reject: (error: unknown) => void
}

export interface Message extends Sender {
  readonly input: Input
}

/**
 * Whether a full mailbox refuses the message: only if it comes from outside. Answers of steps, wake-ups and the end of a
 * context are bounded where they arise.
 */
export const isBounded = (input: Input): boolean =>
  input.type === 'TAG' || input.type === 'TERMINATE' || input.type === 'EVENT'

/** The state in which a context is, as the answer to an event reports it. */
export const standOf = ({ record, flux }: MessageOutcome) => ({
  contextId: record.id,
  state: flux.states[record.state]?.name ?? '',
})
