// engine/interpreter: the mutable copy of the turn's state on which one reducer works and runs lines. Seen from
// outside, the reducer is pure.
import { defaults, type Shape } from '../../definitions/values/properties.ts'
import { ExpressionError, type Scope } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux, CompiledState, Wait } from '../../definitions/flux.ts'
import type { Line, Lines } from '../../definitions/lines/line.ts'
import { parseDate } from '../../definitions/values/dates.ts'
import { startOf, toldOf } from '../../definitions/values/told.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { type Answer, type ContextData, dataKey, type Pick } from '../../model/context.ts'
import { errorOf } from './exception.ts'
import { EvaluationScope } from './scope.ts'
import { dataOf, stateData, type InTurn, type ReducerEnv, type TurnState } from './turn-state.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export class WorkingState implements TurnState {
  readonly flux: CompiledFlux
  readonly env: ReducerEnv
  readonly data: Mutable<ContextData>
  readonly turn: Mutable<InTurn>
  moves: number
  epoch: number
  attempt: number
  due: number | null
  pick: Pick | null
  /** The data before the action. */
  before: ContextData
  /** What lines wrote: those of a transition to the inputs of its target, those of an action to its arguments. */
  written: JsonObject = {}
  /** The inputs of a transition's target: its defaults, and over them what lines wrote. */
  input: JsonObject = {}
  #scope: EvaluationScope | null = null

  constructor(flux: CompiledFlux, { data, turn, moves, epoch, attempt, due, pick }: TurnState, env: ReducerEnv) {
    this.flux = flux
    this.env = env
    this.data = dataOf(data)
    this.before = data
    this.turn = { ...turn }
    this.moves = moves
    this.epoch = epoch
    this.attempt = attempt
    this.due = due
    this.pick = pick
  }

  /** The state that the reducer has made. */
  get result(): TurnState {
    const { data, turn, moves, epoch, attempt, due, pick } = this
    return { data, turn, moves, epoch, attempt, due, pick }
  }

  /** Whether the current action, transition or wait has failed. */
  get failed(): boolean {
    return this.turn.error !== null
  }

  get now(): number {
    return this.env.now
  }

  get scope(): EvaluationScope {
    return (this.#scope ??= new EvaluationScope(this.flux, this.data, this.env))
  }

  /** The current state. */
  get state(): CompiledState {
    return this.stateAt(this.data.state)
  }

  stateAt(index: number): CompiledState {
    const state = this.flux.states[index]
    if (!state) throw new Error(`'${this.flux.fluxName}' has no state ${index}`)
    return state
  }

  /** The value of the function; null, with `error` set, if it throws. */
  tryTo<T>(evaluate: () => T): T | null {
    try {
      return evaluate()
    } catch (error) {
      this.turn.error = errorOf(error)
      return null
    }
  }

  /** The defaults of a shape; empty, with `error` set, if one can no longer be read. */
  defaults(shape: Shape): JsonObject {
    return this.tryTo(() => defaults(shape, this.now, this.env.budget)) ?? {}
  }

  /** When the wait ends, epoch milliseconds; null: there is no wait, or its evaluation failed, and `error` is set. */
  dueOf(wait: Wait | null | undefined): number | null {
    return wait ? this.tryTo(() => endOfWait(wait, this.scope)) : null
  }

  /** Runs an action's lines. If one fails, the changes of all are undone. */
  act(lines: Lines): void {
    const { output, states, fluxEvent, response, answer } = this.data
    if (!this.run(lines)) Object.assign(this.data, { output, states, fluxEvent, response, answer })
  }

  /** Runs lines. Returns false, with `error` set, if one fails. */
  run(lines: Lines): boolean {
    const { scope } = this
    try {
      for (const line of lines) {
        const value = line.read(scope)
        const before = scope.before(line)
        this.#write(line, value)
        scope.overlay(line, value, before, this.written)
      }
      return true
    } catch (error) {
      this.turn.error = errorOf(error)
      return false
    } finally {
      scope.clearOverlay()
    }
  }

  #write(line: Line, value: Json) {
    const { data } = this
    const { budget } = this.env
    switch (line.place) {
      case 'stateOutput': {
        budget.spend(data.visited.length)
        const present = stateData(data, data.state)
        data.states = {
          ...data.states,
          [dataKey(data.state)]: { ...present, output: line.write(present.output, value, budget) },
        }
        return
      }
      case 'serviceOutput':
        data.output = line.write(data.output, value, budget)
        if (data.request) data.answer = answered(data.answer, line)
        return
      case 'fluxEvent':
        data.fluxEvent = value
        return
      case 'response':
        data.response = line.write(data.response ?? {}, value, budget)
        return
      case 'args':
      case 'stateInput':
        this.written = line.write(this.written, value, budget)
        if (line.place === 'stateInput') this.input = line.write(this.input, value, budget)
    }
  }
}

/**
 * Records which outputs come from `$response`: the origin of an output makes it the answer of a webhook, not its shape.
 */
function answered(answer: Answer | null, { path: [name = '', ...below], answers }: Line): Answer {
  const { filled, from } = answer ?? { filled: [], from: [] }
  const others = from.filter(([other]) => other !== name)
  return {
    filled: filled.includes(name) ? filled : [...filled, name],
    // A line that changes only a part of an output does not change its origin.
    from: answers ? [...others, [name, ...below]] : below.length === 0 ? others : from,
  }
}

/** The latest time that a date can represent, epoch milliseconds (ECMA-262, 21.4.1.1). */
const LAST_MOMENT = 8.64e15

/** Maximum length of a text with a number of seconds. */
const MAX_WAIT_CHARACTERS = 1000

/**
 * The end of the wait, epoch milliseconds. A time in the past is due at once.
 * @throws WaitError when the value isn't a duration or a date
 */
function endOfWait({ kind, of, value: expression }: Wait, scope: Scope): number {
  const fault = (reason: string, options?: ErrorOptions) =>
    new WaitError(`the wait of ${of} (${startOf(`${kind}:${expression.source}`)}): ${reason}`, options)
  let value
  try {
    value = expression.evaluate(scope)
  } catch (error) {
    throw error instanceof ExpressionError ? fault(error.message, { cause: error }) : error
  }
  if (kind === 'date') {
    const date = parseDate(value)
    if (date === null) throw fault(`${toldOf(value)} is no date to wait for`)
    return date
  }
  const isText = typeof value === 'string' && value.length <= MAX_WAIT_CHARACTERS && value.trim() !== ''
  const seconds = typeof value === 'number' ? value : isText ? Number(value) : NaN
  if (!Number.isFinite(seconds)) throw fault(`${toldOf(value)} is no number of seconds to wait`)
  // Rounded up, so that a wait never ends early.
  return Math.min(scope.turn.now + Math.max(0, Math.ceil(seconds * 1000)), LAST_MOMENT)
}

class WaitError extends Error {
  override readonly name = 'WaitError'
}
