// engine/tasks: a task that outlives a server: a stored broadcast, an operation, a webhook that is sent. The protocol:
//
// 1. A row says which server runs the task. Each commit of the task writes that row, too, under the guard that it still is
//    as this server wrote it last.
// 2. A task whose server is dead, or has handed it over, is abandoned. Another server takes it over: it writes its own row
//    in place of that one. If the former server was only held up, its next commit fails.
// 3. To stop a task, any server sets `stops` in the row. The next commit of the task finds that.
// 4. The commit that ends the task deletes the row.
import { randomUUID } from 'node:crypto'
import { FluxError, inDoubt } from '../../model/failure.ts'
import type { ListedSpace, RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import type { Servers } from '../cluster/servers.ts'
import { pause } from '../time/periodic.ts'

export interface TaskParts {
  readonly store: Store
  readonly clock: Clock
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
  /** Of the server's run of the task: each takeover has another. */
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

/** Another server runs the task, or has ended it. `row`: another row whose guard failed, if that is why. */
export class TaskLost extends Error {
  override readonly name = 'TaskLost'
  readonly row: string | null
  constructor(row: string | null) {
    super('another server runs the task')
    this.row = row
  }
}

/** The task is to be stopped, so what was to be written only unless that is so was not written. */
export class StopRequested extends Error {
  override readonly name = 'StopRequested'
}

/** Milliseconds after which a store that is out of reach is asked again. */
const RETRY_MS = 1000
/** Tries to request a stop which the commits of the task outrun. */
const MAX_STOP_TRIES = 100

function readRow(text: string): TaskRow {
  const row: TaskRow = JSON.parse(text)
  return row
}

/** Whether another server, which lives, runs the task of that row. @throws FluxError `unavailable` */
export const isRunElsewhere = (row: string, servers: Servers): Promise<boolean> => servers.isOther(readRow(row).owner)

export class Task {
  readonly #parts: TaskParts
  readonly #address: TaskAddress
  readonly #facts: object
  readonly #onAway: TaskOptions['onAway']
  readonly #id = randomUUID()
  readonly #stopping = new AbortController()
  #latest: string | null
  #stopRequested: boolean
  #mayWriteLate: boolean
  /** A commit that was to end the task may have been made. */
  #mayHaveEnded = false
  #turn: Promise<void> = Promise.resolve()

  constructor(parts: TaskParts, address: TaskAddress, { before = null, facts = {}, onAway }: TaskOptions = {}) {
    this.#parts = parts
    this.#address = address
    this.#facts = facts
    this.#onAway = onAway
    this.#latest = before
    this.#mayWriteLate = before !== null
    this.#stopRequested = before !== null && readRow(before).stops
  }

  /** Of its row. */
  get key(): string {
    return this.#address.key
  }

  /** Whether the task is to be stopped, as far as its last commit found. */
  get stopRequested(): boolean {
    return this.#stopRequested
  }

  /** Whether a commit may still come true: of a server that ran the task before, or one of which the store did not tell. */
  get mayWriteLate(): boolean {
    return this.#mayWriteLate
  }

  /** Aborted when the server stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Whether the server stops. */
  get isStopping(): boolean {
    return this.signal.aborted
  }

  /** The server stops: pauses end. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Writes the rows. @throws TaskLost; FluxError `unavailable` */
  commit(rows: readonly RowWrite[]): Promise<void> {
    return this.#inTurn(() => this.#commit(rows, { ends: false }))
  }

  /**
   * Writes the rows and ends the task.
   * @throws TaskLost; FluxError `unavailable`; StopRequested with `unlessStopped`
   */
  end(rows: readonly RowWrite[], { unlessStopped = false } = {}): Promise<void> {
    return this.#inTurn(() => this.#commit(rows, { ends: true, unlessStopped }))
  }

  /** Leaves the task to any server, unless it has ended, or was never begun. @throws FluxError `unavailable` */
  handOver(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#latest === null) return
      const rows = [this.#write(this.#rowOf(''))]
      await this.#parts.store.commit({ writes: [], rows })
    })
  }

  /** @throws FluxError when the server stops: what was done stays, and the server that resumes the task does the rest */
  check(): void {
    if (this.isStopping) throw inDoubt('the server is stopping')
  }

  /** Does it, and again while the store is out of reach. @throws FluxError as `check` */
  async persist<T>(step: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await step()
      } catch (error) {
        if (!(error instanceof FluxError) || error.failure.kind !== 'unavailable') throw error
        if (tries === 1) this.#onAway?.(error)
        await this.pause(RETRY_MS)
      }
    }
  }

  /** Waits until the store may be asked again; false: the task is to be stopped. @throws TaskLost; FluxError as `check` */
  async mayTryAgain(): Promise<boolean> {
    this.#mayWriteLate = true
    await this.pause(RETRY_MS)
    // A part of the store may be away for long, and a stop be requested meanwhile.
    await this.persist(() => this.commit([]))
    return !this.#stopRequested
  }

  /** Resolves after so many milliseconds. @throws FluxError when the server stops */
  async pause(milliseconds: number): Promise<void> {
    this.check()
    await pause(this.#parts.clock, milliseconds, this.signal)
    this.check()
  }

  /** One commit after the other. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    const made = this.#turn.then(step)
    this.#turn = made.catch(() => {})
    return made
  }

  async #commit(
    rows: readonly RowWrite[],
    { ends, unlessStopped = false }: { readonly ends: boolean; readonly unlessStopped?: boolean },
  ): Promise<void> {
    for (;;) {
      if (unlessStopped && this.#stopRequested) throw new StopRequested('the task is to be stopped')
      const next = ends ? null : this.#rowOf(this.#parts.servers.own)
      const outcome = await this.#try([...rows, this.#write(next)], ends)
      if (outcome.ok) {
        this.#latest = next
        return
      }
      const { space, key, value } = 'row' in outcome ? outcome.row : { space: null, key: null, value: null }
      if (space !== this.#address.space || key !== this.#address.key) {
        // What is to be written is there: this commit was made before, with an unknown outcome.
        if (value !== null && rows.some((row) => row.space === space && row.key === key && row.value === value)) return
        throw new TaskLost(value)
      }
      if (value === null && this.#mayHaveEnded) return
      if (value === null || readRow(value).id !== this.#id) throw new TaskLost(null)
      // Its own, of a commit with an unknown outcome, or with the request to stop.
      this.#latest = value
      this.#stopRequested ||= readRow(value).stops
    }
  }

  async #try(rows: readonly RowWrite[], ends: boolean) {
    try {
      return await this.#parts.store.commit({ writes: [], rows })
    } catch (error) {
      const isUnknown = error instanceof FluxError && error.failure.kind === 'unavailable' && error.failure.inDoubt
      if (ends && isUnknown === true) this.#mayHaveEnded = true
      throw error
    }
  }

  #write(value: string | null): RowWrite {
    const { partition, space, key, expiresAt } = this.#address
    return { partition, space, key, expiresAt, value, expects: this.#latest }
  }

  #rowOf(owner: string): string {
    const row: TaskRow = { id: this.#id, owner, stops: this.#stopRequested }
    return JSON.stringify({ ...row, ...this.#facts })
  }
}

/** Requests that the task of that row stops. False: no server runs it any more. @throws FluxError `unavailable` */
export async function requestStop(store: Store, address: Omit<TaskAddress, 'expiresAt'>): Promise<boolean> {
  const { partition, space, key } = address
  for (let tries = 0; tries < MAX_STOP_TRIES; tries += 1) {
    const row = await store.readRow({ partition, space, key })
    if (!row) return false
    const value = JSON.stringify({ ...readRow(row.value), stops: true })
    const { ok } = await store.commit({ writes: [], rows: [{ ...row, space, expects: row.value, value }] })
    if (ok) return true
  }
  throw inDoubt('it could not be stopped')
}
