// engine/record: a context goes on with another definition of its service. Its states are found by their names, since
// another definition may number them otherwise, and its data is held to the types of that definition.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { defaults, validate, type Shape } from '../../definitions/values/properties.ts'
import { messageOf } from '../../model/error-message.ts'
import type { FieldError } from '../../model/failure.ts'
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import { dataKey, type ContextRecord, type Pick as Choice, type StateData } from '../../model/context.ts'

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
  const errors: FieldError[] = []
  const refuse = (detail: string) => errors.push({ pointer: '/definition', detail })
  /** `isWhole`: what is required must be there. What is not declared any more stays. */
  const fit = (shape: Shape, values: JsonObject, what: string, isWhole = false): JsonObject => {
    const properties = isWhole
      ? shape.properties
      : new Map([...shape.properties].map(([name, property]) => [name, { ...property, required: false }] as const))
    const rules = { now, unknown: 'keep', fill: false, text: false, pointer: '' } as const
    try {
      const found = validate({ ...shape, properties }, { ...defaults(shape, now), ...values }, rules)
      for (const { pointer, detail } of found.errors) refuse(`${what} does not fit: ${pointer} ${detail}`)
      return found.value
    } catch (error) {
      refuse(`${what} can't be read: ${messageOf(error)}`)
      return values
    }
  }
  const input = fit(to.input, record.input, 'input', true)
  const output = fit(to.output, record.output, 'output')
  const states: { [key: string]: StateData } = {}
  for (const index of record.visited) {
    const state = to.states[at(index)]
    const old = getOwn(record.states, dataKey(index))
    if (state && old)
      states[dataKey(state.index)] = {
        input: fit(state.input, old.input, `input of state '${state.name}'`),
        output: fit(state.output, old.output, `output of state '${state.name}'`),
      }
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
  return { record: fitted, errors }
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
