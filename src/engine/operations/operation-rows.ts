// engine/operations: the rows of an operation: how far it is, who carries it on, what is to be done with which contexts,
// and a mark for each context that was changed. The second and the third are there while it is under way.
import { randomBytes } from 'node:crypto'
import { type OperationFilter, type OperationView, operationAnswer } from '../../api/operations.ts'
import type { Command } from '../../api/commands.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { Marks } from '../tasks/fan-out.ts'
import type { TaskAddress } from '../tasks/task.ts'

/** What was asked for. */
export interface StoredOperation {
  readonly command: Command
  /** Texts may stand for the type declared. */
  readonly untyped: boolean
  readonly filter: OperationFilter
  /** Only these of those that match, ascending; null: all of them. */
  readonly contextIds: readonly ContextId[] | null
  /** Contexts with higher ids came later. */
  readonly upTo: ContextId
  /** Contexts a second. */
  readonly rate: number
  /** The rights of who asked: name and roles, no token. */
  readonly caller: Pick<Caller, 'name' | 'roles'>
  readonly traceparent?: string | undefined
}

/** How far it is, as its row has it. */
export interface OperationProgress extends OperationView {
  /** Whose idempotency keys those of the caller are: whose operation it is. */
  readonly scope: string
  /** All up to this id were dealt with. */
  cursor: ContextId
}

/** Milliseconds for which an operation is kept when it has ended. */
const KEPT_MS = 7 * 86_400_000
/** Milliseconds for which a mark is kept, if nobody deletes it: as long as servers may be down. */
const MARK_KEPT_MS = 30 * 86_400_000

/** The time in an id counts down, so that the newest operation is the first. */
const COUNTDOWN_DIGITS = 9
const LAST_MS = 36 ** COUNTDOWN_DIGITS - 1
const RANDOM_BYTES = 6
const OPERATION_ID = /^[\da-z]{9}-[\da-z]{12}$/

export const newOperationId = (now: number): string =>
  `${(LAST_MS - now).toString(36).padStart(COUNTDOWN_DIGITS, '0')}-${randomBytes(RANDOM_BYTES).toString('hex')}`

export const isOperationId = (text: string): boolean => OPERATION_ID.test(text)

/** What the keys of progress begin with, and those of its task. */
export const PROGRESS_PREFIX = 'o'
export const TASK_PREFIX = 'w'

export class OperationRows {
  readonly id: string
  readonly task: TaskAddress
  readonly marks: Marks
  readonly #store: Store

  constructor(id: string, store: Store) {
    this.id = id
    const partition = partitionOf(id, store.partitions)
    this.task = { partition, space: 'operations', key: TASK_PREFIX + id, expiresAt: null }
    this.marks = new Marks(store, 'marks', `${id}:`)
    this.#store = store
  }

  progress(progress: OperationProgress): RowWrite {
    const { endedAt } = progress
    const expiresAt = endedAt === null ? null : endedAt + KEPT_MS
    return { ...this.#progressPlace, value: JSON.stringify(progress), expiresAt }
  }

  stored(stored: StoredOperation | null): RowWrite {
    return { ...this.#storedPlace, value: stored && JSON.stringify(stored), expiresAt: null }
  }

  /** Null: there is none, or it was forgotten. */
  async readProgress(): Promise<OperationProgress | null> {
    const row = await this.#store.readRow(this.#progressPlace)
    return row && progressIn(row.value)
  }

  /** Null: it has ended. */
  async readStored(): Promise<StoredOperation | null> {
    const row = await this.#store.readRow(this.#storedPlace)
    return row && JSON.parse(row.value)
  }

  /** Of each context that it changes, or that is already as it should be. */
  markOf(id: ContextId, now: number): RowWrite {
    return this.marks.write(id, '1', now + MARK_KEPT_MS)
  }

  get #progressPlace() {
    return { ...this.task, key: PROGRESS_PREFIX + this.id }
  }

  get #storedPlace() {
    return { ...this.task, space: 'marks', key: `${this.id}=` } as const
  }
}

/** @throws Error for a text that is no such row */
export function progressIn(value: string): OperationProgress {
  const progress: OperationProgress = JSON.parse(value)
  operationAnswer.parse(progress)
  return progress
}

/** As its caller sees it. */
export const operationViewOf = (progress: OperationProgress): OperationView => operationAnswer.parse(progress)
