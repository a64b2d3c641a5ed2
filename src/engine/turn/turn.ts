// engine/turn: one turn. Decides messages that wait for a context, without promises and without a clock, and gives the
// rows that they write in its commit. If it lacks data, it returns what, and is run again.
import { denial } from '../../model/caller.ts'
import { type ContextId, isFinished } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import { requireKeepable } from '../interpreter/early.ts'
import type { Input } from '../interpreter/decision.ts'
import { RecordTooLarge } from '../record/encode.ts'
import type { Applied, Message, TrackedContext, TurnEnv } from './message.ts'
import type { StartRequest } from './start-request.ts'
import { Lacking, type KnownContexts, type Need } from './turn-data.ts'
import { UnitOfWork } from './unit-of-work.ts'

/**
 * Steps of work, about 10 ms, after which a turn takes no more messages, so that other contexts are served. A single
 * message may take more, up to its own limit.
 */
const TURN_STEPS = 300_000

/** A decision ended in an unexpected error. It would fail again with the same context and message. */
export class Undecidable extends Error {
  override readonly name = 'Undecidable'
  constructor(cause: unknown) {
    super(`the message could not be processed: ${messageOf(cause)}`, { cause })
  }
}

export interface Decided {
  readonly kind: 'decided'
  readonly work: UnitOfWork
  readonly context: TrackedContext
  /** Results of the decided messages, from the first one on. Messages beyond the work limit have none. */
  readonly results: readonly Applied[]
  readonly writes: readonly Write[]
  /** Rows of events that contexts keep, or have kept, for the same commit. */
  readonly rows: readonly RowWrite[]
}

export type TurnResult =
  | Decided
  /**
   * To be run again once that is available. `place`: of the message that needs it; -1: the turn itself does. `key`: the
   * one that a start has found, which must not be computed again: it may depend on the time, or on chance.
   */
  | { readonly kind: 'lacks'; readonly need: Need; readonly place: number; readonly key: string | null | undefined }
  /** The message at index `place` threw. The others must be decided again without it. */
  | { readonly kind: 'threw'; readonly place: number; readonly error: unknown }
  | { readonly kind: 'tooLarge'; readonly error: RecordTooLarge }

/**
 * Decides the messages in order. Events that the context has kept, and waits for, are taken first, then an overdue
 * wake-up, unless the context is to end because it has become too large. @throws FluxError `notFound`
 */
export function runTurn(id: ContextId, messages: readonly Input[], atHand: KnownContexts, env: TurnEnv): TurnResult {
  const work = new UnitOfWork(atHand, env)
  const results: Applied[] = []
  let place = -1
  try {
    const context = work.find(id)
    if (!context) throw notFound(`there is no context ${id}`)
    if (messages[0]?.type !== 'OUTGROWN') {
      takePending(work, context)
      wakeIfDue(work, context)
    }
    for (const message of messages) {
      if (work.steps >= TURN_STEPS) break
      place = results.length
      results.push(otherVersion(context, message) ?? work.apply(context, message))
      takePending(work, context)
      if (message.type === 'RESUME') wakeIfDue(work, context)
    }
    place = -1
    return decided(work, context, results)
  } catch (error) {
    return failed(error, place)
  }
}

/** Why a message is refused that names another version than the context has; null: it isn't. */
function otherVersion({ before, record, flux }: TrackedContext, message: Input): Applied | null {
  const wanted = 'version' in message ? message.version : undefined
  if (wanted === undefined || wanted === '*' || !('caller' in message)) return null
  // A caller that may not change the context learns nothing of it.
  if (flux.secured && denial(message.caller, 'invoke')) return null
  // The commit of what was decided before in this turn gives it the next one.
  const version = (before?.version ?? 0) + (record === before ? 0 : 1)
  if (version === wanted) return null
  const detail = `context ${record.id} has version ${version}, not ${wanted}`
  return { kind: 'refused', failure: { kind: 'versionMismatch', detail, version } }
}

function failed(error: unknown, place: number, key?: string | null): TurnResult {
  if (error instanceof Lacking) return { kind: 'lacks', need: error.need, place, key }
  if (error instanceof RecordTooLarge) return { kind: 'tooLarge', error }
  const reason = error instanceof FluxError ? error : new Undecidable(error)
  if (place < 0) throw reason
  return { kind: 'threw', place, error: reason }
}

const decided = (work: UnitOfWork, context: TrackedContext, results: readonly Applied[]): TurnResult => ({
  kind: 'decided',
  work,
  context,
  results,
  writes: work.writes(),
  rows: work.rows(),
})

/** Wakes the context if it is due, unless the work of the turn is spent. */
function wakeIfDue(work: UnitOfWork, context: TrackedContext): void {
  const { due, status, isPaused } = context.record
  if (due === null || due > work.env.now || isFinished(status) || isPaused || work.steps >= TURN_STEPS) return
  work.apply(context, { type: 'WAKE' })
  takePending(work, context)
}

/** Takes events that the context keeps and waits for, the oldest first, until the work of the turn is spent. */
function takePending(work: UnitOfWork, context: TrackedContext): void {
  while (work.steps < TURN_STEPS && work.takeNext(context));
}

/** Decides the first turn of a new context. @throws FluxError when it can't be started */
export function runStart(request: StartRequest, partition: number, atHand: KnownContexts, env: TurnEnv): TurnResult {
  const work = new UnitOfWork(atHand, env)
  try {
    const context = work.create(request, partition)
    takePending(work, context)
    const { settled, record } = context
    const [event] = settled
    if (event?.failure) throw new FluxError(event.failure)
    requireKeepable(record)
    const started = record.pending.length > 0 ? 'pending' : event?.outcome.became
    return decided(work, context, [{ kind: 'next', started }])
  } catch (error) {
    return failed(error, -1, work.startKey)
  }
}

/** A row, and the place among the messages of the turn of the one that writes it; -1: the turn itself does. */
export interface MessageRow {
  readonly place: number
  readonly row: RowWrite
}

export const nameOfRow = ({ space, key }: Pick<RowWrite, 'space' | 'key'>): string => `${space}:${key}`

const NO_ROWS: ReadonlyMap<string, MessageRow> = new Map()

/**
 * The rows of the turn itself, and those of all messages that were decided, by name; or the place of the first message
 * that writes a row that is among them already.
 */
export function rowsOfTurn(
  messages: readonly Message[],
  { work: { replaced }, results, rows: own, context: { record, flux } }: Decided,
): ReadonlyMap<string, MessageRow> | number {
  if (own.length === 0 && !messages.some((message) => message.rows)) return NO_ROWS
  const rows = new Map(own.map((row) => [nameOfRow(row), { place: -1, row }]))
  for (const [place, applied] of results.entries()) {
    const { rows: rowsOf, rowsAlways } = messages[place] ?? {}
    const isWithoutEffect = applied.kind === 'noop' || applied.kind === 'refused'
    if (!rowsOf || (isWithoutEffect && !rowsAlways)) continue
    for (const row of rowsOf(applied, record, flux, replaced)) {
      const name = nameOfRow(row)
      if (rows.has(name) && place > 0) return place
      rows.set(name, { place, row })
    }
  }
  return rows
}
