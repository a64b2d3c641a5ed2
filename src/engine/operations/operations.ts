// engine/operations: the operations: those that are stored, and those that this server runs, its own and those that
// others have left.
import { MAX_LISTED_OPERATIONS } from '../../api/operations.ts'
import { MAX_SAMPLED } from '../../api/rehearsal.ts'
import { ByteBudget } from '../../model/byte-budget.ts'
import { CountBound } from '../../model/count-bound.ts'
import { conflict, notFound, overloaded } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { Turnstile } from '../../model/turnstile.ts'
import { NO_SIGNALS } from '../contexts/deps.ts'
import { readableOf } from '../record/unreadable.ts'
import { allRows } from '../tasks/fan-out.ts'
import { inDoubtIfAway, TaskQueue } from '../tasks/queue.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import {
  isOperationId,
  matchingOf,
  newOperationId,
  OperationRows,
  OperationRun,
  PROGRESS_PREFIX,
  progressIn,
  TASK_PREFIX,
  type OperationParts,
  type OperationProgress,
  type StoredOperation,
} from './operation-run.ts'

/** What is asked for. */
export interface OperationWish extends Omit<StoredOperation, 'upTo'> {
  readonly scope: string
  /** The filter as it was given. */
  readonly shown: JsonObject
}

/** Operations that one server runs at once. */
const MAX_RUNNING = 100
/** Operations that count their contexts at once: each may look at all contexts. */
const MAX_COUNTING = 8
/**
 * Bytes of memory for the commands of all operations under way: about ten of the largest inputs that a body of 1 MiB
 * may have.
 */
const MAX_COMMAND_BYTES = 64 * 1024 * 1024
/** Lists of operations that wait for others to be read: each may take tens of MB of memory until it is charged. */
const MAX_WAITING = 200
/** Rows of operations that are kept; an operation that is under way counts twice. */
const MAX_KEPT_ROWS = 20_000
/** Rows read at once. */
const LISTED_AT_ONCE = 100

export class Operations {
  readonly #parts: OperationParts
  readonly #bound = new CountBound({ limit: MAX_RUNNING, what: 'operations under way' })
  /** Those under way may take days, and each may have a large input. */
  readonly #commands = new ByteBudget({ bytes: MAX_COMMAND_BYTES, what: 'operations with large inputs' })
  readonly #counts = new CountBound({ limit: MAX_COUNTING, what: 'operations that are counted' })
  readonly #lists = new Turnstile(1, { waiting: MAX_WAITING, what: 'lists of operations' })
  /** The operations that run on this server, and those that others have abandoned. */
  readonly tasks: TaskQueue<OperationRun>

  constructor(parts: OperationParts) {
    this.#parts = parts
    this.tasks = new TaskQueue(parts, {
      space: 'operations',
      prefix: TASK_PREFIX,
      name: 'an operation',
      bound: this.#bound,
      load: async ({ key, value: before }) => {
        const rows = new OperationRows(key.slice(TASK_PREFIX.length), parts.store)
        const [stored, progress] = await Promise.all([rows.readStored(), rows.readProgress()])
        if (!stored || !progress) return null
        parts.log.info('an operation that was cut off is carried on', { operationId: progress.operationId })
        const run = new OperationRun(parts, { rows, stored, progress, before })
        // It was accepted before, so it goes on even beyond the bound.
        this.#bound.add(progress.scope)
        this.#reserve(run)
        return run
      },
    })
  }

  /**
   * What it would do with the first contexts that match, and how many match. `mailboxes`: by which it is rehearsed.
   * @throws FluxError `overloaded`, `unavailable`
   */
  async rehearse(wish: OperationWish, mailboxes: Mailboxes): Promise<OperationProgress> {
    const { stored, progress } = await this.#fixed(wish)
    const rows = new OperationRows(progress.operationId, this.#parts.store)
    const parts = { ...this.#parts, mailboxes, signals: NO_SIGNALS }
    const run = new OperationRun(parts, { rows, stored, progress, before: null })
    await run.rehearse(MAX_SAMPLED)
    return progress
  }

  /**
   * Resolves when it is stored; it runs then.
   * @throws FluxError `overloaded` when too many are under way, or are kept; `unavailable`
   */
  async begin(wish: OperationWish): Promise<OperationProgress> {
    const { store } = this.#parts
    if ((await store.countRows({ space: 'operations' })) >= MAX_KEPT_ROWS)
      throw overloaded('the server keeps as many operations as it may; they are kept for 7 days')
    const { stored, progress } = await this.#fixed(wish)
    const rows = new OperationRows(progress.operationId, store)
    const run = new OperationRun(this.#parts, { rows, stored, progress, before: null })
    if (!this.#commands.fits(run.commandBytes))
      throw overloaded('the server holds too much of operations with large inputs at present')
    this.#bound.take(run.progress.scope)
    this.#reserve(run)
    const begun = run.begin()
    // From now on it is known to be under way here.
    void this.tasks.run(run, begun)
    await begun
    return progress
  }

  /** @throws FluxError `notFound`, `unavailable` */
  async get(operationId: string): Promise<OperationProgress> {
    const progress = isOperationId(operationId)
      ? await new OperationRows(operationId, this.#parts.store).readProgress()
      : null
    if (!progress) throw notFound(`there is no operation '${operationId}'`)
    return progress
  }

  /** The newest first. @throws FluxError `unavailable`; `overloaded` when too many lists are asked for */
  list(): Promise<OperationProgress[]> {
    const { store, log } = this.#parts
    const query = { space: 'operations', prefix: PROGRESS_PREFIX } as const
    return this.#lists.run(async () => {
      const listed: OperationProgress[] = []
      // Each may have many errors.
      for await (const row of allRows(store, query, LISTED_AT_ONCE)) {
        const progress = readableOf(row, 'operations', log, progressIn)
        if (progress) listed.push(progress)
        if (listed.length >= MAX_LISTED_OPERATIONS) break
      }
      return listed
    })
  }

  /**
   * Stops it, on whichever server it is under way; gives how far it came. One that was stopped before stays so.
   * @throws FluxError `notFound`; `conflict` when it is done
   */
  async stop(operationId: string): Promise<OperationProgress> {
    const { task } = new OperationRows((await this.get(operationId)).operationId, this.#parts.store)
    await this.tasks.stop(task)
    const progress = await inDoubtIfAway(() => this.get(operationId))
    if (progress.status === 'done') throw conflict('the operation is done')
    return progress
  }

  /** Its share of the bounds, until it has ended here. */
  #reserve(run: OperationRun) {
    const releaseBytes = this.#commands.tryTake(run.commandBytes)
    run.release = () => {
      this.#bound.release(run.progress.scope)
      releaseBytes?.()
    }
  }

  /** With the contexts that there are now. */
  async #fixed({ scope, shown, ...wish }: OperationWish) {
    const { store, clock } = this.#parts
    const stored: StoredOperation = { ...wish, upTo: await store.highestId() }
    const startedAt = clock.now()
    this.#counts.take()
    try {
      const matched = await (await matchingOf(this.#parts, stored)).count()
      const progress: OperationProgress = {
        operationId: newOperationId(startedAt),
        do: stored.command.do,
        filter: shown,
        status: 'running',
        matched,
        done: 0,
        changed: 0,
        failed: 0,
        errors: [],
        startedAt,
        endedAt: null,
        scope,
        cursor: 0,
      }
      return { stored, progress }
    } finally {
      this.#counts.release()
    }
  }
}
