// The streams of moves without a socket, on a clock that the test moves: heartbeats, slow readers, what is kept and for how
// long.
import { describe, expect, test, vi } from 'vitest'
import { asksForAll, matchesMove, type MoveFilters } from '../../../src/api/streams.ts'
import { SseBroadcaster, type BroadcasterOptions } from '../../../src/http/live/sse-broadcaster.ts'
import { SseChunk } from '../../../src/http/live/sse-chunk.ts'
import type { Sink } from '../../../src/http/live/sse-connection.ts'
import { FluxError } from '../../../src/model/failure.ts'
import { KEPT_MOVES, UNREAD_MS } from '../../../src/ports/feeds.ts'
import { MoveRing } from '../../../src/store/lmdb/move-ring.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { move } from './moves.ts'

/** A reader that takes everything, or nothing. */
class Reader implements Sink {
  text = ''
  writableLength = 0
  isSlow = false
  isEnded = false
  write(bytes: Uint8Array): void {
    if (this.isSlow) this.writableLength += bytes.length
    this.text += Buffer.from(bytes).toString()
  }
  end(): void {
    this.isEnded = true
  }
}

function setUp(more: Partial<BroadcasterOptions> = {}) {
  const clock = new SimulatedClock(0)
  const feed = new MoveRing(clock)
  const hub = new SseBroadcaster({ feed, clock, isSecured: () => false, maxReaders: 3, ...more })
  let readers = 0
  const open = async (
    filters: MoveFilters = {},
    given: { from?: string; mayReadAll?: () => boolean; scope?: string } = {},
  ) => {
    const reader = new Reader()
    readers += 1
    const stream = await hub.open({
      scope: given.scope ?? `reader ${readers}`,
      filters,
      from: given.from ?? null,
      mayReadAll: given.mayReadAll ?? (() => true),
      begin(opening) {
        reader.text = opening
        return reader
      },
    })
    if (stream === null) throw new Error('the reader is there')
    return { reader, stream }
  }
  return { clock, feed, hub, open }
}

const count = (text: string, what: string) => text.split(what).length - 1

describe('a stream', () => {
  test('has a heartbeat each 15 seconds', async () => {
    const { clock, open } = setUp()
    const { reader } = await open()
    await clock.advance(14_999)
    expect(count(reader.text, ': heartbeat\n\n')).toBe(0)
    await clock.advance(1)
    expect(count(reader.text, ': heartbeat\n\n')).toBe(1)
    await clock.advance(30_000)
    expect(count(reader.text, ': heartbeat\n\n')).toBe(3)
  })

  test('learns where the feed is though nothing is for it, so that it can go on there', async () => {
    const { clock, feed, open } = setUp()
    const { reader } = await open({ tag: ['blue'] })
    for (let round = 0; round < 3; round += 1) {
      for (let id = 1; id <= KEPT_MOVES; id += 1) feed.publish(move(id))
      await clock.advance(15_000)
    }
    const last = [...reader.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1]
    const { reader: again } = await open({ tag: ['blue'] }, last === undefined ? {} : { from: last })
    await clock.advance(1000)
    expect([reader.text, again.text].map((text) => count(text, 'event: '))).toEqual([0, 0])
  })

  test('no scope has more than half of the streams, and a place that comes free is taken again', async () => {
    const { open, hub } = setUp({ maxReaders: 4 })
    const overloaded = { failure: { kind: 'overloaded' } }
    const denied = new Error('not any more')
    const mayReadAll = () => {
      throw denied
    }
    for (let round = 0; round < 4; round += 1) await expect(open({}, { scope: 'one', mayReadAll })).rejects.toBe(denied)
    const { stream } = await open({}, { scope: 'one' })
    await open({}, { scope: 'one' })
    await expect(open({}, { scope: 'one' })).rejects.toMatchObject(overloaded)
    for (const scope of ['two', 'three']) await open({}, { scope })
    await expect(open({}, { scope: 'two' })).rejects.toMatchObject(overloaded)
    for (let round = 0; round < 2; round += 1) hub.close(stream)
    await open({}, { scope: 'one' })
    await expect(open({}, { scope: 'four' })).rejects.toMatchObject(overloaded)
  })

  test('listens on for a moment when its last reader has gone', async () => {
    const { clock, feed, open, hub } = setUp()
    const listening = vi.spyOn(feed, 'listen')
    for (let round = 0; round < 5; round += 1) hub.close((await open()).stream)
    expect(listening).toHaveBeenCalledTimes(1)
    await clock.advance(1000)
    hub.close((await open()).stream)
    expect(listening).toHaveBeenCalledTimes(2)
  })

  test('counts what a slow reader misses, and tells as soon as it can take something', async () => {
    const { clock, feed, open } = setUp()
    const [{ reader, stream }, { reader: other }] = [await open(), await open()]
    reader.isSlow = true
    for (let n = 1; n <= 10_000; n += 1) {
      feed.publish(move(n))
      if (n % 500 === 0) await clock.advance(300)
    }
    expect(count(other.text, 'event: move')).toBe(10_000)
    const before = count(reader.text, 'event: move')
    expect(before).toBeLessThan(5000)
    expect(reader.writableLength).toBeLessThan(1_200_000)
    reader.isSlow = false
    reader.writableLength = 0
    stream.onDrained()
    expect(reader.text.endsWith(`event: dropped\ndata: {"count":${10_000 - before}}\n\n`)).toBe(true)
    feed.publish(move(7))
    await clock.advance(300)
    expect(count(reader.text, 'event: move')).toBe(before + 1)
  })

  test('many that show everything share what they are given: the rest is dropped, and told within a second', async () => {
    const { clock, feed, open } = setUp({ maxReaders: 200 })
    const readers = []
    for (let n = 0; n < 200; n += 1) readers.push((await open(n === 0 ? { contextId: 1 } : {})).reader)
    const [filtered, first] = readers
    // Nine seconds, 2,000 moves in each.
    for (let n = 1; n <= 18_000; n += 1) {
      feed.publish({ ...move(n), message: { ...move(n).message, contextId: n % 2000 } })
      if (n % 100 === 0) await clock.advance(50)
    }
    const shown = first?.text.length ?? 0
    expect(shown).toBeGreaterThan(1_000_000)
    // What it may save, and nine times its share.
    expect(shown).toBeLessThan(1_048_576 + 9 * 160_000 + 40_000)
    expect(readers.slice(1).every(({ text }) => text === first?.text)).toBe(true)
    await clock.advance(1000)
    const dropped = [...(first?.text ?? '').matchAll(/event: dropped\ndata: (.*)/g)].map(
      ([, data = '']) => JSON.parse(data).count,
    )
    expect(dropped.reduce((sum, each) => sum + each, 0) + count(first?.text ?? '', 'event: move')).toBe(18_000)
    expect(count(filtered?.text ?? '', 'event: move')).toBe(9)
    expect(filtered?.text).not.toContain('event: dropped')
  })

  test('one that reads alone is given everything', async () => {
    const { clock, feed, open } = setUp()
    const { reader } = await open()
    for (let n = 1; n <= 19_000; n += 1) feed.publish(move(n))
    await clock.advance(1000)
    expect(count(reader.text, 'event: move')).toBe(19_000)
  })

  test('ends when its caller may not read any more, and shows less when it may see less', async () => {
    const { clock, feed, open, hub } = setUp()
    let rights: 'all' | 'open' | 'none' = 'all'
    const mayReadAll = () => {
      if (rights === 'none') throw new FluxError({ kind: 'unauthorized', detail: 'no', token: 'invalid' })
      return rights === 'all'
    }
    const { reader } = await open({}, { mayReadAll })
    const secret = { ...move(1), facts: { ...move(1).facts, secured: true } }
    feed.publish(secret)
    await clock.advance(1000)
    expect(count(reader.text, 'event: move')).toBe(1)
    rights = 'open'
    await clock.advance(1000)
    feed.publish(secret)
    feed.publish(move(2))
    await clock.advance(1000)
    expect(count(reader.text, 'event: move')).toBe(2)
    rights = 'none'
    await clock.advance(1000)
    expect(reader.isEnded).toBe(true)
    expect(reader.text).toContain('event: bye')
    hub.end('the server is stopping')
    await expect(open()).rejects.toThrow('the server is stopping')
  })

  test('is refused where there are as many as may be, and there is place again once one has gone', async () => {
    const { open, hub } = setUp()
    const [first] = [await open(), await open(), await open()]
    await expect(open()).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
    if (first) hub.close(first.stream)
    await open()
  })

  test('tells of messages that are missing', async () => {
    const { clock, feed, open } = setUp()
    const { reader } = await open()
    feed.publish(move(1))
    feed.miss()
    feed.publish(move(2))
    await clock.advance(300)
    const [, first] = /id: (\S+)\nevent: move/.exec(reader.text) ?? []
    const [, next] = /event: gap[^]*id: (\S+)\nevent: move/.exec(reader.text) ?? []
    expect(reader.text).toContain(`event: gap\ndata: ${JSON.stringify({ from: first, to: next })}\n\n`)
  })
})

describe('the ring', () => {
  test('is not active until somebody reads, and for an hour after the last one', async () => {
    const { clock, feed, open, hub } = setUp()
    expect(feed.isActive).toBe(false)
    const { reader, stream } = await open()
    await clock.advance(2 * UNREAD_MS)
    expect(feed.isActive).toBe(true)
    feed.publish(move(1))
    await clock.advance(300)
    const [, id = ''] = /id: (\S+)\nevent: move/.exec(reader.text) ?? []
    hub.close(stream)
    await clock.advance(UNREAD_MS - 1000)
    expect(feed.isActive).toBe(true)
    feed.publish(move(2))
    expect((await feed.read({ after: id, limit: 9, characters: Infinity })).items.length).toBe(1)
    await clock.advance(2000)
    expect(feed.isActive).toBe(false)
    await feed.activate()
    expect(await feed.read({ after: id, limit: 9, characters: Infinity })).toMatchObject({ isGap: true, items: [] })
  })

  test('keeps at least 10,000 messages, and at most 20,000', async () => {
    const { feed } = setUp()
    const begin = await feed.activate()
    for (let n = 1; n <= 100_000; n += 1) {
      feed.publish(move(n))
      if (n % 9973 !== 0) continue
      const { items, isGap } = await feed.read({ after: begin, limit: Infinity, characters: Infinity })
      expect(isGap).toBe(n >= 2 * KEPT_MOVES)
      expect(items.length).toBeGreaterThanOrEqual(Math.min(n, KEPT_MOVES))
      expect(items.length).toBeLessThanOrEqual(2 * KEPT_MOVES)
      expect(items.at(-1)?.move?.message.contextId).toBe(n)
    }
  })
})

test('nothing is missed by a stream that resumes while the others are given more', async () => {
  const { clock, feed, open: openOne } = setUp()
  const { reader: live } = await openOne()
  feed.publish(move(1))
  await clock.advance(300)
  const [, seen = ''] = /id: (\S+)\nevent: move/.exec(live.text) ?? []
  // A page that was read before a move came, and arrives after it.
  const read = feed.read.bind(feed)
  const late: (() => void)[] = []
  vi.spyOn(feed, 'read').mockImplementationOnce(async (query) => {
    const page = await read(query)
    await new Promise<void>((resolve) => late.push(resolve))
    return page
  })
  const { reader } = await openOne({}, { from: seen })
  await clock.advance(0)
  feed.publish(move(2))
  await clock.advance(300)
  for (const arrive of late) arrive()
  await clock.advance(300)
  feed.publish(move(3))
  await clock.advance(300)
  const ids = [...reader.text.matchAll(/"contextId":(\d+)/g)].map(([, id]) => Number(id))
  expect(ids).toEqual([2, 3])
})

describe('what was dropped before it was told', () => {
  test('is told as a gap', async () => {
    const { clock, feed, open } = setUp()
    const { reader } = await open({ contextId: 30_000 })
    feed.publish(move(1))
    await clock.advance(1)
    for (let n = 2; n <= 30_000; n += 1) feed.publish(move(n))
    await clock.advance(300)
    expect([count(reader.text, 'event: gap'), count(reader.text, 'event: move')]).toEqual([1, 1])
    const [, to] = /event: gap\ndata: {"from":"[^"]*","to":"[^"]*\.(\d+)"}/.exec(reader.text) ?? []
    expect(Number(to)).toBeGreaterThan(10_000)
  })

  test('so is what was dropped because it is large', async () => {
    const { clock, feed, open } = setUp()
    const begin = await feed.activate()
    const { reader } = await open({ contextId: 12_000 })
    const tags = Array.from({ length: 64 }, (_, n) => `${n}${'x'.repeat(254)}`)
    let most = 0
    for (let n = 1; n <= 12_000; n += 1) {
      feed.publish(move(n, { tags }))
      if (n % 1000 !== 0) continue
      await clock.advance(300)
      const { items, isGap } = await feed.read({ after: begin, limit: Infinity, characters: 1 })
      const [first, ...others] = items.map((item) => item.move?.message.contextId ?? 0)
      expect(others).toEqual([])
      expect(isGap).toBe(first !== 1)
      most = Math.max(most, n + 1 - (first ?? n))
    }
    // 16 KB each, 128 MB together.
    expect(most).toBeGreaterThan(7000)
    expect(most).toBeLessThan(9000)
    expect([count(reader.text, 'event: gap'), count(reader.text, 'event: move')]).toEqual([0, 1])
  })
})

test.each<[MoveFilters, boolean]>([
  [{}, true],
  [{ fluxName: 'F' }, true],
  [{ fluxName: 'p/F' }, true],
  [{ fluxName: 'q/F' }, false],
  [{ key: 'k' }, true],
  [{ key: 'other' }, false],
  [{ tag: ['red'] }, true],
  [{ tag: ['red', 'blue'] }, false],
  [{ status: ['WAITING'] }, true],
  [{ status: ['all'] }, true],
  [{ status: ['FAILED', 'COMPLETED'] }, false],
  [{ currentState: 'a', startState: 'a' }, true],
  [{ currentState: 'b' }, false],
  [{ startState: 'b' }, false],
  [{ errorType: 'Error' }, false],
  [{ parent: 7 }, false],
  [{ contextId: 1 }, true],
  [{ contextId: 2 }, false],
  [{ paused: false }, true],
  [{ paused: true }, false],
])('%j: %s', (filters, fits) => {
  expect(matchesMove(filters, move(1))).toBe(fits)
  expect(asksForAll(filters)).toBe(Object.keys(filters).length === 0)
})

describe('the work for many streams', () => {
  test('filters that mean the same are looked at once', async () => {
    const { clock, feed, open } = setUp({ maxReaders: 10 })
    const filters: MoveFilters[] = [
      { status: ['WAITING', 'COMPLETED'], tag: ['a', 'b'] },
      { status: ['COMPLETED', 'WAITING', 'WAITING'], tag: ['b', 'a', 'a'] },
      { tag: ['a', 'b'], status: ['COMPLETED', 'WAITING'] },
    ]
    for (const each of filters) await open(each)
    await open({ status: ['all', 'all', 'WAITING'] })
    await open({})
    const looked = vi.spyOn(SseChunk, 'of')
    feed.publish(move(1))
    await clock.advance(1000)
    expect(looked).toHaveBeenCalledTimes(2)
    looked.mockRestore()
  })
})
