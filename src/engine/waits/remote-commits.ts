// engine/waits: commits of other servers to contexts that callers wait for here. The other servers are asked to report
// them; since a message may be lost, each context is also polled about once a second. Without waits it does nothing.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { Deps } from '../contexts/deps.ts'
import { Periodic } from '../../ports/periodic.ts'

/** Milliseconds between two ticks. Each polls its share, so that polls are spread evenly over the second. */
const TICK_MS = 100
/** Ticks in which all contexts are polled once, if the bound allows it. */
const TICKS_A_ROUND = 10
/** Contexts polled in one tick. With more than 500, a round takes longer than a second. */
const MAX_POLLS = 50
/** Milliseconds after which the other servers forget a context, unless it is announced again: each tick does so. */
const INTEREST_MS = 45_000
/** Contexts that other servers may have asked for. Those beyond are found by polling. */
const MAX_INTERESTS = 100_000

export interface RemoteCommitsParts extends Deps {
  readonly feed: CommitFeed
  /** The contexts that are waited for. `version`: that last seen; null: it is not known yet. */
  readonly watched: ReadonlyMap<ContextId, { readonly version: number | null }>
  /** Another server has committed to that context, or may have. */
  readonly onCommit: (id: ContextId) => void
}

export class RemoteCommits {
  readonly #parts: RemoteCommitsParts
  readonly #ticks: Periodic
  readonly #round: Generator<ContextId, never>
  /** What other servers have asked for, and until when, epoch milliseconds; what ends first comes first. */
  readonly #interests = new Map<ContextId, number>()

  constructor(parts: RemoteCommitsParts) {
    const { feed, watched, clock, onCommit } = parts
    this.#parts = parts
    this.#round = endless(watched)
    this.#ticks = new Periodic(clock, () => this.#tick())
    feed.onNotified((id) => {
      if (watched.has(id)) onCommit(id)
    })
    feed.onWatched((ids) => this.#remember(ids))
  }

  /** A context is waited for. */
  watch(): void {
    this.#ticks.within(TICK_MS)
  }

  /** Asks the other servers now. Otherwise they are asked at the next poll of the context. */
  announce(id: ContextId): void {
    this.#parts.feed.watch([id])
  }

  /** Tells the servers that asked for it that this one has committed to the context. */
  tell(id: ContextId): void {
    if (this.#interests.size === 0) return
    if ((this.#interests.get(id) ?? 0) > this.#parts.clock.now()) this.#parts.feed.notify(id)
  }

  close(): void {
    void this.#ticks.stop()
  }

  /** A slow store gets no more polls: the next tick comes when all polls of this one are done. */
  async #tick(): Promise<number | null> {
    const { watched, feed } = this.#parts
    if (watched.size === 0) return null
    const share = Math.min(Math.ceil(watched.size / TICKS_A_ROUND), MAX_POLLS)
    const ids = Array.from({ length: share }, () => this.#round.next().value)
    feed.watch(ids)
    await Promise.all(ids.map((id) => this.#poll(id)))
    return TICK_MS
  }

  async #poll(id: ContextId): Promise<void> {
    const { store, log, watched, onCommit } = this.#parts
    const versionOf = () => watched.get(id)?.version ?? null
    if (versionOf() === null) return
    try {
      const found = await store.version({ id })
      // Looked at again: a commit of this server may have come meanwhile.
      const seen = versionOf()
      if (seen !== null && found !== seen) onCommit(id)
    } catch (error) {
      // The next round asks again.
      if (!(error instanceof FluxError))
        log.error('a context that is waited for could not be looked at', { contextId: id, error })
    }
  }

  #remember(ids: readonly ContextId[]): void {
    const [interests, now] = [this.#interests, this.#parts.clock.now()]
    for (const id of ids) interests.delete(id)
    for (const [id, until] of interests) {
      if (until > now) break
      interests.delete(id)
    }
    for (const id of ids) if (interests.size < MAX_INTERESTS) interests.set(id, now + INTEREST_MS)
  }
}

/** All keys, again and again: there must be one each time that the next is asked for. */
function* endless(watched: ReadonlyMap<ContextId, unknown>): Generator<ContextId, never> {
  for (;;) yield* watched.keys()
}
