// engine/interpreter: the reducers of the turn's state, one for each action of the machine. Pure and total: a failure
// is data until a transition is chosen. A reducer changes the copy that it is given.
import { spendOn } from '../../definitions/work-budget.ts'
import { actionError } from '../../model/action-error.ts'
import { dataKey } from '../../model/context.ts'
import { getOwn, type Json, setOwn } from '../../model/json/value.ts'
import { marksOf, storeReferences } from '../../model/secret-reference.ts'
import { pauseAfter } from './retry-pause.ts'
import { exceptionOf } from './exception.ts'
import { isMap } from './nodes.ts'
import { dataOf, entryOf, stateData, type MachineEvent } from './turn-state.ts'
import type { WorkingState } from './working-state.ts'

/** Steps of work that a move costs in addition to its lines and to one step for each visited state. */
const STEPS_A_MOVE = 500

/** Moves without a pause or a step after which a context fails. */
const MAX_MOVES = 1000

/** Maximum length of an event's name in a message. */
const MAX_SHOWN_CHARACTERS = 1000

export const TIMED_OUT = actionError('TimeoutError', 'the service that was invoked did not end in time')

export type Reducer = (next: WorkingState, event: MachineEvent) => void
export const REDUCERS = {
  /** Enters a state, as the first one or by a move from another. A waiting state begins to wait; another map maps. */
  enter(next) {
    enterState(next)
    if (next.state.waiting) awaitFirst(next)
    else mapIfMap(next)
  },

  /** Applies an event, already validated, to the inputs of the state. A map maps. */
  take(next, event) {
    const { data } = next
    const present = stateData(data, data.state)
    if (event.type === 'EVENT') {
      const input = { ...present.input }
      // Not spread: in Node 20, that takes twenty times as long.
      for (const [name, value] of Object.entries(event.input)) setOwn(input, name, value)
      data.states = { ...data.states, [dataKey(data.state)]: { ...present, input } }
      data.fluxEvent = event.name
    }
    next.due = null
    next.pick = null
    mapIfMap(next)
  },

  /** Maps once more. */
  map,

  /**
   * Evaluates the arguments of a step or a child. The timeout of a child becomes the due time of the context, because a
   * child outlives the process.
   */
  prepare(next) {
    const { effect, timeoutMs } = next.state.action
    next.due = null
    // Later attempts use the arguments of the first.
    if (next.data.args === null && !next.failed) prepareArgs(next)
    if (next.failed) return
    // Only a step resets the count of moves: a child may not have been started.
    if (effect === 'step') next.moves = 0
    else if (timeoutMs !== null) next.due = next.now + timeoutMs
  },

  /** Handles the result of a step or child. In a state with a fault, the lines fail, whatever the event is. */
  finish(next, event) {
    next.data.args = null
    next.moves = 0
    next.scope.result = event.type === 'DONE' ? { value: event.result } : null
    map(next)
  },

  /**
   * Handles the final failure of a step or child, or its timeout. The count of moves is not reset if the child could not
   * be started.
   */
  fail(next, event) {
    next.data.args = null
    next.turn.error = event.type === 'FAIL' ? event.error : TIMED_OUT
    if (event.type !== 'FAIL' || !event.isUnspawned) next.moves = 0
    choose(next)
  },

  /** Schedules another attempt of a step, not before the failed one says. */
  retry(next, event) {
    const { now, random } = next.env
    const hint = event.type === 'FAIL' ? event.error.retry : undefined
    next.due = now + pauseAfter(next.state.action.retry, next.attempt, random, hint)
    next.attempt += 1
  },

  /** Chooses what follows a failure on entry. */
  choose,

  /** Takes the transition that was chosen for a wait or delay whose time has come. */
  resume(next) {
    next.moves = 0
    if (typeof next.pick === 'number') leave(next, next.pick, true)
    else choose(next)
  },
} satisfies { readonly [name: string]: Reducer }

export type ReducerName = keyof typeof REDUCERS

/** Runs the lines of the action, unless the entry of the state has failed, and chooses a transition. */
function map(next: WorkingState): void {
  if (!next.failed) next.act(next.state.action.outputs)
  next.scope.result = null
  choose(next)
}

function mapIfMap(next: WorkingState): void {
  if (!isMap(next.state)) return
  next.before = dataOf(next.data)
  map(next)
}

function enterState(next: WorkingState) {
  const { flux, data, turn, env, now } = next
  const { carried } = turn
  if (carried) data.state = flux.stateIndex.get(carried.move.to) ?? data.state
  const { index, name, input: inputs, output: outputs } = next.state
  const move = carried?.move ?? entryOf(name, now)
  env.budget.add(STEPS_A_MOVE + data.visited.length)
  const input = carried?.input ?? next.defaults(inputs)
  const key = dataKey(index)
  const output = getOwn(data.states, key)?.output ?? next.defaults(outputs)
  data.states = { ...data.states, [key]: { input, output } }
  // Not spread: V8 reserves room for many more.
  if (!data.visited.includes(index)) data.visited = data.visited.concat(index)
  turn.history = [...turn.history, move]
  turn.carried = null
  data.moves += 1
  data.fluxEvent = null
  data.exception = null
  data.args = null
  if (move.from !== null) next.moves += 1
  next.epoch += 1
  next.attempt = 1
  next.due = null
  next.pick = null
}

/** Waits for an event, or for the first of the times at which a transition is due. */
function awaitFirst(next: WorkingState) {
  const { choice, transitions } = next.state
  for (const pick of choice.timed) {
    const due = next.dueOf(transitions[pick]?.wait)
    if (due === null || (next.due !== null && next.due <= due)) continue
    next.due = due
    next.pick = pick
  }
  if (!next.failed) next.moves = 0
}

/** Arguments that refer to secrets are stored without them: the step's attempts get the values of their time. */
function prepareArgs(next: WorkingState) {
  const { inputs, secrets } = next.state.action
  next.written = {}
  const random = secrets.length === 0 ? null : next.env.uuid()
  next.scope.secrets = random === null ? null : marksOf(secrets, random)
  if (next.run(inputs)) next.data.args = random === null ? next.written : storeReferences(next.written, random)
  next.scope.secrets = null
}

/** Chooses what follows a state's action. */
function choose(next: WorkingState): void {
  const { state, data, env } = next
  const { choice } = state
  if (next.failed || !choice.end) {
    if (next.moves >= MAX_MOVES) return fail(next, 'TooManyMoves', `${MAX_MOVES} moves without a pause or a step`)
    // It is converted to text, which may be long.
    next.tryTo(() => spendOn(data.fluxEvent, env.budget))
    if (env.budget.exhausted) return tooMuch(next)
  }
  if (next.failed) return except(next)
  if (data.fluxEvent === '$fluxTerminate') return end(next, 'terminated')
  if (choice.end) return end(next, 'completed')
  const event = waitTextOf(data.fluxEvent)
  const named = event === null ? undefined : (choice.events.get(event) ?? choice.internal.get(event))
  const pick = choice.lone ?? named ?? choice.otherwise
  if (pick !== null) return leave(next, pick, false)
  const shown = event !== null && event.length <= MAX_SHOWN_CHARACTERS ? ` '${event}'` : ''
  const unknown = event === null ? 'no event is set' : `no transition names the event${shown}`
  fail(next, 'UndefinedEventException', `state '${state.name}' can't be left: ${unknown} and there is no '$else'`)
}

/**
 * Takes a transition: first its wait, unless that is over, then its lines. A failure in either is a failure of the state
 * that is left.
 */
function leave(next: WorkingState, pick: number, isOver: boolean): void {
  const { state, scope } = next
  const transition = state.transitions[pick]
  if (!transition) return fail(next, 'DefinitionError', `state '${state.name}' has no transition ${pick}`)
  const isExceptional = pick === state.choice.exception
  next.pick = pick
  next.due = null
  if (!isOver && transition.wait) next.due = next.dueOf(transition.wait)
  else {
    const { to, lines } = transition
    next.written = {}
    const target = next.stateAt(to)
    next.input = next.defaults(target.input)
    scope.seesException = isExceptional
    if (!next.failed && next.run(lines)) {
      const event = waitTextOf(next.data.fluxEvent)
      const move = { from: state.name, event, to: target.name, at: next.now, values: next.written, transition: pick }
      next.turn.carried = { move, input: next.input }
    }
    scope.seesException = false
  }
  if (!next.failed) return
  if (isExceptional) end(next, 'failed')
  else except(next)
}

/** Takes the `$exception` transition; without one, the context fails. */
function except(next: WorkingState): void {
  if (next.env.budget.exhausted) return tooMuch(next)
  const pick = next.state.choice.exception
  if (pick === null) return end(next, 'failed')
  next.data.exception = exception(next)
  next.turn.error = null
  leave(next, pick, false)
}

/**
 * The budget is exhausted. The error is not passed to an `$exception` transition, whose lines would exceed the budget,
 * too.
 */
function tooMuch(next: WorkingState): void {
  const { limit } = next.env.budget
  fail(next, 'TooMuchWork', `the lines and moves take more than ${limit} steps without a pause or a step`)
}

function fail(next: WorkingState, type: string, message: string): void {
  next.turn.error = actionError(type, message)
  end(next, 'failed')
}

function end(next: WorkingState, pick: 'completed' | 'failed' | 'terminated'): void {
  if (pick !== 'completed') next.turn.dataBeforeAction = next.before
  if (pick === 'failed') next.turn.contextError = exception(next)
  next.turn.error = null
  next.pick = pick
  next.due = null
}

const exception = ({ flux, env, data, turn }: WorkingState) =>
  exceptionOf(turn.error ?? actionError('Error', 'failed'), flux, [...env.past.historyOf(data.id), ...turn.history])

/** A value as text. Events are compared as text, so that a boolean matches `"true"`. null for null. */
export function waitTextOf(value: Json): string | null {
  return value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value)
}
