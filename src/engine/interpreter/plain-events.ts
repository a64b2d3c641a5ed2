// engine/interpreter: the five events of the machine without a server, as their sender writes them: plain data, checked
// here as the server checks what it is sent.
import { randomUUID } from 'node:crypto'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate } from '../../definitions/values/properties.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import { isObject, tryJson, type JsonObject } from '../../model/json/value.ts'
import { errorOf } from './exception.ts'
import type { MachineEvent } from './machine-events.ts'
import type { ReducerEnv } from './working-state.ts'

type Fields = { readonly [field: string]: unknown }

/** The environment of one event: its time, in epoch milliseconds, and its randomness, as far as it has them. */
export function envFrom({ now, random }: Fields): ReducerEnv {
  return {
    turn: {
      now: typeof now === 'number' && Number.isFinite(now) ? now : Date.now(),
      random: drawFrom(random),
      uuid: randomUUID,
    },
    budget: new WorkBudget(),
    history: [],
  }
}

/** A number, or what gives one with each call. */
function drawFrom(random: unknown): () => number {
  if (typeof random === 'number') return () => random
  return typeof random === 'function' ? () => Number(Reflect.apply(random, undefined, [])) : Math.random
}

/** The event to a context in that state; null: it has no effect, for the server would refuse it. */
export function machineEventFrom(flux: CompiledFlux, state: number, event: Fields): MachineEvent | null {
  const env = envFrom(event)
  switch (event['type']) {
    case 'EVENT': {
      const { name, input } = event
      if (typeof name !== 'string') return null
      const given = input === undefined || input === null ? {} : tryJson(input)
      const value = isObject(given) ? validInput(flux, state, given, env.turn.now) : null
      return value && { type: 'EVENT', name, input: value, env }
    }
    case 'WAKE':
      return { type: 'WAKE', env }
    case 'TERMINATE':
      return { type: 'TERMINATE', env }
    case 'DONE': {
      const { epoch, attempt, result } = event
      if (typeof epoch !== 'number' || typeof attempt !== 'number') return null
      return { type: 'DONE', epoch, attempt, result: result === undefined ? null : tryJson(result), env }
    }
    case 'FAIL': {
      const { epoch, attempt, error } = event
      if (typeof epoch !== 'number' || typeof attempt !== 'number') return null
      return { type: 'FAIL', epoch, attempt, error: actionErrorFrom(error), env }
    }
    default:
      return null
  }
}

function validInput({ states }: CompiledFlux, index: number, given: JsonObject, now: number): JsonObject | null {
  const state = states[index]
  if (!state) return null
  const options = { now, unknown: 'ignore' as const, fill: false, text: false, pointer: '/input' }
  const { value, errors } = validate(state.input, given, options)
  return errors.length > 0 ? null : value
}

/** An error as data, also one that has only some of the fields, or was thrown. */
function actionErrorFrom(error: unknown): ActionError {
  if (error instanceof Error || !isObject(error) || typeof error['message'] !== 'string') return errorOf(error)
  const { message, type, className, realException } = error
  const named = typeof type === 'string' ? type : 'Error'
  return {
    message,
    type: named,
    className: typeof className === 'string' ? className : named,
    realException: realException ?? { name: named, message },
    ...retryFrom(error),
  }
}

function retryFrom({ retry }: JsonObject): Pick<ActionError, 'retry'> {
  const afterMs = isObject(retry) ? retry['afterMs'] : undefined
  return afterMs === null || typeof afterMs === 'number' ? { retry: { afterMs } } : {}
}
