// engine/fanout: broadcasts that are stored: those under a key, and those that are accepted before they are sent to
// all. One that a crash has cut off is carried on by whoever repeats it, or by a server that starts.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import type { Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { conflict, notFound } from '../../model/failure.ts'
import { partitionOf, type StoredRow } from '../../model/rows.ts'
import { type Receivers, BroadcastPlace } from './broadcast.ts'
import { dropRows, requestStop, TaskLost } from '../tasks/task.ts'
import { inDoubtIfAway, isLeft, TaskQueue } from '../tasks/queue.ts'
import {
  movedPrefix,
  startedPrefix,
  answerText,
  BroadcastRows,
  readStored,
  type KeptEvent,
  type StoredBroadcast,
} from './broadcast-rows.ts'
import { BroadcastRun, type RunParts } from './broadcast-run.ts'
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
import type { Idempotency } from '../idempotency/idempotency.ts'

export interface KeptBroadcastsParts extends RunParts {
  readonly idempotency: Idempotency
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
      run: (run) => this.#takeUp(run, new BroadcastPlace(parts.bound)),
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

  /** Stores an event that has no key, and sends it to those receivers. @throws FluxError */
  async accept(
    call: ScopedKey,
    sent: KeptEvent,
    { receivers, manner }: { readonly receivers: Receivers; readonly manner: Manner },
  ): Promise<Told<EventAnswer>> {
    const { idempotency, clock } = this.#parts
    if (idempotency.isFull()) await idempotency.requireRoom()
    const hash = hashOf(sent)
    const at = clock.now()
    const answer = answerText({ hash, at, event: sent.event, answer: null })
    const run = this.#newRun(rowKeyOf(call), { sent, upTo: receivers.upTo, above: manner.above, answer, at })
    return this.#send(run, manner, receivers.ids)
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

  async #begin({ of, key, hash, kept }: BroadcastKey, sent: KeptEvent, manner: Manner): Promise<Told<EventAnswer>> {
    const { store, clock, idempotency } = this.#parts
    let there = (await readKeptToAll(store, key))?.value ?? null
    if (there === null) {
      // Where there is no room, repeats are still answered.
      if (idempotency.isFull()) await idempotency.requireRoom()
      try {
        const at = clock.now()
        const answer = answerText({ hash, at, event: sent.event, answer: null })
        const run = this.#newRun(key, { sent, upTo: await store.highestId(), above: manner.above, answer, at, kept })
        return await this.#send(run, manner)
      } catch (error) {
        if (!(error instanceof TaskLost)) throw error
        there = error.row ?? (await readKeptToAll(store, key))?.value ?? null
      }
    }
    if (there === null) throw inProgress()
    const earlier = readKept(there)
    if (earlier.hash !== hash) throw mismatch()
    return this.#repeat(key, earlier, { of, manner })
  }

  async #repeat(
    key: string,
    earlier: KeptAnswer,
    { of, manner }: { of: BroadcastKey['of']; manner: Manner },
  ): Promise<Told<EventAnswer>> {
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
    const { sent } = await inDoubtIfAway(() => this.#takeUp(taken, manner.place))
    return { answer: await taken.whileInReach(sent), replayed: true }
  }

  /** Sends it to all that it is for. One for many is accepted, unless its sender waits for so long as it takes. */
  async #send(
    run: BroadcastRun,
    { within, place }: Manner,
    receivers?: readonly ContextId[],
  ): Promise<Told<EventAnswer>> {
    await run.look(place, receivers)
    const waited = run.isForMany && within > 0 ? run.sender.wait(within) : null
    try {
      await run.begin()
    } catch (error) {
      run.sender.giveUp()
      throw error
    }
    const { sent, ended } = this.#carryOut(run, place)
    if (!run.isForMany) return { answer: await run.whileInReach(sent) }
    const answer = await waited
    return answer ? { answer } : { answer: run.acceptance(), ended }
  }

  /** `sent`: the whole answer. `ended`: when this server has no more to do for it. */
  #carryOut(run: BroadcastRun, place: BroadcastPlace) {
    const passed = place.pass()
    const sent = run.carryOut()
    return { sent, ended: this.#goOn(run, sent, passed) }
  }

  /** Tidies up when it was sent to all; what goes wrong is logged. */
  async #goOn(run: BroadcastRun, sent: Promise<EventAnswer>, place: BroadcastPlace): Promise<void> {
    const { log } = this.#parts
    try {
      await this.tasks.track(run, this.#tidy(run, sent, place))
    } catch (error) {
      if (isLeft(error)) log.debug('a broadcast is left to another server', { error })
      else log.error('a broadcast could not be carried out', { error })
    } finally {
      place.release()
    }
  }

  async #tidy(run: BroadcastRun, sent: Promise<EventAnswer>, place: BroadcastPlace): Promise<void> {
    await sent
    place.release()
    // Its receipt needs no row of a move, and they would take the room of keys. Those of starts stay: a start that comes
    // true late is kept from happening by them.
    const { task } = run
    const moves = { space: 'items', prefix: movedPrefix(task.key), end: startedPrefix(task.key), task } as const
    await dropRows(this.#parts, moves)
  }

  async #load(row: StoredRow): Promise<BroadcastRun | null> {
    const { store } = this.#parts
    const { key, partition } = row
    const stored = await readStored(store, row)
    const answer = await store.readRow({ partition, space: 'idempotency', key })
    if (!stored || !answer) return null
    const rows = new BroadcastRows({ key, store, expiresAt: stored.expiresAt })
    return new BroadcastRun(this.#parts, { rows, stored, answer: answer.value, before: row.value })
  }

  /** Carries out one that was taken over. */
  async #takeUp(run: BroadcastRun, place: BroadcastPlace) {
    place.add()
    try {
      await run.look(place)
    } catch (error) {
      place.release()
      await run.task.handOver()
      throw error
    }
    return this.#carryOut(run, place)
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
      before: null,
    })
  }
}

/** Of what is sent. */
const hashOf = ({ event, input, tags, ttl }: KeptEvent): string =>
  contentHashOf({ event, input, tags, ttl: ttl ?? undefined })
