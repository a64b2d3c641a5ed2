// engine/interpreter: the events of the machine. There are six fixed ones, which carry names and data as payload, so
// that no name that a user chooses can mean something to XState.
import { randomUUID } from 'node:crypto'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { TurnState } from './turn-state.ts'
import type { ReducerEnv } from './working-state.ts'

/** What the turn provides; left out where XState alone runs the machine. */
interface WithEnv {
  readonly env?: ReducerEnv
}

export type MachineEvent = WithEnv &
  (
    | { readonly type: 'START'; readonly state: number }
    | { readonly type: 'EVENT'; readonly name: string; readonly input: JsonObject }
    | { readonly type: 'WAKE' }
    | { readonly type: 'DONE'; readonly epoch: number; readonly attempt: number; readonly result: Json }
    /** `isUnspawned`: the child could not be started; the moves before it count on towards the limit. */
    | {
        readonly type: 'FAIL'
        readonly epoch: number
        readonly attempt: number
        readonly error: ActionError
        readonly isUnspawned?: boolean
      }
    | { readonly type: 'TERMINATE' }
  )

/** What is used without a server: the clock of the process, and no earlier history. */
const ownEnv = (): ReducerEnv => ({
  turn: { now: Date.now(), random: Math.random, uuid: randomUUID },
  budget: new WorkBudget(),
  history: [],
})

export const envOf = ({ env }: MachineEvent): ReducerEnv => env ?? ownEnv()

/** Whether it is the result of the present attempt. The result of an earlier attempt or visit changes nothing. */
export const isAnswer = ({ epoch, attempt }: TurnState, event: MachineEvent): boolean =>
  (event.type === 'DONE' || event.type === 'FAIL') && event.epoch === epoch && event.attempt === attempt
