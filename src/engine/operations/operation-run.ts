// engine/operations: carries out an operation, which does something with all contexts that match, in waves. The
// protocol:
//
// 1. It begins with three rows in the partition of its id: how far it is, its task (`tasks/task.ts`), and what is to
//    be done with which contexts (`operation-rows.ts`). The first stays for 7 days after the end; its key counts time
//    down, so a list reads the newest first.
// 2. It goes through contexts as `tasks/fan-out.ts` tells. Each wave reads the next contexts that match now
//    (`selection.ts`), up to the highest id that there was at the start, and sends each the message that its call would
//    send (`messageOf`). Of several partitions, contexts that were started later are left out by their time, too.
// 3. What changes nothing (a tag that is there) writes its mark alone; what is refused writes none, and is asked again.
// 4. Every 0.4 seconds, or 1,000 contexts, it stores counts, and the id up to which all is done. A server that takes it
//    over goes on behind that id. What the former server changed behind it may not match any more, and its commits may
//    become true later: so one that was taken over counts its marks at the end.
//
// A wave takes as many contexts as a twentieth of a second is for, at most 25. Then it rests until the rate allows
// for the next one, and at least as long as the wave took, so that half of the time is for other requests.
import { MAX_OPERATION_ERRORS } from '../../api/operations.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { RowTaken } from '../turn/message.ts'
import { goThrough } from '../tasks/fan-out.ts'
import type { TaskRun } from '../tasks/queue.ts'
import { isAway, Task, type TaskParts } from '../tasks/task.ts'
import { matchingOf, type MatchingParts } from './selection.ts'
import type { OperationProgress, OperationRows, StoredOperation } from './operation-rows.ts'
import type { Command } from '../../api/commands.ts'
import type { Caller } from '../../model/caller.ts'
import type { Input } from '../interpreter/decision.ts'

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

/** Contexts that it is done with at the same time: callers who come meanwhile wait for them. */
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

/** What it came to for one context. `detail`: why it could not take it; null: it was changed. */
interface Handled {
  readonly contextId: ContextId
  readonly detail: string | null
}

export class OperationRun implements TaskRun {
  readonly #parts: OperationParts
  readonly #given: OperationFacts
  readonly task: Task
  readonly progress: OperationProgress
  /** Gives back what it has of the bounds. */
  release: () => void = () => {}

  constructor(parts: OperationParts, given: OperationFacts) {
    this.#parts = parts
    this.#given = given
    this.task = new Task(parts, given.rows.task, given)
    this.progress = given.progress
  }

  /** Of memory that what is to be done takes, about. */
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

  /** Null: it is none of those that are meant. */
  async #deal(contextId: ContextId): Promise<Handled | FluxError | null> {
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
      // That it was refused may be our own doing: an earlier try has changed it, of which nobody heard.
      return !failure || (await rows.marks.read(contextId)) ? changed : refused(contextId, failure)
    } catch (error) {
      // An earlier try has changed it, of which nobody heard.
      if (error instanceof RowTaken && error.space === 'marks') return changed
      // A context may refuse as unavailable, too: that is its answer.
      if (isAway(error)) return error
      if (error instanceof FluxError) return refused(contextId, error.failure)
      log.error('an operation could not change a context', { contextId, do: command.do, error })
      return { contextId, detail: 'the server failed; the reason is in its log' }
    }
  }

  #count({ contextId, detail }: Handled): void {
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
const refused = (contextId: ContextId, { kind, detail }: Failure): Handled | null =>
  kind === 'notFound' || kind === 'unauthorized' || kind === 'forbidden' ? null : { contextId, detail }

/** The caller of a command, and what it asked for besides. */
interface Sent {
  readonly caller: Caller
  readonly untyped?: boolean
  /** Of an operation: the id of its events. */
  readonly operationId?: string
  readonly traceparent?: string | undefined
  /** The position that the caller saw. Of an operation, the mark of the context keeps it from being retried twice. */
  readonly seen?: { readonly epoch: number; readonly attempt: number }
}

/** The message by which a command is done with a context, alone and as part of an operation. */
export function messageOf(
  command: Command,
  { caller, untyped = false, operationId: eventId = '', traceparent, seen }: Sent,
): Input {
  switch (command.do) {
    case 'event': {
      const { event: name, input } = command.with
      const arrival = { tags: [], receipt: null, keep: null }
      return { type: 'EVENT', name, eventId, input: input ?? {}, untyped, tags: null, caller, arrival, traceparent }
    }
    case 'tag':
      return { type: 'TAG', add: command.with.tags, remove: [], caller }
    case 'untag':
      return { type: 'TAG', add: [], remove: command.with.tags, caller }
    case 'retry': {
      const { state = null, input = null, definition = null, newKey } = command.with
      const retry = { state, input, definition, newKey: newKey ?? false, seen: seen ?? null }
      return { type: 'RETRY', ...retry, untyped, caller }
    }
    case 'terminate':
      return { type: 'TERMINATE', caller }
    case 'pause':
      return { type: 'PAUSE', caller }
    case 'resume':
      return { type: 'RESUME', caller }
  }
}
