// engine/idempotency: broadcasts under a key. A row says that one is under way, and who carries it on; when it is done,
// the answer takes its place. One that a crash has cut off is carried on by whoever repeats it, or by a server that starts.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import { markReplayed } from '../../api/replayed.ts'
import { SEND_EVENT, type EventAnswer } from '../../api/send-event.ts'
import { FluxError } from '../../model/failure.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitOutcome } from '../../ports/store.ts'
import { answerToAll, broadcast, type BroadcastParts } from '../calls/broadcast.ts'
import type { Identity } from '../heartbeat.ts'
import { BroadcastItems } from './broadcast-items.ts'
import type { Idempotency } from './idempotency.ts'
import { contentHashOf } from './content-hash.ts'
import { claimIn, inProgress, mismatch } from './key-claim.ts'
import type { KeptEvent, RunningBroadcast } from './running-broadcast.ts'
import { readKept, rowKeyOf, type ScopedKey } from './kept-answer.ts'

export interface KeptBroadcastsParts extends BroadcastParts {
  readonly clock: Clock
  readonly idempotency: Idempotency
  /** Milliseconds for which answers are kept. */
  readonly kept: number
  readonly identity: Pick<Identity, 'owner'>
  /** Milliseconds between heartbeats; null: no other server can be there. */
  readonly beat: number | null
}

/** Heartbeats for which a server that says nothing is believed to have calls under a key under way. */
export const LEASE_BEATS = 7
const isInDoubt = ({ failure }: FluxError): boolean => failure.kind === 'unavailable' && failure.inDoubt === true

/** Rows looked at at once. */
const ROWS_AT_ONCE = 100

export class KeptBroadcasts {
  readonly #parts: KeptBroadcastsParts
  #callOff: (() => void) | null = null
  #stopped = false

  constructor(parts: KeptBroadcastsParts) {
    this.#parts = parts
  }

  /**
   * Sends the event to all that it is for, unless that was done before: then gives the answer to that.
   * @throws FluxError as `Idempotency.once`
   */
  async once(call: ScopedKey & { readonly of: AnswerKind<EventAnswer> }, sent: KeptEvent): Promise<EventAnswer> {
    const { event, input, tags } = sent
    const key = rowKeyOf(call)
    const hash = await contentHashOf({ event, input, tags })
    const release = this.#parts.idempotency.hold(key, hash)
    try {
      return await this.#begin(key, { hash, of: call.of, sent })
    } finally {
      release()
    }
  }

  /** Carries on what a crash has cut off, now and from time to time. */
  start(): void {
    void this.#resume().finally(() => {
      const { beat, clock } = this.#parts
      if (beat !== null && !this.#stopped) this.#callOff = clock.after(beat * LEASE_BEATS, () => this.start())
    })
  }

  /** Carries on nothing more. What is under way ends with the store. */
  stop(): void {
    this.#stopped = true
    this.#callOff?.()
  }

  async #begin(
    key: string,
    { hash, of, sent }: { hash: string; of: AnswerKind<EventAnswer>; sent: KeptEvent },
  ): Promise<EventAnswer> {
    const { store, clock, kept, idempotency } = this.#parts
    const partition = partitionOf(key, store.partitions)
    const at = clock.now()
    const value = JSON.stringify({ hash, at, by: randomUUID(), event: sent.event, answer: null })
    const running = { ...this.#lease(), upTo: await store.highestId(), expiresAt: at + kept, value, sent }
    // Where there is no room, repeats are still answered.
    const isFull = idempotency.isFull()
    const row = isFull ? await store.readRow({ partition, space: 'idempotency', key }) : null
    if (isFull && !row) await idempotency.requireRoom()
    const outcome = row
      ? null
      : await this.#write(key, { answer: { expects: null, value }, running: { expects: null, running } })
    if (outcome?.ok === true) return this.#run(key, { ...running, isNew: true })
    const there = row?.value ?? (outcome && 'row' in outcome ? outcome.row.value : null)
    if (there === null) throw inProgress()
    if (claimIn(there) !== null) {
      await idempotency.clear(key, hash, there)
      const next = await this.#write(key, { answer: { expects: there, value }, running: { expects: null, running } })
      if (next.ok) return this.#run(key, { ...running, isNew: true })
      throw inProgress()
    }
    const earlier = readKept(there)
    if (earlier.hash !== hash) throw mismatch()
    if (earlier.answer !== null) await idempotency.noteRepeat({ partition, key, at: earlier.at })
    if (earlier.answer !== null) return markReplayed(of.answer.parse(earlier.answer))
    const taken = await this.#takeOver(key, partition)
    if (!taken) throw inProgress()
    return markReplayed(await this.#run(key, taken))
  }

  /** Takes the broadcast from a server that does not carry it on any more; null: that one does, or it is done. */
  async #takeOver(key: string, partition: number): Promise<RunningBroadcast | null> {
    const { store, clock, identity, beat } = this.#parts
    const row = await store.readRow({ partition, space: 'broadcasts', key })
    if (!row) return null
    const running: RunningBroadcast = JSON.parse(row.value)
    const isHeld = beat !== null && running.owner !== identity.owner && running.until > clock.now()
    if (isHeld) return null
    const ours = { ...running, ...this.#lease() }
    const outcome = await this.#write(key, { running: { expects: row.value, running: ours } })
    return outcome.ok ? ours : null
  }

  #lease(): Pick<RunningBroadcast, 'owner' | 'until'> {
    const { identity, clock, beat } = this.#parts
    return { owner: identity.owner, until: clock.now() + (beat ?? 0) * LEASE_BEATS }
  }

  async #run(key: string, running: RunningBroadcast): Promise<EventAnswer> {
    const { store } = this.#parts
    const { upTo, expiresAt, value, sent } = running
    const items = new BroadcastItems({ store, rowKey: key, upTo, expiresAt })
    const endLease = this.#keepLease(key, running)
    let found
    try {
      found = await broadcast(this.#parts, sent, items)
    } catch (error) {
      const lease = endLease()
      // Nobody was moved, by any server: then it is not remembered.
      const isRefused = error instanceof FluxError && !isInDoubt(error)
      if (isRefused && running.isNew === true) await this.#forget(key, { value, lease })
      throw error
    }
    endLease()
    const answer = answerToAll(found, sent.eventId)
    const { hash, at } = readKept(value)
    const done = JSON.stringify({ hash, at, by: randomUUID(), event: sent.event, answer })
    const rows = { answer: { expects: value, value: done, expiresAt }, running: { running: null } }
    const outcome = await this.#write(key, rows)
    // Another server, which took this one for dead, was done first.
    const there = 'row' in outcome && outcome.row.value !== null ? readKept(outcome.row.value) : null
    return there?.hash === hash && there.answer !== null ? SEND_EVENT.answer.parse(there.answer) : answer
  }

  /** `lease`: as the row that says who carries it on has it; once another server does, it is not forgotten. */
  async #forget(key: string, { value, lease }: { readonly value: string; readonly lease: string }): Promise<void> {
    try {
      const rows = { answer: { expects: value, value: null }, running: { expects: lease, running: null } }
      await this.#write(key, rows)
    } catch (error) {
      this.#parts.log.debug('a broadcast that moved nobody is carried on when it is repeated', { error })
    }
  }

  /** Says, with each heartbeat, that it is still under way. The function that ends it gives the row as it is then. */
  #keepLease(key: string, { isNew: _isNew, ...running }: RunningBroadcast): () => string {
    const { beat, clock, log } = this.#parts
    let [callOff, isOver, latest] = [() => {}, false, JSON.stringify(running)]
    if (beat === null) return () => latest
    const renew = async () => {
      const next = { ...running, ...this.#lease() }
      try {
        // Once it is done, or another server has taken it over, the row is another.
        const { ok } = await this.#write(key, { running: { expects: latest, running: next } })
        if (ok) latest = JSON.stringify(next)
      } catch (error) {
        log.debug('the lease of a broadcast could not be renewed', { error })
      }
      renewLater()
    }
    const renewLater = () => {
      if (!isOver) callOff = clock.after(beat, () => void renew())
    }
    renewLater()
    return () => {
      isOver = true
      callOff()
      return latest
    }
  }

  /** Writes the rows of a broadcast, both or none. */
  #write(
    key: string,
    rows: {
      readonly answer?: Pick<RowWrite, 'expects' | 'value'> & { readonly expiresAt?: number }
      readonly running: { readonly expects?: string | null; readonly running: RunningBroadcast | null }
    },
  ): Promise<CommitOutcome> {
    const { store, clock, kept } = this.#parts
    const partition = partitionOf(key, store.partitions)
    const at = { partition, key, expiresAt: clock.now() + kept }
    const { expects, running } = rows.running
    const value = running && JSON.stringify(running)
    return store.commit({
      writes: [],
      rows: [
        ...(rows.answer ? [{ ...at, space: 'idempotency', ...rows.answer } as const] : []),
        { ...at, space: 'broadcasts', ...(expects !== undefined && { expects }), value },
      ],
    })
  }

  async #resume(): Promise<void> {
    const { store, log } = this.#parts
    try {
      for (let after; !this.#stopped;) {
        const rows = await store.listRows({ space: 'broadcasts', prefix: '', after, limit: ROWS_AT_ONCE })
        for (const { key, partition } of rows) if (!this.#stopped) await this.#carryOn(key, partition)
        after = rows.at(-1)
        if (rows.length < ROWS_AT_ONCE) return
      }
    } catch (error) {
      if (!this.#stopped)
        log.error('broadcasts that were cut off could not be carried on; trying again later', { error })
    }
  }

  async #carryOn(key: string, partition: number): Promise<void> {
    const { store, idempotency, log } = this.#parts
    const row = await store.readRow({ partition, space: 'idempotency', key })
    if (!row || idempotency.isHeld(key)) return
    const release = idempotency.hold(key, readKept(row.value).hash)
    try {
      const taken = await this.#takeOver(key, partition)
      if (!taken) return
      await this.#run(key, taken)
      log.info('a broadcast that was cut off has been carried on', { event: taken.sent.event })
    } finally {
      release()
    }
  }
}
