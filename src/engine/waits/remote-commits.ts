// engine/waits: commits of other servers to contexts that callers wait for here. The other servers are asked to report
// them; since a message may be lost, each context is also polled about once a second. Without waits it does nothing.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { Deps } from '../contexts/deps.ts'

/** Milliseconds between two ticks. Each polls its share, so that polls are spread evenly over the second. */
const TICK_MS = 100
/** Ticks in which all contexts are polled once, if the bound allows it. */
const TICKS_A_ROUND = 10
/** Contexts polled in one tick. With more than 500, a round takes longer than a second. */
const MAX_POLLS = 50
/** Ticks between two announcements of all contexts; the other servers forget them after `INTEREST_MS`. */
const TICKS_A_RENEWAL = 50
const INTEREST_MS = 15_000
/** Contexts in one announcement. */
const MAX_ANNOUNCED = 1000
/** Contexts that other servers may have asked for. Those beyond are found by polling. */
const MAX_INTERESTS = 100_000

export interface RemoteCommitsParts extends Pick<Deps, 'store' | 'clock'> {
  readonly feed: CommitFeed
  /** The version last seen of a context; null: it is not known yet, or nobody waits for it. */
  readonly versionOf: (id: ContextId) => number | null
  /** Told when another server has committed to that context, or may have. */
  readonly onCommit: (id: ContextId) => void
}

export class RemoteCommits {
  readonly #parts: RemoteCommitsParts
  readonly #watched = new Set<ContextId>()
  /** Where the round goes on. */
  #round: Iterator<ContextId> = [][Symbol.iterator]()
  /** Not announced yet. */
  #unannounced: ContextId[] = []
  /** Announced lately: polled once out of turn, since a commit may have come before the announcement arrived. */
  #fresh: ContextId[] = []
  #ticks = 0
  #polling = 0
  #callOff: (() => void) | null = null
  /** What other servers have asked for, and until when, epoch milliseconds. */
  readonly #interests = new Map<ContextId, number>()
  /** When those that are over are deleted, by the next that ask. */
  #sweepAt = 0

  constructor(parts: RemoteCommitsParts) {
    this.#parts = parts
    parts.feed.onNotified((id) => {
      if (this.#watched.has(id)) parts.onCommit(id)
    })
    parts.feed.onWatched((ids) => this.#remember(ids))
  }

  watch(id: ContextId): void {
    this.#watched.add(id)
    if (this.#callOff === null) this.#schedule()
  }

  /** Asks the others now, who are otherwise asked at the next renewal. */
  announce(id: ContextId): void {
    if (this.#unannounced.length === 0) queueMicrotask(() => this.#announceAll())
    this.#unannounced.push(id)
  }

  unwatch(id: ContextId): void {
    this.#watched.delete(id)
  }

  /** Tells the servers that asked for it that this one has committed to the context. */
  tell(id: ContextId): void {
    if (this.#interests.size === 0) return
    const until = this.#interests.get(id)
    if (until !== undefined && until > this.#parts.clock.now()) this.#parts.feed.notify(id)
  }

  close(): void {
    this.#watched.clear()
    this.#callOff?.()
  }

  #announceAll(): void {
    const ids = this.#unannounced
    this.#unannounced = []
    this.#publish(ids)
    for (const id of ids) this.#fresh.push(id)
  }

  #publish(ids: readonly ContextId[]): void {
    for (let from = 0; from < ids.length; from += MAX_ANNOUNCED)
      this.#parts.feed.watch(ids.slice(from, from + MAX_ANNOUNCED))
  }

  #schedule(): void {
    this.#callOff = this.#parts.clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    this.#callOff = null
    if (this.#watched.size === 0) {
      this.#fresh = []
      return
    }
    this.#ticks += 1
    if (this.#ticks % TICKS_A_RENEWAL === 0) this.#publish([...this.#watched])
    // A store that is slow is not asked for more.
    if (this.#polling === 0) this.#pollSome()
    this.#schedule()
  }

  #pollSome(): void {
    const fresh = this.#fresh.splice(0, MAX_POLLS)
    for (const id of fresh) void this.#poll(id)
    const share = Math.ceil(this.#watched.size / TICKS_A_ROUND)
    for (let left = Math.min(share, MAX_POLLS - fresh.length); left > 0; left -= 1) {
      let next = this.#round.next()
      if (next.done) {
        this.#round = this.#watched.values()
        next = this.#round.next()
      }
      if (next.done) return
      void this.#poll(next.value)
    }
  }

  async #poll(id: ContextId): Promise<void> {
    const { store, versionOf, onCommit } = this.#parts
    if (versionOf(id) === null) return
    this.#polling += 1
    try {
      const found = await store.version({ id })
      // Looked at again: a commit of this server may have come meanwhile.
      const seen = versionOf(id)
      if (seen !== null && found !== seen) onCommit(id)
    } catch (error) {
      // The next round asks again.
      if (!(error instanceof FluxError)) throw error
    } finally {
      this.#polling -= 1
    }
  }

  #remember(ids: readonly ContextId[]): void {
    const now = this.#parts.clock.now()
    if (now >= this.#sweepAt) {
      for (const [id, until] of this.#interests) if (until <= now) this.#interests.delete(id)
      this.#sweepAt = now + INTEREST_MS
    }
    for (const id of ids)
      if (this.#interests.size < MAX_INTERESTS || this.#interests.has(id)) this.#interests.set(id, now + INTEREST_MS)
  }
}
