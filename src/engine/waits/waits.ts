// engine/waits: requests that are held until a context gets somewhere.
//
// - A held request is an entry in a map. It is made before the context is read, so no commit is missed. A commit to a
//   context without waiters costs one look-up; no timer looks at held requests.
// - Whether a state was entered is decided by the number of moves: a request remembers how many were made when it
//   arrived, and looks at those since. A commit has its own moves with it. If there are others in between, another
//   server made them, and the record and its log are read.
// - Servers ask one another for the commits they need (`waits/remote-commits.ts`, `watch` of `ports/feeds.ts`),
//   for 45 seconds at a time, so without waits nothing is published. Since a message may be lost, the versions of the
//   contexts are polled, spread over the second, at most 500 in a second.
// - Many may wait for the same commit. They share one view (`engine/calls/shown-contexts.ts`).
// - Functions that wait hold a step, so their waits end with the step and not when the server begins to stop.
// - `Prefer: wait` is such a wait, begun after the commit (`http/api/prefer.ts`).
import { type ContextId, type ContextRecord, isFinished, type Move, type Status } from '../../model/context.ts'
import { setMaxListeners } from 'node:events'
import type { CountBound } from '../../model/count-bound.ts'
import { SharedRun } from '../../model/shared-run.ts'
import { FluxError, notFound, unavailable } from '../../model/failure.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { Deps } from '../contexts/deps.ts'
import { decodeMoves, decodeRecord } from '../record/decode.ts'
import { movesOf, newestMoves } from '../record/move-log.ts'
import { RemoteCommits } from './remote-commits.ts'

/** Any of these is enough. */
export interface Condition {
  readonly statuses: readonly Status[]
  /** By their names, with their indices in the definition of the context. */
  readonly states: ReadonlyMap<string, number>
  readonly tags: readonly string[]
  /** It has paused, if it has not ended: the caller of its webhook has an answer. */
  readonly answered?: true
}

export const ANSWERED: Condition = { statuses: [], states: new Map(), tags: [], answered: true }

/**
 * Whether it has that status or a tag of those, is in that state, or has an answer. `tags`: its tags, made once for all
 * that wait for a context.
 */
export const standsSo = (
  condition: Condition,
  { status, state, paused, tags: own }: ContextRecord,
  tags: ReadonlySet<string> = new Set(own),
): boolean =>
  condition.statuses.includes(status) ||
  [...condition.states.values()].includes(state) ||
  (condition.answered === true && (paused !== undefined || status !== 'RUNNING')) ||
  condition.tags.some((tag) => tags.has(tag))

/** Whether one of the last `count` moves entered a state that is waited for. */
export const hasEntered = ({ states }: Condition, moves: readonly Move[], count: number): boolean =>
  states.size > 0 && moves.slice(Math.max(0, moves.length - count)).some(({ to }) => states.has(to))

export interface WaitsParts extends Deps {
  /** What other servers report; null: there are none. */
  readonly feed: CommitFeed | null
  readonly bound: CountBound
}

/** How it ended: the context got there; or it has ended, or the time is up, and it may have got there or not. */
export type WaitOutcome = 'there' | 'over'

/** A held request. It is made before its context is read, so that no commit is missed. */
export interface Waiter {
  readonly id: ContextId
  /** It belongs to a step, or to the caller of a webhook: it goes on while the server stops. */
  readonly staysOn: boolean
  /** For the caller of a webhook: takes its answer from the record, as it was committed. Null: any other caller. */
  readonly take: ((record: ContextRecord) => void) | null
  /** null until the context was read. */
  condition: Condition | null
  /** Moves of the context that were looked at, or were there before; null: not known. */
  seen: number | null
  end: ((outcome: WaitOutcome | Error) => void) | null
}

/** A context as it was committed. */
interface Seen {
  readonly record: ContextRecord
  /** The newest; if older ones were not looked at, the store is asked. */
  readonly moves: readonly Move[]
  readonly tags: ReadonlySet<string>
  readonly whole: () => ContextRecord
}

interface Watched {
  readonly waits: Set<Waiter>
  /** The version last seen; null: none yet. */
  version: number | null
  /** Reads the context, and judges by what the store has. */
  readonly look: SharedRun<void>
}

export class Waits {
  readonly #parts: WaitsParts
  readonly #watched = new Map<ContextId, Watched>()
  readonly #remote: RemoteCommits | null
  #isStopping = false

  constructor(parts: WaitsParts) {
    this.#parts = parts
    const { feed } = parts
    const onCommit = (id: ContextId) => void this.#look(id)
    this.#remote = feed && new RemoteCommits({ ...parts, feed, watched: this.#watched, onCommit })
  }

  /** From now on no commit to the context is missed. @throws FluxError `overloaded`, `unavailable` */
  join(id: ContextId, { isStep = false }: { readonly isStep?: boolean } = {}): Waiter {
    if (this.#isStopping && !isStep) throw stopping()
    this.#parts.bound.take()
    const wait: Waiter = { id, staysOn: isStep, take: null, condition: null, seen: null, end: null }
    if (this.#enter(wait).waits.size === 1) this.#remote?.announce(id)
    return wait
  }

  /**
   * What `valueOf` gives of the first record of the context that has paused or ended, as it was committed. Other
   * servers need not be asked for it: they report each answer.
   */
  expect<T>(valueOf: (record: ContextRecord) => T | null) {
    let value: T | null = null
    let wait: Waiter | null = null
    const take = (record: ContextRecord) => {
      value ??= valueOf(record)
    }
    const leave = () => {
      if (wait) this.leave(wait)
    }
    return {
      /** From now on no commit to that context is missed. It may be another one for each try of a start. */
      of: (id: ContextId) => {
        if (wait?.id === id) return
        leave()
        wait = { id, staysOn: true, take, condition: ANSWERED, seen: 0, end: null }
        this.#enter(wait)
      },
      /** Null: its time is up. A context that is gone gives no answer. */
      within: (milliseconds: number) =>
        (wait && value === null ? this.#held(wait, milliseconds) : Promise.resolve())
          .then(
            () => value,
            () => value,
          )
          .finally(leave),
      leave,
    }
  }

  /** Forgets it at once. */
  leave(wait: Waiter): void {
    const watched = this.#watched.get(wait.id)
    if (!watched?.waits.delete(wait)) return
    if (wait.take === null) this.#parts.bound.release()
    if (watched.waits.size === 0) this.#watched.delete(wait.id)
  }

  /**
   * Holds it until its context gets there or ends, or `timeout` milliseconds are over.
   * @param record the context, as it was read after `join`
   * @throws FluxError `unavailable` when the server stops, `notFound` when the context is gone; what `signal` says
   */
  hold(
    wait: Waiter,
    record: ContextRecord,
    { condition, timeout, signal }: { condition: Condition; timeout: number; signal: AbortSignal | undefined },
  ): Promise<WaitOutcome> {
    if (standsSo(condition, record)) return Promise.resolve('there')
    wait.condition = condition
    // A commit since `join` was not looked at: its moves are among those that the store has now.
    const isBehind = wait.seen !== null
    wait.seen = Math.min(wait.seen ?? record.moves, record.moves)
    const watched = this.#watched.get(wait.id)
    if (watched) watched.version ??= record.version
    // The caller reads it again, with what was missed.
    if (isFinished(record.status) || timeout === 0) return Promise.resolve('over')
    const held = this.#held(wait, timeout, signal)
    if (isBehind) void this.#look(wait.id)
    return held
  }

  #enter(wait: Waiter): Watched {
    const { id } = wait
    const watched = this.#watched.get(id) ?? {
      waits: new Set(),
      version: null,
      look: new SharedRun(() => this.#read(id)),
    }
    watched.waits.add(wait)
    this.#watched.set(id, watched)
    this.#remote?.watch()
    return watched
  }

  #held(wait: Waiter, timeout: number, signal?: AbortSignal): Promise<WaitOutcome> {
    return new Promise((resolve, reject) => {
      const abort = () => wait.end?.(abortReason(signal))
      const callOff = this.#parts.clock.after(timeout, () => wait.end?.('over'))
      wait.end = (outcome) => {
        wait.end = null
        callOff()
        signal?.removeEventListener('abort', abort)
        if (outcome instanceof Error) {
          this.leave(wait)
          reject(outcome)
        } else resolve(outcome)
      }
      if (signal?.aborted) return abort()
      // One function may wait for many contexts.
      if (signal) setMaxListeners(0, signal)
      signal?.addEventListener('abort', abort)
      if (this.#isStopping && !wait.staysOn) wait.end(stopping())
    })
  }

  /** To be called for each commit of this server. `moves`: those of this commit. */
  onCommit(record: ContextRecord, moves: readonly Move[]): void {
    this.#remote?.tell(record.id)
    if (this.#watched.size === 0) return
    const watched = this.#watched.get(record.id)
    if (!watched) return
    watched.version = record.version
    const tags = new Set(record.tags)
    for (const wait of watched.waits) this.#judge(wait, { record, moves, tags, whole: () => record })
  }

  /** Ends all requests that are held; those of steps and of callers of webhooks stay. No more are taken. */
  giveUp(): void {
    this.#isStopping = true
    for (const wait of this.#all()) if (!wait.staysOn) wait.end?.(stopping())
  }

  /** Ends those of callers of webhooks, as if their time were up. */
  endCallers(): void {
    for (const wait of this.#all()) if (wait.take) wait.end?.('over')
  }

  /** Ends all that are left. */
  close(): void {
    this.giveUp()
    for (const wait of this.#all()) wait.end?.(stopping())
    this.#remote?.close()
  }

  #all(): Waiter[] {
    return [...this.#watched.values()].flatMap(({ waits }) => [...waits])
  }

  /** `whole`: the record with its data. */
  #judge(wait: Waiter, { record, moves, tags, whole }: Seen): void {
    const { condition, seen } = wait
    if (condition === null || seen === null) {
      wait.seen ??= record.moves - moves.length
      return
    }
    const unseen = record.moves - seen
    if (standsSo(condition, record, tags) || hasEntered(condition, moves, unseen)) {
      wait.take?.(whole())
      return wait.end?.('there')
    }
    if (condition.states.size > 0 && unseen > moves.length && moves.length < record.moves)
      return void this.#look(record.id)
    wait.seen = record.moves
    if (isFinished(record.status)) wait.end?.('over')
  }

  /** Looks at what the store has: one read at a time, however many commits there were. */
  async #look(id: ContextId): Promise<void> {
    const watched = this.#watched.get(id)
    try {
      await watched?.look.get()
    } catch (error) {
      // The poll, or the end of the wait, looks again.
      if (error instanceof FluxError && error.failure.kind === 'unavailable') return
      for (const wait of watched?.waits ?? []) wait.end?.(error instanceof Error ? error : new Error(String(error)))
    }
  }

  async #read(id: ContextId): Promise<void> {
    const watched = this.#watched.get(id)
    if (!watched) return
    const stored = await this.#parts.store.load({ id })
    if (!stored) throw notFound(`there is no context ${id}`)
    const record = decodeMoves(stored)
    const newest = newestMoves(record, this.#parts.log)
    const isBehind = [...watched.waits].some(
      ({ condition, seen }) => (condition?.states.size ?? 0) > 0 && record.moves - (seen ?? 0) > newest.length,
    )
    const moves = isBehind ? await movesOf(record, this.#parts) : newest
    watched.version = record.version
    const tags = new Set(record.tags)
    for (const wait of watched.waits) {
      if (wait.condition === null) continue
      const { seen } = wait
      // Older ones are no longer kept.
      if (isBehind && seen !== null) wait.seen = Math.max(seen, record.moves - moves.length)
      this.#judge(wait, { record, moves, tags, whole: () => decodeRecord(stored) })
    }
  }
}

const stopping = (): FluxError => unavailable('the server is stopping')

const abortReason = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new Error('the wait was aborted')
