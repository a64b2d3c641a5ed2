// engine/pending: the commits of an unclaimed event: one for all that reached no context, and waits for one. The
// protocol:
//
// 1. The event is a row of the space `held` in one partition, its home: that of the key of its receipt, if it has one,
//    so that it is written in the commit of the answer. Rows in `lookups` lead to it, one in each partition and for
//    each tag. Their keys begin with the name of the event (`held-event.ts`), so a context that waits for many
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
import type { CommitOutcome } from '../../ports/store.ts'
import type { Deps } from '../contexts/deps.ts'
import {
  heldKeyOf,
  heldRowOf,
  homeOf,
  lookupOf,
  newToken,
  removalOf,
  rowsOf,
  tokenRow,
  type HeldEvent,
  type HeldRow,
} from './held-event.ts'

/** Milliseconds for which a claim is left to who made it. */
const LEASE_MS = 10_000

/** Receipts are written that much after the event came, at most. */
const RECEIPT_SLACK_MS = 600_000

export class HeldStore {
  readonly #deps: Pick<Deps, 'store' | 'clock'>
  readonly #receiptsMs: number

  /** @param receiptsMs milliseconds for which receipts are kept */
  constructor(deps: Pick<Deps, 'store' | 'clock'>, receiptsMs: number) {
    this.#deps = deps
    this.#receiptsMs = receiptsMs
  }

  get partitions(): number {
    return this.#deps.store.partitions
  }

  /** Null: nobody can take it any more. */
  async read(home: number, key: string): Promise<HeldRow | null> {
    const row = await this.#deps.store.readRow({ partition: home, space: 'held', key })
    return row && heldRowOf(row.value)
  }

  /** Writes the look-up rows of all partitions but its home: before it is held. */
  async spread(event: HeldEvent): Promise<void> {
    await this.#elsewhere(event, rowsOf)
  }

  /** Removes what `spread` wrote, of an event that was not held after all, or is not any more. */
  async gather(event: HeldEvent): Promise<void> {
    await this.#elsewhere(event, removalOf)
  }

  /** The token of that partition, which is written if it is lost; null: a context has taken the event. */
  async tokenOf(event: HeldEvent, partition: number): Promise<string | null> {
    let token = await this.#tokenIn(event, partition)
    if (token === null) {
      // Where another server has written it meanwhile, it has written the other rows, too.
      await this.#commit(rowsOf(event, partition, this.partitions))
      token = await this.#tokenIn(event, partition)
    }
    return token === null || isTaken(token) ? null : token
  }

  /** Nobody else may take it as long as it is claimed; null: somebody was faster. */
  claim(held: HeldRow, contextId: ContextId): Promise<HeldRow | null> {
    return this.#replaceClaim(held, { contextId, until: this.#deps.clock.now() + LEASE_MS, by: randomUUID() })
  }

  /**
   * The event without claim; `taken`: it is removed; null: others are at it. A claim that is not over is left alone,
   * unless `isForced`. One that is made void can't lead to anything any more.
   */
  async unclaimed(held: HeldRow, isForced = false): Promise<HeldRow | 'taken' | null> {
    const { event } = held
    if (event.claim === null) return held
    if (event.claim.until > this.#deps.clock.now() && !isForced) return null
    if (await this.#isVoid(event, event.claim.contextId % this.partitions)) return this.#replaceClaim(held, null)
    await this.#commit(removalOf(event, homeOf(event, this.partitions), this.partitions))
    await this.gather(event)
    return 'taken'
  }

  /** Whether the context that claimed it has taken it. */
  async isTaken({ event }: HeldRow): Promise<boolean> {
    if (event.claim === null) return false
    const token = await this.#tokenIn(event, event.claim.contextId % this.partitions)
    return token !== null && isTaken(token)
  }

  /** Removes it, if it is as it was read and unclaimed, and notes why; false: it isn't. */
  async end({ event, text }: HeldRow, outcome: PendingOutcome): Promise<boolean> {
    const removal = removalOf(event, homeOf(event, this.partitions), this.partitions, text)
    const { ok } = await this.#commit([...removal, ...this.outcomeRows(event, outcome)])
    if (ok) await this.gather(event)
    return ok
  }

  /** For the commit that makes it true. */
  outcomeRows(event: HeldEvent, outcome: PendingOutcome): RowWrite[] {
    const { receipt } = event
    const expiresAt = event.receivedAt + this.#receiptsMs + RECEIPT_SLACK_MS
    // Whoever might ask for the receipt doesn't find it any more.
    if (receipt === null || expiresAt <= this.#deps.clock.now()) return []
    const partition = outcome.became === 'moved' ? outcome.contextId % this.partitions : homeOf(event, this.partitions)
    const key = outcomeRowKey(receipt, null)
    return [{ partition, space: 'items', key, value: JSON.stringify(outcome), expiresAt }]
  }

  /** Whether no context of that partition has taken the event under a claim, and none can any more. */
  async #isVoid(event: HeldEvent, partition: number): Promise<boolean> {
    for (;;) {
      const token = await this.#tokenIn(event, partition)
      if (token === null) return true
      if (isTaken(token)) return false
      const next = tokenRow(event, partition, { expects: token, value: newToken(lookupOf(token).home) })
      if ((await this.#commit([next])).ok) return true
    }
  }

  async #tokenIn(event: HeldEvent, partition: number): Promise<string | null> {
    const row = await this.#deps.store.readRow(tokenRow(event, partition))
    return row?.value ?? null
  }

  /** The event with that claim; null: others have changed its row. */
  async #replaceClaim({ text, event }: HeldRow, claim: HeldEvent['claim']): Promise<HeldRow | null> {
    const next: HeldEvent = { ...event, claim }
    const value = JSON.stringify(next)
    const at = { partition: homeOf(event, this.partitions), space: 'held', key: heldKeyOf(event) } as const
    const { ok } = await this.#commit([{ ...at, expiresAt: event.expiresAt, expects: text, value }])
    return ok ? { text: value, event: next } : null
  }

  #commit(rows: readonly RowWrite[]): Promise<CommitOutcome> {
    return this.#deps.store.commit({ writes: [], rows })
  }

  /** Commits those rows in each partition but its home. */
  async #elsewhere(event: HeldEvent, rowsIn: typeof rowsOf): Promise<void> {
    const home = homeOf(event, this.partitions)
    const all = Array.from({ length: this.partitions }, (_, partition) => partition)
    const others = all.filter((partition) => partition !== home)
    await Promise.all(others.map((partition) => this.#commit(rowsIn(event, partition, this.partitions))))
  }
}

const isTaken = (token: string): boolean => lookupOf(token).taken !== undefined
