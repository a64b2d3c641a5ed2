// engine/interpreter: resolves names for the expressions and scripts of a turn, to the value in the innermost scope.
import { runInNewContext } from 'node:vm'
import { SPECIAL_NAMES } from '../../definitions/lines/names.ts'
import type { Scope, Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Line } from '../../definitions/lines/line.ts'
import type { Shape } from '../../definitions/values/properties.ts'
import { TooMuchWork, WorkBudget } from '../../definitions/work-budget.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import type { ContextData, ContextRecord } from '../../model/context.ts'
import { stateData, type ReducerEnv } from './turn-state.ts'

export class EvaluationScope implements Scope {
  readonly turn: Turn
  readonly budget: WorkBudget
  /** Whether `$fluxException` is visible: only to the lines of its transition. */
  seesException = false
  /** `$result`; its keys are visible, too, and shadow all other names. */
  result: { readonly value: Json } | null = null
  /** `$secrets`, with marks in place of the values. */
  secrets: JsonObject | null = null
  readonly #flux: CompiledFlux
  readonly #data: ContextData
  /**
   * What the running lines have written, merged into what was visible before, so that a model that is written field by
   * field keeps its other fields visible.
   */
  #overlay: JsonObject = {}

  /** @param data of the turn so far */
  constructor(flux: CompiledFlux, data: ContextData, turn: Turn & Pick<ReducerEnv, 'budget'>) {
    this.turn = turn
    this.budget = turn.budget
    this.#flux = flux
    this.#data = data
  }

  /**
   * The value of a name in the innermost scope that has it. A declared name that was never set does not shadow outer
   * ones.
   */
  get(name: string): Json | undefined {
    const near = this.result?.value
    if (isObject(near) && Object.hasOwn(near, name)) return near[name]
    if (name.startsWith('$')) {
      const special = this.#special(name)
      if (special !== undefined) return special
    }
    if (Object.hasOwn(this.#overlay, name)) return this.#overlay[name]
    for (const { values, shape } of this.#layers())
      if (Object.hasOwn(values, name) && isShown(name, shape)) return values[name]
    return undefined
  }

  /** All visible names with their values, for a script. */
  names(): JsonObject {
    const names: JsonObject = {}
    const layers = this.#layers().toReversed()
    // A declared name without a value is null: a script that reads an undefined variable would throw.
    for (const { shape } of layers) for (const name of shape?.properties.keys() ?? []) setOwn(names, name, null)
    for (const { values, shape } of layers)
      for (const name of Object.keys(values)) if (isSafe(name, shape)) setOwn(names, name, values[name] ?? null)
    for (const name of SPECIAL_NAMES) names[name] = this.#special(name) ?? names[name] ?? null
    return names
  }

  /** The scopes in which names are looked up, innermost first. */
  #layers() {
    const { states, input, output } = this.#flux
    const data = this.#data
    const state = states[data.state]
    const here = stateData(data, data.state)
    return [
      { values: here.output, shape: state?.output },
      { values: here.input, shape: state?.input },
      { values: data.output, shape: output },
      { values: data.input, shape: input },
    ]
  }

  /**
   * The visible value of the name that a line writes into, before the write; undefined if the line replaces the whole
   * value.
   */
  before({ path: [name, ...below] }: Line): Json | undefined {
    return name === undefined || below.length === 0 ? undefined : this.get(name)
  }

  /**
   * Makes the value that a line has written visible to the following lines. `written`: what the lines wrote to a target
   * outside the turn's data.
   */
  overlay(line: Line, value: Json, before: Json | undefined, written: JsonObject): void {
    const [name] = line.path
    if (name === undefined || line.place === 'response') return
    let root = written
    if (line.place === 'stateOutput') root = stateData(this.#data, this.#data.state).output
    else if (line.place === 'serviceOutput') root = this.#data.output
    const merged = before === undefined ? undefined : this.#merged(line, value, { [name]: before })
    setOwn(this.#overlay, name, getOwn(merged ?? root, name) ?? null)
  }

  /** Removes the overlay at the end of the lines. */
  clearOverlay(): void {
    this.#overlay = {}
  }

  /** The value written into what was visible; undefined if that has a different shape than the target. */
  #merged(line: Line, value: Json, before: JsonObject): JsonObject | undefined {
    try {
      return line.write(before, value, this.budget)
    } catch (error) {
      if (error instanceof TooMuchWork) throw error
      return undefined
    }
  }

  #special(name: string): Json | undefined {
    const data = this.#data
    switch (name) {
      case '$result':
        return this.result?.value
      case SECRETS:
        return this.secrets ?? undefined
      case '$fluxContextId':
        return data.id
      case '$fluxName':
        return data.fluxName
      case '$fluxStateName':
        return this.#flux.states[data.state]?.name
      case '$fluxEvent':
        return data.fluxEvent
      case '$fluxException':
        return this.seesException && data.exception ? data.exception : undefined
      case '$triggerFluxEvent':
        return data.trigger ?? undefined
      case '$trackerId':
        return getOwn(data.input, name) ?? data.trackerId
      case '$request':
        return data.request ?? undefined
      case '$response':
        return data.response ?? undefined
      default:
        return undefined
    }
  }
}

/**
 * Whether the name resolves to a value of this scope. Names that begin with `$` are reserved for the server unless the
 * service declares them: an undeclared input never shadows one.
 */
const isShown = (name: string, shape: Shape | undefined) =>
  !name.startsWith('$') || shape?.properties.has(name) === true

/** The same for a script, in which each name is a variable and must not shadow a name of the language. */
const isSafe = (name: string, shape: Shape | undefined) =>
  isShown(name, shape) && (!LANGUAGE_NAMES.has(name) || shape?.properties.has(name) === true)

/**
 * The names that are visible in a context between two turns, also to a script. They are not stored: the data of a context
 * does not change while its step is in progress, so they are the same for retries and takeovers.
 */
export const scopeOf = (flux: CompiledFlux, record: ContextRecord): EvaluationScope =>
  // Names are only looked up: no time and nothing random is needed.
  new EvaluationScope(flux, record, { now: 0, random: () => 0, uuid: () => '', budget: new WorkBudget() })

/**
 * The global names of JavaScript: those of this process, and what the script sandbox has besides. An input that a service
 * does not declare never shadows one of them.
 */
export const LANGUAGE_NAMES: ReadonlySet<string> = new Set<string>([
  ...runInNewContext('Object.getOwnPropertyNames(globalThis)'),
  'Float16Array',
  'InternalError',
  'Iterator',
  'arguments',
  'names',
])
