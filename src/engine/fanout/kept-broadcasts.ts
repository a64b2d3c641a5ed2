// engine/fanout: broadcasts that are stored: those under a key, and those that are accepted before they are sent to
// all. One that a crash interrupted is continued by its repeat, or by a server that starts.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import type { Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { conflict, notFound } from '../../model/failure.ts'
import type { EngineParts } from '../contexts/deps.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import {
  contentHashOf,
  countRepeat,
  inProgress,
  mismatch,
  readKept,
  readKeptToAll,
  readKeptToSingle,
  rowKeyOf,
  type ScopedKey,
} from '../idempotency/kept-answer.ts'
import { TaskQueue } from '../tasks/queue.ts'
import { TaskLost } from '../tasks/task.ts'
import { readStored, type BroadcastEvent } from './broadcast-rows.ts'
import { BroadcastRun, type RunParts } from './broadcast-run.ts'
import { BroadcastPlace } from './receivers.ts'

interface KeptBroadcastsParts extends RunParts {
  readonly idempotency: Idempotency
  readonly given: EngineParts
  /** Bounds the large broadcasts under way, also those that other servers have abandoned. */
  readonly broadcasts: CountBound
}

/** How a broadcast is answered. */
export interface Manner {
  /** Contexts up to which it is answered when it is done; for more, it is accepted first. Null: any number. */
  readonly above: number | null
  /** Milliseconds for which the sender of an accepted broadcast waits for its end. */
  readonly within: number
  /** Bounds large broadcasts; null: this one is not refused. */
  readonly bound: CountBound | null
}

/** The row of a key under which an event is sent to all. */
export interface BroadcastKey {
  readonly key: string
  /** Hash of the content. */
  readonly hash: string
  /** Milliseconds for which the answer is kept. */
  readonly kept: number
  readonly of: Pick<AnswerKind<EventAnswer>, 'answer'>
}

export class KeptBroadcasts {
  readonly #parts: KeptBroadcastsParts
  /** The broadcasts that run on this server, and those that others have abandoned. */
  readonly tasks: TaskQueue<BroadcastRun>

  constructor(parts: KeptBroadcastsParts) {
    const { store, log, broadcasts: bound } = parts
    this.#parts = parts
    this.tasks = new TaskQueue(parts, {
      space: 'broadcasts',
      prefix: '',
      name: 'a broadcast',
      bound,
      load: async (row) => {
        const { key, partition, value: task } = row
        const stored = await readStored(store, row)
        const answer = await store.readRow({ partition, space: 'idempotency', key })
        if (!stored || !answer) return null
        log.info('a broadcast that was cut off is carried on', { event: stored.sent.event })
        // It was accepted before, so it goes on even beyond the bound.
        bound.add()
        const place = new BroadcastPlace(bound, true)
        return new BroadcastRun(parts, { key, stored, place, left: { answer: answer.value, task } })
      },
    })
  }

  /**
   * Sends the event to all that it is for. `isKept`: once under its key; a repeat gets the answer to the first. Else it
   * is stored only where it is for so many that it is accepted before it is sent.
   * @throws FluxError as `Idempotency.once`; `unavailable` when the store was out of reach and the event moved and
   * started nothing; `overloaded` when it is for many, and too many such broadcasts are under way
   */
  send(
    call: ScopedKey & Pick<BroadcastKey, 'of'>,
    sent: BroadcastEvent,
    manner: Manner,
    isKept: boolean,
  ): Promise<Told<EventAnswer>> {
    const key = rowKeyOf(call)
    if (!isKept) return this.#sendNew(key, sent, manner, null)
    const { idempotency, given } = this.#parts
    const under = { key, hash: hashOf(sent), of: call.of, kept: given.idempotency.kept }
    return idempotency.alone(key, under.hash, () => this.onceUnder(under, sent, manner))
  }

  /** Sends it once, under the key of that row, under which nothing else is under way here. */
  async onceUnder(under: BroadcastKey, sent: BroadcastEvent, manner: Manner): Promise<Told<EventAnswer>> {
    const told =
      (await this.#earlier(under)) ??
      (await this.#sendNew(under.key, sent, manner, under).catch(nullIfLost)) ??
      // Another server has begun it just now.
      (await this.#earlier(under))
    if (!told) throw inProgress()
    return told
  }

  /**
   * Stops it, on whichever server it is under way. @throws FluxError `notFound` when nothing is kept of it, `conflict`
   * when it is done
   */
  async stop(call: ScopedKey): Promise<void> {
    const [{ store }, key] = [this.#parts, rowKeyOf(call)]
    const toAll = await readKeptToAll(store, key)
    if (toAll && (await this.tasks.stop(toAll))) return
    if (!toAll && (await readKeptToSingle(store, key)).length === 0)
      throw notFound(`nothing is kept of an event '${call.key}'`)
    throw conflict('the event was sent to all that it was for')
  }

  /** What the first request under the key was answered, or is, if it was cut off; null: there was none. */
  async #earlier({ key, hash, of }: BroadcastKey) {
    const { store, given } = this.#parts
    const row = await readKeptToAll(store, key)
    if (!row) return null
    const earlier = readKept(row.value)
    if (earlier.hash !== hash) throw mismatch()
    if (earlier.answer !== null) {
      await countRepeat(store, key, earlier.at + given.idempotency.kept)
      const answer = of.answer.parse(earlier.answer)
      if (!earlier.isAccepted) return { answer, replayed: true }
      const here = await this.tasks.resume(row)
      return { answer, replayed: true, ended: here?.ended ?? Promise.resolve() }
    }
    // It may still run here, although its caller has left.
    const taken = await this.tasks.takeOver(row)
    const answer = await taken?.run.wait()
    if (!answer) throw inProgress()
    return { answer, replayed: true }
  }

  /**
   * Sends it to all that it is for. One for many is accepted, unless its sender waits for so long as it takes. `under`:
   * the key of its sender; null: it has none, so one for few need not be stored.
   */
  async #sendNew(key: string, sent: BroadcastEvent, { above, within, bound }: Manner, under: BroadcastKey | null) {
    const { store, clock, idempotency, given } = this.#parts
    const now = clock.now()
    const upTo = await store.highestId()
    const kept = under?.kept ?? given.idempotency.kept
    const stored = { sent, upTo, expiresAt: now + kept, drawn: { seed: (given.uuid ?? randomUUID)(), now } }
    const run = new BroadcastRun(this.#parts, { key, stored, place: new BroadcastPlace(bound) })
    try {
      await run.prepare()
      const isAccepted = run.matched > (above ?? Infinity)
      if (under === null && !isAccepted) return { answer: await run.sendUnstored() }
      // Beyond the bound, repeats are still answered.
      idempotency.requireRoom()
      const whole = isAccepted ? within > 0 && run.wait(within) : run.wait()
      const begun = run.begin(under?.hash ?? hashOf(sent), isAccepted)
      const ended = this.tasks.run(run, begun)
      await begun
      const answer = await whole
      return answer ? { answer } : { answer: run.acceptance(), ended }
    } catch (error) {
      run.release()
      throw error
    }
  }
}

function nullIfLost(error: unknown) {
  if (error instanceof TaskLost) return null
  throw error
}

/** Hash of what is sent. */
export const hashOf = ({ event, input, tags, ttl }: BroadcastEvent) =>
  contentHashOf({ event, input, tags, ttl: ttl ?? undefined })
