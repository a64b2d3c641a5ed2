// engine/interpreter: the state of a turn, which is the machine's context, and the machine's events. Plain data that is
// never changed, only replaced.
import { randomUUID } from 'node:crypto'
import type { Turn } from '../../definitions/expressions/expression.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { FluxException } from '../../model/context.ts'
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord, Move, Pick as Choice, Position, StateData } from '../../model/record.ts'

/** The fields of a record with the user's data, and those that expressions may read. */
export type Data = Pick<
  ContextRecord,
  | 'id'
  | 'fluxName'
  | 'trigger'
  | 'trackerId'
  | 'input'
  | 'output'
  | 'states'
  | 'fluxEvent'
  | 'request'
  | 'answer'
  | 'response'
  | 'args'
  | 'state'
  | 'visited'
  | 'exception'
  | 'moves'
>

/** A chosen transition: the facts that the entry of the next state records. */
export interface Carried {
  /** Name of the state that is left; null: a retry. */
  readonly from: string | null
  readonly event: string | null
  readonly values: JsonObject
  readonly input: JsonObject
}

/** The part of the state that is discarded after the turn. */
export interface InTurn {
  /** Moves made in this turn. */
  readonly history: readonly Move[]
  /** The error of the current action, transition or wait, until a transition is chosen. */
  readonly error: ActionError | null
  /** The final error of the step or child of this state. */
  readonly stepError: ActionError | null
  /** Why the context failed. */
  readonly contextError: FluxException | null
  readonly carried: Carried | null
  /** If the context ended in this turn: its data before the action after which it did. */
  readonly dataBeforeAction: Data | null
}

export interface TurnState {
  readonly data: Data
  /** Moves since the last pause or step. */
  readonly moves: number
  /** Counts entries of states. It distinguishes a late result from a current one. */
  readonly epoch: number
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly due: number | null
  readonly pick: Choice | null
  /** Whether the context waits for an event. */
  readonly waits: boolean
  readonly turn: InTurn
}

export const NO_TURN: InTurn = {
  history: [],
  error: null,
  stepError: null,
  contextError: null,
  carried: null,
  dataBeforeAction: null,
}

/** The position of a new context. */
export const START: Position = { phase: 'begin', moves: 0, epoch: 0, attempt: 1, pick: null }

export function turnStateOf(record: ContextRecord): TurnState {
  const {
    id,
    fluxName,
    trigger,
    trackerId,
    input,
    output,
    states,
    fluxEvent,
    request,
    answer,
    response,
    args,
    state,
    visited,
    exception,
    moves: moved,
  } = record
  const { phase, moves, epoch, attempt, pick } = record.position
  return {
    data: {
      id,
      fluxName,
      trigger,
      trackerId,
      input,
      output,
      states,
      fluxEvent,
      request,
      answer,
      response,
      args,
      state,
      visited,
      exception,
      moves: moved,
    },
    moves,
    epoch,
    attempt,
    due: record.due,
    pick,
    waits: phase === 'waiting',
    turn: NO_TURN,
  }
}

/** The data of a state; empty if it was never entered. */
export const stateData = ({ states }: Pick<Data, 'states'>, index: number): StateData =>
  getOwn(states, String(index)) ?? NO_DATA
const NO_DATA: StateData = { input: {}, output: {} }

/** What a reducer depends on in addition to the state and the event. */
export interface ReducerEnv {
  readonly turn: Turn
  readonly budget: WorkBudget
  /** The newest moves before this turn; null: not loaded. */
  readonly history: readonly Move[] | null
}

/** The environment of the turn; omitted if XState runs the machine without the engine. */
interface WithEnv {
  readonly env?: ReducerEnv
}

/**
 * The types of the machine's events are fixed. They carry names and data as payload, so that a name chosen by a user never
 * has a meaning to XState.
 */
export type MachineEvent = WithEnv &
  (
    | { readonly type: 'START'; readonly state: number }
    /** The action of the state runs, without its being entered. */
    | { readonly type: 'RETRY'; readonly state: number }
    | { readonly type: 'EVENT'; readonly name: string; readonly input: JsonObject }
    | { readonly type: 'WAKE' }
    | { readonly type: 'DONE'; readonly epoch: number; readonly attempt: number; readonly result: Json }
    /** `isUnspawned`: the child could not be started, so the count of moves towards the limit is not reset. */
    | {
        readonly type: 'FAIL'
        readonly epoch: number
        readonly attempt: number
        readonly error: ActionError
        readonly isUnspawned?: boolean
      }
    | { readonly type: 'TERMINATE' }
  )

/** The default environment, without a server: the clock of the process, and no earlier history. */
const ownEnv = (): ReducerEnv => ({
  turn: { now: Date.now(), random: Math.random, uuid: randomUUID },
  budget: new WorkBudget(),
  history: [],
})

export const envOf = ({ env }: MachineEvent): ReducerEnv => env ?? ownEnv()

/** Whether the event is the result of the current attempt. A result of an earlier attempt or entry has no effect. */
export const isAnswer = ({ epoch, attempt }: TurnState, event: MachineEvent): boolean =>
  (event.type === 'DONE' || event.type === 'FAIL') && event.epoch === epoch && event.attempt === attempt
