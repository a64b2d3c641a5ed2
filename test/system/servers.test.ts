// Two servers on one Redis, as real processes: one truth, whoever is asked and whatever dies.
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { startRedis, startRedisCluster, type RedisServer } from '../support/redis.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { Client, forEach, outputOf } from './client.ts'
import { SERVICES } from './services.ts'

/** Seconds within which a dead server's steps are taken over. */
const RECOVERY = 3
/** A server that was itself held up looks on for another such time before it judges. */
const TAKEOVER_MS = 2 * RECOVERY * 1000 + 3000
/** Milliseconds that anything else may take: other tests may have the machine. */
const PATIENCE_MS = 20_000
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

let redis: RedisServer

type OnEnd = (end: () => Promise<void>) => void

/** A namespace, and the files that its steps write to and wait for. Its servers are gone at the end. */
async function openPlace(onEnd: OnEnd) {
  const place = await placeFor(SERVICES)
  const namespace = basename(place.folder)
  const file = (name: string) => join(place.folder, name)
  return {
    namespace,
    async open(url = redis.url): Promise<Server> {
      const server = await startServer({
        program: inject('program'),
        ...place,
        env: { ACTORFLUX_REDIS_URL: url, ACTORFLUX_NAMESPACE: namespace, ACTORFLUX_RECOVERY: `${RECOVERY}s` },
      })
      onEnd(async () => {
        await server.kill('SIGKILL')
      })
      return server
    },
    lines: async (name: string) => (await readFile(file(name), 'utf8').catch(() => '')).split('\n').filter(Boolean),
    files: (name: string) => ({ file: file(`${name}.steps`), gate: file(`${name}.gate`) }),
    openGate: (name: string) => writeFile(file(`${name}.gate`), ''),
  }
}

async function openPair(onEnd: OnEnd) {
  const place = await openPlace(onEnd)
  const servers = await Promise.all([place.open(), place.open()])
  const clients = servers.map((one) => new Client(one))
  return {
    ...place,
    servers,
    server: (index: number): Server => servers[index] ?? fail(`there is no server ${index}`),
    client: (index: number): Client => clients[index] ?? fail(`there is no server ${index}`),
  }
}

const fail = (reason: string): never => {
  throw new Error(reason)
}
const haveEnded = (ids: readonly number[], of: Client, timeout: number) =>
  vi.waitFor(
    async () => {
      const views = await forEach(ids, (id) => of.context(id))
      expect(views.filter(({ status }) => status !== 'COMPLETED').map(({ id, status }) => ({ id, status }))).toEqual([])
      return views
    },
    { timeout, interval: 100 },
  )

beforeAll(async () => {
  redis = await startRedis({ appendfsync: 'always' })
})
afterAll(async () => {
  await cleanUp()
  await redis.close()
})

describe('two servers', () => {
  let client: (index: number) => Client
  let namespace: string
  const ends: (() => Promise<void>)[] = []
  beforeAll(async () => {
    ;({ client, namespace } = await openPair((end) => {
      ends.push(end)
    }))
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })

  test('count each of 400 events to one context once', async () => {
    const id = await client(0).start('Counter')
    await Promise.all(
      Array.from({ length: 400 }, (_, index) => client(index % 2).event(index % 3 === 0 ? 'tock' : 'tick', id)),
    )
    const view = await client(1).context(id)
    expect(outputOf(view, 'count')).toBe(400)
    expect(view.executionHistory).toHaveLength(401)
  })

  test('move each of 200 contexts once by two broadcasts at once', async () => {
    const ids = await forEach(
      Array.from({ length: 200 }, (_, index) => index),
      (index) => client(index % 2).start('Once'),
    )
    const answers = await Promise.all([client(0).event('knock'), client(1).event('knock')])
    const moved = answers.flatMap(({ transitions }) => transitions.map(({ contextId }) => contextId))
    expect(moved.toSorted((one, other) => one - other)).toEqual(ids.toSorted((one, other) => one - other))
    const views = await forEach(ids, (id) => client(0).context(id))
    expect(views.filter(({ executionHistory }) => executionHistory.length !== 2)).toEqual([])
  })

  test('see at once what the other did, whatever they remember', async () => {
    const id = await client(0).start('Counter')
    for (let turn = 0; turn < 20; turn += 1) await client(turn % 2).event('tick', id)
    expect(outputOf(await client(0).context(id), 'count')).toBe(20)
    const once = await client(0).start('Once')
    await client(1).event('knock', once)
    // What the first one remembers doesn't hear this event.
    expect((await client(0).event('go', once)).transitions).toEqual([{ contextId: once, state: 'done' }])
    await expect(client(1).event('go', once)).rejects.toThrow(/gave 409/)
  })

  test('hold a request until the other brings the context there', async () => {
    const ids = await forEach(
      Array.from({ length: 50 }, (_, index) => index),
      (index) => client(index % 2).start('Once'),
    )
    const waits = ids.map((id, index) => client(index % 2).wait(id, 'status=COMPLETED&timeout=60'))
    await forEach([...ids.entries()], ([index, id]) => client((index + 1) % 2).event('knock', id))
    const begun = performance.now()
    await forEach([...ids.entries()], ([index, id]) => client((index + 1) % 2).event('go', id))
    expect((await Promise.all(waits)).map(({ id, status }) => [id, status])).toEqual(ids.map((id) => [id, 'COMPLETED']))
    expect(performance.now() - begun).toBeLessThan(PATIENCE_MS)
  })

  test('give later contexts higher ids', async () => {
    const ids: number[] = []
    for (let turn = 0; turn < 20; turn += 1) ids.push(await client(turn % 2).start('Once'))
    expect(ids).toEqual(ids.toSorted((one, other) => one - other))
  })

  test('answer a parent whose child another server moved', async () => {
    const parent = await client(0).start('Parent')
    const [child] = await client(1).list({ fluxName: 'Child' })
    await client(1).event('say', child?.id, { word: 'from afar' })
    const [view] = await haveEnded([parent], client(0), PATIENCE_MS)
    expect(view && outputOf(view, 'answer')).toBe('from afar')
  })

  test('every wake-up happens when all keys of BullMQ are gone', async () => {
    const due = Date.now() + 1500
    const timers = await forEach(
      Array.from({ length: 20 }, (_, index) => index),
      (index) => client(index % 2).start('Delayed', { due: due + index * 50 }),
    )
    const admin = new Redis(redis.url)
    const keys = await admin.keys(`{af:${namespace}:alarms}*`)
    expect(keys.length).toBeGreaterThan(0)
    await admin.del(...keys)
    admin.disconnect()
    for (const { executionHistory } of await haveEnded(timers, client(1), PATIENCE_MS))
      expect(executionHistory[1]?.enteredAt).toBeGreaterThanOrEqual(due)
  })
})

// Not at once: they are about who sends his heartbeats in time.
describe('one of two servers', () => {
  test('that is killed with steps and timers under way leaves all of it to the other', async ({ onTestFinished }) => {
    const { client, server, lines, files, openGate } = await openPair(onTestFinished)
    const holders = await forEach(Array.from({ length: 20 }), () => client(0).start('Holder', files('holder')))
    const due = Date.now() + 2000
    const timers = await forEach(
      Array.from({ length: 20 }, (_, index) => index),
      (index) => client(0).start(['Delayed', 'Dated', 'Timed'][index % 3] ?? '', { due: due + index * 20 }),
    )
    await vi.waitFor(async () => expect(await lines('holder.steps')).toHaveLength(20), PATIENCE_MS)
    const killedAt = Date.now()
    await server(0).kill('SIGKILL')
    await vi.waitFor(async () => expect(await lines('holder.steps')).toHaveLength(40), {
      timeout: TAKEOVER_MS,
      interval: 50,
    })
    expect(Date.now() - killedAt).toBeGreaterThan(RECOVERY * 500)
    const keys = await lines('holder.steps')
    expect(new Set(keys.slice(0, 20))).toEqual(new Set(keys.slice(20)))
    await openGate('holder')
    for (const { executionHistory } of await haveEnded(holders, client(1), PATIENCE_MS))
      expect(executionHistory).toHaveLength(2)
    for (const { executionHistory } of await haveEnded(timers, client(1), PATIENCE_MS)) {
      expect(executionHistory.map(({ stateName }) => stateName)).toEqual(['start', 'done'])
      expect(executionHistory[1]?.enteredAt).toBeGreaterThanOrEqual(due)
    }
  })

  test('that stops gives its steps back, which are taken over at once', async ({ onTestFinished }) => {
    const { client, server, lines, files, openGate } = await openPair(onTestFinished)
    const holder = await client(0).start('Holder', files('given'))
    await vi.waitFor(async () => expect(await lines('given.steps')).toHaveLength(1), PATIENCE_MS)
    // It waits for its steps for a while, and then gives them back.
    await server(0).kill('SIGTERM')
    await vi.waitFor(async () => expect(await lines('given.steps')).toHaveLength(2), { timeout: 2000, interval: 50 })
    await openGate('given')
    await haveEnded([holder], client(1), PATIENCE_MS)
  })

  test('that was halted and goes on does nothing twice', async ({ onTestFinished }) => {
    const { client, server, lines, files, openGate } = await openPair(onTestFinished)
    const holders = await forEach(Array.from({ length: 5 }), () => client(0).start('Holder', files('stopped')))
    const counter = await client(0).start('Counter')
    await client(0).event('tick', counter)
    await vi.waitFor(async () => expect(await lines('stopped.steps')).toHaveLength(5), PATIENCE_MS)
    process.kill(server(0).pid, 'SIGSTOP')
    await vi.waitFor(async () => expect(await lines('stopped.steps')).toHaveLength(10), {
      timeout: TAKEOVER_MS,
      interval: 50,
    })
    await client(1).event('tick', counter)
    // Both end their steps now: the one that lost them, too.
    await openGate('stopped')
    process.kill(server(0).pid, 'SIGCONT')
    // What it remembers of this context is old.
    await client(0).event('tick', counter)
    for (const { executionHistory, version } of await haveEnded(holders, client(1), PATIENCE_MS)) {
      expect(executionHistory).toHaveLength(2)
      // Started, taken over, ended.
      expect(version).toBe(3)
    }
    expect(outputOf(await client(1).context(counter), 'count')).toBe(3)
    await vi.waitFor(() => expect(server(0).output()).toContain('declared this server dead'), PATIENCE_MS)
    // And it works on, under its new name.
    const again = await client(0).start('Holder', files('stopped'))
    await haveEnded([again], client(1), PATIENCE_MS)
  })
})

describe.concurrent('two servers and what they stand on', () => {
  test('while Redis is away they refuse, and go on with all that was acknowledged when it is back', async ({
    onTestFinished,
  }) => {
    const { servers, client, files, openGate } = await openPair(onTestFinished)
    const ids = await forEach(
      Array.from({ length: 40 }, (_, index) => index),
      (index) => client(index % 2).start('Counter'),
    )
    const holder = await client(0).start('Holder', files('away'))
    const due = Date.now() + 1500
    const timer = await client(0).start('Delayed', { due })
    const acknowledged = new Map(ids.map((id) => [id, 0]))
    const sending = new AbortController()
    const senders = ids.map(async (id, index) => {
      while (!sending.signal.aborted) {
        await client(index % 2)
          .event('tick', id)
          .then(
            () => acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1),
            () => sleep(20),
          )
      }
    })
    /** More than that, for each context. */
    const haveCome = async (before: ReadonlyMap<number, number>) =>
      vi.waitFor(() => {
        for (const id of ids) expect(acknowledged.get(id)).toBeGreaterThan(before.get(id) ?? 0)
      }, PATIENCE_MS)
    await Promise.all([haveCome(new Map()), sleep(500)])
    await redis.signal('SIGKILL')
    await sleep(300)
    for (const { url } of servers) {
      const refusal = await fetch(`${url}/flux-api/event?contextId=${ids[0]}`, {
        method: 'POST',
        body: '{"event":"tick"}',
        headers: { 'content-type': 'application/json' },
      })
      expect(refusal.status).toBe(503)
      expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(refusal.headers.get('content-type')).toContain('application/problem+json')
      expect((await fetch(`${url}/readyz`)).status).toBe(503)
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
    }
    await openGate('away')
    await sleep(2000)
    await redis.start()
    await vi.waitFor(async () => {
      for (const { url } of servers) expect((await fetch(`${url}/readyz`)).status).toBe(200)
    }, PATIENCE_MS)
    await Promise.all([haveCome(new Map(acknowledged)), sleep(500)])
    sending.abort()
    await Promise.all(senders)
    for (const id of ids) {
      const count = Number(outputOf(await client(0).context(id), 'count'))
      // One more at most: what was under way when Redis went may have been done, and was not acknowledged.
      expect(count).toBeGreaterThanOrEqual(acknowledged.get(id) ?? 0)
      expect(count).toBeLessThanOrEqual((acknowledged.get(id) ?? 0) + 1)
      expect(acknowledged.get(id)).toBeGreaterThan(1)
    }
    await haveEnded([holder, timer], client(1), PATIENCE_MS)
    for (const one of servers) expect(one.isRunning()).toBe(true)
  })

  test('what Redis forgot is gone, and its ids name nothing else', async ({ onTestFinished }) => {
    const { open } = await openPlace(onTestFinished)
    const forgetful = await startRedis({ args: ['--appendonly', 'no'] })
    try {
      const one = new Client(await open(forgetful.url))
      const id = await one.start('Counter')
      await one.event('tick', id)
      await forgetful.signal('SIGKILL')
      await forgetful.start()
      const other = new Client(await open(forgetful.url))
      await vi.waitFor(async () => expect(await one.start('Counter')).toBeGreaterThan(id + 1000), PATIENCE_MS)
      for (const each of [one, other]) await expect(each.event('tick', id)).rejects.toThrow(/gave 404/)
      const again = await other.start('Counter')
      await one.event('tick', again)
      expect(outputOf(await other.context(again), 'count')).toBe(1)
    } finally {
      await forgetful.close()
    }
  })

  test('on a cluster they do all that they do on one Redis', async ({ onTestFinished }) => {
    const { open, lines, files, openGate } = await openPlace(onTestFinished)
    const cluster = await startRedisCluster()
    try {
      const [one, other] = await Promise.all([open(cluster.url), open(cluster.url)])
      const [first, second] = [new Client(one), new Client(other)]
      const ids = await forEach(
        Array.from({ length: 200 }, (_, index) => index),
        (index) => (index % 2 === 0 ? first : second).start('Once'),
      )
      const ascending = ids.toSorted((a, b) => a - b)
      expect(new Set(ids.map((id) => id % 16)).size).toBe(16)
      expect((await first.list({ fluxName: 'Once' })).map(({ id }) => id)).toEqual(ascending)
      expect(
        (await second.list({ fluxName: 'Once', currentState: 'open', limit: '30', page: '3' })).map(({ id }) => id),
      ).toEqual(ascending.slice(90, 120))
      const answers = await Promise.all([first.event('knock'), second.event('knock')])
      expect(
        answers.flatMap(({ transitions }) => transitions.map(({ contextId }) => contextId)).toSorted((a, b) => a - b),
      ).toEqual(ascending)

      const counter = await first.start('Counter')
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? first : second).event('tick', counter)),
      )
      expect(outputOf(await second.context(counter), 'count')).toBe(100)

      const parents = await forEach(Array.from({ length: 10 }), () => first.start('Parent'))
      const children = await second.list({ fluxName: 'Child' })
      expect(children.map(({ id }) => id % 16).toSorted((a, b) => a - b)).toEqual(
        parents.map((id) => id % 16).toSorted((a, b) => a - b),
      )
      await forEach(children, ({ id }) => second.event('say', id, { word: 'hello' }))
      const due = Date.now() + 1000
      const timers = await forEach(
        Array.from({ length: 30 }, (_, index) => index),
        (index) => first.start('Delayed', { due: due + index * 20 }),
      )
      await haveEnded(parents, first, PATIENCE_MS)
      for (const { executionHistory } of await haveEnded(timers, second, PATIENCE_MS))
        expect(executionHistory[1]?.enteredAt).toBeGreaterThanOrEqual(due)
      const holder = await first.start('Holder', files('clustered'))
      await vi.waitFor(async () => expect(await lines('clustered.steps')).toHaveLength(1), PATIENCE_MS)
      await one.kill('SIGKILL')
      await vi.waitFor(async () => expect(await lines('clustered.steps')).toHaveLength(2), {
        timeout: TAKEOVER_MS,
        interval: 50,
      })
      await openGate('clustered')
      await haveEnded([holder], second, PATIENCE_MS)
    } finally {
      await cluster.close()
    }
  })
})
