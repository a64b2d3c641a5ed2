// store/lmdb: the owners of the steps of contexts, and which of these have been claimed.
import { type ContextId, readyKindOf } from '../../../model/context.ts'
import type { AbandonedLease, Store } from '../../../ports/store.ts'

interface Owned {
  readonly owner: string
  /** Until when a claim hides the step from others, epoch milliseconds. */
  claimedUntil: number
}

export class Owners {
  /** In the order in which the owners were written. */
  readonly #owned = new Map<ContextId, Owned>()

  /** null: no server is to run a step of it. */
  set(id: ContextId, owner: string | null): void {
    const before = this.#owned.get(id)
    if (before !== undefined && before.owner === owner) {
      before.claimedUntil = 0
      return
    }
    if (before !== undefined) this.#owned.delete(id)
    if (owner !== null) this.#owned.set(id, { owner, claimedUntil: 0 })
  }

  of(owner: string): ContextId[] {
    return [...this.#owned].flatMap(([id, owned]) => (owned.owner === owner ? id : []))
  }

  /** The folder has one process at a time: an owner that isn't the caller is dead. */
  claim({ owner: caller, ready = [], limit, hideFor }: Parameters<Store['claimAbandoned']>[0], now: number) {
    const leases: AbandonedLease[] = []
    for (const [id, owned] of this.#owned) {
      if (leases.length >= limit) break
      const { owner, claimedUntil } = owned
      if (owner === caller || claimedUntil > now || (readyKindOf(owner) !== null && !ready.includes(owner))) continue
      owned.claimedUntil = now + hideFor
      leases.push({ id, owner })
    }
    // Those of dead servers first, then by kind.
    return leases.sort((one, other) => ready.indexOf(one.owner) - ready.indexOf(other.owner))
  }
}
