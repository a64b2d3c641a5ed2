// engine/tasks: a task that outlives a server: a stored broadcast, an operation, a webhook that is sent. The protocol:
//
// 1. A row says which server runs the task. Each commit of the task writes that row, too, under the guard that it still
//    is as this server wrote it last.
// 2. A task whose server is dead, or has handed it over, is abandoned. Another server takes it over: it writes its own
//    row in place of that one. If the former server was only held up, its next commit fails.
// 3. To stop a task, any server sets `stops` in the row. The next commit of the task finds that.
// 4. The commit that ends the task deletes the row.
import { randomUUID } from 'node:crypto'
import { FluxError, inDoubt } from '../../model/failure.ts'
import type { ListedSpace, RowWrite } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import type { Servers } from '../cluster/servers.ts'
import type { Deps } from '../contexts/deps.ts'
import { pause } from '../../ports/periodic.ts'

export interface TaskParts extends Deps {
  readonly servers: Servers
}

/** Where the row of a task is. */
export interface TaskAddress {
  readonly partition: number
  readonly space: ListedSpace
  readonly key: string
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
}

interface TaskRow {
  /** The id of the run of the task on this server: each takeover has another. */
  readonly id: string
  /** Boot id of the server; empty: it has handed the task over. */
  readonly owner: string
  /** Whether the task is to be stopped. */
  readonly stops: boolean
}

interface TaskOptions {
  /** The row as another server left it; null: there is none yet. */
  readonly before?: string | null
  /** What the row has besides. */
  readonly facts?: object
  /** Called each time the store is out of reach for what must be done. */
  readonly onAway?: (error: FluxError) => void
}

/** Another server runs the task, or has ended it. */
export class TaskLost extends Error {
  override readonly name = 'TaskLost'
}

/** Milliseconds after which a store that is out of reach is asked again. */
const RETRY_MS = 1000
/** How often a request to stop is tried again when commits of the task come first. */
const MAX_STOP_TRIES = 100

const readRow = (text: string): TaskRow => JSON.parse(text)

/** Whether another server, which lives, runs the task of that row. @throws FluxError `unavailable` */
export const isRunElsewhere = (row: string, servers: Servers): Promise<boolean> => servers.isOther(readRow(row).owner)

export const isAway = (error: unknown): error is FluxError =>
  error instanceof FluxError && error.failure.kind === 'unavailable'

export class Task {
  readonly #parts: TaskParts
  readonly #options: TaskOptions
  readonly #id = randomUUID()
  readonly address: TaskAddress
  /** Aborted when the server stops. */
  readonly stopping = new AbortController()
  /** Whether the task is to be stopped, as far as its last commit found. */
  stopRequested: boolean
  /** Whether a commit may still succeed: one of a server that ran the task before, or one whose outcome is unknown. */
  mayWriteLate: boolean
  #latest: string | null
  /** A commit that was to end the task may have been made. */
  #mayHaveEnded = false

  constructor(parts: TaskParts, address: TaskAddress, options: TaskOptions = {}) {
    const { before = null } = options
    this.#parts = parts
    this.#options = options
    this.address = address
    this.#latest = before
    this.mayWriteLate = before !== null
    this.stopRequested = before !== null && readRow(before).stops
  }

  /** Whether the server stops. */
  get isStopping(): boolean {
    return this.stopping.signal.aborted
  }

  /** Writes the rows. @throws TaskLost; FluxError `unavailable` */
  async commit(rows: readonly RowWrite[]): Promise<void> {
    await this.#commit(rows)
  }

  /**
   * Writes the rows and ends the task. False: it is to be stopped, and `unlessStopped` is set.
   * @throws TaskLost; FluxError `unavailable`
   */
  end(rows: readonly RowWrite[], { unlessStopped = false } = {}): Promise<boolean> {
    return this.#commit(rows, true, unlessStopped)
  }

  /** Leaves the task to any server, unless it has ended, or was never begun. @throws FluxError `unavailable` */
  async handOver(): Promise<void> {
    if (this.#latest !== null) await this.#parts.store.commit({ writes: [], rows: [this.#write(this.#rowOf(''))] })
  }

  /**
   * @throws FluxError when the server stops: what was done stays, and the server that resumes the task does the rest
   */
  check(): void {
    if (this.isStopping) throw inDoubt('the server is stopping')
  }

  /** Does it, and again while the store is out of reach. @throws FluxError as `check` */
  async persist<T>(step: () => Promise<T>): Promise<T> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await step()
      } catch (error) {
        if (!isAway(error)) throw error
        if (isFirst) this.#options.onAway?.(error)
        await this.pause(RETRY_MS)
      }
    }
  }

  /**
   * Waits until the store, which was out of reach, may be asked again; false: the task is to be stopped.
   * @throws TaskLost; FluxError as `check`
   */
  async mayTryAgain(error: FluxError): Promise<boolean> {
    this.mayWriteLate = true
    this.#options.onAway?.(error)
    await this.pause(RETRY_MS)
    // A part of the store may be away for long, and a stop be requested meanwhile.
    await this.persist(() => this.commit([]))
    return !this.stopRequested
  }

  /** Resolves after so many milliseconds. @throws FluxError when the server stops */
  async pause(milliseconds: number): Promise<void> {
    this.check()
    await pause(this.#parts.clock, milliseconds, this.stopping.signal)
    this.check()
  }

  async #commit(rows: readonly RowWrite[], isEnd = false, unlessStopped = false) {
    const mayHaveEnded = this.#mayHaveEnded
    this.#mayHaveEnded ||= isEnd
    for (;;) {
      if (unlessStopped && this.stopRequested) return false
      const next = isEnd ? null : this.#rowOf(this.#parts.servers.own)
      const outcome = await this.#parts.store.commit({ writes: [], rows: [...rows, this.#write(next)] })
      if (outcome.ok) {
        this.#latest = next
        return true
      }
      if (!('row' in outcome)) throw new TaskLost()
      const { space, key, value } = outcome.row
      // What is to be written is there: this commit was made before, with an unknown outcome.
      if (value !== null && rows.some((row) => row.space === space && row.key === key && row.value === value))
        return true
      if (space !== this.address.space || key !== this.address.key) throw new TaskLost()
      if (value === null && mayHaveEnded) return true
      if (value === null || readRow(value).id !== this.#id) throw new TaskLost()
      // Its own, of a commit with an unknown outcome, or with the request to stop.
      this.#latest = value
      this.stopRequested ||= readRow(value).stops
    }
  }

  #write(value: string | null) {
    return { ...this.address, value, expects: this.#latest }
  }

  #rowOf(owner: string) {
    return JSON.stringify({ id: this.#id, owner, stops: this.stopRequested, ...this.#options.facts })
  }
}

/** Requests that the task of that row stops. False: no server runs it any more. @throws FluxError `unavailable` */
export async function requestStop(store: Store, address: Omit<TaskAddress, 'expiresAt'>): Promise<boolean> {
  for (let tries = 0; tries < MAX_STOP_TRIES; tries += 1) {
    const row = await store.readRow(address)
    if (!row) return false
    const value = JSON.stringify({ ...readRow(row.value), stops: true })
    const write = { ...row, space: address.space, expects: row.value, value }
    if ((await store.commit({ writes: [], rows: [write] })).ok) return true
  }
  throw inDoubt('it could not be stopped')
}
