// store/lmdb: who owns the steps of contexts, and which of them have been claimed.
import { type ContextId, readyKindOf } from '../../../model/context.ts'
import type { AbandonedLease, Store } from '../../../ports/store.ts'

export class Owners {
  readonly #owners = new Map<ContextId, string>()
  /** By owner, in the order in which they were written, those left out that are claimed. */
  readonly #contexts = new Map<string, Set<ContextId>>()
  /** When contexts may be claimed again, in the order of their claims. */
  readonly #claimed = new Map<ContextId, number>()

  /** null: no server is to run a step of it. */
  set(id: ContextId, owner: string | null): void {
    const before = this.#owners.get(id)
    if (owner === before) {
      if (owner !== null && this.#claimed.delete(id)) this.#list(id, owner)
      return
    }
    if (before !== undefined) this.#unlist(id, before)
    this.#claimed.delete(id)
    this.#owners.delete(id)
    if (owner === null) return
    this.#owners.set(id, owner)
    this.#list(id, owner)
  }

  of(owner: string): ContextId[] {
    return [...(this.#contexts.get(owner) ?? [])]
  }

  /** The folder has one process at a time: an owner that isn't the caller is dead. */
  claim({ owner: caller, ready = [], limit, hideFor }: Parameters<Store['claimAbandoned']>[0], now: number) {
    this.#unhide(now)
    const leases: AbandonedLease[] = []
    for (const [owner, ids] of this.#contexts) {
      if (owner === caller || (readyKindOf(owner) !== null && !ready.includes(owner))) continue
      for (const id of ids) {
        if (leases.length >= limit) break
        leases.push({ id, owner })
      }
    }
    for (const { id, owner } of leases) {
      this.#unlist(id, owner)
      this.#claimed.set(id, now + hideFor)
    }
    return leases
  }

  #unhide(now: number): void {
    for (const [id, until] of this.#claimed) {
      if (until > now) return
      this.#claimed.delete(id)
      const owner = this.#owners.get(id)
      if (owner !== undefined) this.#list(id, owner)
    }
  }

  #list(id: ContextId, owner: string): void {
    const ids = this.#contexts.get(owner)
    if (ids) ids.add(id)
    else this.#contexts.set(owner, new Set([id]))
  }

  #unlist(id: ContextId, owner: string): void {
    const ids = this.#contexts.get(owner)
    if (ids?.delete(id) && ids.size === 0) this.#contexts.delete(owner)
  }
}
