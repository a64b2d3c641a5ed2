// engine/interpreter: the state of a turn, which is the machine's context, and the machine's events. Plain data that is
// never changed, only replaced.
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import {
  type ContextData,
  type ContextId,
  type ContextRecord,
  dataKey,
  type FluxException,
  type Move,
  type Position,
  type StateData,
} from '../../model/context.ts'
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { StepAnswer } from './position.ts'

/** The part of the state that is discarded after the turn. */
export interface InTurn {
  /** Moves made in this turn. */
  readonly history: readonly Move[]
  /** The error of the current action, transition or wait, until a transition is chosen. */
  readonly error: ActionError | null
  /** Why the context failed. */
  readonly contextError: FluxException | null
  /** For a chosen transition: the move that the entry of the next state records, and the inputs of that state. */
  readonly carried: { readonly move: Move; readonly input: JsonObject } | null
  /** If the context ended in this turn: its data before the action after which it did. */
  readonly dataBeforeAction: ContextData | null
}

export interface TurnState extends Omit<Position, 'phase'>, Pick<ContextRecord, 'due'> {
  readonly data: ContextData
  readonly turn: InTurn
}

export const NO_TURN: InTurn = { history: [], error: null, contextError: null, carried: null, dataBeforeAction: null }

/** The position of a new context. */
export const START: Position = { phase: 'begin', moves: 0, epoch: 0, attempt: 1, pick: null }

export function turnStateOf(record: ContextRecord, turn = NO_TURN): TurnState {
  const { moves, epoch, attempt, pick } = record.position
  return { data: dataOf(record), moves, epoch, attempt, pick, due: record.due, turn }
}

/** A copy. Each field is named: a spread of that many fields takes ten times as long. */
export const dataOf = (data: ContextData): ContextData => ({
  id: data.id,
  fluxName: data.fluxName,
  trigger: data.trigger,
  trackerId: data.trackerId,
  input: data.input,
  output: data.output,
  states: data.states,
  fluxEvent: data.fluxEvent,
  request: data.request,
  answer: data.answer,
  response: data.response,
  args: data.args,
  state: data.state,
  visited: data.visited,
  exception: data.exception,
  moves: data.moves,
})

/** The move into a state that comes from no other one. */
export const entryOf = (to: string, at: number): Move => ({
  from: null,
  event: null,
  to,
  at,
  values: {},
})

/** The data of a state; empty if it was never entered. */
export const stateData = ({ states }: Pick<ContextData, 'states'>, index: number): StateData =>
  getOwn(states, dataKey(index)) ?? NO_DATA
const NO_DATA: StateData = { input: {}, output: {} }

/** What a reducer depends on in addition to the state and the event. */
export interface ReducerEnv extends Turn {
  readonly budget: WorkBudget
  readonly past: {
    /** The newest moves of the context before this decision. Whatever it throws passes through. */
    historyOf(id: ContextId): readonly Move[]
  }
}

/**
 * What happens to a machine. The types are fixed: they carry names and data as payload, so that a name chosen by a user
 * never has a meaning to XState.
 */
export type Happening =
  /** `RETRY`: the action of the state runs, without its being entered. */
  | { readonly type: 'START' | 'RETRY' | 'WAKE' | 'TERMINATE' }
  | { readonly type: 'EVENT'; readonly name: string; readonly eventId?: string; readonly input: JsonObject }
  | ({ readonly type: 'DONE'; readonly result: Json } & StepAnswer)
  /** `isUnspawned`: the child could not be started, so the count of moves towards the limit is not reset. */
  | ({ readonly type: 'FAIL'; readonly error: ActionError; readonly isUnspawned?: true } & StepAnswer)

export type MachineEvent = Happening & { readonly env: ReducerEnv }
