// Readers of the stream of moves who take nothing, or ask for much: they hold up nobody else.
import { expect, test } from 'vitest'
import type { MoveFilters } from '../../../src/api/streams.ts'
import { SseBroadcaster } from '../../../src/http/live/sse-broadcaster.ts'
import type { Sink } from '../../../src/http/live/sse-connection.ts'
import { MoveRing } from '../../../src/store/lmdb/move-ring.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { move } from './moves.ts'

class Reader implements Sink {
  text = ''
  writableLength = 0
  readonly #takes: boolean
  constructor(takes: boolean) {
    this.#takes = takes
  }
  write(bytes: Uint8Array): void {
    if (!this.#takes) this.writableLength += bytes.length
    this.text += Buffer.from(bytes).toString()
  }
  end(): void {}
}

function setUp() {
  const clock = new SimulatedClock(0)
  const feed = new MoveRing(clock)
  const hub = new SseBroadcaster({ feed, clock, isSecured: () => false, maxReaders: 1000 })
  let readers = 0
  const open = async (takes: boolean, from: string | null = null, filters: MoveFilters = {}) => {
    const reader = new Reader(takes)
    readers += 1
    await hub.open({ scope: `reader ${readers}`, filters, from, mayReadAll: () => true, begin: () => reader })
    return reader
  }
  return { clock, feed, open }
}

test('readers who take nothing of what came before do not keep others from it', async () => {
  const { clock, feed, open } = setUp()
  await open(true)
  for (let id = 1; id <= 8000; id += 1) feed.publish(move(id))
  await clock.advance(1000)
  const lazy: Reader[] = []
  for (let count = 0; count < 40; count += 1) lazy.push(await open(false, 'unknown'))
  const eager = await open(true, 'unknown')
  for (let turn = 0; turn < 2000 && !eager.text.includes('"contextId":8000,'); turn += 1) await Promise.resolve()
  expect(eager.text).toContain('"contextId":8000,')
  // Each of the others has one page, and no more.
  for (const { writableLength } of lazy) expect(writableLength).toBeLessThan(300_000)
})

test('the filters of an idle stream are not made text again with each tick', async () => {
  const { clock, open } = setUp()
  let made = 0
  const tag = Object.assign(['red'], {
    toJSON: () => {
      made += 1
      return ['red']
    },
  })
  await open(true, null, { tag })
  const before = made
  await clock.advance(20_000)
  expect(made).toBe(before)
})
