// engine/idempotency: carries out a broadcast that is stored, in waves. Between them it says how far it is, so that
// whoever carries it on begins there, and looks whether somebody wants it stopped.
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { inDoubt } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import { answerToAll, findReceivers, yieldTurn, type BroadcastParts } from '../calls/broadcast.ts'
import type { BroadcastPlace } from '../calls/broadcast-place.ts'
import { isOutOfReach, moveAll, type Found } from '../calls/broadcast-receivers.ts'
import { BroadcastTally, NO_OUTCOMES } from '../calls/broadcast-tally.ts'
import { startTriggered } from '../calls/broadcast-triggers.ts'
import { BroadcastEnd, type BroadcastEndParts } from './broadcast-end.ts'
import { BroadcastItems, receiverOf } from './broadcast-items.ts'
import { Task, type TaskParts } from '../tasks/task.ts'
import { moveAgain, earlierStarts } from './earlier-tries.ts'
import {
  acceptanceOf,
  answerText,
  readSummary,
  summaryAtFirst,
  type BroadcastRows,
  type RunFacts,
  type StoredBroadcast,
  type Summary,
} from './broadcast-rows.ts'
import { readKept } from './kept-answer.ts'
import { ReplyWaiter } from './reply-waiter.ts'

export interface RunParts extends BroadcastParts, TaskParts, BroadcastEndParts {}

/** Contexts that are sent the event at the same time: others that have something to do are served in between. */
const WAVE_CONTEXTS = 250
/** Contexts after which it says how far it is. */
const STAGE_CONTEXTS = 1000
/** Contexts up to which the whole answer is kept for a sender that waits for it. */
const MAX_AWAITED_CONTEXTS = 100_000

export class BroadcastRun {
  readonly #parts: RunParts
  readonly #rows: BroadcastRows
  readonly #stored: StoredBroadcast
  readonly #items: BroadcastItems
  readonly task: Task
  /** The sender, if it waits for the whole answer. */
  readonly sender: ReplyWaiter
  readonly isNew: boolean
  #answer: string
  #tally = new BroadcastTally({ whole: true })
  /** Those who are to be sent it, in order. */
  #ids: readonly ContextId[] = []
  #at = 0
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
    this.isNew = before === null
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

  /** Whether nothing was done for it so far. */
  get isUntouched(): boolean {
    const { moved, started, pending } = this.#tally.counts
    return this.isNew && moved + started + pending === 0
  }

  /** The answer that says that it is accepted. */
  acceptance(): EventAnswer {
    return acceptanceOf(this.#stored.sent, this.#summary.matched)
  }

  /** Stores that it has begun. @throws TaskLost when there is another under its key; FluxError `unavailable` */
  begin(): Promise<void> {
    return this.task.commit([this.#rows.answer(this.#answer, null), this.#rows.event(this.#stored)])
  }

  /**
   * Stores that it is accepted: from then on it keeps nothing but the newest of whom it moved, unless its sender waits
   * for the whole answer. `isBegun`: it is stored already. @throws as `begin`
   */
  async accept({ isBegun }: { readonly isBegun: boolean }): Promise<void> {
    const before = this.#answer
    const { hash, at } = readKept(before)
    const rows = this.#rows
    const next = answerText({ hash, at, event: this.#stored.sent.event, answer: this.acceptance(), isAccepted: true })
    const begun = isBegun ? [rows.answer(next, before)] : [rows.answer(next, null), rows.event(this.#stored)]
    await this.task.commit([...begun, rows.summary(this.#summary)])
    this.#answer = next
    if (!this.sender.isAwaited || this.#summary.matched > MAX_AWAITED_CONTEXTS) this.#tally.forget()
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
    const summary = this.isNew || !this.isAccepted ? null : await readSummary(store, this.#rows)
    const after = summary?.cursor ?? 0
    const waiting = await findReceivers(this.#parts, sent, { upTo, after, place })
    // Only now: a context that the event itself started before a crash may be among them, and its row is there.
    const earlier = this.isNew ? [] : await this.#items.load(after)
    this.#ids = waiting.filter((id) => !this.#items.hasReached(id))
    const done = earlier.flatMap((item) => receiverOf(item) ?? [])
    this.#before = done.length + (summary?.dealt ?? 0)
    this.#summary = { ...(summary ?? summaryAtFirst(0)), matched: this.#before + this.#ids.length }
    this.#tally = new BroadcastTally({ whole: !this.isAccepted, before: summary?.outcomes ?? NO_OUTCOMES })
    this.#tally.add(earlier)
    this.#earlierEnd = done.reduce((highest, id) => Math.max(highest, id), 0)
  }

  /** Leaves no trace of it. */
  forget(): Promise<void> {
    const rows = this.#rows
    return this.task.end([rows.answer(null, this.#answer), rows.event(null)])
  }

  /**
   * Sends it to all. Once it is accepted, it goes on where it was when it is called again.
   * @throws FluxError as `broadcast`; TaskLost
   */
  async carryOut(): Promise<EventAnswer> {
    while (this.#at < this.#ids.length && !this.task.stopRequested) {
      if (!(await this.#stage())) break
      if (this.#at < this.#ids.length || this.isAccepted) await this.#surely(() => this.task.commit([this.#progress()]))
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

  /** One that is accepted is sent again to those whom the store could not be reached for; false: it is to stop before. */
  async #wave(ids: readonly ContextId[]): Promise<boolean> {
    for (let [left, send] = [ids, this.isNew ? moveAll : moveAgain]; ; send = moveAgain) {
      const found = await send({ ...this.#parts, items: this.#items }, left, this.#stored.sent)
      const isLeft = (one: Found) => this.isAccepted && isOutOfReach(one)
      if (found) this.#tally.add(found.filter((one) => !isLeft(one)))
      else if (!this.isAccepted) throw inDoubt('it is not known whom the event has moved')
      if (found) left = left.filter((_, place) => isLeft(found[place] ?? null))
      if (left.length === 0) return true
      if (!(await this.task.mayTryAgain())) {
        this.#beyond = ids.length - left.length
        return false
      }
    }
  }

  async #startTriggered(): Promise<void> {
    const receivers = { ...this.#parts, items: this.#items }
    const { sent } = this.#stored
    const services = this.#parts.catalog.triggeredBy(sent.event)
    // The tally has only the newest.
    const has = async (id: ContextId) => this.#tally.has(id) || (await this.#items.doneTo([id])).length > 0
    for (;;) {
      const found = await startTriggered(receivers, services, sent, { hasMoved: this.#tally.hasMoved, has })
      if (!this.isAccepted || !found.some(isOutOfReach)) {
        this.#tally.add(found)
        // One that reached nobody is not over: it is carried on, and may start them then.
        const isOver = this.#tally.failure === null
        if (isOver && !this.isNew) this.#tally.add(await earlierStarts(this.#items, services, found))
        return
      }
      if (!(await this.task.mayTryAgain())) return this.#tally.add(found.filter((one) => !isOutOfReach(one)))
    }
  }

  async #finish(): Promise<EventAnswer> {
    const [{ refusals }, { sent }] = [this.#parts, this.#stored]
    // Its sender gets the whole answer if it still waits for it.
    const isAnswered = !this.isAccepted || (this.#tally.isWhole && this.sender.close())
    const answer = answerToAll(this.#tally, sent, refusals)
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
    await this.#surely(() => end.write(answer))
    if (isAnswered) this.sender.answer(end.answer)
    return end.answer
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

  /** Does it again while the store is out of reach, if the broadcast is accepted. */
  #surely(step: () => Promise<void>): Promise<void> {
    return this.isAccepted ? this.task.persist(step) : step()
  }
}
