// engine/fanout: carries out a broadcast that is stored, in waves. The protocol:
//
// 1. It begins with three rows in the partition of its key (`broadcast-rows.ts`): one takes the key, one has the
//    event and the highest id that it is for, and one is that of its task (`tasks/task.ts`).
// 2. Each move and start writes a row of its own (`BroadcastItems`), under a guard that there is none, so none is
//    made twice.
// 3. Between waves of 250 other requests are served. After each 1,000 a summary is stored: counts, the newest entries,
//    and the id up to which the event was sent. A server that takes the broadcast over begins behind that id, and
//    reads only the rows behind it; so does a receipt.
// 4. A context that the store could not reach is tried until it is reached, or until the broadcast is stopped. A
//    caller who waits is told 503 in doubt meanwhile; repeats are told that it is in progress.
// 5. A commit of an earlier try may come true late (`receivers.ts`). So a context that cannot take the event is
//    looked up among those that were moved, and a row in each partition prevents that a service which was not started
//    is started later.
// 6. At the end the rows of moved contexts are deleted (`dropRows`), but not while a commit may still come
//    true late (`mayWriteLate` of the task): then they stay until they expire. Rows of starts always do.
//
// What is drawn by chance for the key of a start (time, random numbers, UUIDs) depends on a number that is stored with
// the broadcast (`drawnFrom`), so a server that takes it over comes to the same key, and to the partition that has
// the row of an earlier start.
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable, type Failure } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import { findReceivers, yieldTurn, type BroadcastParts, type BroadcastPlace } from './broadcast.ts'
import { isOutOfReach, type Found, BroadcastTally, NO_OUTCOMES } from './outcomes.ts'
import { moveAll, startTriggered, moveAgain, earlierStarts } from './receivers.ts'
import { BroadcastEnd, type BroadcastEndParts } from './broadcast-end.ts'
import {
  BroadcastItems,
  receiverOf,
  acceptanceOf,
  answerText,
  readSummary,
  summaryAtFirst,
  type BroadcastRows,
  type RunFacts,
  type StoredBroadcast,
  type Summary,
} from './broadcast-rows.ts'
import { leftInDoubt } from '../tasks/queue.ts'
import { Task, type TaskParts } from '../tasks/task.ts'
import { readKept } from '../idempotency/kept-answer.ts'
import type { Clock } from '../../ports/clock.ts'

export interface RunParts extends BroadcastParts, TaskParts, BroadcastEndParts {}

/** Contexts that are sent the event at the same time: others that have something to do are served in between. */
const WAVE_CONTEXTS = 250
/** Contexts after which it says how far it is. */
const STAGE_CONTEXTS = 1000
/** Contexts up to which the whole answer is kept for a sender that waits for it. */
const MAX_AWAITED_CONTEXTS = 100_000

const isUnavailable = ({ kind }: Failure): boolean => kind === 'unavailable'

export class BroadcastRun {
  readonly #parts: RunParts
  readonly #rows: BroadcastRows
  readonly #stored: StoredBroadcast
  readonly #items: BroadcastItems
  readonly task: Task
  /** The sender, if it waits for the whole answer. */
  readonly sender: ReplyWaiter
  readonly #isNew: boolean
  /** Called when the store is out of reach: a caller is not kept waiting until it is back. */
  #leave: (error: FluxError) => void = () => {}
  #answer: string
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
  #summary: Summary = summaryAtFirst(0)
  /** No earlier stage is stored, since one above it was begun before. */
  #earlierEnd: ContextId = 0

  constructor(parts: RunParts, { rows, stored, answer, before }: RunFacts) {
    this.#parts = parts
    this.#rows = rows
    this.#stored = stored
    this.#answer = answer
    this.#isNew = before === null
    this.#items = new BroadcastItems({ store: parts.store, rows, drawn: stored.drawn })
    this.task = new Task(parts, rows.task, { before })
    this.sender = new ReplyWaiter(parts.clock)
  }

  /** Whether its sender got the answer that it is accepted. It is then carried out whatever happens. */
  get isAccepted(): boolean {
    return readKept(this.#answer).isAccepted
  }

  /** Its sender waits no longer. */
  giveUp(): void {
    this.sender.giveUp()
  }

  /** Whether it is for so many that it is accepted before it is sent. */
  get isForMany(): boolean {
    return this.#summary.matched > (this.#stored.above ?? Infinity)
  }

  /** The answer that says that it is accepted. */
  acceptance(): EventAnswer {
    return acceptanceOf(this.#stored.sent, this.#summary.matched)
  }

  /**
   * Stores that it has begun. One for many is accepted by that: of whom it moved it keeps the newest only, unless its
   * sender waits for the whole answer. @throws TaskLost when there is another under its key; FluxError `unavailable`
   */
  async begin(): Promise<void> {
    const rows = this.#rows
    const isAccepted = this.isForMany
    if (isAccepted) {
      const { hash, at } = readKept(this.#answer)
      const { event } = this.#stored.sent
      this.#answer = answerText({ hash, at, event, answer: this.acceptance(), isAccepted })
    }
    const summary = isAccepted ? [rows.summary(this.#summary)] : []
    await this.task.commit([rows.answer(this.#answer, null), rows.event(this.#stored), ...summary])
    const isWhole = !isAccepted || (this.sender.isAwaited && this.#summary.matched <= MAX_AWAITED_CONTEXTS)
    if (!isWhole) this.#tally.forget()
  }

  /** Finds whom it is for. @throws FluxError `overloaded`, `unavailable` */
  async look(place: BroadcastPlace, known?: readonly ContextId[]): Promise<void> {
    const { store } = this.#parts
    const { sent, upTo } = this.#stored
    if (known) {
      this.#ids = known
      this.#summary = summaryAtFirst(known.length)
      return
    }
    const summary = this.#isNew || !this.isAccepted ? null : await readSummary(store, this.#rows)
    const after = summary?.cursor ?? 0
    this.#after = after
    const waiting = await findReceivers(this.#parts, sent, { upTo, after, place })
    // Only now: a context that the event itself started before a crash may be among them, and its row is there.
    const earlier = this.#isNew ? [] : await this.#items.load(after)
    this.#ids = waiting.filter((id) => !this.#items.hasReached(id))
    const done = earlier.flatMap((item) => receiverOf(item) ?? [])
    this.#before = done.length + (summary?.dealt ?? 0)
    this.#summary = { ...(summary ?? summaryAtFirst(0)), matched: this.#before + this.#ids.length }
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

  /** Sends it to all. @throws TaskLost; FluxError when the server stops, or as `HeldEvents.hold` */
  async carryOut(): Promise<EventAnswer> {
    while (this.#at < this.#ids.length && !this.task.stopRequested) {
      if (!(await this.#stage())) break
      if (this.#at < this.#ids.length) await this.#surely(() => this.task.commit([this.#progress()]))
    }
    if (!this.task.stopRequested) await this.#startTriggered()
    return this.#finish()
  }

  /** Sends it to the next contexts; false: to some of them only, since it is to stop. */
  async #stage(): Promise<boolean> {
    const end = Math.min(this.#ids.length, this.#at + STAGE_CONTEXTS)
    for (; this.#at < end; this.#at = Math.min(end, this.#at + WAVE_CONTEXTS)) {
      this.task.check()
      if (!(await this.#wave(this.#ids.slice(this.#at, Math.min(end, this.#at + WAVE_CONTEXTS))))) return false
      await yieldTurn()
    }
    this.task.check()
    return true
  }

  /** It is sent again to those for whom the store could not be reached; false: it is to stop before. */
  async #wave(ids: readonly ContextId[]): Promise<boolean> {
    for (let [left, send] = [ids, this.#isNew ? moveAll : moveAgain]; ; send = moveAgain) {
      const found = await send({ ...this.#parts, items: this.#items }, left, this.#stored.sent)
      if (found) {
        this.#tally.add(found.filter((one) => !isOutOfReach(one)))
        left = left.filter((_, place) => isOutOfReach(found[place] ?? null))
      }
      if (left.length === 0) return true
      if (!(await this.#mayTryAgain(found))) {
        this.#beyond = ids.length - left.length
        return false
      }
    }
  }

  async #startTriggered(): Promise<void> {
    const receivers = { ...this.#parts, items: this.#items }
    const { sent } = this.#stored
    const services = this.#parts.catalog.triggeredBy(sent.event)
    // The tally has only the newest. A holder of a key may have been moved by a start before, and is not counted then.
    const of = async (id: ContextId) => {
      if (this.#tally.has(id)) return 'counted'
      const [item = null] = await this.#items.doneTo([id])
      const isCounted = id <= this.#after || this.#items.hasReached(id) || this.#ids.includes(id)
      return item && isCounted ? 'counted' : item
    }
    for (;;) {
      const found = await startTriggered(receivers, services, sent, { hasMoved: this.#tally.hasMoved, of })
      if (!found.some(isOutOfReach)) {
        this.#tally.add(found)
        if (!this.#isNew) this.#tally.add(await this.#surely(() => earlierStarts(this.#items, services, found)))
        return
      }
      if (!(await this.#mayTryAgain(found))) return this.#tally.add(found.filter((one) => !isOutOfReach(one)))
    }
  }

  async #finish(): Promise<EventAnswer> {
    const [{ refusals }, { sent }] = [this.#parts, this.#stored]
    // Its sender gets the whole answer if it still waits for it.
    const isAnswered = !this.isAccepted || (this.#tally.isWhole && this.sender.close())
    this.#tally.logRefusals(refusals, sent.event)
    const end = new BroadcastEnd({
      parts: this.#parts,
      rows: this.#rows,
      task: this.task,
      sent,
      tally: this.#tally,
      summary: { ...this.#summary, ...this.#dealt() },
      before: this.#answer,
      isAccepted: this.isAccepted,
      isAnswered,
    })
    await this.#surely(() => end.write(this.#tally.answer(sent)))
    if (isAnswered) this.sender.answer(end.answer)
    return end.answer
  }

  #surely<T>(step: () => Promise<T>): Promise<T> {
    return this.task.persist(step, (error) => this.#leave(leftInDoubt(error)))
  }

  /** As `Task.mayTryAgain`. */
  #mayTryAgain(found: readonly Found[] | null): Promise<boolean> {
    const failure = found?.flatMap((one) => (one?.answer === 'ignored' && one.failure) || []).find(isUnavailable)
    this.#leave(leftInDoubt(failure ? new FluxError(failure) : unavailable('the store is out of reach')))
    return this.task.mayTryAgain()
  }

  #progress(): RowWrite {
    const dealt = this.#dealt()
    // What was done behind the cursor is counted again by who carries it on.
    if (dealt.cursor >= this.#earlierEnd)
      this.#summary = { ...this.#summary, ...dealt, outcomes: this.#tally.outcomes() }
    return this.#rows.summary(this.#summary)
  }

  #dealt(): Pick<Summary, 'dealt' | 'cursor'> {
    const isLast = this.#at >= this.#ids.length
    return {
      dealt: this.#before + this.#at + this.#beyond,
      cursor: isLast ? this.#stored.upTo : (this.#ids[this.#at - 1] ?? this.#summary.cursor),
    }
  }
}

export class ReplyWaiter {
  readonly #clock: Clock
  #resolve: ((answer: EventAnswer | null) => void) | null = null
  #callOff: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the sender waits. */
  get isAwaited(): boolean {
    return this.#resolve !== null
  }

  /** The answer, if it is there within so many milliseconds; else null. */
  wait(milliseconds: number): Promise<EventAnswer | null> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#callOff = this.#clock.after(milliseconds, () => this.giveUp())
    })
  }

  /** The sender waits no longer. */
  giveUp(): void {
    this.#callOff?.()
    this.answer(null)
  }

  /** Whether the sender still waits: then it does so until it has its answer. */
  close(): boolean {
    this.#callOff?.()
    return this.#resolve !== null
  }

  answer(answer: EventAnswer | null): void {
    this.#resolve?.(answer)
    this.#resolve = null
  }
}
