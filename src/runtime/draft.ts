// runtime: the next record while a turn makes it. It lives for one decision; the data it is given is never changed, only replaced.
import type { Turn } from '../definitions/expressions/expression.ts'
import type { CompiledFlux, CompiledState, CompiledTransition, Wait } from '../definitions/flux.ts'
import type { Line, Lines } from '../definitions/lines.ts'
import type { ActionError, Draft, Pick } from '../definitions/machine.ts'
import { defaults } from '../definitions/properties.ts'
import { spendOn, TooMuchWork, type WorkBudget } from '../definitions/work-budget.ts'
import type { FluxException } from '../model/context.ts'
import { getOwn, type Json, type JsonObject } from '../model/json.ts'
import type { Answer, ContextRecord, Move } from '../model/record.ts'
import { errorOf, exceptionOf } from './exception.ts'
import { Sight, stateData, type Data } from './sight.ts'
import { dueOf } from './wait.ts'

/** Moves without a pause or a step, after which a context fails. */
const MAX_MOVES = 1000
/** Steps of work that a move takes besides its lines, and for each state that was visited. */
const STEPS_A_MOVE = 500

/** Characters of an event's name in a message. */
const MAX_SHOWN = 1000

/** The trace of an exception needs the log of the context, which a turn isn't given at first. */
export class NeedsLog extends Error {}

export interface DraftParts {
  readonly turn: Turn
  readonly budget: WorkBudget
  /** The newest moves before this turn; null: not at hand. */
  readonly trail: readonly Move[] | null
}

export class TurnDraft implements Draft {
  readonly data: Data
  /** Moves made in this turn. */
  readonly log: Move[] = []
  /** What made the present action, transition or wait fail, until a transition is chosen. */
  error: ActionError | null = null
  /** What the step or child of this state failed with for good. */
  broke: ActionError | null = null
  /** Why the context failed. */
  fatal: FluxException | null = null

  readonly #flux: CompiledFlux
  readonly #turn: Turn
  readonly #trail: readonly Move[] | null
  readonly #budget: WorkBudget
  /** The transition under way: what the entry of the next state writes down. */
  #carried: { from: number; event: string | null; values: JsonObject; input: JsonObject } | null = null
  /** What lines wrote: a transition's to the inputs of its target, an action's to its arguments. */
  #written: JsonObject = {}
  #taken = false
  readonly #sight: Sight

  constructor(flux: CompiledFlux, record: ContextRecord, { turn, budget, trail }: DraftParts) {
    this.#flux = flux
    this.#turn = turn
    this.#budget = budget
    this.#trail = trail ?? (record.moves === record.tail.length ? record.tail : null)
    const { input, output, states, fluxEvent, request, answer, response, args, state, visited, exception, moves } = record
    this.data = { input, output, states, fluxEvent, request, answer, response, args, state, visited, exception, moves }
    this.#sight = new Sight({ flux, record, turn, budget, data: this.data })
  }

  get failed(): boolean {
    return this.error !== null
  }

  enter(index: number): void {
    const { data } = this
    const state = this.#state(index)
    const carried = this.#carried
    this.#budget.add(STEPS_A_MOVE + data.visited.length)
    const known = getOwn(data.states, String(index))
    const input = carried?.input ?? defaults(state.input, this.#turn.now, this.#budget)
    const output = known?.output ?? defaults(state.output, this.#turn.now, this.#budget)
    data.states = { ...data.states, [index]: { input, output } }
    if (!data.visited.includes(index)) data.visited = [...data.visited, index]
    this.log.push({ from: carried?.from ?? null, event: carried?.event ?? null, to: index, at: this.#turn.now, values: carried?.values ?? {} })
    data.moves += 1
    data.state = index
    data.fluxEvent = null
    data.exception = null
    data.args = null
    this.#carried = null
  }

  park(index: number): { due: number; pick: number } | null {
    const state = this.#state(index)
    let earliest: { due: number; pick: number } | null = null
    for (const pick of state.choice.timed) {
      const due = this.#dueOf(state.transitions[pick]?.wait ?? null)
      if (due !== null && (earliest === null || due < earliest.due)) earliest = { due, pick }
    }
    return this.failed ? null : earliest
  }

  take(index: number, event: string, input: JsonObject): boolean {
    const { data } = this
    if (this.#taken) return false
    this.#taken = true
    const present = stateData(data, index)
    data.states = { ...data.states, [index]: { ...present, input: { ...present.input, ...input } } }
    data.fluxEvent = event
    return true
  }

  map(index: number): void {
    const { action } = this.#state(index)
    if (action.kind === 'map') this.#act(action.lines)
  }

  prepare(index: number): number | null {
    const { action } = this.#state(index)
    if (action.kind === 'map') return null
    if (this.data.args === null) {
      this.#written = {}
      // What it sees is the context's data as it stands: a copy would double what a stranger sent.
      if (action.kind === 'script') this.data.args = {}
      else if (this.#run(action.inputs)) this.data.args = this.#written
      else return null
    }
    return action.kind === 'flux' && action.timeout !== null ? this.#turn.now + action.timeout : null
  }

  result(index: number, result: Json): void {
    const { action } = this.#state(index)
    this.data.args = null
    if (action.kind === 'map') return
    this.#sight.showResult(result)
    this.#act(action.outputs)
    this.#sight.hideResult()
  }

  fail(error: ActionError): void {
    this.data.args = null
    this.error = error
    this.broke = error
  }

  choose(index: number, moves: number, picked: Pick | null): { pick: Pick; due: number | null } {
    const state = this.#state(index)
    if (typeof picked === 'number' && !this.failed) return this.#leave(state, picked, { delayed: true })
    const { choice } = state
    if (this.failed || !choice.end) {
      if (moves >= MAX_MOVES) return this.#end({ message: `${MAX_MOVES} moves without a pause or a step`, type: 'TooManyMoves' })
      this.#spendOnEvent()
      if (this.#budget.exhausted) return this.#end(this.#tooMuch())
    }
    if (this.failed) return this.#except(state)
    if (this.data.fluxEvent === '$fluxTerminate') return { pick: 'terminated', due: null }
    if (choice.end) return { pick: 'completed', due: null }
    const event = textOf(this.data.fluxEvent)
    const pick = choice.lone ?? (event === null ? undefined : choice.events.get(event)) ?? choice.otherwise
    if (pick !== null) return this.#leave(state, pick, { delayed: false })
    const heard = event === null ? 'no event is set' : `no transition names the event '${event.slice(0, MAX_SHOWN)}'`
    return this.#end({ message: `state '${state.name}' can't be left: ${heard} and there is no '$else'`, type: 'UndefinedEventException' })
  }

  /** Takes the transition: its wait first, then its lines. A failure in either is a failure in the state that is left. */
  #leave(state: CompiledState, pick: number, { delayed }: { delayed: boolean }): { pick: Pick; due: number | null } {
    const transition = state.transitions[pick]
    if (!transition) throw new Error(`state '${state.name}' has no transition ${pick}`)
    const exceptional = pick === state.choice.exception
    if (!delayed && transition.wait) {
      const due = this.#dueOf(transition.wait)
      if (due !== null) return { pick, due }
    } else {
      this.#carry(state, transition, exceptional)
    }
    if (!this.failed) return { pick, due: null }
    return exceptional ? this.#end(this.error) : this.#except(state)
  }

  #carry(state: CompiledState, transition: CompiledTransition, exceptional: boolean): void {
    const target = this.#state(transition.to)
    this.#written = {}
    this.#sight.seesException = exceptional
    let input = defaults(target.input, this.#turn.now, this.#budget)
    try {
      for (const line of transition.lines) {
        const value = line.read(this.#sight)
        const before = this.#sight.before(line)
        this.#written = line.write(this.#written, value, this.#budget)
        input = line.write(input, value, this.#budget)
        this.#sight.lay(line, value, { before, written: this.#written })
      }
      this.#carried = { from: state.index, event: textOf(this.data.fluxEvent), values: this.#written, input }
    } catch (error) {
      this.error = errorOf(error)
    } finally {
      this.#sight.forget()
      this.#sight.seesException = false
    }
  }

  /** The `$exception` transition, or the end. */
  #except(state: CompiledState): { pick: Pick; due: number | null } {
    if (this.#budget.exhausted) return this.#end(this.#tooMuch())
    const error = this.error ?? { message: 'failed', type: 'Error' }
    const pick = state.choice.exception
    if (pick === null) return this.#end(error)
    this.data.exception = this.#exception(error)
    this.error = null
    return this.#leave(state, pick, { delayed: false })
  }

  /** `$fluxEvent` is compared as text, which may be long. */
  #spendOnEvent(): void {
    try {
      spendOn(this.data.fluxEvent, this.#budget)
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error
    }
  }

  /** Not what an `$exception` transition could deal with: its lines would be too much, too. */
  #tooMuch(): Partial<ActionError> {
    return { message: `the lines and moves take more than ${this.#budget.limit} steps without a pause or a step`, type: 'TooMuchWork' }
  }

  #end(error: Partial<ActionError> | null): { pick: Pick; due: null } {
    this.fatal = this.#exception(error ?? {})
    this.error = null
    return { pick: 'failed', due: null }
  }

  #exception(error: Partial<ActionError>): FluxException {
    if (this.#trail === null) throw new NeedsLog()
    return exceptionOf(error, this.#flux, [...this.#trail, ...this.log])
  }

  /** Runs an action's lines: all of them, or none. */
  #act(lines: Lines): void {
    const { output, states, fluxEvent, response, answer } = this.data
    if (!this.#run(lines)) Object.assign(this.data, { output, states, fluxEvent, response, answer })
  }

  #run(lines: Lines): boolean {
    try {
      for (const line of lines) {
        const value = line.read(this.#sight)
        const before = this.#sight.before(line)
        this.#write(line, value)
        this.#sight.lay(line, value, { before, written: this.#written })
      }
      return true
    } catch (error) {
      this.error = errorOf(error)
      return false
    } finally {
      this.#sight.forget()
    }
  }

  #write(line: Line, value: Json): void {
    const { data } = this
    const index = data.state
    switch (line.place) {
      case 'stateOutput': {
        this.#budget.spend(data.visited.length)
        const present = stateData(data, index)
        data.states = { ...data.states, [index]: { ...present, output: line.write(present.output, value, this.#budget) } }
        return
      }
      case 'serviceOutput':
        data.output = line.write(data.output, value, this.#budget)
        if (data.request) data.answer = this.#answered(line)
        return
      case 'fluxEvent': data.fluxEvent = value; return
      case 'response': data.response = line.write(data.response ?? {}, value, this.#budget); return
      case 'args': case 'stateInput': this.#written = line.write(this.#written, value, this.#budget)
    }
  }

  /** Its origin makes an output the answer of a webhook, whatever it looks like. */
  #answered({ path: [name = '', ...below], answers }: Line): Answer {
    const { filled, from } = this.data.answer ?? { filled: [], from: [] }
    const others = from.filter(([other]) => other !== name)
    return {
      filled: filled.includes(name) ? filled : [...filled, name],
      // What changes a part of it leaves it where it came from.
      from: answers ? [...others, [name, ...below]] : below.length === 0 ? others : from,
    }
  }

  #dueOf(wait: Wait | null): number | null {
    if (!wait) return null
    try {
      return dueOf(wait, this.#sight)
    } catch (error) {
      this.error = errorOf(error)
      return null
    }
  }

  #state(index: number): CompiledState {
    const state = this.#flux.states[index]
    if (!state) throw new Error(`'${this.#flux.fluxName}' has no state ${index}`)
    return state
  }
}

/** A value as text, in which events are compared, so that a boolean matches `"true"`; null for null. */
export function textOf(value: Json): string | null {
  return value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value)
}
