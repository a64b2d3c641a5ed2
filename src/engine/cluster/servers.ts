// engine/cluster: which server this is, and which others live, as their heartbeats tell. The lease of a task is not renewed: it
// lasts as long as its server.
import { randomUUID } from 'node:crypto'
import type { Deps } from '../contexts/deps.ts'

export interface ServersParts extends Pick<Deps, 'store' | 'clock'> {
  readonly identity: Pick<Identity, 'owner'>
  /** Milliseconds between heartbeats; null: no other server can be there. */
  readonly beat: number | null
}

/** Missed heartbeats after which a server is dead. */
export const LEASE_BEATS = 7

/** The boot id, which identifies a server until it stops or is declared dead. Its steps are leased to this id. */
export class Identity {
  #owner = randomUUID()
  readonly #onOwner: ((owner: string) => void) | undefined

  constructor(onOwner: ((owner: string) => void) | undefined) {
    this.#onOwner = onOwner
    onOwner?.(this.#owner)
  }

  get owner(): string {
    return this.#owner
  }

  renew(): void {
    this.#owner = randomUUID()
    this.#onOwner?.(this.#owner)
  }
}

export class Servers {
  readonly #parts: ServersParts
  /** Epoch milliseconds until which each server is known to live, by its boot id. */
  #aliveUntil: ReadonlyMap<string, number> = new Map()

  constructor(parts: ServersParts) {
    this.#parts = parts
  }

  /** Boot id of this server. */
  get own(): string {
    return this.#parts.identity.owner
  }

  /** Milliseconds between heartbeats; null: no other server can be there. */
  get beat(): number | null {
    return this.#parts.beat
  }

  /** Whether that is the boot id of another server, and that server lives. @throws FluxError `unavailable` */
  async isOther(owner: string): Promise<boolean> {
    const { store, clock, beat } = this.#parts
    if (beat === null || owner === this.own) return false
    if (this.#isKnown(owner)) return true
    const seen = await store.servers()
    const leasedUntil = clock.now() + beat * LEASE_BEATS
    this.#aliveUntil = new Map(seen.map(({ runId, silentMs }) => [runId, leasedUntil - silentMs]))
    return this.#isKnown(owner)
  }

  #isKnown(owner: string): boolean {
    return (this.#aliveUntil.get(owner) ?? 0) > this.#parts.clock.now()
  }
}
