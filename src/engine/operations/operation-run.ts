// engine/operations: carries out an operation, which does something with all contexts that match, in waves. The
// protocol:
//
// 1. It begins with three rows in the partition of its id: how far it is, its task (`tasks/task.ts`), and what is to
//    be done with which contexts (`operation-rows.ts`). The first stays for 7 days after the end; its key counts time
//    down, so a list reads the newest first.
// 2. It goes through contexts as `tasks/fan-out.ts` tells. Each wave reads the next contexts that match now
//    (`selection.ts`), up to the highest id that there was at the start, and sends each the message that its call would
//    send (`MESSAGES`). Of several partitions, contexts that were started later are left out by their time, too.
// 3. What changes nothing (a tag that is there) writes its mark alone; what is refused writes none, and is asked again.
// 4. Every 0.4 seconds, or 1,000 contexts, it stores counts, and the id up to which all is done. A server that takes it
//    over counts the marks behind that id, since many of these contexts do not match any more. At the end it counts the
//    marks from the first takeover on: commits of a server that was held up may have become true later.
//
// A wave takes as many contexts as a twentieth of a second is for, at most 25. Then it rests until the rate allows
// for the next one, and at least as long as the wave took, so that half of the time is for other requests.
import { MAX_OPERATION_ERRORS, type OperationView } from '../../api/operations.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { Log } from '../../ports/log.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Store } from '../../ports/store.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { RowTaken } from '../turn/message.ts'
import { goThrough, type FanOut } from '../tasks/fan-out.ts'
import { Task, type TaskParts } from '../tasks/task.ts'
import { matchingOf, type Matching, type MatchingParts } from './selection.ts'
import type { OperationProgress, OperationRows, StoredOperation } from './operation-rows.ts'
import type { Command } from '../../api/commands.ts'
import type { Caller } from '../../model/caller.ts'
import type { Input } from '../interpreter/decision.ts'

export interface OperationParts extends TaskParts, Pick<MatchingParts, 'catalog' | 'startTimes'> {
  readonly store: Store
  readonly mailboxes: Pick<Mailboxes, 'post'>
  readonly log: Log
  readonly signals: Pick<Signals, 'event'>
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

/** What it came to for one context; null: it is none of those that are meant. `outOfReach`: it is to be tried again. */
type Handled =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'outOfReach' }
  | { readonly outcome: 'failed'; readonly detail: string }

export class OperationRun {
  readonly #parts: OperationParts
  readonly #rows: OperationRows
  readonly #stored: StoredOperation
  readonly task: Task
  readonly #isNew: boolean
  #progress: OperationProgress

  constructor(parts: OperationParts, { rows, stored, progress, before }: OperationFacts) {
    this.#parts = parts
    this.#rows = rows
    this.#stored = stored
    this.#isNew = before === null
    const { cursor, changed } = progress
    this.#progress = this.#isNew ? progress : { ...progress, taken: progress.taken ?? { cursor, changed } }
    this.task = new Task(parts, rows.task, { before })
  }

  get operationId(): string {
    return this.#rows.id
  }

  /** Of who started it. */
  get scope(): string {
    return this.#progress.scope
  }

  /** Of memory that what is to be done takes, about. */
  get commandBytes(): number {
    return bytesOf(this.#stored.command, Infinity)
  }

  /** Stores it. @throws FluxError `unavailable` */
  begin(): Promise<void> {
    return this.task.commit([this.#rows.progress(this.#progress), this.#rows.stored(this.#stored)])
  }

  /** Carries it out. @throws TaskLost; FluxError when the server stops */
  async carryOut(): Promise<OperationView['status']> {
    const matching = await this.task.persist(() => matchingOf(this.#parts, this.#stored, this.#progress.startedAt))
    const { cursor } = this.#progress
    const earlier = this.#isNew ? [] : await this.task.persist(() => this.#rows.marked(cursor))
    const waves = this.#waves(matching, earlier)
    await goThrough(waves, this.#parts.clock)
    const status = waves.hasMore ? 'stopped' : 'done'
    await this.task.persist(() => this.#finish(status))
    return status
  }

  /** `earlier`: those behind the cursor that were changed before this server took it over, ascending. */
  #waves(matching: Matching, earlier: readonly ContextId[]): FanOut {
    const { clock } = this.#parts
    const { rate, upTo } = this.#stored
    const limit = Math.max(1, Math.min(WAVE_CONTEXTS, Math.ceil(rate / WAVES_A_SECOND)))
    const isEarlier = new Set(earlier)
    let begunAt = clock.now()
    /** Those of the wave, and behind which id it continues; of the earlier ones, those up to it. */
    let [sent, rest, passed]: [number, ContextId | null, number] = [0, 0, 0]
    const waves = {
      task: this.task,
      noteMs: NOTE_MS,
      hasMore: true,
      nextAt: begunAt,
      next: async () => {
        begunAt = clock.now()
        const page = await this.task.persist(() => matching.page(this.#progress.cursor, limit))
        const left = page.ids.filter((id) => !isEarlier.has(id))
        ;[sent, rest] = [left.length, page.rest]
        return left
      },
      send: async (ids: readonly ContextId[]) => {
        const handled = await Promise.all(ids.map((id) => this.#one(id)))
        for (const [place, one] of handled.entries()) if (one) this.#count(ids[place] ?? 0, one)
        return ids.filter((_, place) => handled[place]?.outcome === 'outOfReach')
      },
      advance: (left: number) => {
        if (left > 0) return
        const [cursor, before] = [rest ?? upTo, passed]
        while ((earlier[passed] ?? Infinity) <= cursor) passed += 1
        const { done, changed } = this.#progress
        const more = passed - before
        this.#progress = { ...this.#progress, cursor, done: done + more, changed: changed + more }
        waves.hasMore = rest !== null
        const now = clock.now()
        const byRate = Math.max(waves.nextAt, begunAt) + (sent * SECOND_MS) / rate
        waves.nextAt = Math.max(byRate, now + Math.min(now - begunAt, MAX_REST_MS))
      },
      progress: () => this.#rows.progress(this.#progress),
    }
    return waves
  }

  async #one(id: ContextId): Promise<Handled | null> {
    const { mailboxes, clock, log, signals } = this.#parts
    const { command } = this.#stored
    const message = messageOf(command, { ...this.#stored, operationId: this.operationId })
    try {
      const rows = this.#rows.marks(clock.now())
      const { failure, kept } = await mailboxes.post(id, message, { waits: true, rows, rowsAlways: true })
      if (command.do === 'event') signals.event(failure ? 'refused' : kept ? 'pending' : 'moved')
      // That it was refused may be our own doing: an earlier try has changed it, of which nobody heard.
      return failure && !(await this.#rows.isMarked(id)) ? refused(failure) : CHANGED
    } catch (error) {
      // An earlier try has changed it, of which nobody heard.
      if (error instanceof RowTaken && error.space === 'marks') return CHANGED
      if (error instanceof FluxError) return isOutOfReach(error) ? OUT_OF_REACH : refused(error.failure)
      log.error('an operation could not change a context', { contextId: id, do: command.do, error })
      return { outcome: 'failed', detail: 'the server failed; the reason is in its log' }
    }
  }

  #count(contextId: ContextId, handled: Handled): void {
    const progress = this.#progress
    if (handled.outcome === 'outOfReach') return
    if (handled.outcome === 'changed') {
      this.#progress = { ...progress, done: progress.done + 1, changed: progress.changed + 1 }
      return
    }
    const isFull = progress.errors.length >= MAX_OPERATION_ERRORS
    const detail = handled.detail.slice(0, MAX_DETAIL_CHARACTERS).toWellFormed()
    const errors = isFull ? progress.errors : [...progress.errors, { contextId, detail }]
    this.#progress = { ...progress, done: progress.done + 1, failed: progress.failed + 1, errors }
  }

  async #finish(status: 'done' | 'stopped'): Promise<void> {
    const { clock } = this.#parts
    const { taken, failed } = this.#progress
    if (taken) {
      // Of a server that was held up, commits may have become true after this one had looked.
      const changed = taken.changed + (await this.#rows.marked(taken.cursor)).length
      this.#progress = { ...this.#progress, changed, done: changed + failed }
    }
    this.#progress = { ...this.#progress, status, endedAt: clock.now() }
    await this.task.end([this.#rows.progress(this.#progress), this.#rows.stored(null)])
  }
}

const CHANGED: Handled = { outcome: 'changed' }
const OUT_OF_REACH: Handled = { outcome: 'outOfReach' }

/** Whether the store could not be reached. A context may refuse as unavailable, too: that is its answer. */
const isOutOfReach = ({ failure }: FluxError): boolean => failure.kind === 'unavailable'

/** Null: the context is gone, or the caller may not change it, and must not learn that it is there. */
function refused({ kind, detail }: Failure): Handled | null {
  const isHidden = kind === 'notFound' || kind === 'unauthorized' || kind === 'forbidden'
  return isHidden ? null : { outcome: 'failed', detail }
}

type Name = Command['do']
type Withs = { readonly [N in Name]: Extract<Command, { readonly do: N }>['with'] }
type CommandOf<N extends Name> = { readonly [K in N]: { readonly do: K; readonly with: Withs[K] } }[N]

interface Sent {
  readonly caller: Caller
}

/** Of an operation. */
interface SentToMany extends Sent {
  readonly untyped: boolean
  readonly operationId: string
  readonly traceparent?: string | undefined
}

interface RetrySent extends Sent {
  readonly untyped: boolean
  /** The position that the caller saw. Of an operation, the mark of the context keeps it from being retried twice. */
  readonly seen?: { readonly epoch: number; readonly attempt: number }
}

export const MESSAGES = {
  event({ event: name, input }, { caller, untyped, operationId: eventId, traceparent }: SentToMany) {
    const arrival = { tags: [], receipt: null, keep: null }
    return { type: 'EVENT', name, eventId, input: input ?? {}, untyped, tags: null, caller, arrival, traceparent }
  },
  terminate: (_: object, { caller }: Sent) => ({ type: 'TERMINATE', caller }),
  tag: ({ tags }, { caller }: Sent) => ({ type: 'TAG', add: tags, remove: [], caller }),
  untag: ({ tags }, { caller }: Sent) => ({ type: 'TAG', add: [], remove: tags, caller }),
  retry: ({ state = null, input = null, definition = null, newKey }, { caller, untyped, seen }: RetrySent) => ({
    type: 'RETRY',
    state,
    input,
    definition,
    newKey: newKey ?? false,
    untyped,
    seen: seen ?? null,
    caller,
  }),
  pause: (_: object, { caller }: Sent) => ({ type: 'PAUSE', caller }),
  resume: (_: object, { caller }: Sent) => ({ type: 'RESUME', caller }),
} satisfies { readonly [N in Name]: (given: Withs[N], sent: SentToMany) => Input }

const OF_MANY: { readonly [N in Name]: (given: Withs[N], sent: SentToMany) => Input } = MESSAGES

/** The message by which an operation does it with a context. */
export const messageOf = <N extends Name>({ do: name, with: given }: CommandOf<N>, sent: SentToMany): Input =>
  OF_MANY[name](given, sent)
