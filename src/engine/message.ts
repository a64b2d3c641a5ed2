// engine: a message to a context, and its outcome. The sender gets the outcome after the turn is committed.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ContextId } from '../model/context.ts'
import type { Failure } from '../model/failure.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Input } from './interpreter/decision.ts'

export interface MessageOutcome {
  /** False: the message was refused, was stale, or was not addressed to the context. */
  readonly moved: boolean
  /** Why it was refused. */
  readonly failure: Failure | null
  /** The record as committed. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  /** Of a start: the context that was ended for it. */
  readonly replaced?: ContextId | null
}

/** The sender, which waits for the outcome. */
export interface Sender {
  readonly resolve: (outcome: MessageOutcome) => void
  readonly reject: (error: unknown) => void
}

export interface Message extends Sender {
  readonly input: Input
}

/**
 * Whether a full mailbox refuses the message. It refuses only calls and broadcasts. Results of steps, wake-ups and
 * internal messages are bounded where they arise.
 */
export const isBounded = (input: Input): boolean =>
  input.type === 'TAG' || input.type === 'TERMINATE' || input.type === 'EVENT'

/** The state of a context, as the answer to an event reports it. */
export const standOf = ({ record, flux }: MessageOutcome) => ({
  contextId: record.id,
  state: flux.states[record.state]?.name ?? '',
})
