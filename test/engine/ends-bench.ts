// Servers whose contexts owe webhooks, on the embedded store and on Redis, and a receiver in the process.
import { expect, onTestFinished, vi } from 'vitest'
import type { OutgoingWebhook, SendOutcome, WebhookSender } from '../../src/ports/steps.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { SILENT_FEED } from '../support/silent.ts'
import { openRedis } from '../support/redis-store.ts'
import { storesOf } from '../support/effort.ts'

export const KEY = `whsec_${Buffer.from('a key of at least 24 bytes').toString('base64')}`
export const ON_END = { url: 'https://x.example/ends', secret: '$secrets.HOOK' }
export const BEAT_MS = 1000
/** Milliseconds that other servers leave a webhook to one that says nothing, and more. */
export const TAKEN_OVER_MS = 10 * BEAT_MS

export const STORES = storesOf(['embedded', 'Redis'])
export type StoreKind = (typeof STORES)[number]

/** Waits for what other tests may delay. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 15_000, interval: 5 })

/** Answers as it is told, and keeps what came. */
export class Receiver implements WebhookSender {
  readonly came: OutgoingWebhook[] = []
  answer: (webhook: OutgoingWebhook) => SendOutcome | Promise<SendOutcome> = () => ({ ok: true })

  async send(webhook: OutgoingWebhook): Promise<SendOutcome> {
    this.came.push(webhook)
    return this.answer(webhook)
  }

  /** What each one says. */
  get events(): { type: string; timestamp: string; data: { [name: string]: unknown } }[] {
    return this.came.map(({ body }) => JSON.parse(body))
  }

  has(count: number): Promise<void> {
    return eventually(() => expect(this.came).toHaveLength(count))
  }
}

/** An answer that comes when the attempt is aborted, and not before. */
export const never = ({ signal }: OutgoingWebhook): Promise<SendOutcome> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ ok: false, reason: 'aborted' }))
  })

export interface EndsWorld {
  readonly clock: SimulatedClock
  readonly store: Store
  readonly secrets: { [name: string]: string }
  /** Opens a server on the store. Each must be stopped by the end of the test, unless it is dead. */
  open(receiver: WebhookSender, options?: BenchOptions): Promise<Bench>
  /** Webhooks that are owed; each has two rows. */
  owed(): Promise<number>
}

/** The store, which servers leave open when they close. */
const shared = (store: Store): Store => withVerbs(store, { close: () => Promise.resolve() })

/** The store, in which heartbeats have the time of that clock. */
function beatingBy(clock: SimulatedClock, store: Store): Store {
  const beats = new Map<string, number>()
  return withVerbs(store, {
    heartbeat(request) {
      beats.set(request.owner, clock.now())
      return store.heartbeat(request)
    },
    servers: () => Promise.resolve([...beats].map(([runId, beat]) => ({ runId, silentMs: clock.now() - beat }))),
  })
}

/** A store that several servers share, and that is closed at the end of the test. */
export async function openWorld(kind: StoreKind, files: Files): Promise<EndsWorld> {
  const clock = new SimulatedClock()
  const first: { store?: Store; folder?: string } = {}
  if (kind === 'Redis') first.store = beatingBy(clock, await openRedis({ partitions: 3 }))
  else {
    const wrap = (store: Store): Store => {
      first.store = store
      return shared(store)
    }
    const bench = await openBench(files, { wrap, clock, onDisk: true, webhookSender: new Receiver() })
    await bench.engine.close({ grace: 0 })
  }
  const { store } = first
  if (!store) throw new Error('the store is open')
  const secrets: { [name: string]: string } = { HOOK: KEY }
  onTestFinished(() => store.close())
  return {
    clock,
    store,
    secrets,
    open(webhookSender, options = {}) {
      const others = kind === 'Redis' ? { beat: BEAT_MS, feed: SILENT_FEED } : null
      const given = { store: shared(store), clock, others, secrets, webhookSender }
      return openBench(files, { ...given, ...options })
    },
    async owed() {
      return (await store.countRows({ space: 'ends' })) / 2
    },
  }
}

/** Waits until so many are owed. */
export const haveLeft = (world: EndsWorld, count: number): Promise<void> =>
  eventually(async () => expect(await world.owed()).toBe(count))

/** When the next attempt is due, of the only webhook that is owed. */
export async function dueIn(world: EndsWorld): Promise<number> {
  const [row] = await world.store.listRows({ space: 'ends', prefix: 'due:', limit: 1 })
  return Number(row?.key.split(':')[2]) - world.clock.now()
}
