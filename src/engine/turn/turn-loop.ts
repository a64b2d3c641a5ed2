// engine/turn: runs a turn, repeatedly if necessary, until no data is lacking, no message throws, and the commit is
// accepted. Messages of one turn are decided and committed together; each message fails alone. The first turn of a new
// context has the sender of its start in the place of messages; messages that reach the context before its commit wait.
import type { ContextId } from '../../model/context.ts'
import { FluxError, notFound, type Failure } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { CommitRefusal, Write } from '../../ports/store.ts'
import type { Commits } from './commit.ts'
import type { Input } from '../interpreter/decision.ts'
import { nextPending } from '../interpreter/early.ts'
import type { Traces, TurnSpan } from '../../ports/signals.ts'
import { RowTaken, traceparentsOf, type Message, type MessageOptions, type MessageOutcome } from './message.ts'
import {
  beforeRows,
  type Culprit,
  hasRows,
  rowsOfTurn,
  type MessageRow,
  runStart,
  runTurn,
  startedEventOf,
  type TurnResult,
} from './turn.ts'
import { keyInUse, type RootRequest, type StartRequest } from './start-request.ts'
import { TurnData, type TurnDataParts } from './turn-data.ts'
import type { TurnEnv } from './unit-of-work.ts'

export interface StartOptions extends Pick<MessageOptions, 'rows' | 'first' | 'isCall'> {
  /** The partition in which it is stored; left out: any. */
  readonly partition?: number | undefined
}

export interface TurnLoopParts extends TurnDataParts {
  readonly commits: Commits
  readonly env: () => TurnEnv
  /** Left out: nobody traces turns. */
  readonly traces?: Traces | null | undefined
}

/** The mailboxes from which the messages of a turn are taken. */
interface Source {
  /** Puts messages back in front of those that wait for that context. */
  readonly putBack: (id: ContextId, messages: readonly Message[]) => void
  /** Makes messages to that context wait until the returned function is called. */
  readonly hold: (id: ContextId) => () => void
  /**
   * Called when the turn is over. `yields`: the turn wrote nothing, so the event loop should be served before the next
   * turn.
   */
  readonly onEnd: (id: ContextId, options: { readonly yields: boolean }) => void
}

/** All tries of one turn. */
interface Tries {
  messages: Message[]
  readonly data: TurnData
  /** How many times another server was faster. */
  lost: number
  /** The input that ends a context that has become too large. It replaces the messages; null: there is none. */
  ends: Input | null
  /** null: nobody traces it. */
  readonly span: TurnSpan | null
}

/** The first turn of a context. Its only message stands for the sender of the start, and has no input of its own. */
interface Start extends Tries {
  readonly id: null
  /** With the key that an earlier try has found. */
  request: StartRequest
  /** Lets messages to the new context go on; null: none are held. */
  letGo: (() => void) | null
  readonly onEnd: (() => void) | undefined
}

type Turn = Start | (Tries & { readonly id: ContextId })

/**
 * Begins the next turn of a context that has not taken all events that it keeps and waits for. Nobody asks what came of
 * it: it is due in the store as well.
 */
const goOn = (): Message => ({ input: WAKE, rows: undefined, rowsAlways: undefined, resolve() {}, reject() {} })

const WAKE: Input = { type: 'WAKE' }

type Decided = TurnResult & { kind: 'decided' }

/** Steps of work after which the event loop is served, about 10 ms. */
const STEPS_A_LOOP = 300_000

/** Limits how much is decided in a turn of the event loop: contexts that are woken or addressed together take several. */
export class Pace {
  readonly #waiting: (() => void)[] = []
  #spent = 0
  #isResting = false

  /** Runs the work now, or, if the limit is reached, after the event loop was served. The order is kept. */
  run(work: () => void): void {
    if (this.#isResting) this.#waiting.push(work)
    else work()
  }

  /**
   * Adds to the steps of work done. The sum is not reset in each turn of the event loop, because that would cost each
   * event.
   */
  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent < STEPS_A_LOOP || this.#isResting) return
    this.#isResting = true
    setImmediate(() => this.#resume())
  }

  #resume(): void {
    this.#spent = 0
    this.#isResting = false
    while (!this.#isResting) {
      const work = this.#waiting.shift()
      if (!work) return
      work()
    }
  }
}

export class TurnLoop {
  readonly #parts: TurnLoopParts
  readonly #pace = new Pace()
  readonly #source: Source

  constructor(parts: TurnLoopParts, source: Source) {
    this.#parts = parts
    this.#source = source
  }

  /** Begins a turn with those messages. No other turn of that context may be under way. */
  begin(id: ContextId, messages: Message[]): void {
    const { traces } = this.#parts
    const span = traces?.turn(id, traceparentsOf(messages)) ?? null
    this.#trySoon({ id, messages, data: new TurnData(this.#parts), lost: 0, ends: null, span })
  }

  /** See `Mailboxes.start`. */
  start(
    request: RootRequest,
    { rows, first, partition = this.#parts.ids.nextPartition() }: StartOptions,
    onEnd?: () => void,
  ): Promise<MessageOutcome> {
    return new Promise((resolve, reject) => {
      const { traceparent } = request
      this.#trySoon({
        id: null,
        request: { ...request, parent: null, partition },
        messages: [{ input: WAKE, rows, rowsAlways: undefined, first, resolve, reject }],
        data: new TurnData(this.#parts),
        lost: 0,
        ends: null,
        span: this.#parts.traces?.turn(null, traceparent === undefined ? [] : [traceparent]) ?? null,
        letGo: null,
        onEnd,
      })
    })
  }

  /** Runs the turn now, or later if the pace limit is reached. */
  #trySoon(turn: Turn): void {
    this.#pace.run(() => this.#try(turn))
  }

  /** Decides until no data is lacking and no message throws, and commits. */
  #try(turn: Turn): void {
    const { id, data } = turn
    try {
      for (;;) {
        data.rewind()
        const result = this.#decide(turn)
        switch (result.kind) {
          case 'decided':
            this.#pace.spend(result.steps)
            if (result.rows.length > 0 || turn.messages.some(hasRows)) return this.#commitWithRows(turn, result)
            return this.#commit(turn, result)
          case 'lacks':
            if (turn.id === null && result.key !== undefined) turn.request = { ...turn.request, key: result.key }
            return void data.fetch(result.need, id).then(
              () => this.#trySoon(turn),
              (error: unknown) => this.#goWithout(turn, { place: result.place, error }),
            )
          case 'notFound':
            return this.#fail(turn, notFound(`there is no context ${id}`))
          case 'refused':
            return this.#fail(turn, new FluxError(result.failure))
          case 'threw':
            this.#takeOut(turn, result)
            break
          case 'tooLarge':
            this.#narrow(turn, result)
        }
        if (turn.messages.length === 0) return this.#end(turn)
      }
    } catch (error) {
      this.#fail(turn, error)
    }
  }

  #decide(turn: Turn): TurnResult {
    const env = this.#parts.env()
    if (turn.id === null) return runStart(turn.request, turn.data, env)
    if (turn.ends) return runTurn(turn.id, [turn.ends], turn.data, { ...env, maxRecord: Infinity })
    const inputs = turn.messages.map(({ input }) => input)
    return runTurn(turn.id, inputs, turn.data, env)
  }

  /**
   * Rejects a message and removes it from the turn. The others are decided again without it, so none of its effects is
   * committed.
   */
  #takeOut(turn: Turn, { place, error }: Culprit): void {
    const [message] = turn.messages.splice(place, 1)
    message?.reject(error)
  }

  /** Handles a failed fetch. It fails only the message that needs the data, unless the store is unavailable. */
  #goWithout(turn: Turn, culprit: Culprit): void {
    const { place, error } = culprit
    const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
    if (isAway || place < 0 || turn.messages.length <= 1) return this.#fail(turn, error)
    this.#takeOut(turn, culprit)
    this.#trySoon(turn)
  }

  /**
   * Handles a context that the messages make too large. Several messages are then decided one by one. A single one ends
   * the context.
   */
  #narrow(turn: Turn, { error }: TurnResult & { kind: 'tooLarge' }): void {
    if (turn.id === null) throw new FluxError({ kind: 'tooLarge', detail: error.message })
    if (turn.ends) throw error
    if (turn.messages.length > 1) this.#putBack(turn, turn.messages.splice(1))
    else
      turn.ends = {
        type: 'OUTGROWN',
        error: { message: error.message, type: error.name, className: error.name, realException: null },
      }
  }

  #commit(turn: Turn, decided: Decided, rows?: readonly MessageRow[]): void {
    const [{ work, writes }, { commits }] = [decided, this.#parts]
    const conclude = (isTrue: boolean) => (isTrue ? this.#settle(turn, decided) : this.#again(turn))
    // A broadcast may find the new context in the store before the commit has resolved here.
    if (turn.id === null) turn.letGo = this.#source.hold(decided.context.record.id)
    const fail = (error: unknown) => this.#fail(turn, error)
    const commit = () => {
      const { lost, data, span } = turn
      const written = rows?.map(({ row }) => row)
      return commits
        .commit(work, writes, { rows: written, lost, incarnation: data.incarnation, span })
        .then((outcome) => {
          if (turn.id === null && !outcome.ok) return this.#refuseStart(turn, decided, outcome)
          if ('row' in outcome) return this.#refuseRow(turn, rows ?? [], new RowTaken(outcome.row))
          if ('overtaken' in outcome) this.#parts.ids.drop(outcome.overtaken)
          return conclude(outcome.ok)
        }, fail)
    }
    if (writes.length > 0) void commit()
    else if (rows) commits.isCurrent(work).then((isTrue) => (isTrue ? commit() : this.#again(turn)), fail)
    else commits.isCurrent(work).then(conclude, fail)
  }

  /**
   * A message that writes a row that an earlier message of the turn writes, too, is put back with those after it: the
   * next turn finds whether its guard fails.
   */
  #commitWithRows(turn: Turn, decided: Decided): void {
    const rows = rowsOfTurn(turn.messages, decided)
    if ('place' in rows) {
      decided.work.releaseSlots()
      this.#putBack(turn, turn.messages.splice(rows.place))
      return this.#trySoon(turn)
    }
    const first = beforeRows(turn.messages, rows)
    if (first)
      first.then((failed) => this.#goOn(turn, decided, failed)).catch((error: unknown) => this.#fail(turn, error))
    else this.#commit(turn, decided, rows.length === 0 ? undefined : rows)
  }

  /** What comes before the commit of the rows is done, save for those messages. */
  #goOn(turn: Turn, decided: Decided, failed: readonly Culprit[]): void {
    if (failed.length === 0) return this.#commitWithRows(turn, decided)
    decided.work.releaseSlots()
    for (const culprit of failed) this.#takeOut(turn, culprit)
    if (turn.messages.length === 0) return this.#end(turn)
    this.#trySoon(turn)
  }

  /** The guard of a row failed: only the message whose row it is, is taken out. One of the turn itself fails the turn. */
  #refuseRow(turn: Turn, rows: readonly MessageRow[], error: RowTaken): void {
    const place = rows.find(({ row: { space, key } }) => space === error.space && key === error.key)?.place ?? -1
    if (place < 0) return this.#fail(turn, error)
    this.#takeOut(turn, { place, error })
    if (turn.messages.length === 0) return this.#end(turn)
    this.#trySoon(turn)
  }

  /** With other ids, and with what is known by now of the key; or the start fails. */
  #refuseStart(turn: Start, decided: Decided, outcome: CommitRefusal): void {
    const { context, writes } = decided
    if (this.#isStartedEarlier(outcome, writes)) return this.#settle(turn, decided)
    if (!mayStartAgain(turn, context.record.id, outcome)) return this.#fail(turn, errorOf(context.record, outcome))
    turn.letGo?.()
    turn.letGo = null
    if ('overtaken' in outcome) this.#parts.ids.drop(outcome.overtaken)
    this.#again(turn)
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

  /** Decides the turn again: another server was faster, or the cached context was outdated. */
  #again(turn: Turn): void {
    turn.lost += 1
    turn.data.forget()
    this.#trySoon(turn)
  }

  /** Resolves the decided messages. Those beyond the work limit of the turn are put back. */
  #settle(turn: Turn, { work: { replaced }, context, results, writes }: Decided): void {
    const { record, flux } = context
    if (turn.id === null) {
      const started = startedEventOf(context)
      turn.messages[0]?.resolve({ moved: true, failure: null, record, flux, replaced, started })
      return this.#end(turn)
    }
    const rest = turn.messages.splice(results.length)
    results.forEach((result, place) => {
      const failure = result.kind === 'refused' ? result.failure : null
      turn.messages[place]?.resolve({
        moved: result.kind === 'next' || result.kind === 'withdrawn',
        kept: result.kind === 'kept' ? result : undefined,
        failure,
        record,
        flux,
      })
    })
    const leaves = nextPending(flux, record) !== null
    this.#putBack(turn, rest.length === 0 && leaves ? [goOn()] : rest)
    this.#end(turn, { yields: writes.length === 0 })
  }

  #fail(turn: Turn, error: unknown): void {
    for (const { reject } of turn.messages) reject(error)
    this.#end(turn)
  }

  #putBack({ id }: Turn, messages: readonly Message[]): void {
    if (id !== null && messages.length > 0) this.#source.putBack(id, messages)
  }

  #end(turn: Turn, { yields = false } = {}): void {
    turn.span?.end()
    turn.data.release()
    if (turn.id !== null) return this.#source.onEnd(turn.id, { yields })
    turn.onEnd?.()
    turn.letGo?.()
  }
}

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
