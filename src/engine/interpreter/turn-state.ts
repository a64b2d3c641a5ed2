// engine/interpreter: the state of a turn, which is the machine's context. Plain data, never changed, only replaced.
import type { ActionError } from '../../model/action-error.ts'
import type { FluxException } from '../../model/context.ts'
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord, Move, Pick as Choice, Position, StateData } from '../../model/record.ts'

/** What a record says of a user's data, and what its expressions may ask of the context. */
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

/** A transition that was chosen: what the entry of the next state writes down. */
export interface Carried {
  readonly from: number
  readonly event: string | null
  readonly values: JsonObject
  readonly input: JsonObject
}

/** What is of no interest once the turn is over. */
export interface InTurn {
  /** Moves made in this turn. */
  readonly history: readonly Move[]
  /** What made the present action, transition or wait fail, until a transition is chosen. */
  readonly error: ActionError | null
  /** What the step or child of this state failed with for good. */
  readonly broke: ActionError | null
  /** Why the context failed. */
  readonly fatal: FluxException | null
  readonly carried: Carried | null
}

export interface TurnState {
  readonly data: Data
  /** Moves since the last pause or step. */
  readonly moves: number
  /** Counts entries of states: distinguishes a late answer from a present one. */
  readonly epoch: number
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly due: number | null
  readonly pick: Choice | null
  /** It waits for an event. */
  readonly waits: boolean
  readonly turn: InTurn
}

export const NO_TURN: InTurn = { history: [], error: null, broke: null, fatal: null, carried: null }

/** Of a context that nothing has happened to. */
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

/** Data of a state, empty if it was never entered. */
export const stateData = ({ states }: Pick<Data, 'states'>, index: number): StateData =>
  getOwn(states, String(index)) ?? NO_DATA
const NO_DATA: StateData = { input: {}, output: {} }
