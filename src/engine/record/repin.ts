// engine/record: a context goes on with another definition of its service. Its states are found by their names, since
// another definition may number them otherwise, and its data is held to the types of that definition.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { defaults, validate, type Shape } from '../../definitions/values/properties.ts'
import { messageOf } from '../../model/error-message.ts'
import type { FieldError } from '../../model/failure.ts'
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord, Pick as Choice, StateData } from '../../model/record.ts'

/**
 * The record of a context that has ended, with its data as it was before that, fitted to the other definition, and why its
 * data does not fit. Its state is -1 where the other definition does not have it.
 */
export function repinned(
  record: ContextRecord,
  from: CompiledFlux,
  to: CompiledFlux,
  now: number,
): { readonly record: ContextRecord; readonly errors: readonly FieldError[] } {
  const { beforeEnd } = record
  const at = (index: number): number => to.stateIndex.get(from.states[index]?.name ?? '') ?? -1
  const data = new Fitting(now)
  const input = data.fit(to.input, record.input, { what: 'input', isWhole: true })
  const output = data.fit(to.output, record.output, { what: 'output', isWhole: false })
  const states: { [index: string]: StateData } = {}
  for (const index of record.visited) {
    const state = to.states[at(index)]
    const old = getOwn(record.states, String(index))
    if (state && old) states[state.index] = data.fitState(state, old)
  }
  const [state, startState] = [at(record.state), at(record.startState)]
  const pick = pickIn(from.states[record.state], to.states[state], { record, at })
  const fitted: ContextRecord = {
    ...record,
    definition: to.hash,
    state,
    startState: startState < 0 ? to.startState : startState,
    visited: record.visited.map(at).filter((index) => index >= 0),
    // The lines of the other definition compute them anew.
    args: null,
    beforeEnd: pick === undefined || !beforeEnd ? undefined : { phase: beforeEnd.phase, due: beforeEnd.due },
    position: { ...record.position, pick: pick ?? null },
    input,
    output,
    states,
  }
  return { record: fitted, errors: data.errors }
}

/**
 * The transition that leads to the same state after a time, as the one that was chosen; undefined: there is none, so the
 * state must be entered anew.
 */
function pickIn(
  old: CompiledState | undefined,
  state: CompiledState | undefined,
  { record, at }: { readonly record: ContextRecord; readonly at: (index: number) => number },
): Choice | null | undefined {
  const { beforeEnd, position } = record
  const phase = beforeEnd?.phase
  if (phase !== 'waiting' && phase !== 'delayed') return null
  if (!state || (phase === 'waiting' && !state.waiting)) return undefined
  if (typeof position.pick !== 'number') return position.pick
  const target = old?.transitions[position.pick]?.to
  const among = phase === 'waiting' ? state.choice.timed : state.transitions.keys()
  for (const pick of among) {
    const transition = state.transitions[pick]
    if (target !== undefined && transition?.wait && transition.to === at(target)) return pick
  }
  return undefined
}

/** Holds data to types, and gathers what does not fit. */
class Fitting {
  readonly errors: FieldError[] = []
  readonly #now: number

  constructor(now: number) {
    this.#now = now
  }

  fitState({ name, input, output }: CompiledState, old: StateData): StateData {
    return {
      input: this.fit(input, old.input, { what: `input of state '${name}'`, isWhole: false }),
      output: this.fit(output, old.output, { what: `output of state '${name}'`, isWhole: false }),
    }
  }

  /** `isWhole`: what is required must be there. What is not declared any more stays. */
  fit(shape: Shape, values: JsonObject, { what, isWhole }: { what: string; isWhole: boolean }): JsonObject {
    const properties = isWhole
      ? shape.properties
      : new Map([...shape.properties].map(([name, property]) => [name, { ...property, required: false }] as const))
    const rules = { now: this.#now, unknown: 'keep', fill: false, text: false, pointer: '' } as const
    try {
      const all = { ...defaults(shape, this.#now), ...values }
      const { value, errors } = validate({ ...shape, properties }, all, rules)
      for (const { pointer, detail } of errors) this.#refuse(`${what} does not fit: ${pointer} ${detail}`)
      return value
    } catch (error) {
      this.#refuse(`${what} can't be read: ${messageOf(error)}`)
      return values
    }
  }

  #refuse(detail: string): void {
    this.errors.push({ pointer: '/definition', detail })
  }
}
