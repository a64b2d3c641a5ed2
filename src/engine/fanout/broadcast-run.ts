// engine/fanout: carries out a broadcast that is stored, in waves. The protocol:
//
// 1. It begins with three rows in the partition of its key (`broadcast-rows.ts`): one takes the key, one has the
//    event and the highest id that it is for, and one is that of its task (`tasks/task.ts`).
// 2. It goes through those who wait for the event as `tasks/fan-out.ts` tells. Moves and starts have marks. After each
//    1,000 contexts it stores a summary: counts, the newest entries, and the id up to which the event was sent. A receipt
//    reads only the marks behind that id.
// 3. While a context is out of reach, a caller who waits is told 503 in doubt; repeats are told that it is in progress.
// 4. A commit of an earlier try may come true late (`receivers.ts`). So a context that cannot take the event is looked
//    up among those that were moved, and a row in each partition prevents that a service which was not started is
//    started later.
// 5. At the end its answer and its receipt are written, and where it reached nobody, the event is held in the same
//    commit. Rows of starts always stay until they expire.
//
// What is drawn by chance for the key of a start (time, random numbers, UUIDs) depends on a number that is stored with
// the broadcast (`drawnFrom`), so a server that takes it over comes to the same key, and to the partition that has
// the row of an earlier start.
//
// One that need not be stored is sent once to each, and forgotten.
import { randomUUID } from 'node:crypto'
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Signals } from '../../ports/signals.ts'
import { readKept } from '../idempotency/kept-answer.ts'
import type { UnclaimedEvents } from '../pending/unclaimed-events.ts'
import { goThrough, yieldTurn, type FanOut } from '../tasks/fan-out.ts'
import { leftInDoubt } from '../tasks/queue.ts'
import { StopRequested, Task, TaskLost, type TaskParts } from '../tasks/task.ts'
import {
  answerText,
  BroadcastRows,
  readSummary,
  receiverOf,
  type StoredBroadcast,
  type Summary,
} from './broadcast-rows.ts'
import {
  BroadcastTally,
  countAll,
  countsOf,
  isOutOfReach,
  newest,
  NO_OUTCOMES,
  storedIgnored,
  type Found,
  type Outcomes,
} from './outcomes.ts'
import {
  earlierStarts,
  findReceivers,
  moveAgain,
  moveAll,
  startTriggered,
  type BroadcastPlace,
  type ReceiverParts,
  type Sending,
} from './receivers.ts'

export interface RunParts extends ReceiverParts, TaskParts {
  readonly unclaimed: Pick<UnclaimedEvents, 'endBroadcast'>
  readonly signals: Signals
}

/** A broadcast that is to be carried out. */
export interface RunFacts {
  /** Of the row of its key. */
  readonly key: string
  readonly stored: StoredBroadcast
  readonly place: BroadcastPlace
  /** The rows of its key and of its task, as another server left them; left out: it is new. */
  readonly left?: { readonly answer: string; readonly task: string }
}

/** Contexts that are sent the event at the same time: others that have something to do are served in between. */
const WAVE_CONTEXTS = 250
/** Contexts that are sent one that is not stored at the same time. */
const UNSTORED_WAVE_CONTEXTS = 1000
/** Contexts up to which the whole answer is kept for a sender that waits for it. */
const MAX_AWAITED_CONTEXTS = 100_000

const NOTHING_YET: Summary = { matched: 0, dealt: 0, cursor: 0, outcomes: NO_OUTCOMES, isDone: false }

export class BroadcastRun implements FanOut {
  readonly #parts: RunParts
  readonly #rows: BroadcastRows
  readonly #stored: StoredBroadcast
  readonly task: Task
  readonly place: BroadcastPlace
  readonly #isNew: boolean
  /** Answers the sender, if it waits for the whole answer; null: it need wait no longer. */
  #answerSender: ((answer: EventAnswer | null) => void) | null = null
  #callOff: (() => void) | null = null
  /** Called when the store is out of reach: a caller is not kept waiting until it is back. */
  #leave: (error: FluxError) => void = () => {}
  /** The row of the key, as it is; null: there is none yet. */
  #answer: string | null
  #tally = new BroadcastTally({ whole: true })
  /** Those who are to be sent it, in order. */
  #ids: readonly ContextId[] = []
  #at = 0
  /** They have higher ids: an earlier run was done with those up to it. */
  #after: ContextId = 0
  /** Of those that come next, to how many it was sent before it was to stop. */
  #beyond = 0
  /** Those to whom it was sent before. */
  #before = 0
  /** As it was stored last. */
  #summary = NOTHING_YET
  /** No earlier stage is stored, since one above it was begun before. */
  #earlierEnd: ContextId = 0

  constructor(parts: RunParts, { key, stored, place, left }: RunFacts) {
    this.#parts = parts
    this.#rows = new BroadcastRows(parts.store, key, stored)
    this.#stored = stored
    this.place = place
    this.#isNew = left === undefined
    this.#answer = left?.answer ?? null
    const onAway = (error: FluxError) => this.#leave(leftInDoubt(error))
    this.task = new Task(parts, this.#rows.task, { before: left?.task ?? null, onAway })
  }

  /** Whether its sender got the answer that it is accepted. It is then carried out whatever happens. */
  get isAccepted(): boolean {
    return this.#answer !== null && readKept(this.#answer).isAccepted
  }

  /** Whether it is for so many that it is accepted before it is sent. */
  get isForMany(): boolean {
    return this.#summary.matched > (this.#stored.above ?? Infinity)
  }

  /** The answer that says that it is accepted. */
  acceptance(): EventAnswer {
    const [{ event, eventId }, { matched }] = [this.#stored.sent, this.#summary]
    return {
      message: `'${event}' goes to ${matched} ${matched === 1 ? 'context' : 'contexts'}; its receipt tells how far it is`,
      transitions: [],
      executions: [],
      ignored: [],
      eventId,
      pending: [],
    }
  }

  /** The whole answer, if it is there within so many milliseconds; else null. */
  wait(milliseconds: number): Promise<EventAnswer | null> {
    return new Promise((resolve) => {
      this.#answerSender = resolve
      this.#callOff = this.#parts.clock.after(milliseconds, () => this.giveUp())
    })
  }

  /** Its sender waits no longer. */
  giveUp(): void {
    this.#callOff?.()
    this.#answerSender?.(null)
    this.#answerSender = null
  }

  /**
   * Stores that it has begun. One for many is accepted by that: of whom it moved it keeps the newest only, unless its
   * sender waits for the whole answer. `hash`: of the content.
   * @throws TaskLost when there is another under its key; FluxError `unavailable`
   */
  async begin(hash: string): Promise<void> {
    const rows = this.#rows
    const { sent, drawn } = this.#stored
    const facts = { hash, at: drawn.now, event: sent.event }
    const isAccepted = this.isForMany
    this.#answer = isAccepted
      ? answerText({ ...facts, answer: this.acceptance(), isAccepted })
      : answerText({ ...facts, answer: null })
    const summary = isAccepted ? [rows.summary(this.#summary)] : []
    await this.task.commit([rows.answer(this.#answer, null), rows.event(this.#stored), ...summary])
    const isWhole = !isAccepted || (this.#answerSender !== null && this.#summary.matched <= MAX_AWAITED_CONTEXTS)
    if (!isWhole) this.#tally.forget()
  }

  /** Finds whom it is for. @throws FluxError `overloaded`, `unavailable` */
  async look(): Promise<void> {
    const { sent, upTo } = this.#stored
    const summary = this.isAccepted ? await readSummary(this.#parts.store, this.#rows) : null
    const after = summary?.cursor ?? 0
    this.#after = after
    const waiting = await findReceivers(this.#parts, sent, { upTo, after, place: this.place })
    // Only now: a context that the event itself started before a crash may be among them, and its row is there.
    const earlier = this.#isNew ? [] : await this.#rows.load(after)
    this.#ids = this.#isNew ? waiting : waiting.filter((id) => !this.#rows.hasReached(id))
    const done = earlier.flatMap((item) => receiverOf(item) ?? [])
    this.#before = done.length + (summary?.dealt ?? 0)
    this.#summary = { ...(summary ?? NOTHING_YET), matched: this.#before + this.#ids.length }
    this.#tally = new BroadcastTally({ whole: !this.isAccepted, before: summary?.outcomes ?? NO_OUTCOMES })
    this.#tally.add(earlier)
    this.#earlierEnd = done.reduce((highest, id) => Math.max(highest, id), 0)
  }

  /** What `carryOut` gives, as long as the store is in reach. @throws FluxError, in doubt, when it is not */
  whileInReach(sent: Promise<EventAnswer>): Promise<EventAnswer> {
    return new Promise((resolve, reject) => {
      this.#leave = reject
      sent.then(resolve, reject)
    })
  }

  /**
   * Sends it without storing it; nothing is tried again.
   * @throws FluxError `unavailable` when the store was out of reach and the event moved and started nothing
   */
  async sendUnstored(): Promise<EventAnswer> {
    const [{ unclaimed, catalog, refusals, signals }, tally, ids] = [this.#parts, this.#tally, this.#ids]
    const sent = { ...this.#stored.sent, receipt: null }
    const sending = { ...this.#parts, sent, rows: null }
    try {
      for (let at = 0; at < ids.length; at += UNSTORED_WAVE_CONTEXTS) {
        // A wave in which nothing is written does not yield to the event loop. Other work is served before the next one.
        if (at > 0) await yieldTurn()
        tally.add(await moveAll(sending, ids.slice(at, at + UNSTORED_WAVE_CONTEXTS)))
      }
      const { hasMoved } = tally
      const of = (id: ContextId) => (tally.has(id) ? 'counted' : null)
      tally.add(await startTriggered(sending, catalog.triggeredBy(sent.event), { hasMoved, of }))
    } finally {
      this.place.release()
    }
    tally.logRefusals(refusals, sent.event)
    if (tally.failure) throw new FluxError(tally.failure)
    const answer = tally.answer(sent)
    const end = { answer, receivedAt: this.#stored.drawn.now, receipt: null }
    const ended = (await unclaimed.endBroadcast(sent, end)) ?? answer
    countAll(signals, countsOf(ended))
    return ended
  }

  /** Sends it to all. @throws TaskLost; FluxError when the server stops, or as `UnclaimedEvents.endBroadcast` */
  async carryOut(): Promise<EventAnswer> {
    try {
      await goThrough(this, this.#parts.clock)
      if (!this.task.stopRequested) await this.#startTriggered()
      // Its sender gets the whole answer if it still waits for it: then it does so until it has it.
      if (this.#tally.isWhole) this.#callOff?.()
      const isAnswered = !this.isAccepted || (this.#tally.isWhole && this.#answerSender !== null)
      this.#tally.logRefusals(this.#parts.refusals, this.#stored.sent.event)
      const by = randomUUID()
      const answer = await this.task.persist(() => this.#end({ by, isAnswered }))
      if (isAnswered) this.#answerSender?.(answer)
      return answer
    } finally {
      this.place.release()
    }
  }

  get hasMore(): boolean {
    return this.#at < this.#ids.length
  }

  next(): readonly ContextId[] {
    return this.#ids.slice(this.#at, this.#at + WAVE_CONTEXTS)
  }

  async send(ids: readonly ContextId[], isAgain: boolean): Promise<readonly ContextId[]> {
    const found = await (isAgain || !this.#isNew ? moveAgain : moveAll)(this.#sending, ids)
    this.#tally.add(found?.filter((one) => !isOutOfReach(one)) ?? [])
    const left = found ? ids.filter((_, place) => isOutOfReach(found[place] ?? null)) : ids
    if (left.length > 0) this.#leaveAway(found)
    return left
  }

  advance(left: number): void {
    const wave = Math.min(WAVE_CONTEXTS, this.#ids.length - this.#at)
    if (left === 0) this.#at += wave
    else this.#beyond = wave - left
  }

  progress(): RowWrite {
    const dealt = this.#dealt()
    // What was done behind the cursor is counted again by who carries it on.
    if (dealt.cursor >= this.#earlierEnd)
      this.#summary = { ...this.#summary, ...dealt, outcomes: this.#tally.outcomes() }
    return this.#rows.summary(this.#summary)
  }

  #dealt(): Pick<Summary, 'dealt' | 'cursor'> {
    return {
      dealt: this.#before + this.#at + this.#beyond,
      cursor: this.hasMore ? (this.#ids[this.#at - 1] ?? this.#summary.cursor) : this.#stored.upTo,
    }
  }

  get #sending(): Sending<BroadcastRows> {
    return { ...this.#parts, sent: this.#stored.sent, rows: this.#rows }
  }

  #leaveAway(found: readonly Found[] | null): void {
    const away = found?.find(isOutOfReach)
    const failure = away?.answer === 'ignored' ? away.failure : null
    this.#leave(leftInDoubt(failure ? new FluxError(failure) : unavailable('the store is out of reach')))
  }

  async #startTriggered(): Promise<void> {
    const services = this.#parts.catalog.triggeredBy(this.#stored.sent.event)
    // The tally has only the newest. A holder of a key may have been moved by a start before, and is not counted then.
    const of = async (id: ContextId) => {
      if (this.#tally.has(id)) return 'counted'
      const [item = null] = await this.#rows.doneTo([id])
      const isCounted = id <= this.#after || this.#rows.hasReached(id) || this.#ids.includes(id)
      return item && isCounted ? 'counted' : item
    }
    for (;;) {
      const found = await startTriggered(this.#sending, services, { hasMoved: this.#tally.hasMoved, of })
      if (!found.some(isOutOfReach)) {
        this.#tally.add(found)
        if (!this.#isNew) this.#tally.add(await this.task.persist(() => earlierStarts(this.#rows, services, found)))
        return
      }
      this.#leaveAway(found)
      if (!(await this.task.mayTryAgain())) return this.#tally.add(found.filter((one) => !isOutOfReach(one)))
    }
  }

  /**
   * Ends it, again if it is called again: where it reached nobody, the event is held. `by` tells this end from another.
   * `isAnswered`: its sender gets the whole answer.
   * @throws TaskLost when another server has ended it; FluxError as `UnclaimedEvents.endBroadcast`
   */
  async #end(how: { readonly by: string; readonly isAnswered: boolean }): Promise<EventAnswer> {
    const [{ unclaimed }, { sent, drawn }, { task }] = [this.#parts, this.#stored, this]
    // One that was stopped is held for nobody.
    const stops = task.stopRequested
    const toHold = stops ? { ...sent, ttl: null } : sent
    const outcome: { ended?: EventAnswer; lost?: TaskLost } = {}
    // False: another server has ended it, or it is to be stopped, and was not held. `more`: the rows that hold it.
    const write = async (whole: EventAnswer, more: readonly RowWrite[]) => {
      // The first answer has as much as a repeat can be given.
      const answer = { ...whole, ignored: storedIgnored(whole.ignored) }
      try {
        await task.end([...this.#rowsOf(answer, how), ...more], { unlessStopped: more.length > 0 })
        outcome.ended = answer
        countAll(this.#parts.signals, this.#countsWith(answer))
        return true
      } catch (error) {
        if (error instanceof TaskLost) outcome.lost = error
        else if (!(error instanceof StopRequested)) throw error
        return false
      }
    }
    const answer = this.#tally.answer(sent)
    try {
      await unclaimed.endBroadcast(toHold, { answer, receivedAt: drawn.now, receipt: this.#rows.key, write })
    } catch (error) {
      await write(await this.#unheld(error), [])
    }
    if (outcome.ended) return outcome.ended
    // The commit itself met the wish to stop it.
    if (!outcome.lost && task.stopRequested && !stops) return this.#end(how)
    throw outcome.lost ?? new TaskLost(null)
  }

  /**
   * It can't be held. Where it was accepted, its receipt says why; else nothing is kept of it, since it did nothing.
   * @throws the error, unless it was accepted
   */
  async #unheld(error: unknown): Promise<EventAnswer> {
    const failure = error instanceof FluxError ? error.failure : null
    if (failure === null || failure.kind === 'unavailable') throw error
    if (!this.isAccepted) {
      await this.task.end([this.#rows.answer(null, this.#answer), this.#rows.event(null)])
      throw error
    }
    const entry = { contextId: null, fluxName: '', state: null, reason: failure.detail }
    this.#tally.add([{ answer: 'ignored', entry, failure, hasEnded: false }])
    return this.#tally.answer(this.#stored.sent)
  }

  /** An event that is held for nobody yet is pending, too. */
  #countsWith({ pending }: EventAnswer): Outcomes['counts'] {
    const { counts } = this.#tally
    return { ...counts, pending: Math.max(counts.pending, pending.length) }
  }

  #rowsOf(answer: EventAnswer, { by, isAnswered }: { readonly by: string; readonly isAnswered: boolean }): RowWrite[] {
    const before = this.#answer ?? ''
    const { hash, at, isAccepted } = readKept(before)
    const text = isAnswered ? answerText({ hash, at, event: this.#stored.sent.event, answer, by }) : before
    const counts = this.#countsWith(answer)
    const outcomes = { ...this.#tally.outcomes(), pending: newest(answer.pending), counts }
    const summary = { ...this.#summary, ...this.#dealt(), outcomes, isDone: true }
    // Of one that met nobody the answer says it all.
    const isKnown = !isAccepted && counts.moved + counts.started + counts.ignored + counts.pending === 0
    return [this.#rows.answer(text, before), this.#rows.event(null), ...(isKnown ? [] : [this.#rows.summary(summary)])]
  }
}
