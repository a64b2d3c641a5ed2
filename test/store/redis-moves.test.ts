// The feed of moves on Redis, as servers of one namespace share it: what is kept, what is told of what is not, and what
// it costs.
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { describe, expect, inject, test, vi } from 'vitest'
import { systemClock } from '../../src/alarms/clock.ts'
import type { CommittedMove } from '../../src/ports/feeds.ts'
import { KEPT_MOVES, type FeedItem } from '../../src/ports/feeds.ts'
import { connect, explore, type Connection } from '../../src/store/redis/connection.ts'
import { redisFeed } from '../../src/store/redis/feed.ts'
import { RedisMoves } from '../../src/store/redis/moves/feed.ts'
import { move } from '../http/live/moves.ts'
import { silent as log } from '../support/silent.ts'
import { atEndOfTest } from '../support/at-end.ts'

interface Peer {
  readonly feed: RedisMoves
  /** Its connections to the feed, in the order in which they were opened. */
  readonly connections: Connection[]
  /** Messages that it has sent to the others. */
  readonly signals: () => number
}

async function open(namespace: string): Promise<Peer> {
  const address = await explore(inject('redisUrl'))
  const [sending, listening] = [connect(address, 'worker'), connect(address, 'feed')]
  const connections: Connection[] = []
  let sent = 0
  const { signals, close } = redisFeed({
    listening,
    publish(channel, text) {
      sent += 1
      return sending.publish(channel, text)
    },
    namespace,
    log,
  })
  const feed = new RedisMoves({
    connect(role) {
      const connection = connect(address, role)
      connections.push(connection)
      return connection
    },
    signals,
    namespace,
    clock: systemClock,
    log,
  })
  await feed.start()
  atEndOfTest(async () => {
    await feed.close()
    await close()
    sending.disconnect()
  })
  return { feed, connections, signals: () => sent }
}

const versionOf = ({ move: one }: FeedItem) => one?.message.version ?? null
const later = (contextId: number, version: number, more: Partial<CommittedMove['message']> = {}): CommittedMove => ({
  ...move(contextId, { version, at: Date.now(), ...more }),
  previousAt: version === 1 ? null : Date.now(),
})
/** Places begin with the time in milliseconds: two namespaces may give the same one in the same millisecond. */
const pastTimeOf = (place: string) => vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Number.parseInt(place, 10)))
const readAll = async (feed: RedisMoves, after: string) =>
  (await feed.read({ after, limit: 100_000, characters: 1e9 })).items

describe('the feed of moves on Redis', () => {
  test('tells a reader who fell behind what is kept that messages are missing', { timeout: 60_000 }, async () => {
    const namespace = randomUUID()
    const [reader, writer] = [await open(namespace), await open(namespace)]
    const from = await reader.feed.activate()
    const items: FeedItem[] = []
    let last = 0
    atEndOfTest(
      reader.feed.listen(from, (some) => {
        items.push(...some)
        last = some.at(-1)?.move?.message.contextId ?? last
        // A server that is busy for a while.
        return items.length === some.length ? 4000 : 10
      }),
    )
    writer.feed.publish(later(1, 1))
    await vi.waitFor(() => expect(last).toBe(1), 5000)
    const count = 2 * KEPT_MOVES
    let end = from
    for (let id = 2; id <= count; id += 1) {
      writer.feed.publish(later(id, 1))
      // No more at once than the writer keeps until they are appended.
      if (id % 2000 > 0) continue
      await vi.waitFor(async () => {
        const page = await writer.feed.read({ after: end, limit: 2000, characters: 1e9 })
        end = page.end
        expect(page.items.at(-1)?.move?.message.contextId).toBe(id)
      }, 20_000)
    }
    await vi.waitFor(() => expect(last).toBe(count), 20_000)
    // On a machine that is slow, the reader falls behind more than once.
    const wasGap = items.map(({ move: one }) => one === null)
    expect(wasGap.slice(0, 2)).toEqual([false, true])
    // It is told where messages are missing, and nowhere else.
    let before = 0
    for (const [at, { move: one }] of items.entries()) {
      if (one === null) continue
      const { contextId } = one.message
      expect(contextId > before + 1).toBe(wasGap[at - 1] ?? false)
      before = contextId
    }
    const kept = await reader.feed.read({ after: from, limit: 100_000, characters: 1e9 })
    expect(kept.isGap).toBe(true)
    const ids = kept.items.map((item) => item.move?.message.contextId)
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => count - ids.length + 1 + at))
    expect(ids.length).toBeGreaterThanOrEqual(KEPT_MOVES)
  })

  test('gives pages that are bounded in size, too', async () => {
    const { feed } = await open(randomUUID())
    const from = await feed.activate()
    const tags = Array.from({ length: 60 }, (_, n) => `${n}${'x'.repeat(250)}`)
    for (let id = 1; id <= 100; id += 1) feed.publish(later(id, 1, { tags }))
    await vi.waitFor(async () => expect((await readAll(feed, from)).length).toBe(100), 5000)
    const ids: (number | undefined)[] = []
    for (let [after, isCut] = [from, true]; isCut;) {
      const page = await feed.read({ after, limit: 500, characters: 100_000 })
      const size = page.items.reduce((sum, { text }) => sum + text.length, 0)
      expect(size).toBeLessThan(100_000 + 2 * 16_500)
      expect(page.items.length).toBeGreaterThan(0)
      ids.push(...page.items.map((item) => item.move?.message.contextId))
      ;({ end: after, isCut } = page)
    }
    expect(ids).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
  })

  test('keeps fewer moves where they are large', { timeout: 60_000 }, async () => {
    const { feed } = await open(randomUUID())
    const from = await feed.activate()
    const entered = Array.from({ length: 1000 }, () => 'x'.repeat(300))
    const total = 600
    let seen = from
    for (let id = 1; id <= total; id += 1) {
      feed.publish(later(id, 1, { entered }))
      // What can't be appended fast enough would be given up before.
      if (id % 20 === 0)
        await vi.waitFor(async () => {
          const { items, end } = await feed.read({ after: seen, limit: 100, characters: 1e9 })
          expect(items.at(-1)?.move?.message.contextId).toBe(id)
          seen = end
        }, 10_000)
    }
    const newest = async () => {
      const { items, isGap } = await feed.read({ after: from, limit: 2000, characters: 1e9 })
      return { isGap, count: items.length, last: items.at(-1)?.move?.message.contextId }
    }
    const { count, ...others } = await newest()
    expect(others).toEqual({ last: total, isGap: true })
    // 300 KB each, 128 MB together.
    expect(count).toBeGreaterThan(150)
    expect(count).toBeLessThan(600)
  })

  test('knows only places that it has given', async () => {
    const [{ feed }, other] = [await open(randomUUID()), await open(randomUUID())]
    const from = await feed.activate()
    await pastTimeOf(from)
    const elsewhere = await other.feed.activate()
    await pastTimeOf(elsewhere)
    feed.publish(later(1, 1))
    await vi.waitFor(async () => expect((await readAll(feed, from)).length).toBe(1), 5000)
    expect(await feed.read({ after: from, limit: 9, characters: 1e6 })).toMatchObject({ isGap: false })
    for (const after of [elsewhere, '0-0', `${from}1`, '999999999999999-0', 'x', '', '-', '+'])
      expect([after, await feed.read({ after, limit: 9, characters: 1e6 })]).toMatchObject([
        after,
        { isGap: true, items: [{}] },
      ])
  })

  test('loses nothing where a server is cut off while another goes on with the context', async () => {
    const namespace = randomUUID()
    const [one, two] = [await open(namespace), await open(namespace)]
    const from = await one.feed.activate()
    one.feed.publish(later(7, 1))
    one.feed.publish(later(7, 2))
    await vi.waitFor(async () => expect((await readAll(two.feed, from)).length).toBe(2), 5000)
    // Its connection is gone before the next commits are told.
    for (const connection of one.connections as Redis[]) connection.stream.destroy()
    one.feed.publish(later(7, 3))
    one.feed.publish(later(7, 4))
    two.feed.publish({ ...later(7, 5), previousAt: null })
    await vi.waitFor(async () => expect((await readAll(two.feed, from)).length).toBe(5), 5000)
    expect((await readAll(two.feed, from)).map(versionOf).sort()).toEqual([1, 2, 3, 4, 5])
  })

  test('many readers that come at once make the servers ask each other a few times', async () => {
    const namespace = randomUUID()
    const [one, two] = [await open(namespace), await open(namespace)]
    await one.feed.activate()
    const before = one.signals() + two.signals()
    await Promise.all(Array.from({ length: 200 }, () => one.feed.activate()))
    expect(one.signals() + two.signals() - before).toBeLessThan(20)
  })
})
