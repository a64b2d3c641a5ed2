// engine/fanout: runs a broadcast, in waves. One that is stored is a task. The protocol:
//
// 1. It begins with four rows in the partition of its key (`broadcast-rows.ts`): one takes the key, and has the answer
//    for repeats: that it is accepted, or none yet; one has the event and the highest id that it is for; one says how
//    far it is; and one is that of its task (`tasks/task.ts`).
// 2. It goes through the contexts that wait for the event, as `tasks/fan-out.ts` describes. Moves and starts have
//    marks. After each 1,000 contexts it stores a summary: counts, the newest entries, and the id up to which the event
//    was sent. A receipt reads only the marks behind that id.
// 3. A server that takes it over counts all marks, and sends the event to those without.
// 4. A commit of an earlier try may succeed late. So a context that cannot take the event is looked up among those that
//    were moved (`receivers.ts`), and after a takeover or a commit in doubt a row in each partition prevents that a
//    service which was not started is started later.
// 5. While a context is out of reach, a caller that waits gets 503 in doubt; repeats get the answer that it is in
//    progress.
// 6. At the end its answer and its receipt are written, and where it reached no context, the event is held in the same
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
import { FluxError } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Signals } from '../../ports/signals.ts'
import { inProgress, readKept } from '../idempotency/kept-answer.ts'
import type { UnclaimedEvents } from '../pending/unclaimed-events.ts'
import { goThrough, yieldTurn, type FanOut } from '../tasks/fan-out.ts'
import { leftInDoubt, type TaskRun } from '../tasks/queue.ts'
import { Task, TaskLost, type TaskParts } from '../tasks/task.ts'
import { BroadcastRows, itemsOf, type StoredBroadcast, type Summary } from './broadcast-rows.ts'
import { BroadcastTally, contextOf, countAll, storedIgnored, type Found } from './outcomes.ts'
import {
  findReceivers,
  move,
  startTriggered,
  type BroadcastPlace,
  type Dealt,
  type ReceiverParts,
  type Sending,
} from './receivers.ts'

export interface RunParts extends ReceiverParts, TaskParts {
  readonly unclaimed: Pick<UnclaimedEvents, 'endBroadcast'>
  /** Contexts that it is sent to, the first; left out: all of them. */
  readonly most?: number
  readonly signals: Signals
}

/** A broadcast that is to be run. */
export interface RunFacts {
  /** Key of the row of its idempotency key. */
  readonly key: string
  readonly stored: StoredBroadcast
  readonly place: BroadcastPlace
  /** The rows of its key and of its task, as another server left them; left out: it is new. */
  readonly left?: { readonly answer: string; readonly task: string }
}

/** Contexts that are sent the event at the same time; other requests are served between such groups. */
const WAVE_CONTEXTS = 250
/** The same, for a broadcast that is not stored. */
const UNSTORED_WAVE_CONTEXTS = 1000
/** Contexts up to which the whole answer is kept for a sender that waits for it. */
const MAX_AWAITED_CONTEXTS = 100_000

export class BroadcastRun implements FanOut<Found>, TaskRun {
  readonly task: Task
  readonly #parts: RunParts
  readonly #facts: RunFacts
  readonly #rows: BroadcastRows
  readonly #sending: Sending
  /** The sender, which waits for the whole answer; `callOff` calls off its time. */
  #sender: {
    readonly resolve: (answer: EventAnswer | null) => void
    readonly reject: (error: unknown) => void
    readonly callOff: (() => void) | undefined
  } | null = null
  /** The row of the key, as it is; null: it is not stored. */
  #answer: string | null
  #tally = new BroadcastTally(true)
  /** The contexts that are to be sent it, in order. */
  #ids: readonly ContextId[] = []
  #at = 0
  /** Contexts that were moved or started before this server took it over. */
  #earlier = new Set<ContextId>()
  /** More contexts waited for it than it is sent to. */
  isCut = false
  /** How many contexts waited for it, and how many of them it was sent to. */
  matched = 0
  #dealt = 0

  constructor(parts: RunParts, facts: RunFacts) {
    const { key, stored, left } = facts
    this.#parts = parts
    this.#facts = facts
    this.#rows = new BroadcastRows(parts.store, key, stored)
    this.#answer = left?.answer ?? null
    // A caller is not kept waiting until the store is back.
    const onAway = (error: FluxError) => {
      if (!this.#isAccepted) this.#sender?.reject(leftInDoubt(error))
    }
    this.#sending = { ...parts, sent: stored.sent, rows: left ? this.#rows : null }
    this.task = new Task(parts, this.#rows.at('broadcasts', key), { before: left?.task ?? null, onAway })
  }

  /** The answer that says that it is accepted. */
  acceptance(): EventAnswer {
    const { event, eventId } = this.#facts.stored.sent
    const { matched } = this
    const message = `'${event}' goes to ${matched} ${matched === 1 ? 'context' : 'contexts'}; its receipt tells how far it is`
    return { message, transitions: [], executions: [], ignored: [], eventId, pending: [] }
  }

  /**
   * The whole answer. `within`: milliseconds for which the sender of one that is accepted waits for it; then it gets
   * null.
   * @throws FluxError, in doubt, when the store is out of reach for one that is not accepted
   */
  wait(within?: number): Promise<EventAnswer | null> {
    return new Promise((resolve, reject) => {
      const callOff = within === undefined ? undefined : this.#parts.clock.after(within, () => this.giveUp())
      this.#sender = { resolve, reject, callOff }
    })
  }

  /** The sender of an accepted broadcast stops waiting. */
  giveUp(): void {
    if (!this.#isAccepted) return
    this.#sender?.callOff?.()
    this.#sender?.resolve(null)
    this.#sender = null
  }

  release(): void {
    this.#facts.place.release()
  }

  /** Finds the contexts that it is for. @throws FluxError `overloaded`, `unavailable` */
  async prepare(): Promise<void> {
    const { key, stored, place, left } = this.#facts
    const found = await findReceivers(this.#parts, stored.sent, stored.upTo, place)
    const waiting = found.slice(0, this.#parts.most)
    this.isCut = waiting.length < found.length
    this.#tally = new BroadcastTally(!this.#isAccepted)
    this.#earlier = new Set()
    this.#dealt = 0
    // Not earlier: a context that the event itself started before a crash may be among them, and has a row.
    if (left)
      for await (const item of itemsOf(this.#parts.store, key, 0)) {
        this.#earlier.add(contextOf(item))
        if (item.answer === 'executions') continue
        this.#tally.add(item)
        this.#dealt += 1
      }
    this.#ids = waiting.filter((id) => !this.#earlier.has(id))
    this.matched = this.#dealt + this.#ids.length
  }

  /**
   * Stores that it has begun. `hash`: of the content. An accepted broadcast remembers the newest outcomes only,
   * unless its sender waits for all. @throws TaskLost when there is another under its key; FluxError `unavailable`
   */
  begin(hash: string, isAccepted: boolean): Promise<void> {
    const { stored } = this.#facts
    const { sent, drawn } = stored
    this.#tally.isWhole = !isAccepted || (this.#sender !== null && this.matched <= MAX_AWAITED_CONTEXTS)
    const answer = isAccepted ? this.acceptance() : null
    this.#answer = JSON.stringify({ hash, at: drawn.now, event: sent.event, answer, isAccepted, by: randomUUID() })
    this.#sending.rows = this.#rows
    return this.task.commit([this.#rows.answer(this.#answer, null), this.#rows.event(stored), this.#summary()])
  }

  /**
   * Runs a stored broadcast. @throws TaskLost; FluxError when the server stops, or as
   * `UnclaimedEvents.endBroadcast`
   */
  async run(): Promise<void> {
    const { task } = this
    try {
      if (this.#facts.left) await task.persist(() => this.prepare())
      await this.#send()
      // A sender that still waits gets the whole answer, however long that takes from now on.
      if (this.#tally.isWhole) this.#sender?.callOff?.()
      const isAnswered = !this.#isAccepted || (this.#tally.isWhole && this.#sender !== null)
      const answer = await task.persist(() => this.#end(isAnswered))
      if (isAnswered) this.#sender?.resolve(answer)
    } catch (error) {
      if (!this.#isAccepted) this.#sender?.reject(error instanceof TaskLost ? inProgress() : error)
      throw error
    }
    // Its receipt no longer needs them, and they count as keys.
    await this.#rows.marks.drop(task, this.#parts.log)
  }

  /**
   * Sends it without storing it; nothing is tried again.
   * @throws FluxError `unavailable` when the store was out of reach and the event moved and started nothing
   */
  async sendUnstored(): Promise<EventAnswer> {
    const { unclaimed, signals } = this.#parts
    const { sent, drawn } = this.#facts.stored
    await this.#send()
    if (this.#tally.failure) throw new FluxError(this.#tally.failure)
    const answer = this.#tally.answer(sent)
    const ended = (await unclaimed.endBroadcast(sent, { answer, receivedAt: drawn.now, receipt: null })) ?? answer
    countAll(signals, this.#tally.outcomes(ended))
    return ended
  }

  async *waves() {
    const contexts = this.#sending.rows ? WAVE_CONTEXTS : UNSTORED_WAVE_CONTEXTS
    for (; this.#at < this.#ids.length; this.#at += contexts) {
      yield this.#ids.slice(this.#at, this.#at + contexts)
      await yieldTurn()
    }
  }

  deal(id: ContextId): Promise<Dealt> {
    return move(this.#sending, id)
  }

  add(found: Found): void {
    this.#tally.add(found)
    this.#dealt += 1
  }

  progress(): RowWrite | null {
    return this.#sending.rows && this.#summary()
  }

  #summary(outcomes = this.#tally.outcomes(), isDone = false) {
    const { left, stored } = this.#facts
    // All that was done before a takeover is in the outcomes.
    const hasMore = this.#at < this.#ids.length
    const cursor = hasMore && !left ? (this.#ids[this.#at - 1] ?? 0) : stored.upTo
    const summary: Summary = { matched: this.matched, dealt: this.#dealt, cursor, outcomes, isDone }
    return this.#rows.summary(summary)
  }

  /** Whether its sender got the answer that it is accepted. It then runs to its end in any case. */
  get #isAccepted() {
    return this.#answer !== null && readKept(this.#answer).isAccepted === true
  }

  /** Sends it to all, and starts what it triggers. */
  async #send() {
    const { catalog, clock, refusals } = this.#parts
    const { task } = this
    const { event } = this.#sending.sent
    try {
      await goThrough(this, clock)
      const found = task.stopRequested ? [] : await this.#start()
      // A start may succeed late, until that is ruled out; then the marks show what was started.
      const starts = task.mayWriteLate
        ? await task.persist(() => this.#rows.settleStarts(catalog.triggeredBy(event)))
        : null
      for (const one of found)
        if (!(one instanceof FluxError) && !(starts && one?.answer === 'executions')) this.#tally.add(one)
      for (const item of starts ?? []) this.#tally.add(item)
    } finally {
      this.release()
    }
    this.#tally.logRefusals(refusals, event)
  }

  async #start() {
    const isDealtWith = (id: ContextId) => this.#earlier.has(id) || this.#ids.includes(id)
    for (;;) {
      const found = await startTriggered(this.#sending, this.#tally.hasMoved, isDealtWith)
      const away = found.find((one) => one instanceof FluxError)
      if (!away || !(await this.task.mayTryAgain(away))) return found
    }
  }

  /**
   * Ends it, again if it is called again: where it reached no context, the event is held. `isAnswered`: its sender gets
   * the whole answer. @throws TaskLost when another server has ended it; FluxError as `UnclaimedEvents.endBroadcast`
   */
  async #end(isAnswered: boolean): Promise<EventAnswer> {
    const { task } = this
    const { unclaimed, signals } = this.#parts
    const { sent, drawn } = this.#facts.stored
    const before = this.#answer ?? ''
    // False: it is to be stopped, and was not kept as unclaimed. `more`: the rows that keep it.
    const write = async (answer: EventAnswer, more: readonly RowWrite[]) => {
      const outcomes = this.#tally.outcomes(answer)
      const { moved, started, ignored, pending } = outcomes.counts
      // For an event that no context waited for, the answer has everything.
      const isKnown = !this.#isAccepted && moved + started + ignored + pending === 0
      const told = isAnswered ? JSON.stringify({ ...readKept(before), isAccepted: false, answer }) : before
      const rows = [
        this.#rows.answer(told, before),
        this.#rows.event(null),
        isKnown ? this.#rows.summary(null) : this.#summary(outcomes, true),
      ]
      if (!(await task.end([...rows, ...more], { unlessStopped: more.length > 0 }))) return false
      countAll(signals, outcomes)
      return true
    }
    // A stopped broadcast does not become unclaimed.
    const toHold = task.stopRequested ? { ...sent, ttl: null } : sent
    const whole = this.#tally.answer(sent)
    // The first answer has no more than a repeat can be given.
    const answer = { ...whole, ignored: storedIgnored(whole.ignored) }
    const end = { answer, receivedAt: drawn.now, receipt: this.#rows.key, write }
    const ended = await unclaimed.endBroadcast(toHold, end).catch(async (error: unknown) => {
      if (!(error instanceof FluxError) || error.failure.kind === 'unavailable') throw error
      // It can't be kept as unclaimed. If it was accepted, its receipt says why; else nothing is kept of it, since it
      // did nothing.
      if (!this.#isAccepted) {
        await task.end([this.#rows.answer(null, before), this.#rows.event(null), this.#rows.summary(null)])
        throw error
      }
      const { failure } = error
      const entry = { contextId: null, fluxName: '', state: null, reason: failure.detail }
      this.#tally.add({ answer: 'ignored', entry, failure, hasEnded: false })
      const ignored = this.#tally.answer(sent)
      await write(ignored, [])
      return ignored
    })
    // The commit itself found the request to stop it.
    return ended ?? this.#end(isAnswered)
  }
}
