// engine/record: handles contexts whose stored record cannot be read. Each is logged once, and omitted when many
// contexts are read.
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'

/** Maximum number of contexts that are logged. */
const MAX_LOGGED_CONTEXTS = 10_000

const loggedTo = new WeakMap<Log, Set<string>>()

/** Whether the error says that a stored record cannot be read. It is logged once for each context. */
export function isUnreadable(error: unknown, log: Log): boolean {
  if (!(error instanceof FluxError) || error.failure.kind !== 'unreadable') return false
  const { detail, contextId } = error.failure
  const logged = loggedTo.get(log) ?? new Set()
  loggedTo.set(log, logged)
  if (logged.has(detail) || logged.size >= MAX_LOGGED_CONTEXTS) return true
  logged.add(detail)
  log.error(detail, { contextId, error })
  return true
}
