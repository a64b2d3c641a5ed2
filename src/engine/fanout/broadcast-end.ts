// engine/fanout: how a broadcast that is stored ends: its answer and its receipt are written, and where it reached
// nobody, the event is held in the same commit.
import { randomUUID } from 'node:crypto'
import type { EventAnswer } from '../../api/events.ts'
import { FluxError } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Signals } from '../../ports/signals.ts'
import { newest, storedIgnored, type BroadcastTally, type Outcomes, countAll } from './outcomes.ts'
import { endBroadcast, type HeldEvents } from '../pending/held-events.ts'
import { StopRequested, TaskLost, type Task } from '../tasks/task.ts'
import { answerText, type BroadcastRows, type StoredBroadcast, type Summary } from './broadcast-rows.ts'
import { readKept } from '../idempotency/kept-answer.ts'

export interface BroadcastEndParts {
  readonly held: Pick<HeldEvents, 'hold'>
  readonly signals: Signals
}

export interface BroadcastEndFacts {
  readonly parts: BroadcastEndParts
  readonly rows: BroadcastRows
  readonly task: Task
  readonly sent: StoredBroadcast['sent']
  readonly tally: BroadcastTally
  /** What it came to, without its outcomes. */
  readonly summary: Omit<Summary, 'outcomes' | 'isDone'>
  /** The row of the key, as it is. */
  readonly before: string
  readonly isAccepted: boolean
  /** Whether its sender gets the whole answer. */
  readonly isAnswered: boolean
}

export class BroadcastEnd {
  readonly #facts: BroadcastEndFacts
  readonly #by = randomUUID()
  #answer: EventAnswer | null = null
  #lost: TaskLost | null = null

  constructor(facts: BroadcastEndFacts) {
    this.#facts = facts
  }

  /** The answer to its sender. @throws TaskLost when another server has ended it */
  get answer(): EventAnswer {
    if (this.#answer === null) throw this.#lost ?? new TaskLost(null)
    return this.#answer
  }

  /** Writes it, again if it is called again. @throws FluxError as `HeldEvents.hold` */
  async write(answer: EventAnswer): Promise<void> {
    const {
      parts: { held },
      task,
      rows,
      sent,
      before,
    } = this.#facts
    // One that was stopped is held for nobody.
    const stops = task.stopRequested
    const toHold = stops ? { ...sent, ttl: null } : sent
    const { at: receivedAt } = readKept(before)
    const write = (given: EventAnswer, more: readonly RowWrite[]) => this.#commit(given, more)
    try {
      await endBroadcast(held, toHold, { answer, receivedAt, receipt: rows.key, write })
    } catch (error) {
      await this.#writeUnheld(error)
    }
    // The commit itself met the wish to stop it.
    if (this.#answer === null && task.stopRequested && !stops) await this.write(answer)
  }

  /**
   * It can't be held. Where it was accepted, its receipt says why; else nothing is kept of it, since it did nothing.
   * @throws the error, unless it was accepted
   */
  async #writeUnheld(error: unknown): Promise<void> {
    const { isAccepted, tally, sent, task, rows, before } = this.#facts
    const failure = error instanceof FluxError ? error.failure : null
    if (failure === null || failure.kind === 'unavailable') throw error
    if (!isAccepted) {
      await task.end([rows.answer(null, before), rows.event(null)])
      throw error
    }
    const entry = { contextId: null, fluxName: '', state: null, reason: failure.detail }
    tally.add([{ answer: 'ignored', entry, failure, hasEnded: false }])
    await this.#commit(tally.answer(sent), [])
  }

  /** `more`: those that hold it. False: another server has ended it, or it is to be stopped, and was not held. */
  async #commit(whole: EventAnswer, more: readonly RowWrite[]): Promise<boolean> {
    // The first answer has as much as a repeat can be given.
    const answer = { ...whole, ignored: storedIgnored(whole.ignored) }
    try {
      await this.#facts.task.end([...this.#rowsOf(answer), ...more], { unlessStopped: more.length > 0 })
      this.#answer = answer
      countAll(this.#facts.parts.signals, this.#countsOf(answer))
      return true
    } catch (error) {
      if (error instanceof TaskLost) this.#lost = error
      else if (!(error instanceof StopRequested)) throw error
      return false
    }
  }

  /** An event that is held for nobody yet is pending, too. */
  #countsOf({ pending }: EventAnswer): Outcomes['counts'] {
    const { counts } = this.#facts.tally
    return { ...counts, pending: Math.max(counts.pending, pending.length) }
  }

  #rowsOf(given: EventAnswer): RowWrite[] {
    const { rows, sent, tally, before, isAccepted, isAnswered } = this.#facts
    const { hash, at } = readKept(before)
    const text = isAnswered ? answerText({ hash, at, event: sent.event, answer: given, by: this.#by }) : before
    const outcomes = { ...tally.outcomes(), pending: newest(given.pending) }
    const counts = this.#countsOf(given)
    const summary = { ...this.#facts.summary, outcomes: { ...outcomes, counts }, isDone: true }
    // Of one that met nobody the answer says it all.
    const isKnown = !isAccepted && counts.moved + counts.started + counts.ignored + counts.pending === 0
    return [rows.answer(text, before), rows.event(null), ...(isKnown ? [] : [rows.summary(summary)])]
  }
}
