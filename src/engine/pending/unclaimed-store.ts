// engine/pending: the commits of an unclaimed event: one for all that reached no context, and waits for one. The
// protocol:
//
// 1. The event is a row of the space `held` in one partition, its home: that of the key of its receipt, if it has one,
//    so that it is written in the commit of the answer. Rows in `lookups` lead to it, one in each partition and for
//    each tag (`unclaimed-event.ts`). They are written before the event, and deleted after it.
// 2. A commit that gives a context a waiting key, in a partition with look-ups, has that context looked at afterwards
//    (`matching.ts`): it is offered what fits, in the order of arrival.
// 3. A context of the home takes the event in one commit with the row, which is deleted, so nothing else can take it.
// 4. In another partition the event is claimed first, in its row. The context takes it in a commit that writes the mark
//    of that claim, a row of its partition, under a guard that there is none. The commit also deletes a look-up row
//    that must be there, so nothing is taken after its time.
// 5. A server that finds a claim whose time is over writes its mark itself: either that fails, since the event is
//    taken, or a commit under the claim will never be accepted, however late it arrives.
// 6. Every server goes over all unclaimed events from time to time (`matching.ts`). That covers a crash after any
//    commit: each is of one partition.
import { randomUUID } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { outcomeRowKey, type PendingOutcome } from '../../model/pending.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { CommitOutcome } from '../../ports/store.ts'
import type { Deps } from '../contexts/deps.ts'
import { readableOf } from '../record/unreadable.ts'
import {
  homeOf,
  homeRowsOf,
  lookupRowsOf,
  removalOf,
  unclaimedRowOf,
  type Claim,
  type UnclaimedEvent,
  type UnclaimedRow,
} from './unclaimed-event.ts'

/** Milliseconds for which a claim is left to the server that made it. */
const CLAIM_MS = 10_000

/** Receipts are written that much after the event came, at most. */
const RECEIPT_SLACK_MS = 600_000

/** What a mark says of its claim. */
type Mark = 'taken' | 'void'

export class UnclaimedStore {
  readonly #deps: Deps
  readonly #receiptsMs: number

  /** @param receiptsMs milliseconds for which receipts are kept */
  constructor(deps: Deps, receiptsMs: number) {
    this.#deps = deps
    this.#receiptsMs = receiptsMs
  }

  get #partitions(): number {
    return this.#deps.store.partitions
  }

  /** Null: no context can take it any more, or its row is damaged. */
  async read(home: number, key: string): Promise<UnclaimedRow | null> {
    const { store, log } = this.#deps
    const row = await store.readRow({ partition: home, space: 'held', key })
    return row && readableOf(row, 'held', log, unclaimedRowOf)
  }

  /** Writes the look-up rows of all partitions but its home, and by `write` those of its home. False: `write` did not. */
  async add(
    event: UnclaimedEvent,
    write = async (rows: readonly RowWrite[]) => (await this.#commit(rows)).ok,
  ): Promise<boolean> {
    await this.#elsewhere(event, (partition) => lookupRowsOf(event, partition, this.#partitions))
    const isAdded = await write(homeRowsOf(event, this.#partitions))
    if (!isAdded) await this.clear(event)
    return isAdded
  }

  /** Removes its rows in all partitions but its home, which are of no more use. */
  clear(event: UnclaimedEvent): Promise<void> {
    const { claim } = event
    return this.#elsewhere(event, (partition) => {
      const rows = lookupRowsOf(event, partition, this.#partitions)
      const marks = claim ? [this.#mark(event, claim, 'taken')] : []
      return removalOf([...rows, ...marks.filter((mark) => mark.partition === partition)])
    })
  }

  /** The event as that context may take it: claimed, unless this is its home; null: another context was faster. */
  async claim(free: UnclaimedRow, contextId: ContextId): Promise<UnclaimedRow | null> {
    if (contextId % this.#partitions === homeOf(free.event, this.#partitions)) return free
    return this.#replaceClaim(free, { contextId, until: this.#deps.clock.now() + CLAIM_MS, by: randomUUID() })
  }

  /** The rows with which the context takes it in its commit. */
  taking(row: UnclaimedRow): RowWrite[] {
    const { event } = row
    const { claim } = event
    if (claim === null) return this.#removal(row)
    const [lookup] = lookupRowsOf(event, claim.contextId % this.#partitions, this.#partitions)
    const mark = this.#mark(event, claim, 'taken')
    return lookup ? [mark, { ...lookup, expects: lookup.value, value: null }] : [mark]
  }

  /**
   * The event without claim; null: it is taken, and removed, or another server has to do with it. A claim that is not
   * over is left alone, unless `isForced`. One that is made void can't lead to anything any more.
   */
  async unclaimed(row: UnclaimedRow, isForced = false): Promise<UnclaimedRow | null> {
    const { event } = row
    const { claim } = event
    if (claim === null) return row
    if (claim.until > this.#deps.clock.now() && !isForced) return null
    const voided = await this.#commit([this.#mark(event, claim, 'void')])
    if (voided.ok || !('row' in voided) || voided.row.value !== 'taken') return this.#replaceClaim(row, null)
    await this.#commit(removalOf(homeRowsOf(event, this.#partitions)))
    await this.clear(event)
    return null
  }

  /** Removes it, if it is as it was read, and notes why; false: it isn't. */
  async end(row: UnclaimedRow, outcome: PendingOutcome): Promise<boolean> {
    const { ok } = await this.#commit([...this.#removal(row), ...this.outcomeRows(row.event, outcome)])
    if (ok) await this.clear(row.event)
    return ok
  }

  /** For the commit that makes it true. */
  outcomeRows(event: UnclaimedEvent, outcome: PendingOutcome): RowWrite[] {
    const { receipt } = event
    const expiresAt = event.receivedAt + this.#receiptsMs + RECEIPT_SLACK_MS
    // The receipt is not kept any more.
    if (receipt === null || expiresAt <= this.#deps.clock.now()) return []
    const partition =
      outcome.became === 'moved' ? outcome.contextId % this.#partitions : homeOf(event, this.#partitions)
    const key = outcomeRowKey(receipt, null)
    return [{ partition, space: 'items', key, value: JSON.stringify(outcome), expiresAt }]
  }

  /** The first mark of a claim that is written stays. */
  #mark({ expiresAt }: UnclaimedEvent, { contextId, by }: Claim, value: Mark): RowWrite {
    return {
      partition: contextId % this.#partitions,
      space: 'marks',
      key: `claim:${by}`,
      expects: null,
      value,
      expiresAt,
    }
  }

  /** Of its rows at home, if it is as it was read. */
  #removal({ event, text }: UnclaimedRow): RowWrite[] {
    const rows = removalOf(homeRowsOf(event, this.#partitions))
    return rows.map((row) => (row.space === 'held' ? { ...row, expects: text } : row))
  }

  /** The event with that claim; null: its row is not as it was read. */
  async #replaceClaim({ text, event }: UnclaimedRow, claim: Claim | null): Promise<UnclaimedRow | null> {
    const next = { ...event, claim }
    const value = JSON.stringify(next)
    const rows = homeRowsOf(next, this.#partitions).filter(({ space }) => space === 'held')
    const { ok } = await this.#commit(rows.map((row) => ({ ...row, expects: text })))
    return ok ? { text: value, event: next } : null
  }

  #commit(rows: readonly RowWrite[]): Promise<CommitOutcome> {
    return this.#deps.store.commit({ writes: [], rows })
  }

  /** Commits those rows in each partition but its home. */
  async #elsewhere(event: UnclaimedEvent, rowsIn: (partition: number) => readonly RowWrite[]): Promise<void> {
    const home = homeOf(event, this.#partitions)
    const all = Array.from({ length: this.#partitions }, (_, partition) => partition)
    const others = all.filter((partition) => partition !== home)
    await Promise.all(others.map((partition) => this.#commit(rowsIn(partition))))
  }
}
