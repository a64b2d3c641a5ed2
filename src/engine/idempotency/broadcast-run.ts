// engine/idempotency: carries out a broadcast that is stored, in waves. Between them it says how far it is, so that
// whoever carries it on begins there, and looks whether somebody wants it stopped.
import type { EventAnswer } from '../../api/send-event.ts'
import type { ContextId } from '../../model/context.ts'
import type { RowWrite } from '../../model/rows.ts'
import { answerToAll, findReceivers, moveAll, yieldTurn, type BroadcastParts } from '../calls/broadcast.ts'
import type { BroadcastPlace } from '../calls/broadcast-place.ts'
import { isOutOfReach } from '../calls/broadcast-receivers.ts'
import { BroadcastTally, NO_OUTCOMES } from '../calls/broadcast-tally.ts'
import { startTriggered } from '../calls/broadcast-triggers.ts'
import { BroadcastEnd, type BroadcastEndParts } from './broadcast-end.ts'
import { BroadcastItems, receiverOf } from './broadcast-items.ts'
import { Ownership, type OwnershipParts } from '../carried/ownership.ts'
import { withEarlierMoves, withEarlierStarts } from './earlier-tries.ts'
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
import { Patience } from '../carried/patience.ts'

export interface RunParts extends BroadcastParts, OwnershipParts, BroadcastEndParts {}

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
  readonly ownership: Ownership
  readonly patience: Patience
  readonly isNew: boolean
  #answer: string
  #tally = new BroadcastTally({ whole: true })
  /** Those who are to be sent it, in order. */
  #ids: readonly ContextId[] = []
  #at = 0
  /** Those to whom it was sent before. */
  #before = 0
  /** As it was stored last. */
  #summary: Summary = summaryAtFirst(0)
  /** No earlier stage is stored, since one above it was begun before. */
  #earlierEnd: ContextId = 0

  constructor(parts: RunParts, { rows, stored, answer, ownership }: RunFacts) {
    this.#parts = parts
    this.#rows = rows
    this.#stored = stored
    this.#answer = answer
    this.isNew = ownership === null
    this.#items = new BroadcastItems({ store: parts.store, rows, drawn: stored.drawn })
    this.ownership = new Ownership(parts, rows.ownership, ownership)
    this.patience = new Patience(parts.clock)
  }

  /** Whether its sender got the answer that it is accepted. It is then carried out whatever happens. */
  get isAccepted(): boolean {
    return readKept(this.#answer).isAccepted
  }

  /** Of its row. */
  get key(): string {
    return this.#rows.key
  }

  /** Whether it is for so many that it is accepted before it is sent. */
  get isForMany(): boolean {
    const { above } = this.#stored
    return above !== null && this.matched > above
  }

  /** Contexts that waited for it. */
  get matched(): number {
    return this.#summary.matched
  }

  /** Whether nothing was done for it so far. */
  get isUntouched(): boolean {
    const { moved, started, pending } = this.#tally.counts
    return this.isNew && moved + started + pending === 0
  }

  /** The answer that says that it is accepted. */
  acceptance(): EventAnswer {
    return acceptanceOf(this.#stored.sent, this.matched)
  }

  /**
   * Stores that it has begun. @param before the row of its key that it replaces; null: there is none
   * @throws OwnershipLost when there is another under its key; FluxError `unavailable`
   */
  begin(before: string | null): Promise<void> {
    return this.ownership.commit([this.#rows.answer(this.#answer, before), this.#rows.event(this.#stored)])
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
    await this.ownership.commit([...begun, rows.summary(this.#summary)])
    this.#answer = next
    if (!this.patience.isAwaited || this.matched > MAX_AWAITED_CONTEXTS) this.#tally.forget()
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
    return this.ownership.commit([rows.answer(null, this.#answer), rows.event(null)], { ends: true })
  }

  /**
   * Sends it to all. Once it is accepted, it goes on where it was when it is called again.
   * @throws FluxError as `broadcast`; OwnershipLost
   */
  async carryOut(): Promise<EventAnswer> {
    this.ownership.keep((error) => this.#parts.log.debug('the lease of a broadcast could not be renewed', { error }))
    while (this.#at < this.#ids.length && !this.ownership.stops) {
      await this.#stage()
      if (this.#at < this.#ids.length || this.isAccepted)
        await this.#surely(() => this.ownership.commit([this.#progress()]))
    }
    if (!this.ownership.stops) await this.#startTriggered()
    return this.#finish()
  }

  /** Sends it to the next contexts. */
  async #stage(): Promise<void> {
    const end = Math.min(this.#ids.length, this.#at + STAGE_CONTEXTS)
    for (; this.#at < end; this.#at = Math.min(end, this.#at + WAVE_CONTEXTS)) {
      this.patience.check()
      await this.#wave(this.#ids.slice(this.#at, Math.min(end, this.#at + WAVE_CONTEXTS)))
      await yieldTurn()
    }
    this.patience.check()
  }

  /** One that is accepted is sent again to those whom the store could not be reached for. */
  async #wave(ids: readonly ContextId[]): Promise<void> {
    for (let left = ids; ;) {
      const made = await moveAll({ ...this.#parts, items: this.#items }, left, this.#stored.sent)
      const isFirst = this.isNew && left === ids
      const found = isFirst ? made : await withEarlierMoves(this.#parts.store, this.key, { ids: left, found: made })
      if (!this.isAccepted) return this.#tally.add(found)
      this.#tally.add(found.filter((one) => !isOutOfReach(one)))
      left = left.filter((_, place) => isOutOfReach(found[place] ?? null))
      if (left.length === 0) return
      await this.patience.waitForStore()
    }
  }

  async #startTriggered(): Promise<void> {
    const { catalog } = this.#parts
    const receivers = { ...this.#parts, items: this.#items }
    const { sent } = this.#stored
    const services = catalog.triggeredBy(sent.event)
    for (;;) {
      const found = await startTriggered(receivers, services, sent, this.#tally)
      if (!this.isAccepted || !found.some(isOutOfReach))
        return this.#tally.add(this.isNew ? found : await withEarlierStarts(this.#items, services, found))
      await this.patience.waitForStore()
    }
  }

  async #finish(): Promise<EventAnswer> {
    const [{ refusals }, { sent }] = [this.#parts, this.#stored]
    // Its sender gets the whole answer if it still waits for it.
    const isAnswered = !this.isAccepted || (this.#tally.isWhole && this.patience.close())
    const answer = answerToAll(this.#tally, sent, refusals)
    const end = new BroadcastEnd({
      parts: this.#parts,
      rows: this.#rows,
      ownership: this.ownership,
      sent,
      tally: this.#tally,
      summary: { ...this.#summary, ...this.#dealt() },
      before: this.#answer,
      isAccepted: this.isAccepted,
      isAnswered,
    })
    this.ownership.rest()
    await this.#surely(() => end.write(answer))
    if (isAnswered) this.patience.answer(end.answer)
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
      dealt: this.#before + this.#at,
      cursor: isLast ? this.#stored.upTo : (this.#ids[this.#at - 1] ?? this.#summary.cursor),
    }
  }

  /** Does it again while the store is out of reach, if the broadcast is accepted. */
  #surely(step: () => Promise<void>): Promise<void> {
    return this.isAccepted ? this.patience.persist(step) : step()
  }
}
