// engine/interpreter: chooses the transition to take, and runs its lines.
import type { CompiledState, CompiledTransition } from '../../definitions/flux.ts'
import { spendOn, TooMuchWork } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { FluxException } from '../../model/context.ts'
import type { Json } from '../../model/json/value.ts'
import type { Pick as Choice } from '../../model/record.ts'
import { exceptionOf } from './exception.ts'
import type { WorkingState } from './working-state.ts'

/** Moves without a pause or a step after which a context fails. */
const MAX_MOVES = 1000

/** Maximum length of an event's name in a message. */
const MAX_SHOWN_CHARACTERS = 1000

/** Thrown when the trace of an exception needs the history of the context, which a turn does not have at first. */
export class NeedsHistory extends Error {}

export interface Chosen {
  readonly pick: Choice
  /** Epoch milliseconds until which the transition is delayed; null: it is taken now. */
  readonly due: number | null
}

/** Chooses what follows a state's action. `picked`: the choice that was made before a delay. */
export function choose(
  next: WorkingState,
  index: number,
  { moves, picked }: { readonly moves: number; readonly picked: Choice | null },
): Chosen {
  const state = next.state(index)
  const { choice } = state
  if (typeof picked === 'number' && !next.failed) return leave(next, state, picked, { isDelayed: true })
  if (next.failed || !choice.end) {
    if (moves >= MAX_MOVES)
      return end(next, { message: `${MAX_MOVES} moves without a pause or a step`, type: 'TooManyMoves' })
    spendOnEvent(next)
    if (next.env.budget.exhausted) return end(next, tooMuch(next))
  }
  if (next.failed) return except(next, state)
  if (next.data.fluxEvent === '$fluxTerminate') return { pick: 'terminated', due: null }
  if (choice.end) return { pick: 'completed', due: null }
  const event = waitTextOf(next.data.fluxEvent)
  const named = event === null ? undefined : (choice.events.get(event) ?? choice.internal.get(event))
  const pick = choice.lone ?? named ?? choice.otherwise
  if (pick !== null) return leave(next, state, pick, { isDelayed: false })
  const unknown =
    event === null
      ? 'no event is set'
      : `no transition names the event${event.length > MAX_SHOWN_CHARACTERS ? '' : ` '${event}'`}`
  return end(next, {
    message: `state '${state.name}' can't be left: ${unknown} and there is no '$else'`,
    type: 'UndefinedEventException',
  })
}

/** Takes a transition: first its wait, then its lines. A failure in either is a failure of the state that is left. */
function leave(
  next: WorkingState,
  state: CompiledState,
  pick: number,
  { isDelayed }: { readonly isDelayed: boolean },
): Chosen {
  const transition = state.transitions[pick]
  if (!transition)
    return end(next, { message: `state '${state.name}' has no transition ${pick}`, type: 'DefinitionError' })
  const isExceptional = pick === state.choice.exception
  if (!isDelayed && transition.wait) {
    const due = next.dueOf(transition.wait)
    if (due !== null) return { pick, due }
  } else {
    carry(next, state, transition, isExceptional)
  }
  if (!next.failed) return { pick, due: null }
  return isExceptional ? end(next, next.turn.error) : except(next, state)
}

function carry(next: WorkingState, state: CompiledState, transition: CompiledTransition, isExceptional: boolean): void {
  const { scope } = next
  const defaults = next.defaults(next.state(transition.to).input)
  if (next.failed) return
  scope.seesException = isExceptional
  const input = next.runInto(defaults, transition.lines)
  scope.seesException = false
  if (input)
    next.turn.carried = { from: state.name, event: waitTextOf(next.data.fluxEvent), values: next.written, input }
}

/** Takes the `$exception` transition; without one, the context fails. */
function except(next: WorkingState, state: CompiledState): Chosen {
  if (next.env.budget.exhausted) return end(next, tooMuch(next))
  const error = next.turn.error ?? { message: 'failed', type: 'Error' }
  const pick = state.choice.exception
  if (pick === null) return end(next, error)
  next.data.exception = exception(next, error)
  next.turn.error = null
  return leave(next, state, pick, { isDelayed: false })
}

/** Charges the conversion of `$fluxEvent` to text, which may be long. */
function spendOnEvent({ data, env: { budget } }: WorkingState): void {
  try {
    spendOn(data.fluxEvent, budget)
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
  }
}

/**
 * The error of an exhausted budget. It is not passed to an `$exception` transition, whose lines would exceed the
 * budget, too.
 */
const tooMuch = ({ env: { budget } }: WorkingState): Partial<ActionError> => ({
  message: `the lines and moves take more than ${budget.limit} steps without a pause or a step`,
  type: 'TooMuchWork',
})

function end(next: WorkingState, error: Partial<ActionError> | null): Chosen {
  next.turn.contextError = exception(next, error ?? {})
  next.turn.error = null
  return { pick: 'failed', due: null }
}

/** @throws NeedsHistory */
function exception({ flux, env: { history }, turn }: WorkingState, error: Partial<ActionError>): FluxException {
  if (history === null) throw new NeedsHistory()
  return exceptionOf(error, flux, [...history, ...turn.history])
}

/** A value as text. Events are compared as text, so that a boolean matches `"true"`. null for null. */
export function waitTextOf(value: Json): string | null {
  return value === null ? null : typeof value === 'object' ? JSON.stringify(value) : String(value)
}
