// The stream of moves of one server, on both stores, over real sockets.
import { Redis } from 'ioredis'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MoveMessage } from '../../../src/api/streams.ts'
import { openStream, type StreamEvent } from '../../support/move-stream.ts'
import { startRedis, type RedisServer } from '../../support/redis.ts'
import { openLive, tokenOf, type Live } from '../live.ts'

const isMove =
  (contextId: number, version?: number) =>
  ({ event, data }: StreamEvent): boolean => {
    const move = data as MoveMessage
    return event === 'move' && move.contextId === contextId && (version === undefined || move.version === version)
  }
const moveOf = ({ data }: StreamEvent) => data as MoveMessage
const movesOf = (events: readonly StreamEvent[]) => events.filter(({ event }) => event === 'move').map(moveOf)

const SERVICES = {
  'p/Door.flux': {
    tags: ['${tag}'],
    input: [{ name: 'tag' }],
    triggers: ['build'],
    states: [
      {
        name: 'open',
        waiting: true,
        transitions: [
          { event: 'close', to: 'shut' },
          { event: 'hold', to: 'open' },
        ],
      },
      { name: 'shut' },
    ],
  },
  'p/Walk.flux': {
    states: [{ name: 'a', transitions: [{ to: 'b' }] }, { name: 'b', transitions: [{ to: 'c' }] }, { name: 'c' }],
  },
  'p/Nap.flux': {
    states: [
      { name: 'asleep', waiting: true, transitions: [{ wait: 'duration:0.1', to: 'awake' }] },
      { name: 'awake' },
    ],
  },
  'p/Work.flux': {
    states: [
      { name: 'work', action: { type: 'invokeCode', className: 'fns', methodName: 'work', inputs: [], outputs: [] } },
    ],
  },
  'p/fns.mjs': 'export async function work() { return {} }\n',
  'p/Parent.flux': {
    states: [{ name: 'call', action: { type: 'invokeFlux', name: 'Walk', inputs: [], outputs: [] } }],
  },
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'go', to: 'rest' }] }],
  },
}

const start = async (live: Live, fluxName: string, input: object = {}, token?: string): Promise<number> => {
  const { json } = await live.call('POST', '/flux-api/p/execute', {
    body: { fluxName, input },
    ...(token !== undefined && { token }),
  })
  return (json as { contextId: number }).contextId
}
const send = (live: Live, event: string, contextId: number, more: object = {}) =>
  live.call('POST', `/flux-api/event?contextId=${contextId}`, { body: { event, ...more } })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.close())

describe.each(['embedded', 'redis'])('the stream of moves, %s', (store) => {
  const env = (more: { [name: string]: string } = {}) => ({
    ...(store === 'redis' && { ACTORFLUX_REDIS_URL: redis.url }),
    ACTORFLUX_NAMESPACE: `n${randomBytes(6).toString('hex')}`,
    ...more,
  })
  describe('of an open server', () => {
    let live: Live
    beforeAll(async () => {
      live = await openLive(env(), SERVICES, { admin: 'admin' })
    })
    afterAll(() => live.close())

    test('begins with a comment, and tells of a start and an event', async () => {
      const before = await start(live, 'Door')
      const stream = await openStream(live.url)
      await stream.when(() => stream.text() !== '')
      expect(stream.status).toBe(200)
      expect(stream.headers['content-type']).toBe('text/event-stream')
      expect(stream.headers['cache-control']).toBe('no-store')
      // What is written is not made chunks of HTTP.
      expect([stream.headers['transfer-encoding'], stream.headers['connection']]).toEqual([undefined, 'close'])
      expect(stream.text().startsWith(':')).toBe(true)
      expect(stream.retry()).toBeGreaterThan(0)
      expect(stream.lastEventId()).not.toBe('')

      const id = await start(live, 'Door', { tag: 'red' })
      await send(live, 'close', id, { eventId: 'my-event' })
      const last = moveOf(await stream.until(isMove(id, 2)))
      const first = moveOf(await stream.until(isMove(id, 1)))
      const common = { contextId: id, package: 'p', fluxName: 'Door', tags: ['red'], nextRun: null, parent: null }
      const at = expect.any(Number)
      expect(first).toEqual({
        ...common,
        at,
        version: 1,
        kind: 'start',
        event: null,
        eventId: null,
        from: null,
        to: 'open',
        entered: ['open'],
        status: 'WAITING',
      })
      expect(last).toEqual({
        ...common,
        at,
        version: 2,
        kind: 'event',
        event: 'close',
        eventId: 'my-event',
        from: 'open',
        to: 'shut',
        entered: ['shut'],
        status: 'COMPLETED',
      })
      // What was acknowledged before the stream was opened is not in it.
      expect(stream.events.some(isMove(before))).toBe(false)
      const ids = stream.events.map((event) => event.id)
      expect(new Set(ids).size).toBe(ids.length)
      stream.close()
    })

    test('tells of wake-ups, steps, children, tags and terminations', async () => {
      const stream = await openStream(live.url)
      const [nap, work, parent, door] = [
        await start(live, 'Nap'),
        await start(live, 'Work'),
        await start(live, 'Parent'),
        await start(live, 'Door'),
      ]
      await live.call('PUT', `/flux-api/context/tag?contextId=${door}&tag=x`)
      await live.call('DELETE', `/flux-api/terminate?contextId=${door}`)
      const kinds = async (id: number, version: number) => {
        await stream.until(isMove(id, version))
        return movesOf(stream.events)
          .filter(({ contextId }) => contextId === id)
          .map(({ kind }) => kind)
      }
      expect(await kinds(nap, 2)).toEqual(['start', 'wake'])
      expect(await kinds(work, 2)).toEqual(['start', 'step'])
      expect(await kinds(door, 3)).toEqual(['start', 'tag', 'terminate'])
      expect(await kinds(parent, 2)).toEqual(['start', 'end'])
      const child = movesOf(stream.events).find((move) => move.parent === parent)
      expect(child).toMatchObject({ kind: 'start', entered: ['a', 'b', 'c'], fluxName: 'Walk', status: 'COMPLETED' })
      const asleep = movesOf(stream.events).find(({ contextId }) => contextId === nap)
      expect(asleep).toMatchObject({ status: 'WAITING_UNTIL', nextRun: expect.any(Number) })
      stream.close()
    })

    test('names the event that started a context', async () => {
      const stream = await openStream(live.url)
      const { json } = await live.call('POST', '/flux-api/event', { body: { event: 'build', eventId: 'b-1' } })
      const [{ contextId }] = (json as { executions: [{ contextId: number }] }).executions
      expect(moveOf(await stream.until(isMove(contextId)))).toMatchObject({
        kind: 'start',
        event: 'build',
        eventId: 'b-1',
      })
      stream.close()
    })

    test('takes as many tags as a list does, and no more', async () => {
      const tags = Array.from({ length: 65 }, (_, n) => `t${n}`)
      const most = tags.slice(1).join()
      const refused = await fetch(`${live.url}/flux-api/stream?tag=${tags.join()}`)
      expect([refused.status, await refused.json()]).toMatchObject([422, { errors: [{ pointer: '/tag' }] }])
      const stream = await openStream(live.url, `?tag=${most},${most}`)
      stream.close()
    })

    test('shows what the filters ask for, as it is after the commit', async () => {
      const queries = {
        all: '?status=all',
        shut: '?currentState=shut',
        done: '?status=COMPLETED,FAILED',
        blue: '?tag=blue',
        both: '?tag=blue&tag=door',
        walk: '?fluxName=Walk',
        named: '?fluxName=p/Door&startState=open',
      }
      const streams = await Promise.all(
        Object.entries(queries).map(async ([name, query]) => [name, await openStream(live.url, query)] as const),
      )
      const id = await start(live, 'Door', { tag: 'blue' })
      await send(live, 'hold', id)
      await send(live, 'close', id)
      const end = await start(live, 'Walk')
      const all = streams.find(([name]) => name === 'all')?.[1]
      await all?.until(isMove(end))
      const shown = Object.fromEntries(
        await Promise.all(
          streams.map(async ([name, stream]) => {
            // All of them are written in the same turn.
            await new Promise((resolve) => setTimeout(resolve, 20))
            stream.close()
            return [
              name,
              movesOf(stream.events).flatMap((move) => ([id, end].includes(move.contextId) ? move.version : [])),
            ]
          }),
        ),
      )
      expect(shown).toEqual({
        all: [1, 2, 3, 1],
        shut: [3],
        done: [3, 1],
        blue: [1, 2, 3],
        both: [],
        walk: [1],
        named: [1, 2, 3],
      })
    })

    test.each([
      'limit=1',
      'page=1',
      'after=1',
      'order=desc',
      'startedAfter=1',
      'dueBefore=1',
      'status=NO',
      'nothing=1',
    ])('refuses %s', async (query) => {
      const { status } = await live.call('GET', `/flux-api/stream?${query}`)
      expect(status).toBe(400)
    })

    test('refuses those who do not take server-sent events, and answers HEAD', async () => {
      expect((await live.call('GET', '/flux-api/stream', { accept: 'application/xml' })).status).toBe(406)
      const { status, headers } = await live.call('HEAD', '/flux-api/stream')
      expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    })

    test('leaves out secured contexts for those who may not see them', async () => {
      const token = tokenOf('admin')
      const [anonymous, known] = [
        await openStream(live.url),
        await openStream(live.url, '', { authorization: `Bearer ${token}` }),
      ]
      const secret = await start(live, 'Secret', {}, token)
      const open = await start(live, 'Door')
      await Promise.all([anonymous.until(isMove(open)), known.until(isMove(open))])
      expect(known.events.some(isMove(secret))).toBe(true)
      expect(anonymous.events.some(isMove(secret))).toBe(false)
      anonymous.close()
      known.close()
    })

    test('goes on behind the message that was seen last', async () => {
      const stream = await openStream(live.url)
      const id = await start(live, 'Door')
      const seen = await stream.until(isMove(id, 1))
      stream.close()
      for (let n = 0; n < 5; n += 1) await send(live, 'hold', id)
      const again = await openStream(live.url, '', { 'last-event-id': seen.id })
      await again.until(isMove(id, 6))
      await send(live, 'hold', id)
      await again.until(isMove(id, 7))
      expect(movesOf(again.events).map(({ version }) => version)).toEqual([2, 3, 4, 5, 6, 7])
      const other = await openStream(live.url, `?lastEventId=${encodeURIComponent(again.lastEventId())}`)
      await send(live, 'hold', id)
      await other.until(isMove(id, 8))
      expect(other.events.length).toBe(1)
      again.close()
      other.close()
    })

    test('tells of a gap where the message is not known', async () => {
      const stream = await openStream(live.url, '', { 'last-event-id': 'no such thing' })
      await stream.when(() => stream.events.length > 0)
      const [first] = stream.events
      expect(first).toMatchObject({ event: 'gap', data: { from: 'no such thing', to: expect.any(String) } })
      const id = await start(live, 'Door')
      await stream.until(isMove(id))
      stream.close()
      const odd = await openStream(live.url, '?lastEventId=x%0Aevent:%20move%0Adata:%20{}')
      await odd.when(() => odd.events.length > 0)
      expect(odd.events[0]?.event).toBe('gap')
      odd.close()
    })
  })

  if (store === 'redis')
    test('keeps at least 10,000 messages, and at most 20,000', { timeout: 120_000 }, async () => {
      const live = await openLive(env(), SERVICES)
      const stream = await openStream(live.url)
      await stream.when(() => stream.lastEventId() !== '')
      const first = stream.lastEventId()
      stream.close()
      const startMany = async (count: number) => {
        const body = Array.from({ length: count }, () => '{"fluxName":"Walk"}').join('\n')
        await live.call('POST', '/flux-api/p/executes', { body, type: 'application/x-ndjson' })
      }
      await startMany(9999)
      const again = await openStream(live.url, '', { 'last-event-id': first })
      await again.when(() => again.events.length === 9999)
      expect(again.events.every(({ event }) => event === 'move')).toBe(true)
      again.close()
      await startMany(12_001)
      const late = await openStream(live.url, `?lastEventId=${first}`)
      const last = await start(live, 'Door')
      await late.until(isMove(last))
      expect(late.events[0]).toMatchObject({ event: 'gap', data: { from: first, to: late.events[1]?.id } })
      expect(late.events.length).toBeGreaterThan(10_000)
      expect(late.events.length).toBeLessThanOrEqual(20_001)
      late.close()
    })

  test('tells a slow reader how many it missed', { timeout: 60_000 }, async () => {
    const live = await openLive(env(), SERVICES)
    const [slow, fast] = [await openStream(live.url), await openStream(live.url)]
    slow.pause()
    const tags = Array.from({ length: 60 }, (_, n) => `${n}${'x'.repeat(250)}`)
    const body = Array.from({ length: 40 }, () => JSON.stringify({ fluxName: 'Walk', tags })).join('\n')
    let sent = 0
    // The system keeps some megabytes for the reader.
    for (let round = 0; round < 24; round += 1) {
      await live.call('POST', '/flux-api/p/executes', { body, type: 'application/x-ndjson' })
      sent += 40
      await fast.when(() => movesOf(fast.events).length === sent)
    }
    slow.resume()
    await slow.until(({ event }) => event === 'dropped')
    const last = await start(live, 'Door')
    await slow.until(isMove(last))
    const dropped = slow.events.flatMap(({ event, data }) =>
      event === 'dropped' ? (data as { count: number }).count : [],
    )
    expect(dropped.reduce((sum, count) => sum + count, 0) + movesOf(slow.events).length).toBe(sent + 1)
    slow.close()
    fast.close()
  })

  test('says good-bye when the server stops', async () => {
    const live = await openLive(env(), SERVICES)
    const stream = await openStream(live.url)
    const closed = live.close(5000)
    await stream.ended
    expect(stream.events.at(-1)).toMatchObject({ event: 'bye', data: { reason: expect.any(String) } })
    await closed
  })

  test('ends when the token is revoked or expires, and is bounded', async () => {
    const known = { one: 'read', two: { role: 'read', expires: Date.now() + 4000 } } as const
    const live = await openLive(env({ ACTORFLUX_REQUIRE_AUTH: 'true', ACTORFLUX_MAX_READERS: '2' }), SERVICES, known)
    const [one, two] = [tokenOf('one'), tokenOf('two')]
    expect((await openStream(live.url)).status).toBe(401)
    const [first, second] = [await openStream(live.url, '', bearer(one)), await openStream(live.url, '', bearer(two))]
    expect([first.status, second.status]).toEqual([200, 200])
    const third = await openStream(live.url, '', bearer(one))
    expect([third.status, third.headers['retry-after']]).toEqual([503, expect.any(String)])
    third.close()
    await second.ended
    await live.revoke('one')
    await first.ended
    expect(first.events.at(-1)?.event).toBe('bye')
  })

  test('can be read by pages of other origins, as they may call', async () => {
    const more = { ACTORFLUX_REQUIRE_AUTH: 'true', ACTORFLUX_CORS: 'https://other.example' }
    const live = await openLive(env(more), SERVICES, { admin: 'admin' })
    const token = tokenOf('admin')
    const stream = await openStream(live.url, '', { ...bearer(token), origin: 'https://other.example' })
    expect(stream.headers).toMatchObject({
      'access-control-allow-origin': 'https://other.example',
      'content-type': 'text/event-stream',
      vary: 'Origin, Accept',
    })
    const id = await start(live, 'Door', {}, token)
    await stream.until(isMove(id))
    stream.close()
  })

  if (store === 'redis')
    test('tells of a gap where the feed has begun anew since, though it still has what came before', async () => {
      const settings = env()
      const client = new Redis(redis.url)
      const live = await openLive(settings, SERVICES)
      const stream = await openStream(live.url)
      await stream.until(isMove(await start(live, 'Door')))
      stream.close()
      await live.close()
      // As if nobody had read for an hour: nothing was told meanwhile.
      expect(await client.del(`{af:${settings.ACTORFLUX_NAMESPACE}:moves}:on`)).toBe(1)
      client.disconnect()
      const later = await openLive(settings, SERVICES)
      const again = await openStream(later.url, '', { 'last-event-id': stream.lastEventId() })
      const id = await start(later, 'Door')
      await again.until(isMove(id))
      expect(again.events[0]).toMatchObject({ event: 'gap', data: { from: stream.lastEventId() } })
      again.close()
    })

  if (store === 'redis')
    test('has no keys and no connection until somebody reads', async () => {
      const settings = env()
      const live = await openLive(settings, SERVICES)
      const client = new Redis(redis.url)
      try {
        const keys = () => client.keys(`{af:${settings.ACTORFLUX_NAMESPACE}:moves}:*`)
        await start(live, 'Walk')
        expect(await keys()).toEqual([])
        const stream = await openStream(live.url)
        await stream.until(isMove(await start(live, 'Walk')))
        expect((await keys()).length).toBeGreaterThan(0)
        stream.close()
      } finally {
        client.disconnect()
        await live.close()
      }
    })
})
