// model: the record of one context, which a turn reads and produces. Everything in it is plain data.
import type { ContextId, FluxException, Status } from './context.ts'
import type { Json, JsonObject } from './json/value.ts'
import type { PendingEvent } from './pending.ts'

export interface StateData {
  readonly input: JsonObject
  readonly output: JsonObject
}

/** One row of the log: how a state was entered. The history and the transition contexts are views of the log. */
export type Move = {
  /** Name of the state that was left; null for the start. */
  from: string | null
  /** Value of `$fluxEvent` when that state was left. */
  event: string | null
  /** Name of the state that was entered. */
  to: string
  /** Epoch milliseconds. */
  at: number
  /** Values that the transition's lines wrote. */
  values: JsonObject
}

/** The event of the move by which a retried context goes on; it comes from no state. */
export const RETRY_EVENT = '$retry'

/** Number of the newest moves that a log keeps. */
export const MAX_LOG_ROWS = 1000

/** Which server runs the current step. */
export type Lease = {
  /** Boot id of the server. */
  owner: string
  /** How many times a server took the step over from a dead one. */
  takeovers: number
}

/** Why the last attempt of a step failed. */
export type StepError = {
  readonly type: string
  readonly message: string
  /** Epoch milliseconds. */
  readonly at: number
  /** Stack frames in the user's own code. */
  readonly stack?: string
}

/** The last event that a context took. */
export type LastEvent = {
  readonly event: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly eventId: string
}

/** Owner in the lease of a ready step. No server runs it, and claiming it does not count as a takeover. */
export const UNOWNED = 'nobody'

/**
 * Kind of slot that a ready step needs: `code` runs in the server's process, `isolated` in a process of its own,
 * `script` in the sandbox.
 */
export type ReadyKind = 'code' | 'isolated' | 'script'
export const READY_KINDS: readonly ReadyKind[] = ['code', 'isolated', 'script']

/** Owner under which stores list ready steps of that kind, so that a server finds those that it has slots for. */
export const readyOwner = (kind: ReadyKind): string => `${UNOWNED}/${kind}`

/** Kind of the ready steps that stores list under that owner; null if it is not such an owner. */
export const readyKindOf = (owner: string): ReadyKind | null =>
  READY_KINDS.find((kind) => owner === readyOwner(kind)) ?? null

export type Parent = {
  id: ContextId
  /** Epoch of the parent in which it waits for this child. */
  epoch: number
  /** How many ancestors this context has. */
  depth: number
}

/** The answer of a webhook, as far as the lines of its context have written it. */
export type Answer = {
  /** Outputs of the service that lines have written. */
  filled: string[]
  /** Paths in the outputs that were written from `$response`, in the order of writing. The last one is the answer. */
  from: string[][]
}

/** Phase of a context within its state. `begin`: it has not been started yet. */
export type Phase = 'begin' | 'waiting' | 'acting' | 'backoff' | 'delayed' | 'completed' | 'failed' | 'terminated'

/** Index of the chosen transition, or how the context ends. */
export type Pick = number | 'completed' | 'failed' | 'terminated'

/** State of the machine besides the data. */
export type Position = {
  readonly phase: Phase
  /** Number of moves since the last pause or step. */
  readonly moves: number
  /** Number of state entries; it distinguishes a late result from a current one. */
  readonly epoch: number
  readonly attempt: number
  /** The choice, while the context is delayed or waits for its time. */
  readonly pick: Pick | null
}

/** What the end of a context changed, and where it stood before: a retry goes on from there. */
export type BeforeEnd = {
  /** Phase in which it stood. Of one that failed, or ended itself: `acting`, since the action runs again. */
  readonly phase: Phase
  /** When it was to be woken, in epoch milliseconds. */
  readonly due: number | null
  /** Data as it was before the action of its state; what the end did not change is left out. */
  readonly data?: {
    readonly fluxEvent?: Json
    readonly output?: JsonObject
    readonly answer?: Answer | null
    readonly response?: JsonObject | null
    readonly args?: JsonObject | null
    /** Of the state in which it ended. */
    readonly state?: StateData
  }
}

/** A row that is to have the first answer of a context: that of a key under which its webhook was called. */
export type AnswerRow = {
  /** Of the row. */
  readonly key: string
  /** Of what was asked for under it. */
  readonly hash: string
  /** Milliseconds from the start of the context on for which it is kept. */
  readonly keepMs: number
}

export interface ContextRecord {
  readonly id: ContextId
  /** 1 when created; incremented by each commit. */
  readonly version: number
  readonly package: string
  readonly fluxName: string
  /** Content hash of the pinned definition. */
  readonly definition: string
  readonly status: Status
  /** Index of the current state. */
  readonly state: number
  readonly startState: number
  readonly startedAt: number
  readonly updatedAt: number
  readonly endedAt: number | null
  /** When the context must be woken, in epoch milliseconds. */
  readonly due: number | null
  readonly tags: readonly string[]
  /** Why the context failed. */
  readonly error: FluxException | null
  /** The exception that a delayed `$exception` transition carries. */
  readonly exception: FluxException | null
  readonly fluxEvent: Json
  /** `$triggerFluxEvent`. */
  readonly trigger: string | null
  readonly trackerId: string
  /** Of its user's, unique among the unfinished contexts of its service. */
  readonly key: string | null
  /**
   * Rows that the commit writes which gives the context its first answer: repeats of the webhook's call get it from
   * there. Absent if there are none.
   */
  readonly answerRows?: readonly AnswerRow[] | undefined
  readonly parent: Parent | null
  /** The child whose end this context waits for. */
  readonly child: ContextId | null
  readonly lease: Lease | null
  /**
   * When the current step or child began, in epoch milliseconds. Absent while there is none, while the step is ready,
   * and for scripts and isolated functions: the server that runs these knows when they got a process, which is not
   * worth a commit.
   */
  readonly stepStartedAt?: number | undefined
  /** Why the previous attempt failed, while the step is retried or waits for its next attempt. */
  readonly lastError?: StepError | undefined
  /** Absent until it has taken one. */
  readonly lastEvent?: LastEvent | undefined
  /**
   * The trace of the last sender that had one (the start, or an event that was taken), as the header `traceparent` names
   * it. Absent if there was none.
   */
  readonly traceparent?: string | undefined
  /** Number of all moves so far. */
  readonly moves: number
  /**
   * The newest moves, which are not in the log yet. The log is written in larger pieces, since every row that a commit
   * writes has a cost.
   */
  readonly tail: readonly Move[]
  /** Indices of the states visited, in order of first visit. */
  readonly visited: readonly number[]
  readonly position: Position
  readonly input: JsonObject
  readonly output: JsonObject
  /** `$request`; null if no webhook started the context. */
  readonly request: JsonObject | null
  /** Secrets of an ancestor's `$request`, which views and logs hide; null if there are none. */
  readonly inheritedSecrets: readonly string[] | null
  /** The raw body of the request, in base64 under `body`; null if there is none. */
  readonly raw: JsonObject | null
  /** null if no webhook started the context, or no line has written an output. */
  readonly answer: Answer | null
  /** Whether an operator has paused it: it starts no step, and takes no wake-up and no event. Absent while it runs. */
  readonly isPaused?: true | undefined
  /** How often it was retried after it had ended. Absent: never. */
  readonly retries?: number | undefined
  /** State entry whose step key the current step has, where that is an earlier one: a retry goes on under its key. */
  readonly keyEpoch?: number | undefined
  /** Absent while it has not failed or been terminated. */
  readonly beforeEnd?: BeforeEnd | undefined
  /**
   * Status with which the context of a webhook paused for the first time, if it has. The caller of the webhook gets
   * this status, whatever happened later.
   */
  readonly paused?: Status | undefined
  /** `$response`; null until a line writes to it. */
  readonly response: JsonObject | null
  /** Events that came early, in the order of their arrival. They are kept until the context waits for them. */
  readonly pending: readonly PendingEvent[]
  /** Arguments of the current step or child. They stay the same over retries and takeovers. */
  readonly args: JsonObject | null
  /** Data of the visited states, by state index. */
  readonly states: { readonly [index: string]: StateData }
}
