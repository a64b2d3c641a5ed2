// engine/fanout: broadcasts that are stored: those under a key, and those that are accepted before they are sent to
// all. One that a crash has cut off is carried on by whoever repeats it, or by a server that starts.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import type { Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { conflict, notFound } from '../../model/failure.ts'
import { partitionOf, type StoredRow } from '../../model/rows.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import {
  contentHashOf,
  inProgress,
  keptOfEvent,
  mismatch,
  readKept,
  readKeptToAll,
  rowKeyOf,
  type KeptAnswer,
  type ScopedKey,
} from '../idempotency/kept-answer.ts'
import { dropRows } from '../tasks/fan-out.ts'
import { inDoubtIfAway, isLeft, TaskQueue } from '../tasks/queue.ts'
import { requestStop, TaskLost } from '../tasks/task.ts'
import { movedPrefix, readStored, startedPrefix, type KeptEvent } from './broadcast-rows.ts'
import { BroadcastRun, type RunParts } from './broadcast-run.ts'
import { BroadcastPlace } from './receivers.ts'

export interface KeptBroadcastsParts extends RunParts {
  readonly idempotency: Idempotency
  /** Milliseconds for which answers are kept. */
  readonly kept: number
  /** Of large broadcasts that others have abandoned, too. */
  readonly bound: CountBound
}

/** How a broadcast is answered. */
export interface Manner {
  /** Contexts up to which it is answered when it is done; of more, it is accepted first. Null: however many. */
  readonly above: number | null
  /** Milliseconds for which the sender of one that is accepted waits for the answer all the same. */
  readonly within: number
  /** Of large broadcasts; null: it isn't refused. */
  readonly bound: CountBound | null
}

type BroadcastCall = ScopedKey & { readonly of: AnswerKind<EventAnswer> }

/** The row of a key under which an event is sent to all. */
export interface BroadcastKey {
  readonly key: string
  /** Of the content. */
  readonly hash: string
  /** Milliseconds for which the answer is kept. */
  readonly kept: number
  readonly of: Pick<AnswerKind<EventAnswer>, 'answer'>
}

export class KeptBroadcasts {
  readonly #parts: KeptBroadcastsParts
  /** Those that run on this server, and that others have abandoned. */
  readonly tasks: TaskQueue<BroadcastRun>

  constructor(parts: KeptBroadcastsParts) {
    this.#parts = parts
    this.tasks = new TaskQueue(parts, {
      space: 'broadcasts',
      prefix: '',
      names: { one: 'a broadcast', many: 'broadcasts' },
      bound: parts.bound,
      load: (row) => this.#load(row),
      run: (run) => this.#takeUp(run),
      found: (row) => this.#found(row),
    })
  }

  /**
   * Sends the event to all that it is for, unless that was done before: then gives the answer to that.
   * @throws FluxError as `Idempotency.once`
   */
  async once(call: BroadcastCall, sent: KeptEvent, manner: Manner): Promise<Told<EventAnswer>> {
    const hash = hashOf(sent)
    return this.onceUnder({ key: rowKeyOf(call), hash, of: call.of, kept: this.#parts.kept }, sent, manner)
  }

  /** As `once`, under the key of that row. */
  async onceUnder(under: BroadcastKey, sent: KeptEvent, manner: Manner): Promise<Told<EventAnswer>> {
    const release = this.#parts.idempotency.hold(under.key, under.hash)
    try {
      return await this.#begin(under, sent, manner)
    } catch (error) {
      throw error instanceof TaskLost ? inProgress() : error
    } finally {
      release()
    }
  }

  /**
   * Sends an event that has no key. It is stored only where it is for so many that it is accepted before it is sent.
   * @throws FluxError `unavailable` when the store was out of reach and the event moved and started nothing; `overloaded`
   * when it is for many, and too many such broadcasts are under way
   */
  send(call: ScopedKey, sent: KeptEvent, manner: Manner): Promise<Told<EventAnswer>> {
    return this.#sendNew(rowKeyOf(call), sent, manner, null)
  }

  /**
   * Stops it, on whichever server it is under way. @throws FluxError `notFound` when nothing is kept of it, `conflict`
   * when it is done
   */
  async stop(call: ScopedKey): Promise<void> {
    const { store } = this.#parts
    const { toAll: kept, toSingle } = await keptOfEvent(store, rowKeyOf(call))
    if (!kept && toSingle.length === 0) throw notFound(`nothing is kept of an event '${call.key}'`)
    if (!kept || !(await requestStop(store, { ...kept, space: 'broadcasts' })))
      throw conflict('the event was sent to all that it was for')
    return inDoubtIfAway(() => this.tasks.waitForStop(kept))
  }

  async #begin(under: BroadcastKey, sent: KeptEvent, manner: Manner): Promise<Told<EventAnswer>> {
    const { store } = this.#parts
    let there = (await readKeptToAll(store, under.key))?.value ?? null
    if (there === null) {
      try {
        return await this.#sendNew(under.key, sent, manner, under)
      } catch (error) {
        if (!(error instanceof TaskLost)) throw error
        there = error.row ?? (await readKeptToAll(store, under.key))?.value ?? null
      }
    }
    if (there === null) throw inProgress()
    return this.#repeat(under, readKept(there))
  }

  async #repeat({ key, hash, of }: BroadcastKey, earlier: KeptAnswer): Promise<Told<EventAnswer>> {
    if (earlier.hash !== hash) throw mismatch()
    const { idempotency, store } = this.#parts
    const partition = partitionOf(key, store.partitions)
    if (earlier.answer !== null) {
      await idempotency.noteRepeat(key, earlier.at)
      const told = { answer: of.answer.parse(earlier.answer), replayed: true } as const
      return earlier.isAccepted ? { ...told, ...(await this.tasks.resume({ key, partition })) } : told
    }
    // A caller may have left one that goes on here.
    const taken = this.tasks.get(key) ? null : await this.tasks.takeOver({ key, partition })
    if (!taken) throw inProgress()
    const { sent } = await inDoubtIfAway(() => this.#takeUp(taken))
    return { answer: await taken.whileInReach(sent), replayed: true }
  }

  /**
   * Sends it to all that it is for. One for many is accepted, unless its sender waits for so long as it takes. `under`:
   * the key of its sender; null: it has none, so one for few need not be stored.
   */
  async #sendNew(
    key: string,
    sent: KeptEvent,
    { above, within, bound }: Manner,
    under: Pick<BroadcastKey, 'hash' | 'kept'> | null,
  ): Promise<Told<EventAnswer>> {
    const { store, clock, idempotency } = this.#parts
    const now = clock.now()
    const stored = {
      sent: { ...sent, receipt: key },
      upTo: await store.highestId(),
      above,
      expiresAt: now + (under?.kept ?? this.#parts.kept),
      drawn: { seed: randomUUID(), now },
    }
    const run = new BroadcastRun(this.#parts, { key, stored, place: new BroadcastPlace(bound) })
    let waited: Promise<EventAnswer | null> | null = null
    try {
      await run.look()
      if (under === null && !run.isForMany) return { answer: await run.sendUnstored() }
      // Where there is no room, repeats are still answered.
      idempotency.requireRoom()
      if (run.isForMany && within > 0) waited = run.wait(within)
      await run.begin(under?.hash ?? hashOf(sent))
    } catch (error) {
      run.giveUp()
      run.place.release()
      throw error
    }
    const { sent: whole, ended } = this.#carryOut(run)
    if (!run.isForMany) return { answer: await run.whileInReach(whole) }
    const answer = await waited
    return answer ? { answer } : { answer: run.acceptance(), ended }
  }

  /** `sent`: the whole answer. `ended`: when this server has no more to do for it; what goes wrong is logged. */
  #carryOut(run: BroadcastRun) {
    const sent = run.carryOut()
    return { sent, ended: this.#goOn(run, sent) }
  }

  async #goOn(run: BroadcastRun, sent: Promise<EventAnswer>): Promise<void> {
    const { log } = this.#parts
    const { task } = run
    // Its receipt needs no row of a move, and they would take the room of keys. Those of starts stay: a start that comes
    // true late is kept from happening by them.
    const moves = { space: 'items', prefix: movedPrefix(task.key), end: startedPrefix(task.key) } as const
    try {
      await this.tasks.track(
        run,
        sent.then(() => dropRows(this.#parts, task, moves)),
      )
    } catch (error) {
      if (isLeft(error)) log.debug('a broadcast is left to another server', { error })
      else log.error('a broadcast could not be carried out', { error })
    }
  }

  async #load(row: StoredRow): Promise<BroadcastRun | null> {
    const { store, bound } = this.#parts
    const { key, partition, value: task } = row
    const stored = await readStored(store, row)
    const answer = await store.readRow({ partition, space: 'idempotency', key })
    if (!stored || !answer) return null
    const [place, left] = [new BroadcastPlace(bound), { answer: answer.value, task }]
    return new BroadcastRun(this.#parts, { key, stored, place, left })
  }

  /** Carries out one that was taken over. */
  async #takeUp(run: BroadcastRun) {
    run.place.add()
    try {
      await run.look()
    } catch (error) {
      run.place.release()
      await run.task.handOver()
      throw error
    }
    return this.#carryOut(run)
  }

  async #found({ key, partition }: StoredRow): Promise<void> {
    const { store, idempotency, log } = this.#parts
    const row = await store.readRow({ partition, space: 'idempotency', key })
    if (!row || idempotency.isHeld(key)) return
    const { hash, event } = readKept(row.value)
    const release = idempotency.hold(key, hash)
    const { ended } = await this.tasks.resume({ key, partition }).catch((error: unknown) => {
      release()
      throw error
    })
    const ours = this.tasks.get(key)
    if (ours) log.info('a broadcast that was cut off is carried on', { event })
    // Who repeats one that is accepted gets that answer at once.
    if (ours?.run.isAccepted === false) void ended.then(release)
    else release()
  }
}

/** Of what is sent. */
const hashOf = ({ event, input, tags, ttl }: KeptEvent): string =>
  contentHashOf({ event, input, tags, ttl: ttl ?? undefined })
