// engine/interpreter: chooses the transition to take, and runs its lines.
import { spendOn } from '../../definitions/work-budget.ts'
import { actionError } from '../../model/action-error.ts'
import type { FluxException } from '../../model/context.ts'
import type { Json } from '../../model/json/value.ts'
import { exceptionOf } from './exception.ts'
import type { WorkingState } from './working-state.ts'

/** Moves without a pause or a step after which a context fails. */
const MAX_MOVES = 1000

/** Maximum length of an event's name in a message. */
const MAX_SHOWN_CHARACTERS = 1000

/** Chooses what follows a state's action. */
export function choose(next: WorkingState): void {
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
export function leave(next: WorkingState, pick: number, isOver: boolean): void {
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
      const move = { from: state.name, event, to: target.name, at: next.now, values: next.written }
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

const exception = ({ flux, env, data, turn }: WorkingState): FluxException =>
  exceptionOf(turn.error ?? {}, flux, [...env.past.historyOf(data.id), ...turn.history])

/** A value as text. Events are compared as text, so that a boolean matches `"true"`. null for null. */
export function waitTextOf(value: Json): string | null {
  return value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value)
}
