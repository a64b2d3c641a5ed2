// engine: starts of contexts. A start resolves after its first commit. Messages that reach the new context before that
// wait.
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { CommitRefusal, Write } from '../../ports/store.ts'
import { RowTaken, type MessageOutcome, type Preparation, type RowsOf, type Sender } from './message.ts'
import type { TurnSpan } from '../../ports/traces.ts'
import type { Pace } from './pace.ts'
import { keyInUse } from './start-key.ts'
import type { RootRequest, StartRequest } from './start-request.ts'
import { runStart, type TurnResult } from './turn.ts'
import type { StartedEvent, TrackedContext } from './tracked-context.ts'
import { TurnData } from './turn-data.ts'
import type { TurnLoopParts } from './turn-loop.ts'

export interface StartOptions {
  readonly rows?: RowsOf | undefined
  readonly first?: Preparation | undefined
  /** See `MessageOptions`. */
  readonly isCall?: boolean | undefined
  /** The partition in which it is stored; left out: any. */
  readonly partition?: number | undefined
}

/** A context that is being started. */
interface Start extends Sender, Pick<StartOptions, 'rows' | 'first'> {
  request: StartRequest
  readonly data: TurnData
  /** How often others were faster. */
  lost: number
  /** null: nobody traces it. */
  readonly span: TurnSpan | null
}

export class Starts {
  readonly #parts: TurnLoopParts
  readonly #pace: Pace
  readonly #hold: (id: ContextId) => () => void

  /** @param hold makes messages to that context wait until the returned function is called */
  constructor(parts: TurnLoopParts, pace: Pace, hold: (id: ContextId) => () => void) {
    this.#parts = parts
    this.#pace = pace
    this.#hold = hold
  }

  /** See `Mailboxes.start`. */
  start(
    {
      flux,
      startState,
      input,
      untyped,
      unknown,
      tags,
      trigger,
      triggerId,
      request,
      key,
      existing,
      event,
      answerRows,
      drawn,
      traceparent,
    }: RootRequest,
    { rows, first, partition = this.#parts.ids.nextPartition() }: StartOptions,
    onEnd?: () => void,
  ): Promise<MessageOutcome> {
    return new Promise((succeed, fail) => {
      const whole = {
        flux,
        startState,
        input,
        untyped,
        unknown,
        tags,
        trigger,
        triggerId,
        parent: null,
        partition,
        request,
      }
      const data = new TurnData(this.#parts)
      const span = this.#parts.traces?.turn(null, traceparent === undefined ? [] : [traceparent]) ?? null
      const over =
        <T>(settle: (result: T) => void) =>
        (result: T) => {
          data.release()
          onEnd?.()
          span?.end()
          settle(result)
        }
      const start = {
        request: { ...whole, key, existing, event, answerRows, drawn, traceparent },
        rows,
        first,
        data,
        lost: 0,
        span,
        resolve: over(succeed),
        reject: over(fail),
      }
      this.#pace.run(() => this.#try(start))
    })
  }

  /**
   * Decides the first turn, and commits it. If the turn lacks data, the data is fetched and the turn is decided again.
   */
  #try(start: Start): void {
    const { request, data, reject } = start
    try {
      data.rewind()
      const result = runStart(request, data, this.#parts.env())
      switch (result.kind) {
        case 'decided':
          this.#pace.spend(result.steps)
          return this.#prepare(start, result)
        case 'lacks':
          if (result.key !== undefined) start.request = { ...request, key: result.key }
          return void data.fetch(result.need, null).then(() => this.#try(start), reject)
        case 'refused':
          return reject(new FluxError(result.failure))
        case 'tooLarge':
          return reject(new FluxError({ kind: 'tooLarge', detail: result.error.message }))
        case 'threw':
        case 'notFound':
          throw new Error(`the start of a context came to '${result.kind}'`)
      }
    } catch (error) {
      reject(error)
    }
  }

  #prepare(start: Start, decided: TurnResult & { kind: 'decided' }): void {
    const first = start.first?.() ?? null
    if (first === null) return this.#commit(start, decided)
    first
      .then(() => this.#commit(start, decided))
      .catch((error: unknown) => {
        decided.work.releaseSlots()
        start.reject(error)
      })
  }

  #commit(start: Start, { work, context, writes, rows: own }: TurnResult & { kind: 'decided' }): void {
    const { request, rows, data, lost, span, resolve, reject } = start
    const { incarnation } = data
    const { commits } = this.#parts
    const { record, flux } = context
    const { id } = record
    const started = startedEventOf(context)
    const asked = rows?.({ kind: 'next', started }, record, flux, work.replaced)
    const written = own.length === 0 ? asked : [...own, ...(asked ?? [])]
    // A broadcast may find the new context in the store before the commit has resolved here.
    const releaseHold = this.#hold(id)
    const fail = (error: unknown) => {
      reject(error)
      releaseHold()
    }
    commits.commit(work, writes, { rows: written, lost, incarnation, span }).then((outcome) => {
      if (!outcome.ok && !this.#isStartedEarlier(outcome, writes)) {
        if (!mayStartAgain(start, id, outcome)) return fail(errorOf(context.record, outcome))
        releaseHold()
        return this.#startAgain(start, outcome)
      }
      const { replaced } = work
      resolve({ moved: true, failure: null, record: context.record, flux: request.flux, replaced, started })
      return releaseHold()
    }, fail)
  }

  /** With other ids, and with what is known by now of the key. */
  #startAgain(start: Start, outcome: CommitRefusal): void {
    if ('overtaken' in outcome) this.#parts.ids.drop(outcome.overtaken)
    else start.lost += 1
    start.data.forget()
    this.#pace.run(() => this.#try(start))
  }

  /**
   * Whether the existing context is the one that this start created: the reply to the commit was lost, and another
   * message changed the new context before the commit was sent again.
   */
  #isStartedEarlier(outcome: CommitRefusal, writes: readonly Write[]): boolean {
    if (!('stale' in outcome)) return false
    const { stale, current } = outcome
    const ours = writes.find(({ context, previous }) => context.id === stale && previous === 0)?.context.parts['base']
    if (ours === undefined || current?.parts['base'] !== ours) return false
    this.#parts.commits.reconcile(stale)
    return true
  }
}

/** What became of the event that it was started with; undefined: there was none. */
const startedEventOf = ({ record, settled }: TrackedContext): StartedEvent | undefined =>
  record.pending.length > 0 ? 'pending' : settled[0]?.outcome.became

/** Whether the next try may fare better: with other ids, or after a look at who has the key now. */
const mayStartAgain = ({ request }: Start, id: ContextId, outcome: CommitRefusal): boolean =>
  !('row' in outcome) &&
  ('overtaken' in outcome || (typeof request.existing === 'object' && !('stale' in outcome && outcome.stale === id)))

function errorOf({ id, fluxName, key }: ContextRecord, outcome: CommitRefusal): RowTaken | FluxError {
  if ('row' in outcome) return new RowTaken(outcome.row)
  const failure: Failure =
    'unique' in outcome
      ? keyInUse({ fluxName, key: key ?? '' }, outcome.unique.by)
      : { kind: 'unavailable', detail: `context ${id} exists already`, retryAfter: 1 }
  return new FluxError(failure)
}
