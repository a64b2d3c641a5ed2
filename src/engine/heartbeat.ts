// engine: reports to the store that this server is alive, under its boot id, and finds steps that no server runs.
import { randomUUID } from 'node:crypto'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import type { Cancels } from './steps/cancel.ts'
import type { Mailboxes } from './mailboxes.ts'
import type { Claims } from './steps/claims.ts'
import type { Redelivery } from './redelivery.ts'
import type { Steps } from './steps/steps.ts'

/** Heartbeats from one look to the next whether the steps that are leased to this server are those that it runs. */
const LOOK_EVERY = 3

export interface HeartbeatParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly mailboxes: Pick<Mailboxes, 'isBusy'>
  readonly redelivery: Pick<Redelivery, 'reconcile'>
  readonly steps: Pick<Steps, 'contexts' | 'isBusy' | 'abandon'>
  readonly cancels: Pick<Cancels, 'checkAll'>
  readonly claims: Pick<Claims, 'look' | 'has'>
  readonly identity: Identity
  /** Milliseconds between heartbeats; null: no other server can be there, and one is enough. */
  readonly every: number | null
}

/** The boot id: a server's name until it stops or is taken for dead. Its steps are leased to it. */
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

export class Heartbeat {
  readonly #parts: HeartbeatParts
  #count = 0
  /** In which the store was at the last look. */
  #incarnation: number
  #callOff: (() => void) | null = null
  #beating: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
    this.#incarnation = parts.store.incarnation
  }

  /** The first one; rejects when the store doesn't take it. */
  async start(): Promise<void> {
    await this.#beat()
    this.#schedule()
  }

  /** Resolves when the last one is over. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#callOff?.()
    return this.#beating
  }

  #schedule(): void {
    const { clock, every, log } = this.#parts
    if (every === null || this.#stopped) return
    this.#callOff = clock.after(every, () => {
      this.#beating = this.#beat()
        .catch((error: unknown) => log.warn('the store did not take the heartbeat', { error }))
        .then(() => this.#schedule())
    })
  }

  async #beat(): Promise<void> {
    const { store, log, steps, identity, claims } = this.#parts
    const { owner } = identity
    if (!(await store.heartbeat({ owner }))) {
      log.warn('others took this server for dead and its steps over: it goes on under another name', { owner })
      steps.abandon('another server took it over')
      identity.renew()
      await store.heartbeat({ owner: identity.owner })
    }
    await claims.look()
    await this.#resume()
  }

  /**
   * Sees to steps that are leased to this server and don't run. A store that lost its last moments may have lost the
   * end of one; and a commit whose outcome is unknown may have come true when nobody looked any more. And to steps that
   * run and aren't leased to it: another server may have ended their contexts, and its message been lost.
   */
  async #resume(): Promise<void> {
    const { store, mailboxes, redelivery, steps, claims, cancels, identity } = this.#parts
    this.#count += 1
    const { incarnation } = store
    const isNew = incarnation !== this.#incarnation
    if (!isNew && this.#count % LOOK_EVERY !== 0) return
    const running = steps.contexts()
    const leased = await store.leasedTo({ owner: identity.owner })
    // In a new incarnation it may be an earlier step than the one that runs here.
    for (const id of leased)
      if (!mailboxes.isBusy(id) && !claims.has(id) && (isNew || !steps.isBusy(id))) void redelivery.reconcile(id)
    cancels.checkAll(running, leased)
    this.#incarnation = incarnation
  }
}
