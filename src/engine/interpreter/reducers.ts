// engine/interpreter: what each step of the machine makes of the turn's state. Pure and total: a failure is data until
// a transition is chosen.
import { DefinitionError } from '../../definitions/definition-error.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Lines } from '../../definitions/compile/line.ts'
import type { ActionError } from '../../model/action-error.ts'
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { choose } from './choose.ts'
import { errorOf } from './exception.ts'
import { stateData, type TurnState } from './turn-state.ts'
import { WorkingState, type ReducerEnv } from './working-state.ts'

/** Steps of work that a move takes besides its lines, and for each state that was visited. */
const STEPS_A_MOVE = 500
/** The longest pause before another attempt: a hundred years. */
const MAX_PAUSE_MS = 100 * 365 * 86_400_000

const TIMED_OUT: ActionError = {
  message: 'the service that was invoked did not end in time',
  type: 'TimeoutError',
  className: 'TimeoutError',
  realException: null,
}

/** Of one service in one turn. `moves`: those that led to a state. */
export class Reducers {
  readonly #flux: CompiledFlux
  readonly #env: ReducerEnv

  constructor(flux: CompiledFlux, env: ReducerEnv) {
    this.#flux = flux
    this.#env = env
  }

  /** Enters a state, as the first one or by a move from another; one that waits begins to wait. */
  enter(
    state: TurnState,
    index: number,
    { moves: made, waits }: { readonly moves: number; readonly waits: boolean },
  ): TurnState {
    const next = this.#open(state)
    enterState(next, index)
    const timed = waits ? earliestWait(next, index) : null
    const moves = waits && !next.failed ? 0 : state.moves + made
    return next.next(state, {
      moves,
      epoch: state.epoch + 1,
      attempt: 1,
      due: timed?.due ?? null,
      pick: timed?.pick ?? null,
      waits,
    })
  }

  /** Enters a state in which nothing takes time, maps, and chooses. */
  pass(state: TurnState, index: number, { moves: made }: { readonly moves: number }): TurnState {
    const next = this.#open(state)
    const moves = state.moves + made
    enterState(next, index)
    if (!next.failed) next.act(next.state(index).action.outputs)
    return next.next(state, {
      moves,
      epoch: state.epoch + 1,
      attempt: 1,
      waits: false,
      ...choose(next, index, { moves, picked: null }),
    })
  }

  /** An event, already checked, becomes that of the state. */
  take(state: TurnState, index: number, event: { readonly name: string; readonly input: JsonObject }): TurnState {
    const next = this.#open(state)
    takeEvent(next, index, event)
    return next.next(state, { due: null, pick: null, waits: false })
  }

  /** Takes an event, maps and chooses. */
  map(state: TurnState, index: number, event: { readonly name: string; readonly input: JsonObject }): TurnState {
    const next = this.#open(state)
    takeEvent(next, index, event)
    next.act(next.state(index).action.outputs)
    return next.next(state, { waits: false, ...choose(next, index, { moves: state.moves, picked: null }) })
  }

  /** Maps, unless the state couldn't be entered, and chooses, in a state that doesn't wait before. */
  run(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    if (!next.failed) next.act(next.state(index).action.outputs)
    return next.next(state, choose(next, index, { moves: state.moves, picked: null }))
  }

  /**
   * Works out the arguments of a step or a child; a child that has a timeout is due then, since it outlives the
   * process.
   */
  prepare(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    const { effect, inputs, timeoutMs } = next.state(index).action
    // Another attempt has those of the first.
    if (next.data.args === null && !next.failed) prepareArgs(next, inputs)
    const due = effect === 'child' && timeoutMs !== null && !next.failed ? next.now + timeoutMs : null
    // A child may have been started for nothing: only a step is a rest from moving.
    const rests = effect === 'step' && !next.failed
    return next.next(state, { due, waits: false, ...(rests && { moves: 0 }) })
  }

  /** A step or child ended well. */
  finish(state: TurnState, index: number, result: Json): TurnState {
    const next = this.#open(state)
    next.data.args = null
    next.scope.bindResult(result)
    next.act(next.state(index).action.outputs)
    next.scope.unbindResult()
    return next.next(state, { moves: 0, ...choose(next, index, { moves: 0, picked: null }) })
  }

  /**
   * A step or child failed for good; without an error, its time is over. `isUnspawned`: a child that couldn't even be
   * started, which is no rest from moving.
   */
  fail(
    state: TurnState,
    index: number,
    { error, isUnspawned }: { readonly error: ActionError | null; readonly isUnspawned: boolean },
  ): TurnState {
    const next = this.#open(state)
    next.data.args = null
    next.error = error ?? TIMED_OUT
    next.broke = next.error
    const moves = isUnspawned ? state.moves : 0
    return next.next(state, { moves, ...choose(next, index, { moves, picked: null }) })
  }

  /** The context stands where its state has no place any more: whatever reaches it there fails. */
  collapse(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    next.data.args = null
    next.error = errorOf(new DefinitionError(next.state(index).fault ?? "the state can't be run any more"))
    return next.next(state, { moves: 0, waits: false, ...choose(next, index, { moves: 0, picked: null }) })
  }

  /** A step is to be tried again. */
  retry(
    state: TurnState,
    { delay, factor, maxDelay }: { readonly delay: number; readonly factor: number; readonly maxDelay: number },
  ): TurnState {
    // A factor may grow beyond all numbers, and 0 times infinity is none.
    const pause = delay === 0 ? 0 : Math.ceil(Math.min(maxDelay, MAX_PAUSE_MS, delay * factor ** (state.attempt - 1)))
    return { ...state, due: this.#env.turn.now + pause, attempt: state.attempt + 1 }
  }

  /** Something failed: chooses what follows. */
  choose(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    return next.next(state, { waits: false, ...choose(next, index, { moves: state.moves, picked: state.pick }) })
  }

  /** The time of a wait or a delay has come: what was picked for it is taken. */
  resume(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    return next.next(state, { moves: 0, waits: false, ...choose(next, index, { moves: 0, picked: state.pick }) })
  }

  #open(state: TurnState): WorkingState {
    return new WorkingState(this.#flux, state, this.#env)
  }
}

function enterState(next: WorkingState, index: number): void {
  const {
    data,
    carried,
    env: { budget },
    now,
  } = next
  const state = next.state(index)
  budget.add(STEPS_A_MOVE + data.visited.length)
  const input = carried?.input ?? next.defaults(state.input)
  const output = getOwn(data.states, String(index))?.output ?? next.defaults(state.output)
  data.states = { ...data.states, [index]: { input, output } }
  if (!data.visited.includes(index)) data.visited = [...data.visited, index]
  next.history = [
    ...next.history,
    { from: carried?.from ?? null, event: carried?.event ?? null, to: index, at: now, values: carried?.values ?? {} },
  ]
  data.moves += 1
  data.state = index
  data.fluxEvent = null
  data.exception = null
  data.args = null
  next.carried = null
}

function earliestWait(next: WorkingState, index: number): { due: number; pick: number } | null {
  const { choice, transitions } = next.state(index)
  let earliest: { due: number; pick: number } | null = null
  for (const pick of choice.timed) {
    const due = next.dueOf(transitions[pick]?.wait ?? null)
    if (due !== null && (earliest === null || due < earliest.due)) earliest = { due, pick }
  }
  return next.failed ? null : earliest
}

function takeEvent(
  { data }: WorkingState,
  index: number,
  { name, input }: { readonly name: string; readonly input: JsonObject },
): void {
  const present = stateData(data, index)
  data.states = { ...data.states, [index]: { ...present, input: { ...present.input, ...input } } }
  data.fluxEvent = name
}

function prepareArgs(next: WorkingState, inputs: Lines): void {
  next.written = {}
  if (next.run(inputs)) next.data.args = next.written
}
