// engine/turn: a mailbox for each context, from which one turn at a time takes the messages, in order of arrival, and
// the loop that runs a turn: again and again, until no data is lacking, no message throws, and the commit is accepted.
//
// - Messages of one turn are decided and committed together; each message fails alone. A sender gets the outcome after
//   the commit.
// - The first turn of a new context has one message, which stands for the sender of the start. Messages that reach the
//   context before that commit has resolved wait in its mailbox.
// - The number of messages in a mailbox is bounded, and so is the number of contexts in which calls have turns under
//   way.
// - The path of an event and of a start is not made of async functions: each await would create two more promises for
//   each event. Other paths are.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ContextId, ContextRecord } from '../../model/context.ts'
import { FluxError, overloaded, unavailable } from '../../model/failure.ts'
import type { Signals, Traces, TurnSpan } from '../../ports/signals.ts'
import type { CommitOutcome, CommitRefusal } from '../../ports/store.ts'
import type { Input } from '../interpreter/decision.ts'
import { nextPending } from '../interpreter/early.ts'
import type { RecordTooLarge } from '../record/encode.ts'
import type { Commits } from './commit.ts'
import { RowTaken, type Message, type MessageOptions, type MessageOutcome, type TurnEnv } from './message.ts'
import { keyInUse, type RootRequest, type StartRequest } from './start-request.ts'
import { nameOfRow, rowsOfTurn, runStart, runTurn, type Decided, type MessageRow, type TurnResult } from './turn.ts'
import { TurnData, type TurnDataParts } from './turn-data.ts'

/** Number of waiting messages at which calls to a context are refused. */
const MAX_MESSAGES = 1000
/** Maximum number of messages decided in one turn. */
const MAX_BATCH_MESSAGES = 100
/** Steps of work after which the event loop is served, about 10 ms. */
const STEPS_A_LOOP = 300_000

/**
 * Limits how much is decided in a turn of the event loop: contexts that are woken or addressed together take several.
 */
export class Pace {
  #spent = 0
  /** What is to be awaited before more is decided; null: nothing. */
  rest: Promise<void> | null = null

  /**
   * Adds to the steps of work done. The sum is not reset in each turn of the event loop, because that would cost each
   * event.
   */
  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent >= STEPS_A_LOOP) this.rest ??= this.#serve()
  }

  async #serve(): Promise<void> {
    await nextTurn()
    this.#spent = 0
    this.rest = null
  }
}

export interface StartOptions extends Pick<MessageOptions, 'rows' | 'isCall'> {
  /** The partition in which it is stored; left out: any. */
  readonly partition?: number | undefined
}

export interface MailboxesParts extends TurnDataParts {
  readonly commits: Pick<Commits, 'commit'>
  readonly env: () => TurnEnv
  /** Left out: turns are not traced. */
  readonly traces?: Traces | null | undefined
  /** Contexts in which calls may have turns under way at once, starts included. */
  readonly maxCalls: number
  readonly signals: Signals
}

/** All tries of one turn. */
interface Turn {
  /** The context; or the request to start one, with the key that an earlier try has found. */
  subject: ContextId | RootRequest
  /** The partition of a new context without a key. */
  readonly partition: number
  readonly messages: Message[]
  readonly data: TurnData
  /** How many times another server was faster. */
  lost: number
  /** The input that ends a context that has become too large. It replaces the messages; null: there is none. */
  outgrown: Input | null
  /** A new context whose messages wait until the turn is over; null: there is none. */
  created: ContextId | null
  /** null: it is not traced. */
  readonly span: TurnSpan | null
}

export class Mailboxes {
  readonly #parts: MailboxesParts
  readonly #pace = new Pace()
  /** The waiting messages of each context that has a turn in progress. */
  readonly #waiting = new Map<ContextId, Message[]>()
  /** The contexts in which a call began the first turn, and the starts of calls. */
  readonly #called = new Set<ContextId | Turn>()
  #onIdle: (() => void) | null = null

  constructor(parts: MailboxesParts) {
    this.#parts = parts
  }

  /**
   * Sends a message to a context. Resolves after the commit.
   * @throws FluxError when the context doesn't exist, or its mailbox is full; of a call, `overloaded`; RowTaken when
   * the guard of one of its rows fails
   */
  post(
    id: ContextId,
    input: Input,
    { isCall = false, waits = false, rows, rowsAlways }: MessageOptions = {},
  ): Promise<MessageOutcome> {
    return new Promise((resolve, reject) => {
      const message = { input, rows, rowsAlways, resolve, reject }
      const mailbox = this.#waiting.get(id)
      this.#parts.signals.depth(mailbox?.length ?? 0)
      if (mailbox === undefined) {
        if (isCall && !this.#hasRoom(reject)) return
        if (isCall) this.#called.add(id)
        this.#waiting.set(id, [])
        this.#run(this.#turnOf(id, [message]))
      } else if (mailbox.length >= MAX_MESSAGES && !waits && 'caller' in input) {
        // Results of steps, wake-ups and internal messages have no caller: they are bounded where they arise.
        const detail = `${MAX_MESSAGES} messages already wait for context ${id}`
        reject(new FluxError({ kind: 'busy', detail, retryAfter: 1 }))
      } else mailbox.push(message)
    })
  }

  /**
   * Starts a context. Resolves after the commit.
   * @throws FluxError when its inputs, tags or start state are invalid; of a call, `overloaded`; RowTaken when the
   * guard of one of its rows fails
   */
  start(
    request: RootRequest,
    { isCall = false, rows, partition = this.#parts.ids.nextPartition() }: StartOptions = {},
  ): Promise<MessageOutcome> {
    return new Promise((resolve, reject) => {
      if (isCall && !this.#hasRoom(reject)) return
      const message = { input: { type: 'WAKE' } as const, rows, rowsAlways: undefined, resolve, reject }
      const turn = this.#turnOf(request, [message], partition)
      if (isCall) this.#called.add(turn)
      this.#run(turn)
    })
  }

  #hasRoom(reject: (error: FluxError) => void): boolean {
    if (this.#called.size < this.#parts.maxCalls) return true
    reject(overloaded('the server has too many commits under way at present'))
    return false
  }

  /** Whether a message waits for that context, or a turn of it is in progress. */
  isBusy(id: ContextId): boolean {
    return this.#waiting.has(id)
  }

  /** Resolves when no message waits and no turn is in progress. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
  }

  #turnOf(subject: Turn['subject'], messages: Message[], partition = 0): Turn {
    const { traces } = this.#parts
    const data = new TurnData(this.#parts)
    const span = traces ? spanOf(traces, subject, messages) : null
    return { subject, partition, messages, data, lost: 0, outgrown: null, created: null, span }
  }

  /** Begins the next turn of that context if messages wait. */
  #next(id: ContextId): void {
    const mailbox = this.#waiting.get(id)
    if (mailbox && mailbox.length > 0) return this.#run(this.#turnOf(id, mailbox.splice(0, MAX_BATCH_MESSAGES)))
    this.#waiting.delete(id)
    this.#called.delete(id)
    if (this.#waiting.size === 0) this.#onIdle?.()
  }

  /** Decides until no data is lacking and no message throws, and commits. */
  #run(turn: Turn): void {
    if (this.#pace.rest) return void this.#pace.rest.then(() => this.#run(turn))
    try {
      while (turn.messages.length > 0) {
        const result = this.#decide(turn)
        switch (result.kind) {
          case 'decided':
            this.#pace.spend(result.work.steps)
            return this.#commit(turn, result)
          case 'lacks':
            return void this.#fetch(turn, result)
          case 'threw':
            takeOut(turn, result.place, result.error)
            break
          case 'tooLarge':
            this.#narrow(turn, result.error)
        }
      }
      this.#end(turn)
    } catch (error) {
      this.#fail(turn, error)
    }
  }

  #decide({ subject, partition, messages, data, outgrown }: Turn): TurnResult {
    const env = this.#parts.env()
    data.rewind()
    if (typeof subject !== 'number') return runStart(subject, partition, data, env)
    if (outgrown) return runTurn(subject, [outgrown], data, { ...env, maxRecord: Infinity })
    const inputs = messages.map(({ input }) => input)
    return runTurn(subject, inputs, data, env)
  }

  /**
   * Fetches what the turn lacks. A failure concerns only the message that needs it, unless the store is unavailable.
   */
  async #fetch(turn: Turn, { need, place, key }: TurnResult & { kind: 'lacks' }): Promise<void> {
    const { subject, data } = turn
    const isStart = typeof subject !== 'number'
    if (isStart && key !== undefined) turn.subject = { ...subject, key }
    try {
      await data.fetch(need, isStart ? null : subject)
    } catch (error) {
      const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
      if (isAway || place < 0) return this.#fail(turn, error)
      takeOut(turn, place, error)
    }
    this.#run(turn)
  }

  /**
   * Handles a context that the messages make too large. Several messages are then decided one by one. A single one ends
   * the context.
   */
  #narrow(turn: Turn, error: RecordTooLarge): void {
    const { message, name: type } = error
    if (typeof turn.subject !== 'number') throw new FluxError({ kind: 'tooLarge', detail: message })
    if (turn.outgrown) throw error
    if (turn.messages.length > 1) this.#putBack(turn, 1)
    else turn.outgrown = { type: 'OUTGROWN', error: { message, type, className: type, realException: null } }
  }

  /**
   * A message that writes a row that an earlier message of the turn writes, too, is put back with those after it: the
   * next turn finds whether its guard fails.
   */
  #commit(turn: Turn, decided: Decided): void {
    const { work, writes, context } = decided
    const rows = rowsOfTurn(turn.messages, decided)
    if (typeof rows === 'number') {
      work.releaseSlots()
      this.#putBack(turn, rows)
      return this.#run(turn)
    }
    const { id } = context.record
    if (typeof turn.subject !== 'number' && !this.#waiting.has(id)) {
      // A broadcast may find the new context in the store before the commit has resolved here.
      this.#waiting.set(id, [])
      turn.created = id
    }
    const { lost, span, data } = turn
    const written = rows.size > 0 ? Array.from(rows.values(), ({ row }) => row) : undefined
    this.#parts.commits.commit(work, writes, { rows: written, lost, incarnation: data.incarnation, span }).then(
      (outcome) => this.#conclude(turn, decided, rows, outcome),
      (error: unknown) => this.#fail(turn, error),
    )
  }

  #conclude(turn: Turn, decided: Decided, rows: ReadonlyMap<string, MessageRow>, outcome: CommitOutcome): void {
    if (outcome.ok) return this.#settle(turn, decided)
    if ('row' in outcome) {
      // The guard of a row failed: only the message of that row is removed. A row of the turn itself fails the turn.
      const error = new RowTaken(outcome.row)
      const { place = -1 } = rows.get(nameOfRow(error)) ?? {}
      if (place < 0) return this.#fail(turn, error)
      takeOut(turn, place, error)
      return this.#run(turn)
    }
    const { subject, data, created } = turn
    const failure = typeof subject === 'number' ? null : refusalOf(subject, decided.context.record, outcome)
    if (failure) return this.#fail(turn, failure)
    // A start is decided again with another id.
    turn.created = null
    if (created !== null) this.#next(created)
    if ('overtaken' in outcome) this.#parts.ids.drop(outcome.overtaken)
    turn.lost += 1
    data.forget()
    this.#run(turn)
  }

  /** Resolves the decided messages. Those beyond the work limit of the turn are put back. */
  #settle(turn: Turn, { work: { replaced }, context: { record, flux }, results, writes }: Decided): void {
    this.#putBack(turn, results.length)
    for (const [place, result] of results.entries()) {
      const { kind } = result
      turn.messages[place]?.resolve({
        moved: kind === 'next' || kind === 'withdrawn',
        kept: kind === 'kept' ? result : undefined,
        started: kind === 'next' ? result.started : undefined,
        failure: kind === 'refused' ? result.failure : null,
        record,
        flux,
        replaced,
      })
    }
    // A context that has not taken all events that it keeps and waits for goes on. It is due in the store as well.
    if (nextPending(flux, record)) void this.post(record.id, { type: 'WAKE' }).catch(() => {})
    this.#end(turn, writes.length === 0)
  }

  #fail(turn: Turn, error: unknown): void {
    for (const { reject } of turn.messages) reject(error)
    this.#end(turn)
  }

  /** Puts the messages from that place on back in front of those that wait. */
  #putBack({ subject, messages }: Turn, place: number): void {
    if (typeof subject === 'number') this.#waiting.get(subject)?.unshift(...messages.splice(place))
  }

  /** `yields`: the turn wrote nothing, so the event loop is served before the next turn. */
  #end(turn: Turn, yields = false): void {
    const { subject, created, span, data } = turn
    span?.end()
    data.release()
    this.#called.delete(turn)
    const id = typeof subject === 'number' ? subject : created
    if (id === null) return
    if (yields && this.#waiting.get(id)?.length) setImmediate(() => this.#next(id))
    else this.#next(id)
  }
}

function spanOf(traces: Traces, subject: Turn['subject'], messages: readonly Message[]): TurnSpan {
  const isStart = typeof subject !== 'number'
  const traced = isStart ? [subject] : messages.map(({ input }) => input)
  const traceparents = traced.flatMap((one) => ('traceparent' in one && one.traceparent) || [])
  return traces.turn(isStart ? null : subject, traceparents)
}

/**
 * Rejects a message and removes it from the turn. The others are decided again without it, so none of its effects is
 * committed.
 */
function takeOut({ messages }: Turn, place: number, error: unknown): void {
  for (const { reject } of messages.splice(place, 1)) reject(error)
}

/** Why a start fails; null: it may succeed with other ids, or when the owner of the key is looked up again. */
function refusalOf(
  { existing }: StartRequest,
  { id, fluxName, key }: ContextRecord,
  outcome: Exclude<CommitRefusal, { row: unknown }>,
): FluxError | null {
  if ('overtaken' in outcome) return null
  const isReplaced = typeof existing === 'object'
  if ('unique' in outcome) return isReplaced ? null : keyInUse({ fluxName, key: key ?? '' }, outcome.unique.by)
  if (isReplaced && outcome.stale !== id) return null
  return unavailable(`context ${id} exists already`)
}
