// engine/cluster: which server this is, and which others live, by their heartbeats. The lease of a task is not renewed:
// it lasts as long as its server.
import { randomUUID } from 'node:crypto'
import type { Deps, EngineParts } from '../contexts/deps.ts'

export interface ServersParts extends Pick<Deps, 'store' | 'clock'>, Pick<EngineParts, 'onOwner' | 'uuid'> {
  /** Milliseconds between heartbeats; null: no other server can be there. */
  readonly beat: number | null
}

/** Missed heartbeats after which a server is dead. */
export const LEASE_BEATS = 7

export class Servers {
  readonly #parts: ServersParts
  #own = ''
  /** Epoch milliseconds until which each server is known to live, by its boot id. */
  #aliveUntil: ReadonlyMap<string, number> = new Map()

  constructor(parts: ServersParts) {
    this.#parts = parts
    this.renew()
  }

  /** The boot id, which identifies this server until it stops or is declared dead. Its steps are leased to this id. */
  get own(): string {
    return this.#own
  }

  /** Milliseconds between heartbeats; null: no other server can be there. */
  get beat(): number | null {
    return this.#parts.beat
  }

  /** Gives this server another boot id. */
  renew(): void {
    this.#own = this.#parts.uuid?.() ?? randomUUID()
    this.#parts.onOwner?.(this.#own)
  }

  /** Whether that is the boot id of another server, and that server lives. @throws FluxError `unavailable` */
  async isOther(owner: string): Promise<boolean> {
    const { store, clock, beat } = this.#parts
    if (beat === null || owner === this.#own) return false
    const isAlive = () => (this.#aliveUntil.get(owner) ?? 0) > clock.now()
    if (isAlive()) return true
    const seen = await store.servers()
    const leasedUntil = clock.now() + beat * LEASE_BEATS
    this.#aliveUntil = new Map(seen.map(({ runId, silentMs }) => [runId, leasedUntil - silentMs]))
    return isAlive()
  }
}
