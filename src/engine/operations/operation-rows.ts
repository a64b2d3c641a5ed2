// engine/operations: the rows of an operation: how far it is, who carries it on, what is to be done with which contexts,
// and a mark for each context that was changed. The second and the third are there while it is under way.
import { randomBytes } from 'node:crypto'
import { type OperationFilter, type OperationView, operationAnswer } from '../../api/operations.ts'
import type { Command } from '../../api/commands.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { Marks } from '../tasks/fan-out.ts'
import type { RowsOf } from '../turn/message.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
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
  readonly cursor: ContextId
  /** As it was when another server took it over for the first time: from there on the marks tell who was changed. */
  readonly taken: { readonly cursor: ContextId; readonly changed: number } | null
}

/** Milliseconds for which an operation is kept when it has ended. */
const KEPT_MS = 7 * 86_400_000
/** Milliseconds for which a mark is kept, if nobody deletes it: as long as servers may be down. */
const MARK_KEPT_MS = 30 * 86_400_000

/** The time in an id counts down, so that the newest operation is the first. */
const COUNTDOWN_DIGITS = 9
const LAST_MS = 36 ** COUNTDOWN_DIGITS - 1
const RANDOM_DIGITS = 12
const OPERATION_ID = /^[\da-z]{9}-[\da-z]{12}$/

export const newOperationId = (now: number): string => {
  const random = [...randomBytes(RANDOM_DIGITS)].map((byte) => (byte % 36).toString(36)).join('')
  return `${(LAST_MS - now).toString(36).padStart(COUNTDOWN_DIGITS, '0')}-${random}`
}

export const isOperationId = (text: string): boolean => OPERATION_ID.test(text)

/** What the keys of progress begin with, and those of its task. */
export const PROGRESS_PREFIX = 'o'
export const TASK_PREFIX = 'w'

/** Of the key of a row that says who carries it on. */
export const operationIdIn = (key: string): string => key.slice(TASK_PREFIX.length)

export class OperationRows {
  readonly id: string
  readonly partition: number
  readonly #marks: Marks
  readonly #store: Pick<Store, 'readRow' | 'listRows' | 'partitions'>

  constructor(id: string, store: Pick<Store, 'readRow' | 'listRows' | 'partitions'>) {
    this.id = id
    this.partition = partitionOf(id, store.partitions)
    this.#store = store
    this.#marks = new Marks(store, 'marks', this.marksPrefix)
  }

  get task(): TaskAddress {
    return { partition: this.partition, space: 'operations', key: TASK_PREFIX + this.id, expiresAt: null }
  }

  progress(progress: OperationProgress): RowWrite {
    const { endedAt } = progress
    const expiresAt = endedAt === null ? null : endedAt + KEPT_MS
    const { partition } = this
    return {
      partition,
      space: 'operations',
      key: PROGRESS_PREFIX + this.id,
      value: JSON.stringify(progress),
      expiresAt,
    }
  }

  stored(stored: StoredOperation | null): RowWrite {
    const value = stored && JSON.stringify(stored)
    return { partition: this.partition, space: 'marks', key: storedKey(this.id), value, expiresAt: null }
  }

  /** Null: there is none, or it was forgotten. */
  async readProgress(): Promise<OperationProgress | null> {
    const { partition, id } = this
    const row = await this.#store.readRow({ partition, space: 'operations', key: PROGRESS_PREFIX + id })
    return row && progressIn(row)
  }

  /** Null: it has ended. */
  async readStored(): Promise<StoredOperation | null> {
    const row = await this.#store.readRow({ partition: this.partition, space: 'marks', key: storedKey(this.id) })
    const stored: StoredOperation | null = row && JSON.parse(row.value)
    return stored
  }

  /** The mark of each context that it changes, or that is already as it should be. */
  marks(now: number): RowsOf {
    const expiresAt = now + MARK_KEPT_MS
    return ({ kind }, { id }) => (kind === 'refused' ? [] : [this.#marks.write(id, '1', expiresAt)])
  }

  /** Whether that context has its mark. @throws FluxError `unavailable` */
  async isMarked(id: ContextId): Promise<boolean> {
    return (await this.#marks.read(id)) !== null
  }

  get marksPrefix(): string {
    return `${this.id}:`
  }

  /** Contexts with higher ids that have a mark, ascending. @throws FluxError `unavailable` */
  async marked(behind: ContextId): Promise<ContextId[]> {
    const ids: ContextId[] = []
    for await (const { key } of this.#marks.behind(behind)) ids.push(this.#marks.idIn(key))
    return ids
  }
}

const storedKey = (id: string): string => `${id}=`

/** Of a list: none of a row that can't be read. */
export function readableProgress(row: StoredRow, log: Log): OperationProgress[] {
  try {
    return [progressIn(row)]
  } catch (error) {
    if (isUnreadableRow(error, { space: 'operations', key: row.key }, log)) return []
    throw error
  }
}

/** @throws Error for a text that is no such row */
function progressIn({ value }: { readonly value: string }): OperationProgress {
  const progress: OperationProgress = JSON.parse(value)
  operationAnswer.parse(progress)
  return progress
}

export function operationViewOf({
  scope: _scope,
  cursor: _cursor,
  taken: _taken,
  ...view
}: OperationProgress): OperationView {
  return view
}
