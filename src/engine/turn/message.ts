// engine/turn: a message to a context, what the turn makes of the context, and the outcome, which the sender gets after
// the turn is committed.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId, ContextRecord, Move, PendingEvent } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import type { RowSpace, RowWrite } from '../../model/rows.ts'
import type { Input, Decision, DecisionEnv, FailedAttempt } from '../interpreter/decision.ts'
import type { PendingOutcome } from '../../model/pending.ts'
import type { StoredContext } from '../../ports/store.ts'
import type { Step } from '../interpreter/position.ts'
import type { Slot } from './admission.ts'
import type { KnownContext } from '../contexts/context-loader.ts'

/** What a turn depends on in addition to the context and its messages. */
export interface TurnEnv extends DecisionEnv {
  /** The unit of work, when there is one. */
  past: DecisionEnv['past']
  readonly partitions: number
  /** Characters of JSON that a context may have. */
  readonly maxRecord: number
  /** Milliseconds for which receipts are kept. */
  readonly receiptsMs: number
  /** Takes a slot for the step of that state; null: none is free. */
  readonly admit: (flux: CompiledFlux, state: number) => Slot | null
}

export interface MessageOutcome {
  /** False: the message was refused, was stale, or was not addressed to the context. */
  readonly moved: boolean
  /** The context keeps the event, which came early. `expiresAt`: epoch milliseconds; null: when the context ends. */
  readonly kept?: { readonly expiresAt: number | null } | undefined
  /** For a start with an event: what became of the event. */
  readonly started?: StartedEvent | undefined
  /** Why it was refused. */
  readonly failure: Failure | null
  /** The record as committed. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  /** For a start: the context that was ended for it. */
  readonly replaced?: ContextId | null
}

/**
 * The rows that are written in the commit of a message, if it changes anything. A pure function, called again with each
 * try; the record is as the commit leaves it. `replaced`: of a start, as in its outcome. Rows must be in the partition
 * of the context.
 */
export type RowsOf = (
  applied: Applied,
  record: ContextRecord,
  flux: CompiledFlux,
  replaced?: ContextId | null,
) => readonly RowWrite[]

export interface MessageOptions {
  /** It is a call from outside, which is refused when the server is at its limit. */
  readonly isCall?: boolean | undefined
  /** A full mailbox accepts it, too: its sender bounds how many there are. */
  readonly waits?: boolean | undefined
  readonly rows?: RowsOf | undefined
  /** Its rows are asked for also when it changes nothing. */
  readonly rowsAlways?: boolean | undefined
}

/** A message, and its sender, which waits for the outcome. */
export interface Message extends Pick<MessageOptions, 'rows' | 'rowsAlways'> {
  readonly input: Input
  readonly resolve: (outcome: MessageOutcome) => void
  readonly reject: (error: unknown) => void
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

/** The state of a context, as the answer to an event reports it. */
export const standOf = ({ record, flux }: Pick<MessageOutcome, 'record' | 'flux'>) => ({
  contextId: record.id,
  state: flux.states[record.state]?.name ?? '',
})

/** `event`: that it was started by, or with. */
export type MoveCause =
  Input | { readonly type: 'START'; readonly event: string | null; readonly eventId: string | null }

/**
 * Notes what changed the context. A start counts more than what came in the same commit, a termination more than other
 * messages, and a change of tags less. A child that could not be started is part of what its parent did.
 */
export function noteCause(context: TrackedContext, input: Input): void {
  const { cause } = context
  if (cause !== null && (cause.type === 'START' || cause.type === 'TERMINATE' || input.type === 'TAG')) return
  if (input.type !== 'FAIL' || !input.isUnspawned) context.cause = input
}

/** An event that ceased to be pending. */
export interface SettledEvent {
  readonly event: PendingEvent
  readonly outcome: PendingOutcome
  /** Why the context could not take it when it waited for it; null: that is not the reason. */
  readonly failure: Failure | null
}

/** What became of the event that a context was started with. */
export type StartedEvent = PendingOutcome['became'] | 'pending'

/** The effect of a message. */
export type Applied =
  /** `started`: of a start with an event. */
  | { readonly kind: 'next'; readonly started?: StartedEvent | undefined }
  | { readonly kind: 'kept'; readonly expiresAt: number | null }
  | { readonly kind: 'withdrawn' }
  | Extract<Decision, { kind: 'refused' | 'noop' }>

/** Shared: most turns settle nothing. */
export const NONE_SETTLED: readonly SettledEvent[] = []
const NONE_DONE: readonly number[] = []
/** Shared: most turns write none. */
export const NO_ROWS: readonly RowWrite[] = []

/** A context in the unit of work: its state before, and the state to commit. */
export class TrackedContext {
  /** null: the unit of work creates the context. */
  readonly before: ContextRecord | null
  /** A retry may go on with another one than that of `before`. */
  flux: CompiledFlux
  /** That of `before`, if it is another one. */
  fluxBefore?: CompiledFlux
  /** The texts of `before`. */
  readonly texts: StoredContext['parts']
  record: ContextRecord
  readonly history: Move[] = []
  step: Step | null = null
  /** The slot in which the step starts after the commit. */
  slot: Slot | null = null
  /** Parents to notify of the end of this context. */
  parents: readonly ContextId[] = []
  /** Attempts that failed. */
  readonly failures: FailedAttempt[] = []
  /** Events that it kept, or was started with, and keeps no more. */
  settled: readonly SettledEvent[] = NONE_SETTLED
  /** What changed it: the message that counts, if there were several. */
  cause: MoveCause | null = null
  /** Indices of the states whose steps have succeeded. */
  done: readonly number[] = NONE_DONE
  /** Milliseconds for which it was due before it was woken; null: it was not. */
  late: number | null = null
  /** The trace of the message that was decided last, unless that had none. */
  traceparent: string | undefined
  /** The notification that a relative has ended is answered, though it is still waited for. */
  isNotified = false
  /** It was decided by its head alone: its data was not read. */
  isUnread = false

  constructor(before: ContextRecord | null, { record, flux, texts }: KnownContext) {
    this.before = before
    this.flux = flux
    this.texts = texts
    this.record = record
    this.traceparent = before === null ? record.traceparent : undefined
  }
}

/**
 * Notes what is counted when it is committed, and the trace of the message. Called before the decision is taken; gives
 * the decision with the trace of the sender, if it has one.
 */
export function noteSignals(context: TrackedContext, message: Input, decision: Decided, now: number): Decided {
  const { state, due } = context.record
  if (message.type === 'DONE' && decision.failure === null) context.done = [...context.done, state]
  else if (message.type === 'WAKE' && due !== null && due <= now) context.late = now - due
  const traceparent = 'traceparent' in message ? message.traceparent : undefined
  context.traceparent = traceparent
  if (traceparent === undefined || message.type !== 'EVENT') return decision
  return { ...decision, record: { ...decision.record, traceparent } }
}

type Decided = Decision & { readonly kind: 'next' }
