// engine/idempotency: the broadcasts that this server carries out, its own and those that others have left.
import type { EventAnswer } from '../../api/send-event.ts'
import { BroadcastPlace } from '../calls/broadcast-place.ts'
import { Carrier, isLeft } from '../carried/carrier.ts'
import { dropRows } from '../carried/drop-rows.ts'
import { isHeldElsewhere, OwnershipLost, readOwnership } from '../carried/ownership.ts'
import { movedPrefix, startedPrefix } from './broadcast-items.ts'
import { BroadcastRows, readStored } from './broadcast-rows.ts'
import { BroadcastRun, type RunParts } from './broadcast-run.ts'
import type { Idempotency } from './idempotency.ts'
import { readKept } from './kept-answer.ts'

export interface CarrierParts extends RunParts {
  readonly idempotency: Idempotency
}

export class BroadcastCarrier {
  readonly #parts: CarrierParts
  readonly #carrier: Carrier<BroadcastRun>

  constructor(parts: CarrierParts) {
    this.#parts = parts
    this.#carrier = new Carrier(parts, {
      space: 'broadcasts',
      prefix: '',
      what: 'broadcasts',
      carryOn: (key, partition) => this.carryOn(key, partition),
      resume: (key, partition) => this.#resume(key, partition),
    })
  }

  /** Carries on what was cut off, now and from time to time. */
  start(): void {
    this.#carrier.start()
  }

  /** Nobody waits any longer for the end of a broadcast. */
  giveUp(): void {
    this.#carrier.giveUp()
  }

  /** Carries on nothing more; resolves when it has left what is under way. */
  close(): Promise<void> {
    return this.#carrier.close()
  }

  /** Carries it out; what goes wrong is logged. Resolves when this server has no more to do for it. */
  async begin(run: BroadcastRun, place: BroadcastPlace): Promise<void> {
    const { log } = this.#parts
    try {
      await this.track(run, this.#carryOut(run, place))
    } catch (error) {
      if (isLeft(error)) log.debug('a broadcast is left to whoever carries it on', { error })
      else log.error('a broadcast could not be carried out', { error })
    } finally {
      place.release()
    }
  }

  async #carryOut(run: BroadcastRun, place: BroadcastPlace): Promise<EventAnswer> {
    const answer = await run.carryOut()
    place.release()
    // Its receipt needs no row of a move, and they would take the room of keys. If another server had it, which was only
    // held up, it may still send it: the rows keep it from moving anybody again. Those of starts stay in any case: a start
    // that comes true late is kept from happening by them.
    const { isNew, key, patience } = run
    const moves = { space: 'items', prefix: movedPrefix(key), end: startedPrefix(key), patience } as const
    if (isNew) await dropRows(this.#parts, moves)
    return answer
  }

  /** Until it is settled, it is known to be under way here. */
  track(run: BroadcastRun, made: Promise<EventAnswer>): Promise<EventAnswer> {
    return this.#carrier.track(run, made)
  }

  /** Takes the broadcast from a server that does not carry it on any more; null: that one does, or it is done. */
  async takeOver(key: string, partition: number): Promise<BroadcastRun | null> {
    const { store, log } = this.#parts
    const row = await store.readRow({ partition, space: 'broadcasts', key })
    if (!row || isHeldElsewhere(readOwnership(row.value), this.#parts)) return null
    const stored = await readStored(store, row)
    const answer = await store.readRow({ partition, space: 'idempotency', key })
    if (!stored || !answer) {
      // It was ended just now; else it is nothing that could be carried on.
      const gone = { ...row, space: 'broadcasts', expects: row.value, value: null } as const
      if ((await store.commit({ writes: [], rows: [gone] })).ok)
        log.error('a broadcast that was cut off is lost', { key })
      return null
    }
    const rows = new BroadcastRows({ key, store, expiresAt: stored.expiresAt })
    const run = new BroadcastRun(this.#parts, { rows, stored, answer: answer.value, ownership: row.value })
    try {
      await run.ownership.commit([])
      return run
    } catch (error) {
      if (error instanceof OwnershipLost) return null
      throw error
    }
  }

  /** Carries it on, unless a server does. Resolves with when this one has no more to do for it. */
  async carryOn(key: string, partition: number): Promise<{ readonly ended: Promise<void> }> {
    const running = this.#carrier.get(key)
    if (running) return running
    const run = this.#carrier.isStopped ? null : await this.takeOver(key, partition)
    if (!run) return { ended: Promise.resolve() }
    const place = new BroadcastPlace(this.#parts.bound)
    place.add()
    try {
      await run.look(place)
      if (!run.isAccepted && run.isForMany) await run.accept({ isBegun: true })
    } catch (error) {
      place.release()
      await run.ownership.release()
      throw error
    }
    return { ended: this.begin(run, place) }
  }

  /** Resolves when a broadcast that was to be stopped is over, or that takes too long. */
  waitForStop(place: { readonly key: string; readonly partition: number }): Promise<void> {
    return this.#carrier.waitForStop(place)
  }

  async #resume(key: string, partition: number): Promise<void> {
    const { store, idempotency, log } = this.#parts
    const row = await store.readRow({ partition, space: 'idempotency', key })
    if (!row || idempotency.isHeld(key) || this.#carrier.get(key)) return
    const { hash, event } = readKept(row.value)
    const release = idempotency.hold(key, hash)
    const { ended } = await this.carryOn(key, partition).catch((error: unknown) => {
      release()
      throw error
    })
    const ours = this.#carrier.get(key)
    if (ours) log.info('a broadcast that was cut off is carried on', { event })
    // Who repeats one that is accepted gets that answer at once.
    if (ours?.run.isAccepted === false) void ended.then(release)
    else release()
  }
}
