// engine/interpreter: the reducers of the turn's state, one for each action of the machine. Pure and total: a failure
// is data until a transition is chosen.
import { DefinitionError } from '../../definitions/definition-error.ts'
import type { CompiledFlux, Retry } from '../../definitions/flux.ts'
import type { Lines } from '../../definitions/compile/line.ts'
import type { ActionError, RetryHint } from '../../model/action-error.ts'
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { marksOf, storeReferences } from '../../model/secret-reference.ts'
import { pauseAfter } from './retry-pause.ts'
import { choose, type Chosen } from './choose.ts'
import { errorOf } from './exception.ts'
import { stateData, type Data, type ReducerEnv, type TurnState } from './turn-state.ts'
import { WorkingState } from './working-state.ts'

/** Steps of work that a move costs in addition to its lines and to one step for each visited state. */
const STEPS_A_MOVE = 500

const TIMED_OUT: ActionError = {
  message: 'the service that was invoked did not end in time',
  type: 'TimeoutError',
  className: 'TimeoutError',
  realException: null,
}

/**
 * The reducers of one service in one turn. The parameter `moves` is the number of moves that led to the state, 0 or 1.
 */
export class Reducers {
  readonly #flux: CompiledFlux
  readonly #env: ReducerEnv

  constructor(flux: CompiledFlux, env: ReducerEnv) {
    this.#flux = flux
    this.#env = env
  }

  /** Enters a state, as the first one or by a move from another. A waiting state begins to wait. */
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

  /** Enters a state in which nothing takes time, maps, and chooses a transition. */
  pass(state: TurnState, index: number, { moves: made }: { readonly moves: number }): TurnState {
    const next = this.#open(state)
    const moves = state.moves + made
    enterState(next, index)
    if (!next.failed) next.act(next.state(index).action.outputs)
    const chosen = choose(next, index, { moves, picked: null })
    if (isEnd(chosen)) next.turn.dataBeforeAction = this.#changed(state, (again) => enterState(again, index))
    return next.next(state, { moves, epoch: state.epoch + 1, attempt: 1, waits: false, ...chosen })
  }

  /** Applies an event, already validated, to the inputs of the state. */
  take(state: TurnState, index: number, event: { readonly name: string; readonly input: JsonObject }): TurnState {
    const next = this.#open(state)
    takeEvent(next, index, event)
    return next.next(state, { due: null, pick: null, waits: false })
  }

  /** Applies an event, maps, and chooses a transition. */
  map(state: TurnState, index: number, event: { readonly name: string; readonly input: JsonObject }): TurnState {
    const next = this.#open(state)
    takeEvent(next, index, event)
    next.act(next.state(index).action.outputs)
    const chosen = choose(next, index, { moves: state.moves, picked: null })
    if (isEnd(chosen)) next.turn.dataBeforeAction = this.#changed(state, (again) => takeEvent(again, index, event))
    return next.next(state, { waits: false, ...chosen })
  }

  /** For a state that does not wait: maps, unless the entry of the state failed, and chooses a transition. */
  run(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    if (!next.failed) next.act(next.state(index).action.outputs)
    return chosenAfter(next, state, choose(next, index, { moves: state.moves, picked: null }))
  }

  /**
   * Evaluates the arguments of a step or a child. The timeout of a child becomes the due time of the context, because a
   * child outlives the process.
   */
  prepare(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    const { effect, inputs, secrets, timeoutMs } = next.state(index).action
    // Later attempts use the arguments of the first.
    if (next.data.args === null && !next.failed) prepareArgs(next, inputs, secrets)
    const due = effect === 'child' && timeoutMs !== null && !next.failed ? next.now + timeoutMs : null
    // Only a step resets the count of moves: a child may not have been started.
    const rests = effect === 'step' && !next.failed
    return next.next(state, { due, waits: false, ...(rests && { moves: 0 }) })
  }

  /** Handles the result of a step or child. */
  finish(state: TurnState, index: number, result: Json): TurnState {
    const next = this.#open(state)
    next.data.args = null
    next.scope.bindResult(result)
    next.act(next.state(index).action.outputs)
    next.scope.unbindResult()
    return chosenAfter(next, state, { moves: 0, ...choose(next, index, { moves: 0, picked: null }) })
  }

  /**
   * Handles the final failure of a step or child. `error` null: it timed out. `isUnspawned`: the child could not be
   * started, so the count of moves is not reset.
   */
  fail(
    state: TurnState,
    index: number,
    { error, isUnspawned }: { readonly error: ActionError | null; readonly isUnspawned: boolean },
  ): TurnState {
    const next = this.#open(state)
    next.data.args = null
    next.turn.error = error ?? TIMED_OUT
    next.turn.stepError = next.turn.error
    const moves = isUnspawned ? state.moves : 0
    return chosenAfter(next, state, { moves, ...choose(next, index, { moves, picked: null }) })
  }

  /** Fails whatever reaches a context in a phase that its state no longer has. */
  collapse(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    next.data.args = null
    next.turn.error = errorOf(new DefinitionError(next.state(index).fault ?? "the state can't be run any more"))
    return chosenAfter(next, state, { moves: 0, waits: false, ...choose(next, index, { moves: 0, picked: null }) })
  }

  /** Schedules another attempt of a step, not before the failed one says. */
  retry(state: TurnState, retry: Retry, hint?: RetryHint): TurnState {
    const { now, random } = this.#env.turn
    const pause = pauseAfter(retry, state.attempt, { hint, random })
    return { ...state, due: now + pause, attempt: state.attempt + 1 }
  }

  /** Chooses what follows a failure. */
  choose(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    const chosen = choose(next, index, { moves: state.moves, picked: state.pick })
    return chosenAfter(next, state, { waits: false, ...chosen })
  }

  /** Takes the transition that was chosen for a wait or delay whose time has come. */
  resume(state: TurnState, index: number): TurnState {
    const next = this.#open(state)
    const chosen = choose(next, index, { moves: 0, picked: state.pick })
    return chosenAfter(next, state, { moves: 0, waits: false, ...chosen })
  }

  /** The data after a change that was made to that state before its action, made again. */
  #changed(state: TurnState, change: (again: WorkingState) => void): Data {
    const again = this.#open(state)
    change(again)
    return again.data
  }

  #open(state: TurnState): WorkingState {
    return new WorkingState(this.#flux, state, this.#env)
  }
}

const isEnd = ({ pick }: Chosen): boolean => pick === 'failed' || pick === 'terminated'

/** The state after a choice. If that ends the context, it notes the data that the action had. */
function chosenAfter(
  next: WorkingState,
  state: TurnState,
  chosen: Chosen & Partial<Pick<TurnState, 'moves' | 'waits'>>,
): TurnState {
  if (isEnd(chosen)) next.turn.dataBeforeAction = state.data
  return next.next(state, chosen)
}

function enterState(next: WorkingState, index: number): void {
  const {
    data,
    turn: { carried },
    env: { budget },
    now,
  } = next
  const state = next.state(index)
  budget.add(STEPS_A_MOVE + data.visited.length)
  const input = carried?.input ?? next.defaults(state.input)
  const output = getOwn(data.states, String(index))?.output ?? next.defaults(state.output)
  data.states = { ...data.states, [index]: { input, output } }
  if (!data.visited.includes(index)) data.visited = [...data.visited, index]
  next.turn.history = [
    ...next.turn.history,
    {
      from: carried?.from ?? null,
      event: carried?.event ?? null,
      to: state.name,
      at: now,
      values: carried?.values ?? {},
    },
  ]
  data.moves += 1
  data.state = index
  data.fluxEvent = null
  data.exception = null
  data.args = null
  next.turn.carried = null
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

/** Arguments that refer to secrets are stored without them: the step's attempts get the values of their time. */
function prepareArgs(next: WorkingState, inputs: Lines, secrets: readonly string[]): void {
  next.written = {}
  const random = secrets.length === 0 ? null : next.env.turn.uuid()
  next.scope.bindSecrets(random === null ? null : marksOf(secrets, random))
  if (next.run(inputs)) next.data.args = random === null ? next.written : storeReferences(next.written, random)
  next.scope.bindSecrets(null)
}
