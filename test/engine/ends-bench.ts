// Servers whose contexts owe webhooks, on the embedded store and on Redis, and a receiver in the process.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { expect, inject, onTestFinished, vi } from 'vitest'
import type { OutgoingWebhook, SendOutcome, WebhookSender } from '../../src/ports/steps.ts'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { Store } from '../../src/ports/store.ts'
import { explore } from '../../src/store/redis/connection.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import { openBench, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'

export const KEY = `whsec_${Buffer.from('a key of at least 24 bytes').toString('base64')}`
export const ON_END = { url: 'https://x.example/ends', secret: '$secrets.HOOK' }
export const BEAT_MS = 1000
/** Milliseconds that other servers leave a webhook to one that says nothing, and more. */
export const TAKEN_OVER_MS = 10 * BEAT_MS

export const STORES = ['embedded', 'Redis'] as const
export type StoreKind = (typeof STORES)[number]

const quiet = (): void => {}
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet }

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

const feedOf = (): CommitFeed => ({
  notify: quiet,
  onNotified: quiet,
  watch: quiet,
  onWatched: quiet,
  notifyReady: quiet,
  onReady: quiet,
  close: () => Promise.resolve(),
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
  const benches: Bench[] = []
  if (kind === 'Redis') {
    const address = await explore(inject('redisUrl'))
    const namespace = `ends-${randomUUID()}`
    first.store = beatingBy(
      clock,
      await openRedisStore({ address, namespace, partitions: 3, deadAfterMs: 60_000, log }),
    )
  } else {
    const wrap = (store: Store): Store => {
      first.store = store
      return shared(store)
    }
    benches.push(await openBench(files, { wrap, clock, onDisk: true, webhookSender: new Receiver() }))
    await benches[0]?.engine.close({ grace: 0 })
  }
  const { store } = first
  if (!store) throw new Error('the store is open')
  const secrets: { [name: string]: string } = { HOOK: KEY }
  onTestFinished(async () => {
    for (const bench of benches) {
      await bench.engine.close({ grace: 0 })
      await rm(bench.folder, { recursive: true, force: true })
    }
    await store.close()
  })
  return {
    clock,
    store,
    secrets,
    async open(webhookSender, options = {}) {
      const others = kind === 'Redis' ? { beat: BEAT_MS, feed: feedOf() } : null
      const given = { store: shared(store), clock, others, secrets, webhookSender }
      const bench = await openBench(files, { ...given, ...options })
      benches.push(bench)
      return bench
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
