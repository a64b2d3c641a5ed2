// engine/tasks: the tasks of one kind: those that run on this server, and those that other servers have abandoned, which
// it finds and resumes. `task.ts` tells the protocol.
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError, inDoubt } from '../../model/failure.ts'
import type { ListedSpace, StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import { pause, Periodic } from '../time/periodic.ts'
import { isRunElsewhere, TaskLost, type Task, type TaskParts } from './task.ts'

export interface QueueParts extends TaskParts {
  readonly log: Log
}

/** A task as it runs on this server. */
export interface TaskRun {
  readonly task: Task
  /** The caller waits for its end no longer. */
  giveUp?(): void
}

/** `ended`: when this server has no more to do for the task. Never rejects. */
export interface Resumed {
  readonly ended: Promise<void>
}

export interface TaskKind<R extends TaskRun> {
  readonly space: ListedSpace
  /** What the keys of the rows of tasks begin with. */
  readonly prefix: string
  /** As the log names it, and several of it. */
  readonly names: { readonly one: string; readonly many: string }
  /** How many may run at once; null or left out: any number. */
  readonly bound?: Pick<CountBound, 'isFull'> | null
  /** What an abandoned task has to run with; null: its rows are lost. */
  readonly load: (row: StoredRow) => Promise<R | null>
  /** Runs what was taken over. */
  readonly run: (run: R) => Resumed | Promise<Resumed>
  /** Deals with a task that does not run here. Left out: resumes it. */
  readonly found?: (row: StoredRow) => Promise<unknown>
  /** Called each time the queue has looked for abandoned tasks. */
  readonly onLook?: () => void
}

/** Heartbeats after which the queue looks again for abandoned tasks. */
const LOOK_BEATS = 2
/** Milliseconds after which it looks again where no other server can be there, and the store was out of reach. */
const LOOK_AGAIN_MS = 5000
/** Rows read at once. */
const ROWS_AT_ONCE = 100
/** How often, and after how many milliseconds, a request to stop is followed up. */
const STOP_LOOKS = 50
const STOP_LOOK_MS = 100

const isInDoubt = ({ failure }: FluxError): boolean => failure.kind === 'unavailable' && failure.inDoubt === true

/** Whether the task goes on all the same, here or on another server. */
export const isLeft = (error: unknown): boolean =>
  error instanceof TaskLost || (error instanceof FluxError && isInDoubt(error))

/** What follows a change that is stored: where the store is out of reach for it, the change is in doubt for its caller. */
export async function inDoubtIfAway<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw error instanceof FluxError && error.failure.kind === 'unavailable' ? leftInDoubt(error) : error
  }
}

/** As the caller is told the error that came when the change was stored already. */
export const leftInDoubt = (error: FluxError): FluxError =>
  isInDoubt(error) ? error : inDoubt(`${error.failure.detail}: this may have been done, or not`, { cause: error })

export class TaskQueue<R extends TaskRun> {
  readonly #parts: QueueParts
  readonly #kind: TaskKind<R>
  /** By the keys of the rows. The promises never reject. */
  readonly #running = new Map<string, Resumed & { readonly run: R }>()
  readonly #looks: Periodic
  #isStopped = false

  constructor(parts: QueueParts, kind: TaskKind<R>) {
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

  /** The task of that row, if it runs here. */
  get(key: string): (Resumed & { readonly run: R }) | undefined {
    return this.#running.get(key)
  }

  /** Those that run here. */
  get runs(): R[] {
    return [...this.#running.values()].map(({ run }) => run)
  }

  /** Looks for abandoned tasks, now and from time to time. */
  look(): void {
    this.#looks.within(0)
  }

  /** No caller waits any longer for the end of a task. */
  giveUp(): void {
    for (const { run } of this.#running.values()) run.giveUp?.()
  }

  /** Resumes no more; gives what runs here at most `grace` milliseconds, and hands over the rest. */
  async close(grace = 0): Promise<void> {
    this.#isStopped = true
    const looked = this.#looks.stop()
    const ended = Promise.all([...this.#running.values()].map((one) => one.ended))
    const over = new AbortController()
    if (grace > 0) await Promise.race([ended, pause(this.#parts.clock, grace, over.signal)])
    over.abort()
    for (const { run } of this.#running.values()) run.task.stop()
    this.giveUp()
    await looked
    await Promise.all([...this.#running.values()].map((one) => one.ended))
  }

  /** Until that is settled, the task is known to run here. */
  track<T>(run: R, made: Promise<T>): Promise<T> {
    const settled = this.#settle(run, made)
    this.#running.set(run.task.key, { run, ended: endOf(settled) })
    return settled
  }

  async #settle<T>(run: R, made: Promise<T>): Promise<T> {
    const { task } = run
    try {
      return await made
    } finally {
      run.giveUp?.()
      if (task.isStopping)
        await task.handOver().catch((error: unknown) => {
          this.#parts.log.debug(`${this.#kind.names.one} could not be handed over`, { error })
        })
      this.#running.delete(task.key)
    }
  }

  /** Resumes the task of that row, unless a server runs it. */
  async resume(row: Pick<StoredRow, 'key' | 'partition'>): Promise<Resumed> {
    const running = this.get(row.key)
    if (running) return running
    const run = this.#isStopped ? null : await this.takeOver(row)
    return run ? this.#kind.run(run) : ENDED
  }

  /** Takes the task over from a server that runs it no more; null: that one does, or it has ended. */
  async takeOver({ key, partition }: Pick<StoredRow, 'key' | 'partition'>): Promise<R | null> {
    const { store, servers, log } = this.#parts
    const { space, names, load } = this.#kind
    const row = await store.readRow({ partition, space, key })
    if (!row || (await isRunElsewhere(row.value, servers))) return null
    const run = await load(row)
    if (!run) {
      // It was ended just now; else it is nothing that could be resumed.
      const gone = { ...row, space, expects: row.value, value: null }
      if ((await store.commit({ writes: [], rows: [gone] })).ok)
        log.error(`${names.one} that was cut off is lost`, { key })
      return null
    }
    try {
      await run.task.commit([])
      return run
    } catch (error) {
      if (error instanceof TaskLost) return null
      throw error
    }
  }

  /** Resolves when the task, which was to be stopped, has ended, or that takes too long. */
  async waitForStop(address: Pick<StoredRow, 'key' | 'partition'>): Promise<void> {
    const { store, clock, servers } = this.#parts
    const { space } = this.#kind
    for (let looks = 0; looks < STOP_LOOKS; looks += 1) {
      const row = await store.readRow({ ...address, space })
      if (!row) return
      const here = (await isRunElsewhere(row.value, servers)) ? null : await this.resume(address)
      const paused = pause(clock, STOP_LOOK_MS)
      await (here ? Promise.race([here.ended, paused]) : paused)
    }
  }

  /** Whether all rows could be dealt with. */
  async #resumeAll(): Promise<boolean> {
    const { store, log } = this.#parts
    const { space, prefix, names, bound, found = (row) => this.resume(row) } = this.#kind
    try {
      for (let after; !this.#isStopped;) {
        const rows = await store.listRows({ space, prefix, after, limit: ROWS_AT_ONCE })
        for (const row of rows) {
          if (bound?.isFull === true) {
            // What calls have under way is in the bound, too, and its end is not told here: another look finds room.
            if (this.#running.size === 0) return false
            await Promise.race([...this.#running.values()].map(({ ended }) => ended))
          }
          try {
            if (!this.#isStopped && !this.get(row.key)) await found(row)
          } catch (error) {
            if (!(error instanceof TaskLost) && !isUnreadableRow(error, { space, key: row.key }, log)) throw error
          }
        }
        after = rows.at(-1)
        if (rows.length < ROWS_AT_ONCE) return true
      }
    } catch (error) {
      if (!this.#isStopped)
        log.error(`${names.many} that were cut off could not be resumed; trying again later`, { error })
      return false
    }
    return true
  }
}

const ENDED: Resumed = { ended: Promise.resolve() }

/** When it is settled, whichever way. */
async function endOf(made: Promise<unknown>): Promise<void> {
  await Promise.allSettled([made])
}
