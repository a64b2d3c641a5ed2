// model: contexts: their ids and statuses, the parts that views show as they are stored, and the record of one context,
// which a turn reads and produces. Everything in it is plain data.
import type { Json, JsonObject } from './json/value.ts'

/** Positive integer below 2^53. In each partition, later contexts get higher ids. */
export type ContextId = number

export const CONTEXT_STATUSES = ['RUNNING', 'WAITING', 'WAITING_UNTIL', 'COMPLETED', 'FAILED', 'TERMINATED'] as const

export type Status = (typeof CONTEXT_STATUSES)[number]

export const isFinished = (status: Status): boolean =>
  status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED'

/**
 * `$fluxException`, and most of the `error` of a failed context. It is a type, not an interface, so that it is
 * assignable to `Json`.
 */
export type FluxException = {
  message: string
  /** The error's `name`. */
  type: string
  className: string
  /** What was thrown, as data. If a function or a script threw it, `stack` has the frames in its source. */
  realException: Json
  fluxStackTrace: StackEntry[]
}

export type StackEntry = {
  fluxName: string
  stateName: string
  /** The event on which the state was left; null for the last entry. */
  transition: string | null
  stateIndex: number
}

export type ModelDescriptor = {
  name: string
  type: 'model'
  allowExtraProperties: boolean
  /** The declaration of each property, as the file has it, with `value`. */
  gloopProperties: JsonObject[]
}

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
  /** Index of the transition that was taken. It is not stored: absent for a start, and for what was read. */
  transition?: number
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

/** Owner in the lease of a ready step. No server runs it, and claiming it does not count as a takeover. */
export const UNOWNED = 'nobody'

/**
 * Where a step runs, and which kind of slot it needs: `code` in the server's process, `isolated` in a process of its own,
 * `script` in the sandbox.
 */
export type StepKind = (typeof STEP_KINDS)[number]
export const STEP_KINDS = ['code', 'isolated', 'script'] as const

/** Owner under which stores list ready steps of that kind, so that a server finds those that it has slots for. */
export const readyOwner = (kind: StepKind): string => `${UNOWNED}/${kind}`

/** Kind of the ready steps that stores list under that owner; null if it is not such an owner. */
export const readyKindOf = (owner: string): StepKind | null =>
  STEP_KINDS.find((kind) => owner === readyOwner(kind)) ?? null

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
  /** Phase in which it stood. If it failed, or ended itself: `acting`, since the action runs again. */
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
    /** Data of the state in which it ended. */
    readonly state?: StateData
  }
}

/** A row that is to have the first answer of a context: that of a key under which its webhook was called. */
export type AnswerRow = {
  /** Key of the row. */
  readonly key: string
  /** Hash of the request under it. */
  readonly hash: string
  /** Milliseconds from the start of the context on for which it is kept. */
  readonly keepMs: number
}

/** An event that a context keeps until it waits for it. */
export interface PendingEvent {
  readonly eventId: string
  readonly event: string
  readonly input: JsonObject
  /** Whether texts in the input are coerced to the declared types. */
  readonly untyped: boolean
  /** As they were sent. */
  readonly tags: readonly string[]
  /** Epoch milliseconds. */
  readonly receivedAt: number
  /** Epoch milliseconds; null: when the context ends. */
  readonly expiresAt: number | null
  /** Key of the row of its receipt, which also names its sender; null: it has none, and its id is ours. */
  readonly receipt: string | null
  /** It came while the context was paused: a state that takes any event takes it, too. */
  readonly takesAny?: true
}

const keys: string[] = []

/**
 * The key of a state, by its index, under which a record has its data. V8 reserves room for many where it is a number.
 */
export const dataKey = (state: number): string => (keys[state] ??= `s${state}`)

/** The list of a context that keeps none: shared, so that it costs nothing. */
export const NO_PENDING: readonly PendingEvent[] = []

/** The fields of a record with the user's data, and those that expressions may read. */
export type ContextData = Readonly<{
  id: ContextId
  fluxName: string
  /** `$triggerFluxEvent`. */
  trigger: string | null
  trackerId: string
  input: JsonObject
  output: JsonObject
  /** Data of the visited states. See `dataKey`. */
  states: { readonly [key: string]: StateData }
  fluxEvent: Json
  /** `$request`; null if no webhook started the context. */
  request: JsonObject | null
  /** null if no webhook started the context, or no line has written an output. */
  answer: Answer | null
  /** `$response`; null until a line writes to it. */
  response: JsonObject | null
  /** Arguments of the current step or child. They stay the same over retries and takeovers. */
  args: JsonObject | null
  /** Index of the current state. */
  state: number
  /** Indices of the states visited, in order of first visit. */
  visited: readonly number[]
  /** The exception that a delayed `$exception` transition carries. */
  exception: FluxException | null
  /** Number of all moves so far. */
  moves: number
}>

export type ContextRecord = ContextData &
  Readonly<{
    /** 1 when created; incremented by each commit. */
    version: number
    package: string
    /** Content hash of the pinned definition. */
    definition: string
    status: Status
    startState: number
    startedAt: number
    updatedAt: number
    endedAt: number | null
    /** When the context must be woken, in epoch milliseconds. */
    due: number | null
    tags: readonly string[]
    /** Why the context failed. */
    error: FluxException | null
    /** The key that its user gave, unique among the unfinished contexts of its service. */
    key: string | null
    /**
     * Rows that the commit writes which gives the context its first answer: repeats of the webhook's call get it from
     * there. Absent if there are none.
     */
    answerRows?: readonly AnswerRow[] | undefined
    parent: Parent | null
    /** The child whose end this context waits for. */
    child: ContextId | null
    lease: Lease | null
    /**
     * When the current step or child began, in epoch milliseconds. Absent while there is none, while the step is ready,
     * and for scripts and isolated functions: the server that runs these knows when they got a process, which is not
     * worth a commit.
     */
    stepStartedAt?: number | undefined
    /** Why the previous attempt failed, while the step is retried or waits for its next attempt. */
    lastError?: StepError | undefined
    /** The last event that it took, and when, in epoch milliseconds. Absent until it has taken one. */
    lastEvent?: Readonly<{ event: string; at: number; eventId: string }> | undefined
    /**
     * The trace of the last sender that had one (the start, or an event that was taken), as the header `traceparent`
     * names it. Absent if there was none.
     */
    traceparent?: string | undefined
    /**
     * The newest moves, which are not in the log yet: a line for each, as its row will be there. The log is written in
     * larger pieces, since every row that a commit writes has a cost.
     */
    tail: string
    position: Position
    /** Secrets of an ancestor's `$request`, which views and logs hide; null if there are none. */
    inheritedSecrets: readonly string[] | null
    /** The raw body of the request, in base64 under `body`; null if there is none. */
    raw: JsonObject | null
    /**
     * Whether an operator has paused it: it starts no step, and takes no wake-up and no event. Absent while it runs.
     */
    isPaused?: true | undefined
    /** How often it was retried after it had ended. Absent: never. */
    retries?: number | undefined
    /** State entry whose step key the current step has, where that is an earlier one: a retry goes on under its key. */
    keyEpoch?: number | undefined
    /** Absent while it has not failed or been terminated. */
    beforeEnd?: BeforeEnd | undefined
    /**
     * Status with which the context of a webhook paused for the first time, if it has. The caller of the webhook gets
     * this status, whatever happened later.
     */
    paused?: Status | undefined
    /** Events that came early, in the order of their arrival. They are kept until the context waits for them. */
    pending: readonly PendingEvent[]
  }>
