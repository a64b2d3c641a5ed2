// A real server that has a large index to read: it listens first, and says that it lives and is not ready.
import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, inject, test } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { contextOf, writeOf } from '../store/contract-support.ts'
import { cleanUp, launch, placeFor } from '../support/server.ts'
import { SERVICES } from './services.ts'
import { silent as log } from '../support/silent.ts'
import { freePort } from '../support/listening.ts'

const quiet = (): void => {}

const COUNT = 60_000
const GROUP = 2000

afterEach(cleanUp)

test('a server answers that it lives while it reads its index, and 503 to all else until it is ready', async () => {
  const { actors, data } = await placeFor(SERVICES)
  await mkdir(data)
  const store = await openLmdbStore({ folder: data, log, clock: { now: Date.now, after: () => quiet } })
  const { first } = await store.reserveIds({ count: COUNT, partition: 0 })
  for (let from = 0; from < COUNT; from += GROUP) {
    await Promise.all(
      Array.from({ length: GROUP }, (_, index) => {
        const context = contextOf(first + from + index, 1, {
          indexKeys: ['one', 'two', `three:${index % 9}`],
          endedAt: Date.now(),
        })
        return store.commit({ writes: [writeOf(context)] })
      }),
    )
  }
  await store.close()

  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = launch({ program: inject('program'), actors, data, env: { ACTORFLUX_PORT: String(port) } })
  const statusOf = (path: string) =>
    fetch(url + path).then(
      async (response) => {
        const { type } = (await response.json()) as { type?: string }
        return { status: response.status, retryAfter: response.headers.get('retry-after'), type }
      },
      () => null,
    )
  let [lived, refused] = [0, 0]
  for (let ready = false; !ready && server.isRunning();) {
    const [health, call] = [await statusOf('/healthz'), await statusOf('/flux-api/contexts?limit=1')]
    const [webhook, readiness] = [await statusOf('/api/none'), await statusOf('/readyz')]
    ready = readiness?.status === 200
    if (health === null) {
      // It doesn't listen yet: it loads the services.
      await sleep(5)
      continue
    }
    expect(health.status).toBe(200)
    if (ready) break
    lived += 1
    const unavailable = { status: 503, retryAfter: '1', type: 'urn:actorflux:problem:unavailable' }
    if (readiness !== null) expect(readiness).toEqual(unavailable)
    // It may have become ready in between.
    if (call?.status === 503) {
      expect(call).toEqual(unavailable)
      refused += 1
    }
    if (webhook?.status === 503) expect(webhook).toEqual(unavailable)
  }
  // It reads in strides: had it been held up, it would have answered once at most.
  expect(lived).toBeGreaterThan(3)
  expect(refused).toBeGreaterThan(3)
  expect(await statusOf('/flux-api/contexts?limit=0')).toMatchObject({ status: 400 })
  expect(await statusOf('/api/none')).toMatchObject({ status: 404 })
  expect(await server.kill('SIGTERM')).toMatchObject({ code: 0 })
}, 120_000)
