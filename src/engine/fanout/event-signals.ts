// engine/fanout: counts what an event to all came to.
import type { EventAnswer } from '../../api/events.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Outcomes } from './broadcast-tally.ts'

export const countsOf = ({ transitions, executions, ignored, pending }: EventAnswer): Outcomes['counts'] => ({
  moved: transitions.length,
  started: executions.length,
  ignored: ignored.length,
  pending: pending.length,
})

/** An event that met nobody is ignored once. */
export function countAll(signals: Signals, { moved, started, ignored, pending }: Outcomes['counts']): void {
  if (moved > 0) signals.event('moved', moved)
  if (started > 0) signals.event('started', started)
  if (pending > 0) signals.event('pending', pending)
  if (ignored > 0 || moved + started + pending === 0) signals.event('ignored', Math.max(1, ignored))
}
