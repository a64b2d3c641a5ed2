// engine/idempotency: broadcasts that are stored: those under a key, and those that are accepted before they are sent to
// all. One that a crash has cut off is carried on by whoever repeats it, or by a server that starts.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import { markAccepted } from '../../api/accepted.ts'
import { markReplayed } from '../../api/replayed.ts'
import type { EventAnswer } from '../../api/send-event.ts'
import { conflict, FluxError, notFound } from '../../model/failure.ts'
import { partitionOf } from '../../model/rows.ts'
import type { Receivers } from '../calls/broadcast.ts'
import type { BroadcastPlace } from '../calls/broadcast-place.ts'
import { isInDoubt } from '../carried/carrier.ts'
import { BroadcastCarrier, type CarrierParts } from './broadcast-carrier.ts'
import { askToStop, OwnershipLost } from '../carried/ownership.ts'
import { answerText, BroadcastRows, type KeptEvent, type StoredBroadcast } from './broadcast-rows.ts'
import { BroadcastRun } from './broadcast-run.ts'
import { contentHashOf } from './content-hash.ts'
import { claimIn, inProgress, mismatch, type ClaimParts } from './key-claim.ts'
import { readKept, rowKeyOf, type KeptAnswer, type ScopedKey } from './kept-answer.ts'
import { findKept } from './kept-row.ts'

export interface KeptBroadcastsParts extends CarrierParts {
  /** Milliseconds for which answers are kept. */
  readonly kept: number
}

/** How a broadcast is answered. */
export interface Manner {
  /** Contexts up to which it is answered when it is done; of more, it is accepted first. Null: however many. */
  readonly above: number | null
  /** Milliseconds for which the sender of one that is accepted waits for the answer all the same. */
  readonly within: number
  readonly place: BroadcastPlace
}

type BroadcastCall = ScopedKey & { readonly of: AnswerKind<EventAnswer> }

/** The row of a key under which an event is sent to all. */
export interface BroadcastKey extends Pick<ClaimParts, 'key' | 'hash' | 'isForAny' | 'kept'> {
  readonly of: Pick<AnswerKind<EventAnswer>, 'answer'>
}

export class KeptBroadcasts {
  readonly #parts: KeptBroadcastsParts
  readonly #carrier: BroadcastCarrier

  constructor(parts: KeptBroadcastsParts) {
    this.#parts = parts
    this.#carrier = new BroadcastCarrier(parts)
  }

  /**
   * Sends the event to all that it is for, unless that was done before: then gives the answer to that.
   * @throws FluxError as `Idempotency.once`
   */
  async once(call: BroadcastCall, sent: KeptEvent, manner: Manner): Promise<EventAnswer> {
    const hash = await hashOf(sent)
    return this.onceUnder({ key: rowKeyOf(call), hash, of: call.of, kept: this.#parts.kept }, sent, manner)
  }

  /** As `once`, under the key of that row. */
  async onceUnder(under: BroadcastKey, sent: KeptEvent, manner: Manner): Promise<EventAnswer> {
    const release = this.#parts.idempotency.hold(under.key, under.hash)
    try {
      return await this.#begin(under, sent, manner)
    } catch (error) {
      throw error instanceof OwnershipLost ? inProgress() : error
    } finally {
      release()
    }
  }

  /** Stores an event that has no key, and sends it to those receivers. @throws FluxError */
  async accept(
    call: ScopedKey,
    sent: KeptEvent,
    { receivers, manner }: { readonly receivers: Receivers; readonly manner: Manner },
  ): Promise<EventAnswer> {
    const { idempotency, clock } = this.#parts
    if (idempotency.isFull()) await idempotency.requireRoom()
    const hash = await hashOf(sent)
    const at = clock.now()
    const answer = answerText({ hash, at, event: sent.event, answer: null })
    const run = this.#newRun(rowKeyOf(call), { sent, upTo: receivers.upTo, above: manner.above, answer, at })
    await run.look(manner.place, receivers.ids)
    return this.#letGo(run, manner, { isBegun: false })
  }

  /**
   * Stops it, on whichever server it is under way. @throws FluxError `notFound` when nothing is kept of it, `conflict`
   * when it is done
   */
  async stop(call: ScopedKey): Promise<void> {
    const { store } = this.#parts
    const kept = await findKept(store, rowKeyOf(call))
    if (!kept) throw notFound(`nothing is kept of an event '${call.key}'`)
    if (!(await askToStop(store, { ...kept, space: 'broadcasts' })))
      throw conflict('the event was sent to all that it was for')
    return this.#carrier.waitForStop(kept)
  }

  /** Carries on what a crash has cut off, now and from time to time. */
  start(): void {
    this.#carrier.start()
  }

  /** Nobody waits any longer for the end of a broadcast. */
  giveUp(): void {
    this.#carrier.giveUp()
  }

  /** Carries on nothing more; resolves when it has left what is under way. It goes on at the next start. */
  close(): Promise<void> {
    return this.#carrier.close()
  }

  async #begin({ of, ...under }: BroadcastKey, sent: KeptEvent, manner: Manner): Promise<EventAnswer> {
    const { store, clock, idempotency } = this.#parts
    const { key, hash, kept } = under
    const at = clock.now()
    const answer = answerText({ hash, at, event: sent.event, answer: null })
    const run = this.#newRun(key, { sent, upTo: await store.highestId(), above: manner.above, answer, at, kept })
    // Where there is no room, repeats are still answered.
    const isFull = idempotency.isFull()
    let there = isFull ? ((await findKept(store, key))?.value ?? null) : null
    if (isFull && there === null) await idempotency.requireRoom()
    if (there === null) {
      try {
        return await this.#receive(run, manner, null)
      } catch (error) {
        if (!(error instanceof OwnershipLost)) throw error
        there = error.answer ?? (await findKept(store, key))?.value ?? null
      }
    }
    if (there === null) throw inProgress()
    if (claimIn(there) !== null) {
      await idempotency.clear(under, there)
      return this.#receive(run, manner, there)
    }
    const earlier = readKept(there)
    if (earlier.hash !== hash) throw mismatch()
    return this.#repeat(key, earlier, { of, manner })
  }

  async #repeat(
    key: string,
    earlier: KeptAnswer,
    { of, manner }: { of: BroadcastKey['of']; manner: Manner },
  ): Promise<EventAnswer> {
    const { idempotency, store } = this.#parts
    const partition = partitionOf(key, store.partitions)
    if (earlier.answer !== null) {
      await idempotency.noteRepeat({ partition, key, at: earlier.at })
      const answer = markReplayed(of.answer.parse(earlier.answer))
      if (!earlier.isAccepted) return answer
      return markAccepted(answer, (await this.#carrier.carryOn(key, partition)).ended)
    }
    const taken = await this.#carrier.takeOver(key, partition)
    if (!taken) throw inProgress()
    return markReplayed(await this.#carryOut(taken, manner))
  }

  /** Stores it, in place of that row of its key, and sends it to all that it is for. @throws OwnershipLost */
  async #receive(run: BroadcastRun, manner: Manner, before: string | null): Promise<EventAnswer> {
    await run.begin(before)
    return this.#carryOut(run, manner)
  }

  /** Sends it to all that it is for; one for many is accepted first. */
  async #carryOut(run: BroadcastRun, manner: Manner): Promise<EventAnswer> {
    try {
      await run.look(manner.place)
      if (run.isForMany) return await this.#letGo(run, manner, { isBegun: true })
      return await this.#carrier.track(run, run.carryOut())
    } catch (error) {
      // Nobody was moved: then it is not remembered.
      if (error instanceof FluxError && !isInDoubt(error) && run.isUntouched) await this.#forget(run)
      throw error
    }
  }

  /** Accepts it, and carries it out while its sender has the answer, or waits for so long as it likes. */
  async #letGo(run: BroadcastRun, { within, place }: Manner, how: { isBegun: boolean }): Promise<EventAnswer> {
    const waited = within > 0 ? run.patience.wait(within) : null
    try {
      await run.accept(how)
    } catch (error) {
      run.patience.giveUp()
      throw error
    }
    const ended = this.#carrier.begin(run, place.pass())
    return (await waited) ?? markAccepted(run.acceptance(), ended)
  }

  #newRun(
    key: string,
    {
      at,
      answer,
      sent,
      kept = this.#parts.kept,
      ...facts
    }: Omit<StoredBroadcast, 'expiresAt' | 'drawn'> & {
      readonly at: number
      readonly answer: string
      readonly kept?: number
    },
  ): BroadcastRun {
    const { store } = this.#parts
    const drawn = { seed: randomUUID(), now: at }
    const stored = { ...facts, sent: { ...sent, receipt: key }, expiresAt: at + kept, drawn }
    return new BroadcastRun(this.#parts, {
      rows: new BroadcastRows({ key, store, ...stored }),
      stored,
      answer,
      ownership: null,
    })
  }

  async #forget(run: BroadcastRun): Promise<void> {
    try {
      await run.forget()
    } catch (error) {
      this.#parts.log.debug('a broadcast that moved nobody is carried on when it is repeated', { error })
    }
  }
}

/** Of what is sent. */
const hashOf = ({ event, input, tags, ttl }: KeptEvent): string | Promise<string> =>
  contentHashOf({ event, input, tags, ttl: ttl ?? undefined })
