// engine/pending: the commits of an unclaimed event: one for all that reached no context, and waits for one. The
// protocol:
//
// 1. The event is a row of the space `held` in one partition, its home: that of the key of its receipt, if it has one,
//    so that it is written in the commit of the answer. Rows in `lookups` lead to it, one in each partition and for
//    each tag. Their keys begin with the name of the event (`look-up-keys.ts`), so a context that waits for many
//    events with many tags costs one read for each event, or one for all where few events are unclaimed.
// 2. A commit that gives a context a waiting key, in a partition with look-ups, has that context looked at afterwards
//    (`look-ups.ts`): it is offered what fits, in the order of arrival.
// 3. A context of the home takes the event in one commit with the row, which is deleted, so nothing else can take it.
// 4. In another partition the event is claimed first, in its row (`offers.ts`). The context takes it in a commit that
//    replaces a token, the look-up row of the first tag in its partition, by the mark that it is taken.
// 5. A server that finds a claim whose time is over replaces the token by another: either that fails, since the event
//    is taken, or a commit under the old claim will never be accepted, however late it arrives. The token is read
//    before the claim, written before the event, and deleted after it.
// 6. Every server goes over all unclaimed events from time to time (`held-sweep.ts`). That covers a crash after any
//    commit: each is of one partition.
import { randomUUID } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { outcomeRowKey, type PendingOutcome } from '../../model/pending.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitOutcome, Store } from '../../ports/store.ts'
import {
  heldRowOf,
  homeOf,
  lookupOf,
  newToken,
  removalElsewhere,
  removalOfHome,
  rowsElsewhere,
  textOf,
  tokenKeyOf,
  type HeldEvent,
  type HeldRow,
} from './held-event.ts'

export interface HeldStoreParts {
  readonly store: Store
  readonly clock: Clock
  /** Milliseconds for which receipts are kept. */
  readonly kept: number
}

/** Milliseconds for which a claim is left to who made it. */
const LEASE_MS = 10_000

/** Receipts are written that much after the event came, at most. */
const RECEIPT_SLACK_MS = 600_000

/** What became of a claim. */
type Fate = 'taken' | 'void'

export class HeldStore {
  readonly #parts: HeldStoreParts

  constructor(parts: HeldStoreParts) {
    this.#parts = parts
  }

  get partitions(): number {
    return this.#parts.store.partitions
  }

  /** Null: nobody can take it any more. */
  async read(home: number, key: string): Promise<HeldRow | null> {
    const row = await this.#parts.store.readRow({ partition: home, space: 'held', key })
    return row && heldRowOf(home, key, row.value)
  }

  /** Writes the look-up rows of all partitions but its home: before it is held. */
  async spread(event: HeldEvent): Promise<void> {
    await Promise.all(this.#others(event).map((partition) => this.#spreadTo(event, partition)))
  }

  /** Removes what `spread` wrote, of an event that was not held after all, or is not any more. */
  async gather(event: HeldEvent): Promise<void> {
    await Promise.all(this.#others(event).map((partition) => this.#commit(removalElsewhere(event, partition))))
  }

  /** The token of that partition, which is written if it is lost; null: a context has taken the event. */
  async tokenOf(event: HeldEvent, partition: number): Promise<string | null> {
    const found = await this.#tokenIn(event, partition)
    if (found === null) await this.#spreadTo(event, partition)
    const token = found ?? (await this.#tokenIn(event, partition))
    return token === null || lookupOf(token).taken !== undefined ? null : token
  }

  /** Nobody else may take it as long as it is claimed; null: somebody was faster. */
  claim(held: HeldRow, contextId: ContextId): Promise<HeldRow | null> {
    const until = this.#parts.clock.now() + LEASE_MS
    return this.#replace(held, { ...held.event, claim: { contextId, until, by: randomUUID() } })
  }

  /** Gives up a claim under which nobody took the event, and nobody can; null: others did so. */
  release(held: HeldRow): Promise<HeldRow | null> {
    return this.#replace(held, { ...held.event, claim: null })
  }

  /**
   * The event without claim; `taken`: it is removed; null: others are at it. A claim that is not over is left alone,
   * unless `isForced`. One that is made void can't lead to anything any more.
   */
  async unclaimed(held: HeldRow, isForced = false): Promise<HeldRow | 'taken' | null> {
    const { claim } = held.event
    if (claim === null) return held
    if (claim.until > this.#parts.clock.now() && !isForced) return null
    if ((await this.#fateOf(held.event, claim.contextId)) === 'void') return this.release(held)
    await this.finish(held.event)
    return 'taken'
  }

  /** Whether the context that claimed it has taken it. */
  async isTaken({ event }: HeldRow): Promise<boolean> {
    if (event.claim === null) return false
    const token = await this.#tokenIn(event, event.claim.contextId % this.partitions)
    return token !== null && lookupOf(token).taken !== undefined
  }

  /** Removes what is left of an event that was taken. */
  async finish(event: HeldEvent): Promise<void> {
    await this.#commit(removalOfHome(event, this.partitions))
    await this.gather(event)
  }

  /** Removes it, if it is as it was read and unclaimed, and notes why; false: it isn't. */
  async end({ event, text }: HeldRow, outcome: PendingOutcome): Promise<boolean> {
    const removal = removalOfHome(event, this.partitions, text)
    const { ok } = await this.#commit([...removal, ...this.outcomeRows(event, outcome)])
    if (ok) await this.gather(event)
    return ok
  }

  /** For the commit that makes it true. */
  outcomeRows(event: HeldEvent, outcome: PendingOutcome): RowWrite[] {
    const { store, clock, kept } = this.#parts
    const { receipt } = event
    const expiresAt = event.receivedAt + kept + RECEIPT_SLACK_MS
    // Whoever might ask for the receipt doesn't find it any more.
    if (receipt === null || expiresAt <= clock.now()) return []
    const isAtHome = outcome.became !== 'moved'
    const partition = isAtHome ? homeOf(event, store.partitions) : outcome.contextId % store.partitions
    const key = outcomeRowKey(receipt, null)
    return [{ partition, space: 'items', key, value: JSON.stringify(outcome), expiresAt }]
  }

  /** Finds out whether a context has taken the event under its claim; if not, it can't any more. */
  async #fateOf(event: HeldEvent, contextId: ContextId): Promise<Fate> {
    const partition = contextId % this.partitions
    for (;;) {
      const value = await this.#tokenIn(event, partition)
      if (value === null) return 'void'
      const { home, taken } = lookupOf(value)
      if (taken !== undefined) return 'taken'
      const at = { partition, space: 'lookups', key: tokenKeyOf(event), expiresAt: event.expiresAt } as const
      const { ok } = await this.#commit([{ ...at, expects: value, value: newToken(home) }])
      if (ok) return 'void'
    }
  }

  async #tokenIn(event: HeldEvent, partition: number): Promise<string | null> {
    const row = await this.#parts.store.readRow({ partition, space: 'lookups', key: tokenKeyOf(event) })
    return row?.value ?? null
  }

  /** Where the token is there already, so are the other rows. */
  async #spreadTo(event: HeldEvent, partition: number): Promise<void> {
    await this.#commit(rowsElsewhere(event, partition, this.partitions))
  }

  async #replace({ home, key, text, event }: HeldRow, next: HeldEvent): Promise<HeldRow | null> {
    const value = textOf(next)
    const at = { partition: home, space: 'held', key, expiresAt: event.expiresAt } as const
    const { ok } = await this.#commit([{ ...at, expects: text, value }])
    return ok ? { home, key, text: value, event: next } : null
  }

  #commit(rows: readonly RowWrite[]): Promise<CommitOutcome> {
    return this.#parts.store.commit({ writes: [], rows })
  }

  #others(event: HeldEvent): number[] {
    const home = homeOf(event, this.partitions)
    return Array.from({ length: this.partitions }, (_, partition) => partition).filter((one) => one !== home)
  }
}
