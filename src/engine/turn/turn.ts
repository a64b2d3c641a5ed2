// engine/turn: one turn. Decides messages that wait for a context, without promises and without a clock, and gives the rows
// that they write in its commit. If it lacks data, it returns what, and is run again.
import { type ContextId, isFinished } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import { RecordTooLarge } from '../record/encode.ts'
import { tooLargeToKeep } from '../interpreter/early.ts'
import type { Input } from '../interpreter/decision.ts'
import type { StartRequest } from './start-request.ts'
import { Lacking, type KnownContexts, type Need } from './turn-data.ts'
import type { Applied, StartedEvent, TrackedContext, Message } from './message.ts'
import { UnitOfWork, type TurnEnv } from './unit-of-work.ts'
import { messageOf } from '../../model/error-message.ts'

/**
 * Steps of work, about 10 ms, after which a turn takes no more messages, so that other contexts are served. A single
 * message may take more, up to its own limit.
 */
const TURN_STEPS = 300_000
/** Steps that a message costs in addition to the work of its decision. */
const STEPS_A_MESSAGE = 1_000

/** A decision ended in an unexpected error. It would fail again with the same context and message. */
export class Undecidable extends Error {
  override readonly name = 'Undecidable'
  constructor(cause: unknown) {
    super(`the message could not be processed: ${messageOf(cause)}`, { cause })
  }
}

const undecidable = (error: unknown): unknown => (error instanceof FluxError ? error : new Undecidable(error))

export type TurnResult =
  | {
      readonly kind: 'decided'
      readonly work: UnitOfWork
      readonly context: TrackedContext
      /** Results of the decided messages, from the first one on. Messages beyond the work limit have none. */
      readonly results: readonly Applied[]
      readonly writes: readonly Write[]
      /** Rows of events that contexts keep, or have kept, for the same commit. */
      readonly rows: readonly RowWrite[]
      /** Steps of work that the turn took. */
      readonly steps: number
    }
  /**
   * To be run again once that is at hand. `place`: of the message that needs it; -1: the turn itself does. `key`: the one
   * that a start has found, which mustn't be found anew: it may be made of the time, or by chance.
   */
  | { readonly kind: 'lacks'; readonly need: Need; readonly place: number; readonly key?: string | null | undefined }
  | { readonly kind: 'notFound' }
  /** The message at index `place` threw. The others must be decided again without it. */
  | { readonly kind: 'threw'; readonly place: number; readonly error: unknown }
  | { readonly kind: 'tooLarge'; readonly error: RecordTooLarge }
  | { readonly kind: 'refused'; readonly failure: Failure }

/**
 * Decides the messages in order. Events that the context has kept, and waits for, are taken first, then an overdue wake-up,
 * unless the context is to end because it has become too large.
 */
export function runTurn(id: ContextId, messages: readonly Input[], atHand: KnownContexts, env: TurnEnv): TurnResult {
  const work = new UnitOfWork(atHand, env)
  let place = -1
  try {
    const context = work.find(id)
    if (!context) return { kind: 'notFound' }
    const isEnd = messages[0]?.type === 'OUTGROWN'
    let steps = isEnd ? 0 : takePending(work, context, TURN_STEPS)
    if (!isEnd) steps += wakeIfDue(work, context, { now: env.now, limit: TURN_STEPS - steps })
    const results: Applied[] = []
    while (results.length < messages.length && steps < TURN_STEPS) {
      place = results.length
      const message = messages[place]
      if (message) results.push(work.apply(context, message))
      steps += work.spent + STEPS_A_MESSAGE
      steps += takePending(work, context, TURN_STEPS - steps)
      if (message?.type === 'RESUME') steps += wakeIfDue(work, context, { now: env.now, limit: TURN_STEPS - steps })
    }
    place = -1
    return { kind: 'decided', work, context, results, writes: work.writes(), rows: work.rows(), steps }
  } catch (error) {
    if (error instanceof Lacking) return { kind: 'lacks', need: error.need, place }
    if (error instanceof RecordTooLarge) return { kind: 'tooLarge', error }
    if (place >= 0) return { kind: 'threw', place, error: undecidable(error) }
    throw undecidable(error)
  }
}

/** Wakes the context if it is due, unless the work of the turn is spent. Returns the steps of work. */
function wakeIfDue(
  work: UnitOfWork,
  context: TrackedContext,
  { now, limit }: { readonly now: number; readonly limit: number },
): number {
  const { due, status, isPaused } = context.record
  if (due === null || due > now || isFinished(status) || isPaused || limit <= 0) return 0
  work.apply(context, { type: 'WAKE' })
  return takePending(work, context, limit)
}

/**
 * Takes events that the context keeps and waits for, the oldest first, until that many steps of work are spent. Returns
 * the steps.
 */
function takePending(work: UnitOfWork, context: TrackedContext, limit: number): number {
  let steps = 0
  while (steps < limit && work.takeNext(context)) steps += work.spent + STEPS_A_MESSAGE
  return steps
}

/** Decides the first turn of a new context. */
export function runStart(request: StartRequest, atHand: KnownContexts, env: TurnEnv): TurnResult {
  const work = new UnitOfWork(atHand, env)
  try {
    const created = work.create(request)
    if ('failure' in created) return { kind: 'refused', failure: created.failure }
    const { context } = created
    const steps = work.spent + STEPS_A_MESSAGE
    const all = steps + takePending(work, context, TURN_STEPS)
    const failure = context.settled[0]?.failure ?? tooLargeToKeep(context.record)
    if (failure) return { kind: 'refused', failure }
    const writes = work.writes()
    const results = [{ kind: 'next', started: startedEventOf(context) } as const]
    return { kind: 'decided', work, context, results, writes, rows: work.rows(), steps: all }
  } catch (error) {
    if (error instanceof Lacking) return { kind: 'lacks', need: error.need, place: -1, key: work.startKey }
    if (error instanceof RecordTooLarge) return { kind: 'tooLarge', error }
    throw error
  }
}

/** What became of the event that it was started with; undefined: there was none. */
export const startedEventOf = ({ record, settled }: TrackedContext): StartedEvent | undefined =>
  record.pending.length > 0 ? 'pending' : settled[0]?.outcome.became

/** A row, and the place among the messages of the turn of the one that writes it; -1: the turn itself does. */
export interface MessageRow {
  readonly place: number
  readonly row: RowWrite
}

export const hasRows = ({ rows }: Message): boolean => rows !== undefined

const isWithoutEffect = ({ kind }: Applied): boolean => kind === 'noop' || kind === 'refused'

/**
 * The rows of the turn itself, and those of all messages that were decided; or the place of the first message that
 * writes a row that one before it writes, too.
 */
export function rowsOfTurn(
  messages: readonly Message[],
  { work: { replaced }, results, rows: own, context: { record, flux } }: TurnResult & { kind: 'decided' },
): MessageRow[] | { readonly place: number } {
  const rows: MessageRow[] = own.map((row) => ({ place: -1, row }))
  const known = new Set<string>()
  for (const [place, applied] of results.entries()) {
    const message = messages[place]
    if (!message?.rows || (isWithoutEffect(applied) && message.rowsAlways !== true)) continue
    for (const row of message.rows(applied, record, flux, replaced)) {
      const name = `${row.space}:${row.key}`
      if (known.has(name) && place > 0) return { place }
      known.add(name)
      rows.push({ place, row })
    }
  }
  return rows
}

/** A message that can't be committed, by its place in the turn, and why. */
export type Culprit = Pick<TurnResult & { kind: 'threw' }, 'place' | 'error'>

/** What comes before the commit of these rows; null: nothing. Gives the messages for which it failed, the last one first. */
export function beforeRows(
  messages: readonly Message[],
  rows: readonly MessageRow[],
): Promise<readonly Culprit[]> | null {
  const under: Promise<Culprit | null>[] = []
  let last = -1
  for (const { place } of rows) {
    // All rows of a message stand together.
    if (place === last) continue
    last = place
    const done = messages[place]?.first?.()
    if (done)
      under.push(
        done.then(
          () => null,
          (error: unknown) => ({ place, error }),
        ),
      )
  }
  if (under.length === 0) return null
  return Promise.all(under).then((all) => all.flatMap((one) => one ?? []).toReversed())
}
