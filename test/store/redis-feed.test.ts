// The feed of commits, on a lone Redis and on a cluster.
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import { connect, explore, type Connection } from '../../src/store/redis/connection.ts'
import { redisFeed } from '../../src/store/redis/feed.ts'
import { startRedisCluster, type RedisCluster } from '../support/redis.ts'
import { silent as log } from '../support/silent.ts'

describe.each(['a lone Redis', 'a cluster'])('on %s', (where) => {
  let cluster: RedisCluster | null = null
  let urls = ''
  const feeds: CommitFeed[] = []
  const connections: Connection[] = []
  beforeAll(async () => {
    if (where === 'a cluster') cluster = await startRedisCluster()
    urls = cluster?.url ?? inject('redisUrl')
  }, 60_000)
  afterEach(async () => {
    await Promise.all(feeds.splice(0).map((feed) => feed.close()))
    for (const connection of connections.splice(0)) connection.disconnect()
  })
  afterAll(() => cluster?.close())

  async function openFeed(namespace: string): Promise<{ feed: CommitFeed; heard: number[] }> {
    const address = await explore(urls)
    const sending = connect(address, 'worker')
    sending.on('error', () => {})
    connections.push(sending)
    const feed = redisFeed({
      listening: connect(address, 'feed'),
      publish: (channel, text) => sending.publish(channel, text),
      namespace,
      log,
    })
    feeds.push(feed)
    const heard: number[] = []
    feed.onNotified((id) => heard.push(id))
    return { feed, heard }
  }

  test('a user who may use no channels is told so once, and nothing else fails', async () => {
    if (where === 'a cluster') return
    const admin = new Redis(urls)
    const name = `feed-${randomUUID()}`
    await admin.call('ACL', 'SETUSER', name, 'on', '>pw', '~*', '+@all', 'resetchannels')
    const address = await explore(urls.replace('redis://', `redis://${name}:pw@`))
    const [sending, warnings] = [connect(address, 'worker'), vi.fn()]
    connections.push(sending)
    const feed = redisFeed({
      listening: connect(address, 'feed'),
      publish: (channel, text) => sending.publish(channel, text),
      namespace: randomUUID(),
      log: {
        ...log,
        warn: warnings,
        error: () => {
          throw new Error('no error')
        },
      },
    })
    feeds.push(feed)
    feed.onNotified(() => {})
    feed.notify(1)
    feed.notify(2)
    await vi.waitFor(() => expect(warnings).toHaveBeenCalled(), 5000)
    await sending.ping()
    expect(warnings).toHaveBeenCalledTimes(1)
    await admin.call('ACL', 'DELUSER', name)
    admin.disconnect()
  })

  test('what a server watches the others hear, and not itself', async () => {
    const namespace = randomUUID()
    const [first, second] = await Promise.all([openFeed(namespace), openFeed(namespace)])
    const [own, others]: number[][][] = [[], []]
    first.feed.onWatched((ids) => own?.push([...ids]))
    second.feed.onWatched((ids) => others?.push([...ids]))
    await vi.waitFor(() => {
      first.feed.watch([3, 5])
      expect(others?.at(-1)).toEqual([3, 5])
    }, 5000)
    // What comes later on the same channel shows that nothing else is to come.
    await vi.waitFor(() => {
      second.feed.notify(7)
      expect(first.heard).toContain(7)
    }, 5000)
    expect(own).toEqual([])
    expect(first.heard.filter((id) => id !== 7)).toEqual([])
  })

  test('all servers of a namespace hear what any tells, and hear again after they lost the connection', async () => {
    const [namespace, other] = [randomUUID(), randomUUID()]
    const [first, second, stranger] = await Promise.all([openFeed(namespace), openFeed(namespace), openFeed(other)])
    let id = 0
    const allHear = () =>
      vi.waitFor(
        () => {
          first.feed.notify(++id)
          expect(first.heard.length).toBeGreaterThan(0)
          expect(second.heard.length).toBeGreaterThan(0)
        },
        { timeout: 10_000, interval: 50 },
      )
    await allHear()
    for (const url of cluster?.nodes.map((node) => node.url) ?? [urls]) {
      const admin = new Redis(url)
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
      admin.disconnect()
    }
    first.heard.length = second.heard.length = 0
    await allHear()
    expect(stranger.heard).toEqual([])
  }, 30_000)
})
