// engine/interpreter: the events of the machine. The event types are fixed and carry names and data as payload, so
// that a name chosen by a user never has a meaning to XState.
import { randomUUID } from 'node:crypto'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { TurnState } from './turn-state.ts'
import type { ReducerEnv } from './working-state.ts'

/** The environment of the turn; omitted if XState runs the machine without the engine. */
interface WithEnv {
  readonly env?: ReducerEnv
}

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
