// model: the record of one context, as the turn reads and makes it. Everything in it is plain data.
import type { ContextId, FluxException, Status } from './context.ts'
import type { Json, JsonObject } from './json/value.ts'

export interface StateData {
  readonly input: JsonObject
  readonly output: JsonObject
}

/** One row of the log: a state was entered, and how. History and transition contexts are both views of it. */
export type Move = {
  /** Index of the state that was left; null for the start. */
  from: number | null
  /** What `$fluxEvent` was when it was left. */
  event: string | null
  /** Index of the state that was entered. */
  to: number
  /** Epoch milliseconds. */
  at: number
  /** What the transition's lines carried. */
  values: JsonObject
}

/** A log keeps this many of the newest moves. */
export const MAX_LOG_ROWS = 1000

/** A step under way: who runs it. */
export type Lease = {
  /** Boot id of the server. */
  owner: string
  /** How many servers took it over from a dead one. */
  takeovers: number
}

/** Why the last attempt of a step failed. */
export type StepError = {
  readonly type: string
  readonly message: string
  /** Epoch milliseconds. */
  readonly at: number
  /** The user's own frames. */
  readonly stack?: string
}

/** Owner of the lease of a step that is ready: no server runs it, and whichever claims it counts no takeover. */
export const UNOWNED = 'nobody'

/** What a ready step needs a slot of: it runs in the server's own process, in one of its own, or in the sandbox. */
export type ReadyKind = 'code' | 'isolated' | 'script'
export const READY_KINDS: readonly ReadyKind[] = ['code', 'isolated', 'script']

/** The owner under which stores list ready steps of that kind, so that a server finds those that it has slots for. */
export const readyOwner = (kind: ReadyKind): string => `${UNOWNED}/${kind}`

/** The kind of ready steps that stores list under that owner; null: it isn't the owner of any. */
export const readyKindOf = (owner: string): ReadyKind | null =>
  READY_KINDS.find((kind) => owner === readyOwner(kind)) ?? null

export type Parent = {
  id: ContextId
  /** Which entry of the parent's state waits for this child. */
  epoch: number
  /** How many ancestors this context has. */
  depth: number
}

/** What the lines of a context that a webhook started have made of its answer. */
export type Answer = {
  /** The service's outputs that lines have filled. */
  filled: string[]
  /** Paths of what was filled from `$response` in them, the last one last: that is the answer. */
  from: string[][]
}

/** Where a context stands within its state; `begin`: nothing has happened to it. */
export type Phase = 'begin' | 'waiting' | 'acting' | 'backoff' | 'delayed' | 'completed' | 'failed' | 'terminated'

/** Position of the chosen transition, or how the context ends. */
export type Pick = number | 'completed' | 'failed' | 'terminated'

/** What the machine remembers of a context besides the data. */
export type Position = {
  readonly phase: Phase
  /** Moves since the last pause or step. */
  readonly moves: number
  /** Counts entries of states: tells a late answer from a present one. */
  readonly epoch: number
  readonly attempt: number
  /** What was chosen, while it is delayed or waits for its time. */
  readonly pick: Pick | null
}

export interface ContextRecord {
  readonly id: ContextId
  /** 1 when created, one more with each commit. */
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
  /** When it must be woken, epoch milliseconds. */
  readonly due: number | null
  readonly tags: readonly string[]
  /** Why it failed. */
  readonly error: FluxException | null
  /** The exception that a delayed `$exception` transition carries. */
  readonly exception: FluxException | null
  readonly fluxEvent: Json
  /** `$triggerFluxEvent`. */
  readonly trigger: string | null
  readonly trackerId: string
  /** Of its user's, unique among the unfinished contexts of its service. */
  readonly key: string | null
  readonly parent: Parent | null
  /** The child whose end it waits for. */
  readonly child: ContextId | null
  readonly lease: Lease | null
  /**
   * When the step or child under way began, epoch milliseconds. Left out while there is none, while it is ready, and
   * for scripts and isolated functions: when they get a process isn't worth a commit, and the server that runs them
   * knows. Version 0.1 didn't keep it.
   */
  readonly stepStartedAt?: number | undefined
  /** Why the attempt before failed, while the step is tried again or waits for that. */
  readonly lastError?: StepError | undefined
  /** Number of moves ever made. */
  readonly moves: number
  /**
   * The newest moves, which aren't in the log yet: it is written to in larger pieces, since every place written to
   * costs.
   */
  readonly tail: readonly Move[]
  /** Indices of the states visited, in order of first visit. */
  readonly visited: readonly number[]
  readonly position: Position
  readonly input: JsonObject
  readonly output: JsonObject
  /** `$request`, of a context that a webhook started. */
  readonly request: JsonObject | null
  /** Headers and cookies of an ancestor's `$request`, where there are any to be hidden. */
  readonly inherited: JsonObject | null
  /** The bytes of its body, base64 in `body`; null: there are none. */
  readonly raw: JsonObject | null
  /** null: no webhook started it, or no line has filled an output. */
  readonly answer: Answer | null
  /**
   * How the context of a webhook paused for the first time, if it has: its caller is answered then, whatever came of it
   * since.
   */
  readonly paused?: Status | undefined
  /** `$response`, once a line wrote to it. */
  readonly response: JsonObject | null
  /** Arguments of the step or child under way: the same over retries and takeovers. */
  readonly args: JsonObject | null
  /** Data of the visited states, by index. */
  readonly states: { readonly [index: string]: StateData }
}
