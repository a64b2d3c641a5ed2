// Operations on real servers: cut off by kill -9, one goes on and changes each context once, on Redis at another server;
// whoever asks sees within a second how far it is, and it stops within one. In `npm run bench` it is 100,000 contexts.
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import type { OperationView } from '../../src/api/operations.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { call, cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { STEPPED } from '../support/services.ts'

const CONTEXTS = 4000
const PATIENCE_MS = 120_000
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

const SERVICES = {
  'p/Count.flux': STEPPED,
}

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis({ appendfsync: 'no' })
})
afterAll(async () => {
  await cleanUp()
  await redis.close()
})

const viewAt = async (url: string): Promise<OperationView> => JSON.parse((await call(url)).text)

async function begin({ url }: Server, rate: number): Promise<string> {
  const request = { filter: { fluxName: 'Count' }, do: 'event', with: { event: 'tick' }, rate }
  const { status, headers, text } = await call(`${url}/flux-api/operations`, 'POST', request)
  const { operationId, matched }: { operationId: string; matched: number } = JSON.parse(text)
  const location = headers.get('location') ?? ''
  expect([status, matched, location]).toEqual([202, CONTEXTS, `/flux-api/operations?operationId=${operationId}`])
  return location
}

/** How many contexts were moved that often. */
async function movesOf({ url }: Server): Promise<{ [state: string]: number }> {
  const { text } = await call(`${url}/flux-api/contexts/count?by=currentState`)
  const { counts }: { counts: { [state: string]: number } } = JSON.parse(text)
  return counts
}

describe.each(['embedded', 'Redis'] as const)('on the %s store', (kind) => {
  test('goes on after a crash, changes each once, and is stopped', async () => {
    const place = await placeFor(SERVICES)
    const env = {
      ...(kind === 'Redis' && { ACTORFLUX_REDIS_URL: redis.url, ACTORFLUX_NAMESPACE: basename(place.folder) }),
      ACTORFLUX_RECOVERY: '3s',
    }
    const open = () => startServer({ program: inject('program'), ...place, env })
    const first = await open()
    const started = await call(`${first.url}/flux-api/p/executes`, 'POST', '{"fluxName":"Count"}\n'.repeat(CONTEXTS))
    expect(started.text).toContain(`"ok":${CONTEXTS}`)

    const beside = kind === 'Redis' ? await open() : null
    const location = await begin(first, 1000)
    const seen: number[] = []
    while ((seen.at(-1) ?? 0) < CONTEXTS / 3) {
      seen.push((await viewAt((beside ?? first).url + location)).done)
      await sleep(1000)
    }
    for (const [at, done] of seen.entries()) expect(done).toBeGreaterThan(seen[at - 1] ?? -1)
    await first.kill('SIGKILL')

    const server = beside ?? (await open())
    const isDone = async () => expect((await viewAt(server.url + location)).status).toBe('done')
    await vi.waitFor(isDone, { timeout: PATIENCE_MS, interval: 200 })
    expect(await viewAt(server.url + location)).toMatchObject({ done: CONTEXTS, changed: CONTEXTS, failed: 0 })
    expect(await movesOf(server)).toEqual({ w1: CONTEXTS })

    const other = kind === 'Redis' ? await open() : server
    const second = await begin(server, 500)
    await sleep(1000)
    const asked = performance.now()
    const stopped = await call(other.url + second, 'DELETE')
    const view: OperationView = JSON.parse(stopped.text)
    expect([stopped.status, view.status]).toEqual([200, 'stopped'])
    expect(performance.now() - asked).toBeLessThan(1500)
    expect(view.changed).toBeGreaterThan(0)
    expect(await movesOf(other)).toEqual({ w1: CONTEXTS - view.changed, w2: view.changed })
    expect((await call(other.url + location, 'DELETE')).status).toBe(409)
    const list: OperationView[] = JSON.parse((await call(`${other.url}/flux-api/operations`)).text)
    expect(list.map(({ status }) => status)).toEqual(['stopped', 'done'])
    await Promise.all([server, other].map((one) => one.kill('SIGKILL')))
  })
})
