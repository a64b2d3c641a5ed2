// engine/interpreter: the snapshot of a context, as XState would persist it. The engine writes it itself, because
// XState's `getPersistedSnapshot` changes data that looks like an actor.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished } from '../../model/context.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import { valueOf } from './nodes.ts'

/** The snapshot, without the user's data. */
export function snapshotOf(
  { status, state, due, position: { phase, ...position } }: ContextRecord,
  flux: CompiledFlux,
): JsonObject {
  return {
    status: isFinished(status) ? 'done' : 'active',
    value: valueOf(flux, phase, state),
    historyValue: {},
    context: { ...position, due },
    children: {},
  }
}
