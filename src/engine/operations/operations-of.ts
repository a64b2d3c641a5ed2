// engine/operations: the operations of an engine.
import { CountBound } from '../../model/count-bound.ts'
import { StartTimes } from '../calls/start-times.ts'
import type { EngineParts } from '../engine-parts.ts'
import { Operations, type OperationsParts } from './operations.ts'

/** Operations that one server carries out at once. */
const MAX_RUNNING = 100
/** Of them, those that count at once: each may look at all contexts. */
const MAX_COUNTING = 8

export function operationsOf(
  { store, catalog, clock, log, others }: EngineParts,
  { mailboxes, signals, identity }: Pick<OperationsParts, 'mailboxes' | 'signals' | 'identity'>,
): Operations {
  return new Operations({
    store,
    catalog,
    clock,
    log,
    mailboxes,
    signals,
    identity,
    beat: others?.beat ?? null,
    startTimes: new StartTimes(store),
    bound: new CountBound({ limit: MAX_RUNNING, what: 'operations under way' }),
    counts: new CountBound({ limit: MAX_COUNTING, what: 'operations that are counted' }),
  })
}
