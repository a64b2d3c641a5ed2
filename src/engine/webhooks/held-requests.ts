// engine/webhooks: requests under an `Idempotency-Key` whose callers wait for the answer here, and whether another
// server that holds one is alive: while it holds any, it says so with each heartbeat, in a row that expires.
import { randomUUID } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { LEASE_BEATS } from '../carried/ownership.ts'
import { inProgress, mismatch } from '../idempotency/key-claim.ts'
import type { AnswerRow } from '../../model/record.ts'

export interface HeldRequestsParts {
  readonly store: Store
  readonly clock: Clock
  /** Milliseconds between heartbeats; null: no other server can be there. */
  readonly beat: number | null
}

/** A request that is held. */
export interface Hold {
  /** The context that answers it, once it is known. */
  contextId: ContextId | null
  readonly hash: string
  readonly release: () => void
}

export class HeldRequests {
  readonly #parts: HeldRequestsParts
  readonly #held = new Map<string, Hold>()
  #callOff: (() => void) | null = null
  /** This process, as others see it. */
  readonly server = randomUUID()

  constructor(parts: HeldRequestsParts) {
    this.#parts = parts
  }

  /** @throws FluxError `idempotencyMismatch`, `idempotencyInProgress` while another one under the key is held here */
  hold({ key, hash }: AnswerRow): Hold {
    const other = this.#held.get(key)
    if (other) throw other.hash === hash ? inProgress(other.contextId ?? undefined) : mismatch()
    const hold = { hash, contextId: null, release: () => void this.#held.delete(key) }
    this.#held.set(key, hold)
    if (this.#callOff === null && this.#parts.beat !== null) this.#say(this.#parts.beat)
    return hold
  }

  /** Whether that process holds requests, as far as it is known. Of this one, those that it holds are known. */
  async isAlive(server: string): Promise<boolean> {
    const { store, beat } = this.#parts
    if (beat === null || server === this.server) return false
    return (await store.readRow(placeOf(server, store))) !== null
  }

  #say(beat: number): void {
    const { store, clock } = this.#parts
    this.#callOff = clock.after(beat, () => {
      this.#callOff = null
      if (this.#held.size > 0) this.#say(beat)
    })
    const row: RowWrite = { ...placeOf(this.server, store), value: '1', expiresAt: clock.now() + beat * LEASE_BEATS }
    // Without it, a repeat at another server waits for the same answer.
    store.commit({ writes: [], rows: [row] }).catch(() => {})
  }
}

/** No row of an item begins so. */
const placeOf = (server: string, { partitions }: Pick<Store, 'partitions'>) =>
  ({ partition: partitionOf(server, partitions), space: 'items', key: `webhooks@${server}` }) as const
