// engine/operations: runs an operation, which does something with all contexts that match, in waves. The
// protocol:
//
// 1. It begins with three rows in the partition of its id: how far it is, its task (`tasks/task.ts`), and what is to
//    be done with which contexts (`OperationRows`). The first stays for 7 days after the end; its key counts time
//    down, so a list reads the newest first.
// 2. It goes through contexts as `tasks/fan-out.ts` describes. Each wave reads the next contexts that match now
//    (`matchingOf`), up to the highest id that there was at the start, and sends each the message that its call would
//    send (`messageOf`). With several partitions, contexts that were started later are left out by their time, too.
// 3. What changes nothing (a tag that is there) writes its mark alone; what is refused writes none, and is asked again.
// 4. Every 0.4 seconds, or 1,000 contexts, it stores counts, and the id up to which all is done. A server that takes it
//    over goes on behind that id. What the former server changed behind it may not match any more, and its commits may
//    succeed later: so an operation that was taken over counts its marks at the end.
//
// A wave takes as many contexts as a twentieth of a second is for, at most 25. Then it rests until the rate allows
// for the next one, and at least as long as the wave took, so that half of the time is for other requests.
import { randomBytes } from 'node:crypto'
import { COMMANDS, type Command } from '../../api/commands.ts'
import {
  MAX_OPERATION_ERRORS,
  type OperationFilter,
  type OperationView,
  operationAnswer,
} from '../../api/operations.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { bytesOf } from '../../model/json/weight.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Store } from '../../ports/store.ts'
import type { Input } from '../interpreter/decision.ts'
import { goThrough, Marks } from '../tasks/fan-out.ts'
import type { TaskRun } from '../tasks/queue.ts'
import { isAway, Task, type TaskAddress, type TaskParts } from '../tasks/task.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { RowTaken } from '../turn/message.ts'
import { READ, selectionOf, statusesOf, type MatchingParts } from './selection.ts'

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
  /** The rights of the caller: name and roles, no token. */
  readonly caller: Pick<Caller, 'name' | 'roles'>
  readonly traceparent?: string | undefined
}

/** How far it is, as its row has it. */
export interface OperationProgress extends OperationView {
  /** The scope of the idempotency keys of the caller, which owns the operation. */
  readonly scope: string
  /** All contexts up to this id were dealt with. */
  cursor: ContextId
}

export interface OperationParts extends TaskParts, MatchingParts {
  readonly mailboxes: Mailboxes
  readonly signals: Signals
}

interface OperationFacts {
  readonly rows: OperationRows
  readonly stored: StoredOperation
  readonly progress: OperationProgress
  /** The row of the task as another server left it; null: it is new. */
  readonly before: string | null
}

/** Milliseconds for which an operation is kept when it has ended. */
const KEPT_MS = 7 * 86_400_000
/** Milliseconds for which a mark is kept, unless it is deleted: as long as servers may be down. */
const MARK_KEPT_MS = 30 * 86_400_000

/** The time in an id counts down, so that the newest operation is the first. */
const COUNTDOWN_DIGITS = 9
const LAST_MS = 36 ** COUNTDOWN_DIGITS - 1
const RANDOM_BYTES = 6
const OPERATION_ID = /^[\da-z]{9}-[\da-z]{12}$/

/** Contexts that it changes at the same time: calls that come meanwhile wait for them. */
const WAVE_CONTEXTS = 25
/** Waves of a second, where the rate allows for that many: so it is even. */
const WAVES_A_SECOND = 20
/** Milliseconds for which it rests at most after a wave, so that at least half of the time is for others. */
const MAX_REST_MS = 250
/** Milliseconds after which it stores how far it is, and finds whether it is to stop. */
const NOTE_MS = 400
const SECOND_MS = 1000
/** Characters of the reason why a context could not take it. */
const MAX_DETAIL_CHARACTERS = 200

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

  /** The mark of a context that it changes, or that is already as it should be. */
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

/** `ids` ascend. `rest`: behind which id it continues; null: there are no more. */
interface MatchingPage {
  readonly ids: readonly ContextId[]
  readonly rest: ContextId | null
}

/**
 * The contexts that an operation is for. `lastStart`: contexts that started later are left out; of several partitions,
 * they may have lower ids. @throws FluxError `unavailable`, also later
 */
export async function matchingOf(
  { store, catalog }: MatchingParts,
  { caller, filter, command, contextIds, upTo }: StoredOperation,
  lastStart = Infinity,
) {
  const { role } = COMMANDS[command.do]
  const { startedBefore = Infinity } = filter
  const meant = lastStart < startedBefore ? { ...filter, startedBefore: lastStart + 1 } : filter
  const { selection, test } = await selectionOf({ store, catalog, caller }, meant, statusesOf(filter), role)

  const boundsOf = (after: ContextId, before: ContextId) => ({
    after: Math.max(after, filter.after ?? 0),
    before: Math.min(before, upTo + 1, filter.before ?? Infinity),
  })

  /** Those between two ids, in part. */
  async function read(after: ContextId, before: ContextId, limit: number): Promise<MatchingPage> {
    const bounds = boundsOf(after, before)
    if (bounds.before - bounds.after <= 1) return { ids: [], rest: null }
    const { contexts, rest } = await store.select({ ...selection, ...READ, ...bounds, order: 'asc', limit })
    await breathe(contexts.reduce((sum, { parts }) => sum + charactersOf(parts), 0))
    return { ids: (test ? contexts.filter(test) : contexts).map(({ id }) => id), rest }
  }

  /** The next of them with higher ids than that; none is no reason to end. */
  async function page(after: ContextId, limit: number): Promise<MatchingPage> {
    if (!contextIds) return read(after, Infinity, limit)
    // Each is looked up by itself: they may lie far apart.
    const left = contextIds.filter((id) => id > after)
    const some = left.slice(0, limit)
    const found = await Promise.all(some.map((id) => read(id - 1, id + 1, 1)))
    return { ids: found.flatMap(({ ids }) => ids), rest: left.length > limit ? (some.at(-1) ?? null) : null }
  }

  /** How many there are. */
  async function count(): Promise<number> {
    if (!contextIds && test === null) return store.count({ ...selection, ...boundsOf(0, Infinity) })
    let counted = 0
    for (let after: ContextId | null = 0; after !== null;) {
      const { ids, rest }: MatchingPage = await page(after, READ.limit)
      counted += ids.length
      after = rest
      await breathe(Infinity)
    }
    return counted
  }

  return { count, page }
}

/** The outcome for one context. `detail`: why it could not take it; null: it was changed. */
interface Handled {
  readonly contextId: ContextId
  readonly detail: string | null
}

export class OperationRun implements TaskRun {
  readonly #parts: OperationParts
  readonly #given: OperationFacts
  readonly task: Task
  readonly progress: OperationProgress
  /** Gives back its share of the bounds. */
  release: () => void = () => {}

  constructor(parts: OperationParts, given: OperationFacts) {
    this.#parts = parts
    this.#given = given
    this.task = new Task(parts, given.rows.task, given)
    this.progress = given.progress
  }

  /** Memory that the command takes, about. */
  get commandBytes(): number {
    return bytesOf(this.#given.stored.command, Infinity)
  }

  /** Stores it. @throws FluxError `unavailable` */
  begin(): Promise<void> {
    const { rows, stored } = this.#given
    return this.task.commit([rows.progress(this.progress), rows.stored(stored)])
  }

  async run(): Promise<void> {
    const { task, progress } = this
    const { store, clock, log } = this.#parts
    const { rows, stored, before } = this.#given
    const { operationId, startedAt } = progress
    const lastStart = store.partitions > 1 ? startedAt : Infinity
    const matching = await task.persist(() => matchingOf(this.#parts, stored, lastStart))
    const limit = Math.min(WAVE_CONTEXTS, Math.ceil(stored.rate / WAVES_A_SECOND))
    async function* waves() {
      let nextAt = clock.now()
      for (let rest: ContextId | null = progress.cursor; rest !== null;) {
        for (let left = 0; (left = nextAt - clock.now()) > 0; yield [])
          await task.pause(Math.ceil(Math.min(left, NOTE_MS)))
        const begunAt = clock.now()
        const page = await task.persist(() => matching.page(progress.cursor, limit))
        yield page.ids
        rest = page.rest
        progress.cursor = rest ?? stored.upTo
        const now = clock.now()
        const byRate = Math.max(nextAt, begunAt) + (page.ids.length * SECOND_MS) / stored.rate
        nextAt = Math.max(byRate, now + Math.min(now - begunAt, MAX_REST_MS))
      }
    }
    const isDone = await goThrough(
      {
        task,
        noteMs: NOTE_MS,
        waves,
        deal: (id) => this.#deal(id),
        add: (handled: Handled | null) => handled && this.#count(handled),
        progress: () => rows.progress(progress),
      },
      clock,
    )
    const status: OperationProgress['status'] = isDone ? 'done' : 'stopped'
    const changed = before === null ? progress.changed : await task.persist(() => rows.marks.count())
    const ended = { ...progress, status, changed, done: changed + progress.failed, endedAt: clock.now() }
    await task.persist(() => task.end([rows.progress(ended), rows.stored(null)]))
    log.info('an operation has ended', { operationId, status })
    await rows.marks.drop(task, log)
  }

  /** Deals with so many contexts, and stores nothing. @throws FluxError `unavailable` */
  async rehearse(most: number): Promise<void> {
    const { progress } = this
    const matching = await matchingOf(this.#parts, this.#given.stored)
    for (let rest: ContextId | null = 0; rest !== null && progress.done < most;) {
      const page: MatchingPage = await matching.page(rest, Math.min(READ.limit, most - progress.done))
      const handled = await Promise.all(page.ids.map((id) => this.#deal(id)))
      for (const one of handled) if (one && !(one instanceof FluxError)) this.#count(one)
      rest = page.rest
    }
  }

  /** Null: the operation is not for this context. */
  async #deal(contextId: ContextId) {
    const { mailboxes, clock, log, signals } = this.#parts
    const { rows, stored } = this.#given
    const { command } = stored
    const changed = { contextId, detail: null }
    const message = messageOf(command, { ...stored, operationId: this.progress.operationId })
    try {
      const { failure, kept } = await mailboxes.post(contextId, message, {
        waits: true,
        rowsAlways: true,
        rows: ({ kind }) => (kind === 'refused' ? [] : [rows.markOf(contextId, clock.now())]),
      })
      if (command.do === 'event') signals.event(failure ? 'refused' : kept ? 'pending' : 'moved')
      // The refusal may follow from an earlier attempt of this operation, whose outcome was not known.
      return !failure || (await rows.marks.read(contextId)) ? changed : refused(contextId, failure)
    } catch (error) {
      // An earlier attempt, whose outcome was not known, has changed it.
      if (error instanceof RowTaken && error.space === 'marks') return changed
      // A context may refuse as unavailable, too: that is its answer.
      if (isAway(error)) return error
      if (error instanceof FluxError) return refused(contextId, error.failure)
      log.error('an operation could not change a context', { contextId, do: command.do, error })
      return { contextId, detail: 'the server failed; the reason is in its log' }
    }
  }

  #count({ contextId, detail }: Handled) {
    const { progress } = this
    progress.done += 1
    if (detail === null) progress.changed += 1
    else {
      progress.failed += 1
      if (progress.errors.length < MAX_OPERATION_ERRORS)
        progress.errors.push({ contextId, detail: detail.slice(0, MAX_DETAIL_CHARACTERS).toWellFormed() })
    }
  }
}

/** Null: the context is gone, or the caller may not change it, and must not learn that it is there. */
const refused = (contextId: ContextId, { kind, detail }: Failure) =>
  kind === 'notFound' || kind === 'unauthorized' || kind === 'forbidden' ? null : { contextId, detail }

/** The caller of a command, and what it asked for besides. */
interface Sent {
  readonly caller: Caller
  readonly untyped?: boolean
  /** For an operation: the id of its events. */
  readonly operationId?: string
  readonly traceparent?: string | undefined
  /** See `Input`. */
  readonly version?: number | '*' | undefined
  /** The position that the caller saw. In an operation, the mark of the context keeps it from being retried twice. */
  readonly seen?: { readonly epoch: number; readonly attempt: number }
}

/** The message by which a command is done with a context, alone and as part of an operation. */
export function messageOf(
  command: Command,
  { caller, version, untyped = false, operationId: eventId = '', traceparent, seen }: Sent,
): Input {
  switch (command.do) {
    case 'event': {
      const { event: name, input } = command.with
      const arrival = { tags: [], receipt: null, keep: null }
      return { type: 'EVENT', name, eventId, input: input ?? {}, untyped, tags: null, caller, arrival, traceparent }
    }
    case 'tag':
      return { type: 'TAG', add: command.with.tags, remove: [], caller, version }
    case 'untag':
      return { type: 'TAG', add: [], remove: command.with.tags, caller, version }
    case 'retry': {
      const { state = null, input = null, definition = null, newKey } = command.with
      const retry = { state, input, definition, newKey: newKey ?? false, seen: seen ?? null }
      return { type: 'RETRY', ...retry, untyped, caller, version }
    }
    case 'terminate':
      return { type: 'TERMINATE', caller, version }
    case 'pause':
      return { type: 'PAUSE', caller, version }
    case 'resume':
      return { type: 'RESUME', caller, version }
  }
}
