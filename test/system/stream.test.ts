// The stream of moves over several server processes that share a Redis: what any of them commits, in order; a reader who
// goes on at another server; and a server that is killed.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { MoveMessage } from '../../src/api/streams.ts'
import { openStream, type MoveStream, type StreamEvent } from '../support/move-stream.ts'
import { startRedis, startRedisCluster, type RedisCluster, type RedisServer } from '../support/redis.ts'
import { cleanUp, placeFor, startServer, type Place, type Server } from '../support/server.ts'

const SERVICES = {
  'p/Loop.flux': {
    states: [{ name: 'open', waiting: true, transitions: [{ event: 'tick', to: 'open' }] }],
  },
}

const moveIn = ({ data }: StreamEvent) => data as MoveMessage
const versionsOf = ({ events }: MoveStream, contextId: number): number[] =>
  events.flatMap((event) =>
    event.event === 'move' && moveIn(event).contextId === contextId ? [moveIn(event).version] : [],
  )
const isMove = (contextId: number, version: number) => (event: StreamEvent) =>
  event.event === 'move' && moveIn(event).contextId === contextId && moveIn(event).version === version
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, n) => n + first)

const post = async (url: string, path: string, body: object): Promise<Response> =>
  fetch(url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
const start = async (url: string): Promise<number> => {
  const answer = await (await post(url, '/flux-api/p/execute', { fluxName: 'Loop' })).json()
  return (answer as { contextId: number }).contextId
}
const tick = async (url: string, contextId: number): Promise<number> =>
  (await post(url, `/flux-api/event?contextId=${contextId}`, { event: 'tick' })).status

let place: Place
let redis: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  ;[place, redis, cluster] = await Promise.all([placeFor(SERVICES), startRedis(), startRedisCluster()])
})
afterAll(async () => {
  await cleanUp()
  await Promise.all([redis.close(), cluster.close()])
})

const serverOf = (url: string, namespace: string): Promise<Server> =>
  startServer({
    program: inject('program'),
    ...place,
    env: { ACTORFLUX_REDIS_URL: url, ACTORFLUX_NAMESPACE: namespace, ACTORFLUX_RECOVERY: '2s' },
  })

describe('of two servers', () => {
  test.each(['redis', 'cluster'])('%s: a reader gets what both commit, and goes on at the other', async (kind) => {
    const address = kind === 'redis' ? redis.url : cluster.url
    const servers = await Promise.all([serverOf(address, `both-${kind}`), serverOf(address, `both-${kind}`)])
    const [one, two] = servers.map(({ url }) => url)
    if (one === undefined || two === undefined) throw new Error('there are two')
    const [first, second] = await Promise.all([openStream(one), openStream(two)])
    const [mine, other] = [await start(one), await start(two)]
    for (let n = 0; n < 20; n += 1) await Promise.all([tick(one, mine), tick(one, other)])
    await Promise.all(
      [first, second].flatMap((stream) => [stream.until(isMove(mine, 21)), stream.until(isMove(other, 21))]),
    )
    for (const stream of [first, second])
      expect([versionsOf(stream, mine), versionsOf(stream, other)]).toEqual([upTo(21), upTo(21)])
    // All streams have the same messages, under the same ids.
    expect(first.events.map(({ id }) => id)).toEqual(second.events.map(({ id }) => id))

    first.close()
    for (let n = 0; n < 5; n += 1) await tick(two, mine)
    const again = await openStream(two, '', { 'last-event-id': first.lastEventId() })
    await tick(one, mine)
    await again.until(isMove(mine, 27))
    expect(versionsOf(again, mine)).toEqual(upTo(27, 22))
    again.close()
    second.close()
    await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  })

  test('the moves of a context that both move at once come in the order of its versions', async () => {
    const servers = await Promise.all([serverOf(redis.url, 'order'), serverOf(redis.url, 'order')])
    const urls = servers.map(({ url }) => url)
    const [url = ''] = urls
    const id = await start(url)
    const streams = await Promise.all(urls.map((each) => openStream(each)))
    const statuses = await Promise.all(Array.from({ length: 300 }, (_, n) => tick(urls[n % 2] ?? '', id)))
    const moved = statuses.filter((status) => status === 200).length
    expect(moved).toBeGreaterThan(100)
    await tick(url, id)
    // Events that wait for a context together are committed together.
    const { version } = (await (await fetch(`${url}/flux-api/context?contextId=${id}`)).json()) as { version: number }
    for (const stream of streams) {
      await stream.until(isMove(id, version))
      expect(versionsOf(stream, id)).toEqual(upTo(version, 2))
      stream.close()
    }
    await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  })

  test('a move that is committed after the first bytes, on any server, is never missed', async () => {
    const servers = await Promise.all([serverOf(redis.url, 'first'), serverOf(redis.url, 'first')])
    const [one, two] = servers.map(({ url }) => url)
    const id = await start(two ?? '')
    for (let round = 0; round < 5; round += 1) {
      const stream = await openStream(one ?? '')
      await stream.when(() => stream.text() !== '')
      expect(await tick(two ?? '', id)).toBe(200)
      await stream.until(isMove(id, round + 2))
      expect(versionsOf(stream, id)).toEqual([round + 2])
      stream.close()
    }
    await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  })

  test('a server that is killed takes no other stream with it, and its context goes on in order', async () => {
    const [doomed, other] = await Promise.all([serverOf(redis.url, 'kill'), serverOf(redis.url, 'kill')])
    const id = await start(doomed.url)
    const [lost, stream] = [await openStream(doomed.url), await openStream(other.url)]
    await tick(doomed.url, id)
    await stream.until(isMove(id, 2))
    await lost.until(isMove(id, 2))
    await doomed.kill('SIGKILL')
    await lost.ended
    for (let n = 0; n < 3; n += 1) expect(await tick(other.url, id)).toBe(200)
    await stream.until(isMove(id, 5))
    expect(versionsOf(stream, id)).toEqual([2, 3, 4, 5])
    // A server that starts while somebody reads publishes from its first commit on; the reader of the lost one goes on there.
    const fresh = await serverOf(redis.url, 'kill')
    await tick(fresh.url, id)
    await stream.until(isMove(id, 6))
    const again = await openStream(fresh.url, '', { 'last-event-id': lost.lastEventId() })
    await again.until(isMove(id, 6))
    expect(versionsOf(again, id)).toEqual([3, 4, 5, 6])
    const ended = [stream, again].map((each) => each.ended)
    await Promise.all([other.kill('SIGTERM'), fresh.kill('SIGTERM')])
    await Promise.all(ended)
    expect([stream, again].map(({ events }) => events.at(-1)?.event)).toEqual(['bye', 'bye'])
  })

  test('what was committed while Redis was away is told once it is back', async () => {
    const own = await startRedis()
    const server = await serverOf(own.url, 'away')
    const stream = await openStream(server.url)
    const id = await start(server.url)
    await stream.until(isMove(id, 1))
    await own.signal('SIGTERM')
    await own.start()
    let version = 1
    for (const limit = Date.now() + 20_000; version === 1 && Date.now() < limit;)
      if ((await tick(server.url, id)) === 200) version = 2
    await stream.until(isMove(id, 2))
    expect(versionsOf(stream, id)).toEqual([1, 2])
    stream.close()
    await server.kill('SIGTERM')
    await own.close()
  })
})
