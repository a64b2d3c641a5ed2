// Starts at two servers that share a Redis: a context that starts later has a higher id, and each id is used once.
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { beforeEach, expect, test } from 'vitest'
import { createRuntime, type FluxRuntime } from '../../src/main.ts'
import { letTimePass, remember } from '../store/redis-past.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { writeFiles } from '../support/engine.ts'
import { silent as log } from '../support/silent.ts'
import { atEndOfTest, newFolder } from '../support/at-end.ts'

const WAITING = {
  states: [{ name: 'wait', waiting: true, transitions: [{ to: 'end', event: 'go' }] }, { name: 'end' }],
}
const PARENT = {
  states: [
    { name: 'wait', waiting: true, transitions: [{ to: 'call', event: 'call' }] },
    { name: 'call', action: { type: 'invokeFlux', name: 'Waiting' }, transitions: [{ to: 'end' }] },
    { name: 'end' },
  ],
}

let redis: RedisServer
let namespace: string
beforeEach(async () => {
  namespace = randomUUID()
  redis = await startRedis({ appendfsync: 'no' })
  atEndOfTest(() => redis.close())
})

async function openServer(): Promise<FluxRuntime> {
  const folder = await newFolder()
  await writeFiles(folder, { 'p/Waiting.flux': WAITING, 'p/Parent.flux': PARENT })
  const server = await createRuntime({ actors: [folder], redisUrl: redis.url, namespace, log })
  atEndOfTest(() => server.close({ grace: 0 }))
  return server
}

const start = async (server: FluxRuntime, fluxName = 'Waiting'): Promise<number> =>
  (await server.execute({ package: 'p', fluxName })).contextId

/** One at a time. */
async function startSome(server: FluxRuntime, count: number): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < count) ids.push(await start(server))
  return ids
}

/** How many scripts Redis has been sent so far. */
function countScripts(): () => Promise<number> {
  const client = new Redis(redis.url)
  atEndOfTest(() => client.disconnect())
  return async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1])
}

function expectAscending(ids: readonly number[]): void {
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
}

test('by turns, alone, and again by turns', async () => {
  const [one, other] = [await openServer(), await openServer()]
  const ids: number[] = []
  const byTurns = async () => {
    for (let turn = 0; turn < 10; turn += 1) ids.push(await start(one), await start(other))
  }
  await byTurns()
  for (const server of [one, other, one]) {
    ids.push(await start(server))
    await letTimePass(redis, namespace, 0)
    ids.push(...(await startSome(server, 20)))
    ids.push(...(await startSome(server === one ? other : one, 2)))
  }
  await byTurns()
  expectAscending(ids)
})

test('a server that is alone sends one script for a start', async () => {
  const server = await openServer()
  await start(server)
  await letTimePass(redis, namespace, 0)
  await start(server)
  const scripts = countScripts()
  const before = await scripts()
  await startSome(server, 200)
  // Heartbeats and the like come along.
  expect((await scripts()) - before).toBeLessThan(300)
})

test('many at once at both: whoever begins after another was started is higher, and no id is used twice', async () => {
  const servers = [await openServer(), await openServer()]
  const ids: number[] = []
  let highest = 0
  const startMany = async (server: FluxRuntime) => {
    for (let count = 0; count < 25; count += 1) {
      if (count % 10 === 5) await letTimePass(redis, namespace, 0)
      const least = highest
      const id = await start(server)
      expect(id).toBeGreaterThan(least)
      highest = Math.max(highest, id)
      ids.push(id)
    }
  }
  await Promise.all(servers.flatMap((server) => Array.from({ length: 8 }, () => startMany(server))))
  expect(ids.length).toBe(400)
  expect(new Set(ids).size).toBe(400)
})

test('a child whose id was given too early gets another, and its parent goes on', async () => {
  const [one, other] = [await openServer(), await openServer()]
  const parent = await start(one, 'Parent')
  await letTimePass(redis, namespace, 0)
  await start(one)
  const before = await start(other)
  const scripts = countScripts()
  const sent = await scripts()
  await one.sendEvent({ contextId: parent, event: 'call' })
  // One refused commit drops all ids that were given with it. Heartbeats and the like come along.
  expect((await scripts()) - sent).toBeLessThan(50)
  const children = await one.listContexts({ fluxName: 'Waiting' })
  const child = children.map(({ id }) => id).at(-1)
  expect(child).toBeGreaterThan(before)
  expect(children.length).toBe(3)
  expect(await one.getContext({ contextId: parent })).toMatchObject({ currentState: 'call' })
})

test('after Redis has lost its last moments no id that was told is used again', async () => {
  const [one, other] = [await openServer(), await openServer()]
  const ids = await startSome(one, 2)
  await letTimePass(redis, namespace, 0)
  ids.push(...(await startSome(one, 5)))
  const goBack = await remember(redis)
  ids.push(...(await startSome(one, 5)))
  await goBack()
  const again = async (server: FluxRuntime) => {
    await expect
      .poll(
        () =>
          start(server)
            .then((id) => ids.push(id))
            .catch(() => 0),
        { timeout: 10_000 },
      )
      .toBeTruthy()
  }
  await again(one)
  await again(other)
  await again(one)
  ids.push(...(await startSome(other, 3)), ...(await startSome(one, 3)))
  expectAscending(ids)
})
