// engine: what is counted of a commit when it is done.
import type { Signals, StepOutcome } from '../ports/signals.ts'
import { isFinished } from '../model/context.ts'
import type { TrackedContext } from './tracked-context.ts'

/** Counts what the commit did to one of its contexts. */
export function countCommitted(signals: Signals, context: TrackedContext): void {
  const { flux, history, done, failures, late } = context
  if (history.length > 0) signals.moves(flux, history.length)
  if (late !== null) signals.lateness(late)
  if (done.length > 0 || failures.length > 0) countSteps(signals, context)
}

/** Functions and scripts alone: a child is a context of its own. */
function countSteps(signals: Signals, { flux, done, failures, record }: TrackedContext): void {
  const count = (state: number, outcome: StepOutcome) => {
    const { name = '', action } = flux.states[state] ?? {}
    if (action?.effect === 'step') signals.step(flux, name, outcome)
  }
  for (const state of done) count(state, 'ok')
  const last = failures.at(-1)
  for (const failure of failures) {
    const isAgain = failure === last && record.lastError !== undefined && !isFinished(record.status)
    const outcome = failure.error.type === 'TimeoutError' ? 'timeout' : isAgain ? 'retried' : 'failed'
    count(failure.state, outcome)
  }
}
