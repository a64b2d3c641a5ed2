// engine/turn: a message to a context, and its outcome. The sender gets the outcome after the turn is committed.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { RowSpace, RowWrite } from '../../model/rows.ts'
import type { Input } from '../interpreter/decision.ts'
import type { Applied, StartedEvent } from './tracked-context.ts'

export interface MessageOutcome {
  /** False: the message was refused, was stale, or was not addressed to the context. */
  readonly moved: boolean
  /** The context keeps the event, which came early. `expiresAt`: epoch milliseconds; null: when the context ends. */
  readonly kept?: { readonly expiresAt: number | null } | undefined
  /** Of a start with an event: what became of the event. */
  readonly started?: StartedEvent | undefined
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

/**
 * The rows that are written in the commit of a message, if it changes anything. A pure function, called again with each
 * try; the record is as the commit leaves it. `replaced`: of a start, as in its outcome. Rows must be in the partition of the context.
 */
export type RowsOf = (
  applied: Applied,
  record: ContextRecord,
  flux: CompiledFlux,
  replaced?: ContextId | null,
) => readonly RowWrite[]

export interface MessageOptions {
  /** A caller from outside asks for it, who is refused when there is too much to do. */
  readonly isCall?: boolean | undefined
  /** A full mailbox takes it all the same: somebody else bounds how many there are. */
  readonly waits?: boolean | undefined
  readonly rows?: RowsOf | undefined
  /** Its rows are asked for also when it changes nothing. */
  readonly rowsAlways?: boolean | undefined
  readonly first?: Preparation | undefined
}

/**
 * What must be done before the commit that has the rows of a message; null: nothing is left to be done. Called before
 * each try of the commit. @throws whatever is told to the sender; then nothing is committed
 */
export type Preparation = () => Promise<void> | null

export interface Message extends Sender, Pick<MessageOptions, 'rows' | 'rowsAlways' | 'first'> {
  readonly input: Input
}

/** The guard of a row failed: nothing of its message was committed. `value`: what is there; null: nothing. */
export class RowTaken extends Error {
  override readonly name = 'RowTaken'
  readonly space: RowSpace
  readonly key: string
  readonly value: string | null
  constructor({ space, key, value }: { space: RowSpace; key: string; value: string | null }) {
    super(`a row of the space '${space}' is not as expected`)
    this.space = space
    this.key = key
    this.value = value
  }
}

/**
 * Whether a full mailbox refuses the message. It refuses only calls and broadcasts. Results of steps, wake-ups and
 * internal messages are bounded where they arise.
 */
export const isBounded = (input: Input): boolean => 'caller' in input

/** The traces of the messages that have one. */
export const traceparentsOf = (messages: readonly Pick<Message, 'input'>[]): string[] =>
  messages.flatMap(({ input }) =>
    'traceparent' in input && input.traceparent !== undefined ? [input.traceparent] : [],
  )

/** The state of a context, as the answer to an event reports it. */
export const standOf = ({ record, flux }: Pick<MessageOutcome, 'record' | 'flux'>) => ({
  contextId: record.id,
  state: flux.states[record.state]?.name ?? '',
})
