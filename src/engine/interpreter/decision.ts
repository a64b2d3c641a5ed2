// engine/interpreter: the types of a decision: its input, its environment and its result.
import type { ActionError } from '../../model/action-error.ts'
import type { Caller } from '../../model/caller.ts'
import type { Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { ContextRecord, Move, PendingEvent } from '../../model/context.ts'
import type { TagLimits } from '../../model/tags.ts'
import type { Step, StepAnswer } from './position.ts'
import type { Happening, ReducerEnv } from './turn-state.ts'

/** A message of a call to one context. */
interface OfCall {
  readonly caller: Caller
  /** The version that the context must have; left out, or `*`: any. */
  readonly version?: number | '*' | undefined
}

/** A message to a context, as the interpreter sees it. */
export type Input =
  /** `tags`: those of a broadcast, which the context must match; null for an event sent to it by id. */
  | (OfCall & {
      readonly type: 'EVENT'
      readonly name: string
      readonly eventId: string
      readonly input: JsonObject
      readonly untyped: boolean
      readonly tags: readonly string[] | null
      /** It was held until a context waits for it by its name: a state that takes any event does not. */
      readonly isHeld?: true
      /** The trace of its sender. */
      readonly traceparent?: string | undefined
      /** For a context that keeps it. Left out: the context can't keep it. */
      readonly arrival?: Pick<PendingEvent, 'tags' | 'receipt'> & {
        /**
         * Milliseconds for which its sender wants it kept; `end`: until the context ends; null: the definition decides.
         */
        readonly keep: number | 'end' | null
      }
    })
  /** Removes an event that came early: all copies of it that the context keeps. */
  /** `receipt`: only what was sent under it; null: the events of all senders. */
  | { readonly type: 'WITHDRAW'; readonly eventId: string; readonly receipt: string | null; readonly caller: Caller }
  | { readonly type: 'WAKE' }
  /** `traceparent`: of the step. */
  | (Happening & { readonly type: 'DONE' | 'FAIL'; readonly traceparent?: string | undefined })
  | (OfCall & { readonly type: 'TERMINATE' })
  | (OfCall & { readonly type: 'PAUSE' | 'RESUME' })
  /**
   * Goes on with a context that failed or was terminated, or makes its next attempt now. `seen`: the position that its
   * sender saw; of several that saw the same one, one has an effect. `service`: the definition to go on with; null: its
   * own.
   */
  | (OfCall & {
      readonly type: 'RETRY'
      readonly state: string | null
      readonly input: JsonObject | null
      readonly untyped: boolean
      readonly definition: 'pinned' | 'current' | null
      readonly newKey: boolean
      readonly seen: StepAnswer | null
    })
  /**
   * `owner`: boot id that the step was leased to when it was found abandoned. `isUncounted`: it is certain that this
   * step did not end that server.
   */
  | { readonly type: 'TAKE_OVER'; readonly owner: string; readonly isUncounted?: boolean }
  /** `step`: the step to release; omitted: whichever step is leased to this server. */
  | { readonly type: 'RELEASE'; readonly step?: StepAnswer }
  /**
   * Fails a context, because a message would make it larger than the store accepts, or cannot be processed. `answer`:
   * identifies the step if the message was its result; a context that is no longer at that step is not changed.
   */
  | { readonly type: 'OUTGROWN'; readonly error: ActionError; readonly answer?: StepAnswer }
  | (OfCall & {
      readonly type: 'TAG'
      readonly add: readonly string[]
      readonly remove: readonly string[]
    })

/** What a decision depends on in addition to the record and the input. */
export interface DecisionEnv extends ReducerEnv {
  /** Boot id of this server. */
  readonly owner: string
  readonly tagLimits: TagLimits
  /**
   * Only for a retry of a context that has ended: why it can't be retried, or the record that it goes on with, as it is
   * or fitted to another definition.
   */
  readonly retry?: { readonly failure: Failure } | { readonly record: ContextRecord } | undefined
}

export interface FailedAttempt {
  /** Index of the state. */
  readonly state: number
  /** 1, 2, … */
  readonly attempt: number
  readonly error: ActionError
}

export type Decision =
  | {
      readonly kind: 'next'
      /** Has the old version number: the commit increments it. */
      readonly record: ContextRecord
      readonly log: readonly Move[]
      readonly step: Step | null
      /** A service to start as a child of this context. */
      readonly child: { readonly name: string; readonly input: JsonObject } | null
      /** The attempt that failed in this decision. */
      readonly failure: FailedAttempt | null
    }
  /** The context keeps the event, and nothing else changes. */
  | { readonly kind: 'kept'; readonly record: ContextRecord; readonly event: PendingEvent }
  /** Events that it kept are gone, and nothing else changes. */
  | { readonly kind: 'withdrawn'; readonly record: ContextRecord; readonly events: readonly PendingEvent[] }
  /** Nothing changes. The sender gets the reason. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** Nothing changes: the input is stale, or not addressed to this context. */
  | { readonly kind: 'noop' }
