// engine/tasks: the tasks of one kind: those that run on this server, and those that other servers have abandoned,
// which it finds and resumes. `task.ts` describes the protocol.
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError, inDoubt } from '../../model/failure.ts'
import type { ListedSpace, StoredRow } from '../../model/rows.ts'
import { logUnreadable } from '../record/unreadable.ts'
import { pause, Periodic } from '../../ports/periodic.ts'
import { allRows } from './fan-out.ts'
import { isAway, isRunElsewhere, requestStop, TaskLost, type Task, type TaskParts } from './task.ts'

/** A task as it runs on this server. */
export interface TaskRun {
  readonly task: Task
  /** Runs it to its end. @throws TaskLost; FluxError, in doubt, when the server stops */
  run(): Promise<unknown>
  /** The caller waits for its end no longer. */
  giveUp?(): void
  /** This server has no more to do for it. */
  release?(): void
}

export interface TaskKind<R extends TaskRun> {
  readonly space: ListedSpace
  /** What the keys of the rows of tasks begin with. */
  readonly prefix: string
  /** As the log names it. */
  readonly name: string
  /** How many may run at once; left out: any number. */
  readonly bound?: CountBound
  /** An abandoned task, which is about to be taken over; null: its rows are lost. */
  readonly load: (row: StoredRow) => Promise<R | null>
  /** Called each time the queue has looked for abandoned tasks. */
  readonly onLook?: () => void
}

interface Running<R> {
  readonly run: R
  /** When this server has no more to do for it; it never rejects. */
  readonly ended: Promise<void>
}

type TaskPlace = Pick<StoredRow, 'key' | 'partition'>

/** Heartbeats between two looks for abandoned tasks. */
const LOOK_BEATS = 2
/** Milliseconds after which it looks again where no other server can be there, and the store was out of reach. */
const LOOK_AGAIN_MS = 5000
/** How often, and after how many milliseconds, a request to stop is followed up. */
const STOP_LOOKS = 50
const STOP_LOOK_MS = 100

/**
 * What follows a change that is stored: where the store is out of reach for it, the change is in doubt for its caller.
 */
export async function inDoubtIfAway<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw isAway(error) ? leftInDoubt(error) : error
  }
}

/** The error for the caller, if it came after the change was stored. */
export const leftInDoubt = (error: FluxError): FluxError =>
  error.failure.kind === 'unavailable' && error.failure.inDoubt === true
    ? error
    : inDoubt(`${error.failure.detail}: this may have been done, or not`, { cause: error })

export class TaskQueue<R extends TaskRun> {
  readonly #parts: TaskParts
  readonly #kind: TaskKind<R>
  /** By the keys of the rows. */
  readonly #running = new Map<string, Running<R>>()
  /** Keys of the tasks that are being taken over here. */
  readonly #taking = new Set<string>()
  readonly #looks: Periodic
  #isStopped = false

  constructor(parts: TaskParts, kind: TaskKind<R>) {
    this.#parts = parts
    this.#kind = kind
    const { clock, servers } = parts
    this.#looks = new Periodic(clock, async () => {
      const isWhole = await this.#resumeAll()
      kind.onLook?.()
      if (servers.beat !== null) return servers.beat * LOOK_BEATS
      return isWhole ? null : LOOK_AGAIN_MS
    })
  }

  /** Those that run here. */
  get runs(): R[] {
    return [...this.#running.values()].map(({ run }) => run)
  }

  /** Whether the task of that row runs here. */
  has(key: string): boolean {
    return this.#running.has(key)
  }

  /** Looks for abandoned tasks, now and from time to time. */
  look(): void {
    this.#looks.within(0)
  }

  /** No caller waits any longer for the end of a task. */
  giveUp(): void {
    for (const run of this.runs) run.giveUp?.()
  }

  /** Resumes no more; gives what runs here at most `grace` milliseconds, and hands over the rest. */
  async close(grace = 0): Promise<void> {
    this.#isStopped = true
    const looked = this.#looks.stop()
    const over = new AbortController()
    if (grace > 0) await Promise.race([this.#ends(), pause(this.#parts.clock, grace, over.signal)])
    over.abort()
    for (const { task } of this.runs) task.stopping.abort()
    this.giveUp()
    await looked
    await this.#ends()
  }

  async #ends() {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Runs it. `begun`: when it is stored. Resolves when this server has no more to do for it. */
  run(run: R, begun?: Promise<void>): Promise<void> {
    const ended = this.#run(run, begun)
    this.#running.set(run.task.address.key, { run, ended })
    return ended
  }

  async #run(run: R, begun?: Promise<void>) {
    const { log } = this.#parts
    const { name } = this.#kind
    const { task } = run
    try {
      await begun
      await run.run()
    } catch (error) {
      if (error instanceof TaskLost || isAway(error)) log.debug(`${name} is left to another server`, { error })
      else log.error(`${name} could not be carried out`, { error })
    }
    run.giveUp?.()
    if (task.isStopping)
      await task.handOver().catch((error: unknown) => {
        log.debug(`${name} could not be handed over`, { error })
      })
    this.#running.delete(task.address.key)
    run.release?.()
  }

  /** Resumes the task of that row; null: another server runs it, or it has ended. */
  async resume(row: TaskPlace): Promise<Running<R> | null> {
    return this.#running.get(row.key) ?? (this.#isStopped ? null : this.takeOver(row))
  }

  /**
   * Takes the task over from a server that runs it no more, and runs it; null: a server runs it, this one is about to,
   * or it has ended.
   */
  async takeOver(place: TaskPlace): Promise<Running<R> | null> {
    const { key } = place
    // A row that is taken over twice here would be taken from the task that runs here already.
    if (this.#running.has(key) || this.#taking.has(key)) return null
    this.#taking.add(key)
    try {
      const run = await this.#takeOver(place)
      if (run && this.#isStopped) run.task.stopping.abort()
      return run && { run, ended: this.run(run) }
    } finally {
      this.#taking.delete(key)
    }
  }

  async #takeOver({ key, partition }: TaskPlace) {
    const { store, servers, log } = this.#parts
    const { space, name, load } = this.#kind
    const row = await store.readRow({ partition, space, key })
    if (!row || (await isRunElsewhere(row.value, servers))) return null
    const run = await load(row)
    if (!run) {
      // It was ended just now; else it is nothing that could be resumed.
      const gone = { ...row, space, expects: row.value, value: null }
      if ((await store.commit({ writes: [], rows: [gone] })).ok) log.error(`${name} that was cut off is lost`, { key })
      return null
    }
    try {
      await run.task.commit([])
      return run
    } catch (error) {
      run.release?.()
      if (error instanceof TaskLost) return null
      throw error
    }
  }

  /**
   * Stops the task of that row, on whichever server it runs; resolves when it has ended, or that takes too long. False:
   * it had ended. @throws FluxError `unavailable`
   */
  async stop({ key, partition }: TaskPlace): Promise<boolean> {
    const { store, clock } = this.#parts
    const place = { partition, space: this.#kind.space, key }
    const isAsked = await requestStop(store, place)
    await inDoubtIfAway(async () => {
      for (let looks = 0; looks < STOP_LOOKS && (await store.readRow(place)); looks += 1) {
        const here = await this.resume(place)
        const paused = pause(clock, STOP_LOOK_MS)
        await Promise.race([here?.ended ?? paused, paused])
      }
    })
    return isAsked
  }

  /** Whether all rows could be dealt with. */
  async #resumeAll() {
    const { store, log } = this.#parts
    const { space, prefix, bound } = this.#kind
    try {
      for await (const row of allRows(store, { space, prefix })) {
        if (this.#isStopped) break
        if (bound?.isFull === true) {
          // Tasks of calls count for the bound, too, and their end is not reported here: the next look finds room.
          if (this.#running.size === 0) return false
          await Promise.race([...this.#running.values()].map(({ ended }) => ended))
        }
        try {
          await this.resume(row)
        } catch (error) {
          // The store refuses by such errors; whatever else is thrown comes from the row.
          if (error instanceof FluxError) throw error
          logUnreadable(space, row.key, error, log)
        }
      }
      return true
    } catch (error) {
      if (!this.#isStopped)
        log.error('tasks that were cut off could not be resumed; trying again later', { space, error })
      return false
    }
  }
}
