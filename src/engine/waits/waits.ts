// engine: requests that are held until a context gets somewhere. A held request is an entry in a map: it is looked at
// when its context is committed, and costs nothing else. Commits to contexts that nobody waits for pay one look-up.
import { setMaxListeners } from 'node:events'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError, notFound, unavailable } from '../../model/failure.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { decodeMoves } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { ByTag, hasEntered, standsIn, standsSo, type Condition } from './condition.ts'
import { RemoteCommits } from './remote-commits.ts'

export interface WaitsParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** What other servers report; null: there are none. */
  readonly feed: CommitFeed | null
  readonly bound: CountBound
}

/** Requests that go on in one turn of the event loop: many may wait for the same commit. */
const MAX_ENDS = 100

/** How it ended: the context got there; or it has ended, or the time is up, and it may have got there or not. */
export type WaitOutcome = 'there' | 'over'

/** A held request. It is made before its context is read, so that no commit is missed. */
export interface HeldRequest {
  readonly id: ContextId
  /** It belongs to a step: it goes on while the server stops. */
  readonly isStep: boolean
  /** null until the context was read. */
  condition: Condition | null
  /** Moves of the context that were looked at, or were there before; null: not known. */
  seen: number | null
  end: ((outcome: WaitOutcome | Error) => void) | null
}

interface Watched {
  readonly waits: Set<HeldRequest>
  /** Those of them that wait for a tag. */
  readonly byTag: ByTag<HeldRequest>
  /** The version last seen; null: none yet. */
  version: number | null
  isLooking: boolean
  looksAgain: boolean
}

export class Waits {
  readonly #parts: WaitsParts
  readonly #watched = new Map<ContextId, Watched>()
  readonly #remote: RemoteCommits | null
  readonly #ending: (() => void)[] = []
  #isStopping = false

  constructor(parts: WaitsParts) {
    this.#parts = parts
    const { feed, store, clock } = parts
    this.#remote =
      feed &&
      new RemoteCommits({
        feed,
        store,
        clock,
        versionOf: (id) => this.versionOf(id),
        onCommit: (id) => this.#look(id),
      })
  }

  /** From now on no commit to the context is missed. @throws FluxError `overloaded`, `unavailable` */
  join(id: ContextId, { isStep }: { readonly isStep: boolean }): HeldRequest {
    if (this.#isStopping && !isStep) throw stopping()
    this.#parts.bound.take()
    const wait: HeldRequest = { id, isStep, condition: null, seen: null, end: null }
    const watched = this.#watched.get(id)
    if (watched) watched.waits.add(wait)
    else {
      const byTag = new ByTag<HeldRequest>()
      this.#watched.set(id, { waits: new Set([wait]), byTag, version: null, isLooking: false, looksAgain: false })
      this.#remote?.watch(id)
    }
    return wait
  }

  /** Forgets it at once. */
  leave(wait: HeldRequest): void {
    const watched = this.#watched.get(wait.id)
    if (!watched?.waits.delete(wait)) return
    watched.byTag.delete(wait, wait.condition?.tags ?? [])
    this.#parts.bound.release()
    if (watched.waits.size > 0) return
    this.#watched.delete(wait.id)
    this.#remote?.unwatch(wait.id)
  }

  /**
   * Holds it until its context gets there or ends, or `timeout` milliseconds are over.
   * @param record the context, as it was read after `join`
   * @throws FluxError `unavailable` when the server stops, `notFound` when the context is gone; what `signal` says
   */
  hold(
    wait: HeldRequest,
    record: Pick<ContextRecord, 'version' | 'moves' | 'status' | 'state' | 'tags' | 'paused'>,
    { condition, timeout, signal }: { condition: Condition; timeout: number; signal: AbortSignal | undefined },
  ): Promise<WaitOutcome> {
    if (standsSo(condition, record)) return Promise.resolve('there')
    wait.condition = condition
    // A commit since `join` was not looked at: its moves are among those that the store has now.
    const isBehind = wait.seen !== null
    wait.seen = Math.min(wait.seen ?? record.moves, record.moves)
    const watched = this.#watched.get(wait.id)
    if (watched) watched.version ??= record.version
    watched?.byTag.add(wait, condition.tags)
    // Whoever asks reads it again, with what was missed.
    if (isFinished(record.status) || timeout === 0) return Promise.resolve('over')
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
        } else this.#goOn(() => resolve(outcome))
      }
      if (signal?.aborted) return abort()
      // One function may wait for many contexts.
      if (signal) setMaxListeners(0, signal)
      signal?.addEventListener('abort', abort)
      if (this.#isStopping && !wait.isStep) wait.end(stopping())
      else if (isBehind) this.#look(wait.id)
    })
  }

  /** The version of a context last seen here; null: it is not waited for, or was not read yet. */
  versionOf(id: ContextId): number | null {
    return this.#watched.get(id)?.version ?? null
  }

  /** To be called for each commit of this server. `moves`: those of this commit. */
  onCommit(record: ContextRecord, moves: readonly Move[]): void {
    this.#remote?.tell(record.id)
    if (this.#watched.size === 0) return
    const watched = this.#watched.get(record.id)
    if (!watched) return
    watched.version = record.version
    const tagged = watched.byTag.having(record.tags)
    for (const wait of watched.waits) this.#judge(wait, record, moves, tagged)
  }

  /** Ends all requests that are held; those of steps stay. No more are taken. */
  giveUp(): void {
    this.#isStopping = true
    for (const { waits } of this.#watched.values()) for (const wait of waits) if (!wait.isStep) wait.end?.(stopping())
  }

  /** Ends all that are left. */
  close(): void {
    this.giveUp()
    for (const { waits } of this.#watched.values()) for (const wait of waits) wait.end?.(stopping())
    this.#remote?.close()
  }

  /**
   * `moves`: the newest; if older ones were not looked at, the store is asked. `tagged`: who waits for a tag that it has.
   */
  #judge(
    wait: HeldRequest,
    record: Pick<ContextRecord, 'id' | 'moves' | 'status' | 'state' | 'paused'>,
    moves: readonly Move[],
    tagged: ReadonlySet<HeldRequest>,
  ): void {
    const { condition, seen } = wait
    if (condition === null || seen === null) {
      wait.seen ??= record.moves - moves.length
      return
    }
    const unseen = record.moves - seen
    const isThere = tagged.has(wait) || standsIn(condition, record) || hasEntered(condition, moves, unseen)
    if (isThere) return wait.end?.('there')
    if (condition.states.length > 0 && unseen > moves.length && moves.length < record.moves)
      return this.#look(record.id)
    wait.seen = record.moves
    if (isFinished(record.status)) wait.end?.('over')
  }

  /** Reads the context, and judges by what the store has. One read at a time, however many commits there were. */
  #look(id: ContextId): void {
    const watched = this.#watched.get(id)
    if (!watched) return
    if (watched.isLooking) {
      watched.looksAgain = true
      return
    }
    watched.isLooking = true
    this.#read(id, watched)
      .catch((error: unknown) => {
        // The poll, or the end of the wait, looks again.
        if (error instanceof FluxError && error.failure.kind === 'unavailable') return
        for (const wait of watched.waits) wait.end?.(error instanceof Error ? error : new Error(String(error)))
      })
      .finally(() => {
        watched.isLooking = false
        if (!watched.looksAgain) return
        watched.looksAgain = false
        this.#look(id)
      })
  }

  async #read(id: ContextId, watched: Watched): Promise<void> {
    const stored = await this.#parts.store.load({ id })
    if (!stored) throw notFound(`there is no context ${id}`)
    const record = decodeMoves(stored)
    const isBehind = [...watched.waits].some(
      ({ condition, seen }) => (condition?.states.length ?? 0) > 0 && record.moves - (seen ?? 0) > record.tail.length,
    )
    const moves = isBehind ? await movesOf(record, this.#parts) : record.tail
    watched.version = record.version
    const tagged = watched.byTag.having(record.tags)
    for (const wait of watched.waits) {
      if (wait.condition === null) continue
      const { seen } = wait
      // Older ones are no longer kept.
      if (isBehind && seen !== null) wait.seen = Math.max(seen, record.moves - moves.length)
      this.#judge(wait, record, moves, tagged)
    }
  }

  #goOn(end: () => void): void {
    if (this.#ending.length === 0) setImmediate(() => this.#endSome())
    this.#ending.push(end)
  }

  #endSome(): void {
    for (const end of this.#ending.splice(0, MAX_ENDS)) end()
    if (this.#ending.length > 0) setImmediate(() => this.#endSome())
  }
}

const stopping = (): FluxError => unavailable('the server is stopping')

const abortReason = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new Error('the wait was aborted')
