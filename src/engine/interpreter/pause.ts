// engine/interpreter: a context is paused, and resumed. While it is paused, results of what was begun before are decided
// as usual. A step that would begin then is held as a ready one that no server may claim, and a child is not started.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Decision, DecisionEnv } from './decision.ts'
import { childOf } from './next-record.ts'
import { recordChange } from './transit.ts'

/** A context that is paused already stays as it is. */
export const pause = (record: ContextRecord, { now }: DecisionEnv): Decision =>
  record.isPaused ? { kind: 'noop' } : recordChange({ ...record, isPaused: true, updatedAt: now })

/** The turn then takes the events that were kept, and what is due. */
export function resume(flux: CompiledFlux, record: ContextRecord, { now }: DecisionEnv): Decision {
  if (!record.isPaused) return { kind: 'noop' }
  const running = { ...record, isPaused: undefined, updatedAt: now }
  const action = record.position.phase === 'acting' ? flux.states[record.state]?.action : undefined
  if (action?.effect !== 'child' || record.child !== null) return recordChange(running)
  // The child begins now, and so does its time.
  const due = action.timeoutMs === null ? null : now + action.timeoutMs
  const begun = { ...running, due, stepStartedAt: now }
  return { ...recordChange(begun), child: childOf(flux, begun) }
}
