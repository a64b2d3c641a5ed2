// engine/carried: what this server carries on, its own and what others have left: broadcasts, or operations.
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import type { ListedSpace } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import { isHeldElsewhere, OwnershipLost, readOwnership, type Ownership, type OwnershipParts } from './ownership.ts'
import type { Patience } from './patience.ts'

export interface CarriedParts extends OwnershipParts {
  readonly log: Log
  /** How many may be under way at once; null: any number. */
  readonly bound: Pick<CountBound, 'isFull'> | null
}

/** What is carried on. */
export interface CarriedRun {
  /** Of the row that says who carries it on. */
  readonly key: string
  readonly ownership: Ownership
  readonly patience: Patience
}

/** One kind of it. `key`, `partition`: of the row that says who carries it on. */
export interface CarriedKind {
  readonly space: ListedSpace
  /** What the keys of those rows begin with. */
  readonly prefix: string
  /** As the log names them. */
  readonly what: string
  /** Carries it on, unless a server does. Resolves with when this one has no more to do for it. */
  readonly carryOn: (key: string, partition: number) => Promise<{ readonly ended: Promise<void> }>
  /** As `carryOn`, of what was found to be cut off. */
  readonly resume: (key: string, partition: number) => Promise<void>
}

/** Heartbeats after which it is looked again for what others have left. */
const LOOK_BEATS = 2
/** Milliseconds after which it is looked again where there are no others, and the store was out of reach. */
const LOOK_AGAIN_MS = 5000
/** Rows looked at at once. */
const ROWS_AT_ONCE = 100
/** How often, and after how many milliseconds, it is looked whether another server has stopped it. */
const STOP_LOOKS = 50
const STOP_LOOK_MS = 100

export const isInDoubt = ({ failure }: FluxError): boolean => failure.kind === 'unavailable' && failure.inDoubt === true

/** Whether it goes on all the same, here or at another server. */
export const isLeft = (error: unknown): boolean =>
  error instanceof OwnershipLost || (error instanceof FluxError && isInDoubt(error))

export class Carrier<R extends CarriedRun> {
  readonly #parts: CarriedParts
  readonly #kind: CarriedKind
  /** Under way here, by the key of the row. The promises never reject. */
  readonly #running = new Map<string, { readonly run: R; readonly ended: Promise<void> }>()
  #callOff: (() => void) | null = null
  #looking: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(parts: CarriedParts, kind: CarriedKind) {
    this.#parts = parts
    this.#kind = kind
  }

  /** Whether it carries on nothing more. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** What is under way here under that key. */
  get(key: string): { readonly run: R; readonly ended: Promise<void> } | undefined {
    return this.#running.get(key)
  }

  /** Carries on what was cut off, now and from time to time. */
  start(): void {
    this.#looking = this.#look()
  }

  /** Nobody waits any longer for the end of any of them. */
  giveUp(): void {
    for (const { run } of this.#running.values()) run.patience.giveUp()
  }

  /** Carries on nothing more; resolves when it has left what is under way. */
  async close(): Promise<void> {
    this.#isStopped = true
    this.#callOff?.()
    for (const { run } of this.#running.values()) run.patience.end()
    await this.#looking
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Until it is settled, it is known to be under way here. */
  track<T>(run: R, made: Promise<T>): Promise<T> {
    const settled = this.#settle(run, made)
    this.#running.set(run.key, { run, ended: endOf(settled) })
    return settled
  }

  async #settle<T>(run: R, made: Promise<T>): Promise<T> {
    const { log } = this.#parts
    try {
      return await made
    } finally {
      run.ownership.rest()
      run.patience.giveUp()
      if (run.patience.isOver)
        await run.ownership
          .release()
          .catch((error: unknown) => log.debug(`${this.#kind.what} are left without a word`, { error }))
      this.#running.delete(run.key)
    }
  }

  /** Resolves when what was to be stopped is over, or that takes too long. */
  async waitForStop({ key, partition }: { readonly key: string; readonly partition: number }): Promise<void> {
    const { store, clock } = this.#parts
    const { space, carryOn } = this.#kind
    const pause = () =>
      new Promise<void>((resolve) => {
        clock.after(STOP_LOOK_MS, resolve)
      })
    for (let looks = 0; looks < STOP_LOOKS; looks += 1) {
      const here = this.#running.get(key)
      if (here) return here.ended
      const row = await store.readRow({ partition, space, key })
      if (!row) return
      if (isHeldElsewhere(readOwnership(row.value), this.#parts)) await pause()
      else await (await carryOn(key, partition)).ended
    }
  }

  async #look(): Promise<void> {
    const isWhole = await this.#resume()
    const { beat, clock } = this.#parts
    if (this.#isStopped || (beat === null && isWhole)) return
    this.#callOff = clock.after(beat === null ? LOOK_AGAIN_MS : beat * LOOK_BEATS, () => this.start())
  }

  /** Whether all could be looked at. */
  async #resume(): Promise<boolean> {
    const { store, log, bound } = this.#parts
    const { space, prefix, what, resume } = this.#kind
    try {
      for (let after; !this.#isStopped;) {
        const rows = await store.listRows({ space, prefix, after, limit: ROWS_AT_ONCE })
        for (const { key, partition } of rows) {
          if (bound?.isFull === true) await Promise.race([...this.#running.values()].map(({ ended }) => ended))
          if (!this.#isStopped) await resume(key, partition)
        }
        after = rows.at(-1)
        if (rows.length < ROWS_AT_ONCE) return true
      }
    } catch (error) {
      if (!this.#isStopped)
        log.error(`${what} that were cut off could not be carried on; trying again later`, { error })
      return false
    }
    return true
  }
}

/** When it is settled, whichever way. */
async function endOf(made: Promise<unknown>): Promise<void> {
  await Promise.allSettled([made])
}
