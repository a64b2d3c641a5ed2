// engine/idempotency: the broadcasts that this server carries out, its own and those that others have left.
import type { EventAnswer } from '../../api/send-event.ts'
import { FluxError } from '../../model/failure.ts'
import { BroadcastPlace } from '../calls/broadcast-place.ts'
import { BroadcastLost, isHeldElsewhere, readOwnership } from './broadcast-ownership.ts'
import { BroadcastRows, readStored } from './broadcast-rows.ts'
import { BroadcastRun, type RunParts } from './broadcast-run.ts'
import { dropMoves } from './drop-moves.ts'
import type { Idempotency } from './idempotency.ts'
import { readKept } from './kept-answer.ts'

export interface CarrierParts extends RunParts {
  readonly idempotency: Idempotency
}

/** Heartbeats after which it is looked again for what others have left. */
const LOOK_BEATS = 2
/** Milliseconds after which it is looked again where there are no others, and the store was out of reach. */
const LOOK_AGAIN_MS = 5000
/** Rows looked at at once. */
const ROWS_AT_ONCE = 100
/** How often, and after how many milliseconds, it is looked whether another server has stopped a broadcast. */
const STOP_LOOKS = 50
const STOP_LOOK_MS = 100

export const isInDoubt = ({ failure }: FluxError): boolean => failure.kind === 'unavailable' && failure.inDoubt === true

export class BroadcastCarrier {
  readonly #parts: CarrierParts
  /** Under way here, by the key of the row. The promises never reject. */
  readonly #running = new Map<string, { readonly run: BroadcastRun; readonly ended: Promise<void> }>()
  #callOff: (() => void) | null = null
  #looking: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: CarrierParts) {
    this.#parts = parts
  }

  /** Carries on what was cut off, now and from time to time. */
  start(): void {
    this.#looking = this.#look()
  }

  /** Nobody waits any longer for the end of a broadcast. */
  giveUp(): void {
    for (const { run } of this.#running.values()) run.patience.giveUp()
  }

  /** Carries on nothing more; resolves when it has left what is under way. */
  async close(): Promise<void> {
    this.#stopped = true
    this.#callOff?.()
    for (const { run } of this.#running.values()) run.patience.end()
    await this.#looking
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Carries it out; what goes wrong is logged. Resolves when this server has no more to do for it. */
  async begin(run: BroadcastRun, place: BroadcastPlace): Promise<void> {
    const { log } = this.#parts
    try {
      await this.track(run, this.#carryOut(run, place))
    } catch (error) {
      if (error instanceof BroadcastLost || (error instanceof FluxError && isInDoubt(error)))
        log.debug('a broadcast is left to whoever carries it on', { error })
      else log.error('a broadcast could not be carried out', { error })
    } finally {
      place.release()
    }
  }

  async #carryOut(run: BroadcastRun, place: BroadcastPlace): Promise<EventAnswer> {
    const answer = await run.carryOut()
    place.release()
    // Else a server that had it, and was held up, may still send it: the rows keep it from moving anybody again.
    if (run.isNew) await dropMoves(this.#parts, run)
    return answer
  }

  /** Until it is settled, it is known to be under way here. */
  track(run: BroadcastRun, made: Promise<EventAnswer>): Promise<EventAnswer> {
    const settled = this.#settle(run, made)
    this.#running.set(run.key, { run, ended: endOf(settled) })
    return settled
  }

  async #settle(run: BroadcastRun, made: Promise<EventAnswer>): Promise<EventAnswer> {
    const { log } = this.#parts
    try {
      return await made
    } finally {
      run.ownership.rest()
      run.patience.giveUp()
      if (run.patience.isOver)
        await run.ownership
          .release()
          .catch((error: unknown) => log.debug('a broadcast is left without a word', { error }))
      this.#running.delete(run.key)
    }
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
      if (error instanceof BroadcastLost) return null
      throw error
    }
  }

  /** Carries it on, unless a server does. Resolves with when this one has no more to do for it. */
  async carryOn(key: string, partition: number): Promise<{ readonly ended: Promise<void> }> {
    const running = this.#running.get(key)
    if (running) return running
    const run = this.#stopped ? null : await this.takeOver(key, partition)
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
  async waitForStop({ key, partition }: { readonly key: string; readonly partition: number }): Promise<void> {
    const { store, clock } = this.#parts
    const pause = () =>
      new Promise<void>((resolve) => {
        clock.after(STOP_LOOK_MS, resolve)
      })
    for (let looks = 0; looks < STOP_LOOKS; looks += 1) {
      const here = this.#running.get(key)
      if (here) return here.ended
      const row = await store.readRow({ partition, space: 'broadcasts', key })
      if (!row) return
      if (isHeldElsewhere(readOwnership(row.value), this.#parts)) await pause()
      else await (await this.carryOn(key, partition)).ended
    }
  }

  async #look(): Promise<void> {
    const isWhole = await this.#resume()
    const { beat, clock } = this.#parts
    if (this.#stopped || (beat === null && isWhole)) return
    this.#callOff = clock.after(beat === null ? LOOK_AGAIN_MS : beat * LOOK_BEATS, () => this.start())
  }

  /** Whether all could be looked at. */
  async #resume(): Promise<boolean> {
    const { store, log, bound } = this.#parts
    try {
      for (let after; !this.#stopped;) {
        const rows = await store.listRows({ space: 'broadcasts', prefix: '', after, limit: ROWS_AT_ONCE })
        for (const { key, partition } of rows) {
          if (bound?.isFull === true) await Promise.race([...this.#running.values()].map(({ ended }) => ended))
          if (!this.#stopped) await this.#resumeOne(key, partition)
        }
        after = rows.at(-1)
        if (rows.length < ROWS_AT_ONCE) return true
      }
    } catch (error) {
      if (!this.#stopped)
        log.error('broadcasts that were cut off could not be carried on; trying again later', { error })
      return false
    }
    return true
  }

  async #resumeOne(key: string, partition: number): Promise<void> {
    const { store, idempotency, log } = this.#parts
    const row = await store.readRow({ partition, space: 'idempotency', key })
    if (!row || idempotency.isHeld(key) || this.#running.has(key)) return
    const { hash, event } = readKept(row.value)
    const release = idempotency.hold(key, hash)
    const { ended } = await this.carryOn(key, partition).catch((error: unknown) => {
      release()
      throw error
    })
    const isOurs = this.#running.has(key)
    if (isOurs) log.info('a broadcast that was cut off is carried on', { event })
    // Who repeats one that is accepted gets that answer at once.
    if (this.#running.get(key)?.run.isAccepted === false) void ended.then(release)
    else release()
  }
}

/** When it is settled, whichever way. */
async function endOf(made: Promise<unknown>): Promise<void> {
  await Promise.allSettled([made])
}
