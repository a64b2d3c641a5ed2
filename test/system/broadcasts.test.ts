// An event for 20,000 contexts, far beyond what is answered at once, on real servers: cut off by kill -9 it goes on, and moves nobody twice; it is stopped
// half-way, on Redis by another server; and who calls meanwhile is served.
import { basename } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { call, cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { STEPPED } from '../support/services.ts'

const CONTEXTS = 20_000
/** An event for more is answered before it is sent. */
const AT_ONCE = 2000
const PATIENCE_MS = 240_000
vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 })

const SERVICES = {
  'p/Count.flux': STEPPED,
  'p/Other.flux': {
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'ping' }] }],
  },
}

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis({ appendfsync: 'no' })
})
afterAll(async () => {
  await cleanUp()
  await redis.close()
})

interface Receipt {
  readonly done: boolean
  readonly counts: { readonly moved: number; readonly ignored: number }
  readonly moved: readonly unknown[]
  readonly progress: { readonly matched: number; readonly done: number; readonly moved: number }
}

const receiptAt = async (url: string): Promise<Receipt> => JSON.parse((await call(url)).text)

/** Events to one context, one after the other, until it is told to end; gives how many were answered before its end. */
async function pingWhile(server: Server, location: string, isOver: (receipt: Receipt) => boolean): Promise<number> {
  const { text } = await call(`${server.url}/flux-api/p/execute`, 'POST', { fluxName: 'Other' })
  const { contextId }: { contextId: number } = JSON.parse(text)
  for (let answered = 0; ;) {
    if (isOver(await receiptAt(server.url + location))) return answered
    const { status } = await call(`${server.url}/flux-api/event?contextId=${contextId}`, 'POST', { event: 'ping' })
    expect(status).toBe(200)
    if (!(await receiptAt(server.url + location)).done) answered += 1
  }
}

/** Whether some context has moved that often. */
async function hasMoved(server: Server, times: number): Promise<boolean> {
  const { text } = await call(`${server.url}/flux-api/contexts?fluxName=Count&limit=1&currentState=w${times}`)
  return text !== '[]'
}
const movesOf = (server: Server) => Promise.all([0, 1, 2, 3].map((times) => hasMoved(server, times)))

describe.each(['embedded', 'Redis'] as const)('on the %s store', (kind) => {
  test('an event for 20,000 goes on after a crash, moves nobody twice, and can be stopped', async () => {
    const place = await placeFor(SERVICES)
    const env = {
      ...(kind === 'Redis' && { ACTORFLUX_REDIS_URL: redis.url, ACTORFLUX_NAMESPACE: basename(place.folder) }),
      ACTORFLUX_RECOVERY: '3s',
      ACTORFLUX_BROADCAST_ASYNC: `${AT_ONCE}`,
    }
    const open = () => startServer({ program: inject('program'), ...place, env })
    let server = await open()
    const started = await call(`${server.url}/flux-api/p/executes`, 'POST', '{"fluxName":"Count"}\n'.repeat(CONTEXTS))
    expect(started.text).toContain(`"ok":${CONTEXTS}`)

    const sent = await call(`${server.url}/flux-api/event`, 'POST', { event: 'tick', eventId: 'first' })
    const location = sent.headers.get('location') ?? ''
    expect([sent.status, location]).toEqual([202, '/flux-api/event?eventId=first'])
    // Other calls are served between waves: how many depends on the machine, but without turns for them it is none.
    const answered = await pingWhile(server, location, ({ progress }) => progress.done > CONTEXTS / 3)
    expect(answered).toBeGreaterThan(0)
    await server.kill('SIGKILL')

    server = await open()
    await vi.waitFor(async () => expect((await receiptAt(server.url + location)).done).toBe(true), {
      timeout: PATIENCE_MS,
      interval: 500,
    })
    const receipt = await receiptAt(server.url + location)
    expect(receipt).toMatchObject({
      counts: { moved: CONTEXTS, ignored: 0 },
      progress: { matched: CONTEXTS, done: CONTEXTS, moved: CONTEXTS },
    })
    expect(receipt.moved).toHaveLength(1000)
    expect(await movesOf(server)).toEqual([false, true, false, false])

    const other = kind === 'Redis' ? await open() : server
    const again = await call(`${server.url}/flux-api/event`, 'POST', { event: 'tick', eventId: 'second' })
    expect(again.status).toBe(202)
    const second = '/flux-api/event?eventId=second'
    await vi.waitFor(
      async () => expect((await receiptAt(other.url + second)).progress.done).toBeGreaterThan(CONTEXTS / 10),
      { timeout: PATIENCE_MS, interval: 20 },
    )
    const stopped = await call(other.url + second, 'DELETE')
    const told: Receipt = JSON.parse(stopped.text)
    expect([stopped.status, told.done]).toEqual([200, true])
    expect(told.counts.moved).toBeGreaterThan(0)
    expect(told.counts.moved).toBeLessThan(CONTEXTS)
    expect((await call(other.url + second, 'DELETE')).status).toBe(409)
    expect(await movesOf(other)).toEqual([false, true, true, false])
    await Promise.all([server, other].map((one) => one.kill('SIGKILL')))
  })
})
