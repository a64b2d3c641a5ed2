// engine/record: a context goes on with another definition of its service. Its states are found by their names, since
// another definition may number them otherwise, and its data is held to the types of that definition.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { defaults, validate, type Shape } from '../../definitions/values/properties.ts'
import { messageOf } from '../../model/error-message.ts'
import type { FieldError } from '../../model/failure.ts'
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord, Move, Pick as Choice, Numbering, StateData } from '../../model/record.ts'

type Repinned = { readonly record: ContextRecord } | { readonly errors: readonly FieldError[] }

/** The record of a context that has ended, with its data as it was before that, fitted to the other definition; or why its data does not fit. */
export function repinned(record: ContextRecord, from: CompiledFlux, to: CompiledFlux, now: number): Repinned {
  const { beforeEnd, numbering } = record
  const former = [...(numbering?.former ?? [])]
  const indices = from.states.map(({ name }) => to.stateIndex.get(name) ?? -former.push(name))
  const at = (index: number): number => (index < 0 ? index : (indices[index] ?? index))
  const data = new Fitting(now)
  const input = data.fit(to.input, record.input, { what: 'input', isWhole: true })
  const output = data.fit(to.output, record.output, { what: 'output', isWhole: false })
  const states: { [index: string]: StateData } = {}
  for (const index of record.visited) {
    const state = to.states[at(index)]
    const old = getOwn(record.states, String(index))
    if (state && old) states[state.index] = data.fitState(state, old)
  }
  if (data.errors.length > 0) return { errors: data.errors }
  const state = at(record.state)
  const isSame = indices.every((index, old) => index === old)
  const pick = pickIn(from.states[record.state], to.states[state], { record, at })
  const fitted: ContextRecord = {
    ...record,
    definition: to.hash,
    state,
    startState: Math.max(at(record.startState), -1) < 0 ? to.startState : at(record.startState),
    visited: record.visited.map(at).filter((index) => index >= 0),
    tail: isSame ? record.tail : record.tail.map((move) => renumberedMove(move, at)),
    numbering: isSame ? numbering : { former, tables: tablesOf(record, indices, at) },
    // The lines of the other definition compute them anew.
    args: null,
    beforeEnd: pick === undefined || !beforeEnd ? undefined : { phase: beforeEnd.phase, due: beforeEnd.due },
    position: { ...record.position, pick: pick ?? null },
    input,
    output,
    states,
  }
  return { record: fitted }
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

/** Rows of the log are never written again: they are numbered anew when they are read. */
function tablesOf(
  { numbering, moves, tail }: ContextRecord,
  to: readonly number[],
  at: (index: number) => number,
): Numbering['tables'] {
  const earlier = (numbering?.tables ?? []).map((table) => ({ before: table.before, to: table.to.map(at) }))
  const before = moves - tail.length
  return before <= (earlier.at(-1)?.before ?? 0) ? earlier : [...earlier, { before, to }]
}

/** The move with the number `number`, by the present indices of the states. */
export function renumberedRow(move: Move, number: number, numbering: Numbering | undefined): Move {
  const to = numbering?.tables.find(({ before }) => number < before)?.to
  return to === undefined ? move : renumberedMove(move, (index) => to[index] ?? index)
}

const renumberedMove = (move: Move, at: (index: number) => number): Move => ({
  ...move,
  from: move.from === null ? null : at(move.from),
  to: at(move.to),
})

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
