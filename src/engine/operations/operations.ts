// engine/operations: the operations: those that are stored, and those that this server carries out, its own and those that
// others have left.
import { MAX_LISTED_OPERATIONS } from '../../api/get-operations.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { conflict, notFound, overloaded } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { StoredRow } from '../../model/rows.ts'
import type { Turnstile } from '../../model/turnstile.ts'
import { yieldTurn } from '../calls/broadcast.ts'
import { Carrier, isLeft } from '../carried/carrier.ts'
import { dropRows } from '../carried/drop-rows.ts'
import { askToStop, isHeldElsewhere, OwnershipLost, readOwnership } from '../carried/ownership.ts'
import { Matching } from './matching.ts'
import {
  isOperationId,
  newOperationId,
  operationIdIn,
  OperationRows,
  OWNERSHIP_PREFIX,
  PROGRESS_PREFIX,
  progressIn,
  type OperationProgress,
  type StoredOperation,
} from './operation-rows.ts'
import { OperationRun, type OperationParts } from './operation-run.ts'

export interface OperationsParts extends OperationParts {
  /** Operations that this server may carry out at once. */
  readonly bound: CountBound
  /** Memory for what those under way are to do: they may take days, and each may have a large input. */
  readonly deeds: ByteBudget
  /** Searches through many contexts, at once. */
  readonly counts: CountBound
  /** Lists of operations that are read, at once. */
  readonly lists: Turnstile
}

/** What is asked for. */
export interface OperationWish extends Omit<StoredOperation, 'upTo'> {
  readonly scope: string
  /** The filter as it was given. */
  readonly shown: JsonObject
}

/** Rows of operations that are kept, those of each one that is under way counted twice. */
const MAX_KEPT_ROWS = 20_000
/** Rows read at once. */
const LISTED_AT_ONCE = 100

export class Operations {
  readonly #parts: OperationsParts
  readonly #carrier: Carrier<OperationRun>

  constructor(parts: OperationsParts) {
    this.#parts = parts
    this.#carrier = new Carrier(parts, {
      space: 'operations',
      prefix: OWNERSHIP_PREFIX,
      what: 'operations',
      carryOn: (key, partition) => this.#carryOn(key, partition),
      resume: async (key, partition) => {
        await this.#carryOn(key, partition)
      },
    })
  }

  /** How many contexts it would be about. @throws FluxError `overloaded`, `unavailable` */
  async count(wish: OperationWish): Promise<number> {
    return (await this.#fixed(wish)).progress.matched
  }

  /**
   * Resolves when it is stored; it is carried out then.
   * @throws FluxError `overloaded` when too many are under way, or are kept; `unavailable`
   */
  async begin(wish: OperationWish): Promise<OperationProgress> {
    const { store, bound, deeds } = this.#parts
    bound.take()
    try {
      if ((await store.countRows({ space: 'operations' })) >= MAX_KEPT_ROWS)
        throw overloaded('the server keeps as many operations as it may; they are kept for 7 days')
      const { stored, progress } = await this.#fixed(wish)
      const rows = new OperationRows(progress.operationId, store)
      const release = deeds.take(bytesOf(stored.deed, Infinity))
      const run = new OperationRun(this.#parts, { rows, stored, progress, ownership: null })
      const begun = run.begin()
      bound.add()
      // From now on it is known to be under way here.
      void this.#carryOut(run, begun, release)
      await begun
      return progress
    } finally {
      bound.release()
    }
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
    return this.#parts.lists.run(() => this.#list())
  }

  /**
   * Stops it, on whichever server it is under way; gives how far it came. One that was stopped before stays so.
   * @throws FluxError `notFound`; `conflict` when it is done
   */
  async stop(operationId: string): Promise<OperationProgress> {
    const { ownership } = new OperationRows((await this.get(operationId)).operationId, this.#parts.store)
    if (await askToStop(this.#parts.store, ownership)) await this.#carrier.waitForStop(ownership)
    const progress = await this.get(operationId)
    if (progress.status === 'done') throw conflict('the operation is done')
    return progress
  }

  /** Carries on what was cut off, now and from time to time. */
  start(): void {
    this.#carrier.start()
  }

  /** Carries on nothing more; resolves when it has left what is under way. It goes on at the next start. */
  close(): Promise<void> {
    return this.#carrier.close()
  }

  async #list(): Promise<OperationProgress[]> {
    const query = { space: 'operations', prefix: PROGRESS_PREFIX, limit: LISTED_AT_ONCE } as const
    const listed: OperationProgress[] = []
    for (let after: StoredRow | undefined; listed.length < MAX_LISTED_OPERATIONS;) {
      const rows = await this.#parts.store.listRows({ ...query, after })
      for (const row of rows) listed.push(progressIn(row))
      if (rows.length < LISTED_AT_ONCE) break
      after = rows.at(-1)
      // Each may have many errors.
      await yieldTurn()
    }
    return listed
  }

  /** With the contexts that there are now. */
  async #fixed({ scope, shown, ...wish }: OperationWish) {
    const { store, clock, counts } = this.#parts
    const stored: StoredOperation = { ...wish, upTo: await store.highestId() }
    const startedAt = clock.now()
    counts.take()
    try {
      const matched = await (await Matching.of(this.#parts, stored, startedAt)).count()
      const progress: OperationProgress = {
        operationId: newOperationId(startedAt),
        do: stored.deed.do,
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
        taken: null,
      }
      return { stored, progress }
    } finally {
      counts.release()
    }
  }

  /** Carries it out, and releases its place and memory; what goes wrong is logged. `begun`: when it is stored. */
  async #carryOut(run: OperationRun, begun: Promise<void>, release: () => void): Promise<void> {
    const { log, bound } = this.#parts
    const { operationId } = run
    try {
      const status = await this.#carrier.track(run, this.#goOn(run, begun))
      if (status !== null) log.info('an operation has ended', { operationId, status })
    } catch (error) {
      if (isLeft(error)) log.debug('an operation is left to whoever carries it on', { operationId, error })
      else log.error('an operation could not be carried out', { operationId, error })
    } finally {
      bound.release()
      release()
    }
  }

  /** Null: it was never stored, which its caller is told. */
  async #goOn(run: OperationRun, begun: Promise<void>) {
    const isStored = await begun.then(
      () => true,
      () => false,
    )
    if (!isStored) return null
    const status = await run.carryOut()
    // Else a server that had it, and was held up, may still go on: the marks keep it from changing any context again.
    const { isNew, operationId, patience } = run
    const { marksPrefix: prefix } = new OperationRows(operationId, this.#parts.store)
    if (isNew) void dropRows(this.#parts, { space: 'marks', prefix, patience })
    return status
  }

  async #carryOn(key: string, partition: number): Promise<{ readonly ended: Promise<void> }> {
    const running = this.#carrier.get(key)
    if (running) return running
    const run = this.#carrier.isStopped ? null : await this.#takeOver(key, partition)
    if (!run) return { ended: Promise.resolve() }
    const { log, bound, deeds } = this.#parts
    log.info('an operation that was cut off is carried on', { operationId: run.operationId })
    bound.add()
    // It was accepted before, so it goes on whether or not there is room.
    const release = deeds.tryTake(run.deedBytes) ?? (() => undefined)
    return { ended: this.#carryOut(run, Promise.resolve(), release) }
  }

  /** Takes it from a server that does not carry it on any more; null: that one does, or it has ended. */
  async #takeOver(key: string, partition: number): Promise<OperationRun | null> {
    const { store, log } = this.#parts
    const row = await store.readRow({ partition, space: 'operations', key })
    if (!row || isHeldElsewhere(readOwnership(row.value), this.#parts)) return null
    const rows = new OperationRows(operationIdIn(key), store)
    const [stored, progress] = await Promise.all([rows.readStored(), rows.readProgress()])
    if (!stored || !progress) {
      // It was ended just now; else it is nothing that could be carried on.
      const gone = { ...row, space: 'operations', expects: row.value, value: null } as const
      if ((await store.commit({ writes: [], rows: [gone] })).ok)
        log.error('an operation that was cut off is lost', { operationId: rows.id })
      return null
    }
    const run = new OperationRun(this.#parts, { rows, stored, progress, ownership: row.value })
    try {
      await run.ownership.commit([])
      return run
    } catch (error) {
      if (error instanceof OwnershipLost) return null
      throw error
    }
  }
}
