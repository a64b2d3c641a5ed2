// engine/interpreter: the state of a turn, which is the machine's context. Plain data that is never changed, only
// replaced.
import type { ActionError } from '../../model/action-error.ts'
import type { FluxException } from '../../model/context.ts'
import { getOwn, type JsonObject } from '../../model/json/value.ts'
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
  /** null: a retry. */
  readonly from: number | null
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
  readonly broke: ActionError | null
  /** Why the context failed. */
  readonly fatal: FluxException | null
  readonly carried: Carried | null
  /** If the context ended in this turn: its data before the action after which it did. */
  readonly undo: Data | null
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

export const NO_TURN: InTurn = { history: [], error: null, broke: null, fatal: null, carried: null, undo: null }

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
