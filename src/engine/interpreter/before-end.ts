// engine/interpreter: what the end of a context changes, kept so that a retry can go on from before it.
import type { BeforeEnd, ContextRecord } from '../../model/record.ts'
import type { MachineTransition } from './machine-walk.ts'
import { stateData, type Data } from './turn-state.ts'

/** undefined: the context has not ended, or has completed, which nobody retries. */
export function beforeEndOf(record: ContextRecord, { phase, state }: MachineTransition): BeforeEnd | undefined {
  if (phase !== 'failed' && phase !== 'terminated') return undefined
  const { undo } = state.turn
  if (undo === null) return { phase: record.position.phase, due: record.due }
  return { phase: 'acting', due: null, data: changesSince(undo, state.data) }
}

/** What was otherwise before. Data is replaced and never changed, so what is the same object is the same. */
function changesSince(before: Data, after: Data): NonNullable<BeforeEnd['data']> {
  const old = stateData(before, before.state)
  return {
    ...(before.fluxEvent !== after.fluxEvent && { fluxEvent: before.fluxEvent }),
    ...(before.output !== after.output && { output: before.output }),
    ...(before.answer !== after.answer && { answer: before.answer }),
    ...(before.response !== after.response && { response: before.response }),
    ...(before.args !== after.args && { args: before.args }),
    ...(old !== stateData(after, before.state) && { state: old }),
  }
}

/** The record with its data as it was before the end. */
export function dataBeforeEnd(record: ContextRecord): ContextRecord {
  const { data } = record.beforeEnd ?? {}
  if (!data) return record
  const { state, ...others } = data
  const states = state === undefined ? record.states : { ...record.states, [record.state]: state }
  return { ...record, ...others, states }
}
