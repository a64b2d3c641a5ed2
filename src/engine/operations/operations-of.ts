// engine/operations: the operations of an engine.
import { ByteBudget } from '../../model/byte-budget.ts'
import { CountBound } from '../../model/count-bound.ts'
import { StartTimes } from '../calls/start-times.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { EngineParts } from '../engine-parts.ts'
import { Operations, type OperationsParts } from './operations.ts'

/** Operations that one server carries out at once. */
const MAX_RUNNING = 100
/** Of them, those that count at once: each may look at all contexts. */
const MAX_COUNTING = 8
/** Bytes of memory for what all under way are to do: about ten of the largest inputs that a body of 1 MiB may have. */
const MAX_COMMAND_BYTES = 64 * 1024 * 1024
/** Lists of operations that wait for others to be read: each may take tens of MB of memory until it is charged. */
const MAX_WAITING = 200

export function operationsOf(
  { store, catalog, clock, log }: EngineParts,
  { mailboxes, signals, servers }: Pick<OperationsParts, 'mailboxes' | 'signals' | 'servers'>,
): Operations {
  return new Operations({
    store,
    catalog,
    clock,
    log,
    mailboxes,
    signals,
    servers,
    startTimes: new StartTimes(store),
    bound: new CountBound({ limit: MAX_RUNNING, what: 'operations under way' }),
    commands: new ByteBudget({ bytes: MAX_COMMAND_BYTES, what: 'operations with large inputs' }),
    counts: new CountBound({ limit: MAX_COUNTING, what: 'operations that are counted' }),
    lists: new Turnstile(1, { waiting: MAX_WAITING, what: 'lists of operations' }),
  })
}
