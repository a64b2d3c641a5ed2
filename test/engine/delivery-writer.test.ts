// Rows of deliveries that are written a moment later: together, again when the store was away, and not without bound.
import { describe, expect, test } from 'vitest'
import { DeliveryWriter } from '../../src/engine/deliveries/delivery-writer.ts'
import { unavailable } from '../../src/model/failure.ts'
import type { RowWrite } from '../../src/model/rows.ts'
import type { CommitRequest } from '../../src/ports/store.ts'
import { memoryLog } from '../http/support.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'

const row = (key: string, value = 'v', partition = 0): RowWrite => ({
  partition,
  space: 'deliveries',
  key,
  value,
  expiresAt: 1,
})

function open() {
  const clock = new SimulatedClock()
  const { log, lines } = memoryLog()
  const commits: (readonly RowWrite[])[] = []
  const state = { isAway: false, failure: null as Error | null, tried: 0, onTry: () => {} }
  const memory = new Memory({ now: () => clock.now(), partitions: 2, silence: 1000 })
  const store = withVerbs(new MemoryStore(memory), {
    commit: async ({ rows = [] }: CommitRequest) => {
      state.tried += 1
      state.onTry()
      if (state.failure) throw state.failure
      if (state.isAway) throw unavailable('away')
      commits.push(rows)
      return { ok: true } as const
    },
  })
  return { clock, lines, commits, state, writer: new DeliveryWriter({ store, clock, log }) }
}

describe('rows', () => {
  test('of a partition are one commit, in which the last one of a key counts', async () => {
    const { clock, commits, writer } = open()
    writer.add([row('a', 'first'), row('b')])
    writer.add([row('c', 'v', 1)])
    writer.add([row('a', 'second')])
    await clock.advance(99)
    expect(commits).toEqual([])
    await clock.advance(1)
    expect(commits).toEqual([[row('a', 'second'), row('b')], [row('c', 'v', 1)]])
    await clock.advance(1)
    expect(clock.pending).toEqual([])
  })

  test('are written at once for who reads them, also those that came while others were written', async () => {
    const { clock, commits, state, writer } = open()
    writer.add([row('a')])
    const first = writer.flush()
    writer.add([row('b')])
    await Promise.all([first, writer.flush()])
    expect(commits).toEqual([[row('a')], [row('b')]])
    expect(clock.pending).toEqual([])
    await writer.flush()
    expect(commits).toHaveLength(2)
    state.isAway = true
    writer.add([row('c')])
    await writer.flush()
    state.isAway = false
    await clock.advance(1000)
    expect(commits.at(-1)).toEqual([row('c')])
  })

  test('many are several commits', async () => {
    const { clock, commits, writer } = open()
    for (let n = 0; n < 300; n += 1) writer.add([row(`k${n}`)])
    await clock.advance(100)
    await writer.close()
    expect(commits.map(({ length }) => length)).toEqual([128, 128, 44])
  })

  test('wait while the store is away, and what came meanwhile wins', async () => {
    const { clock, commits, state, writer } = open()
    state.isAway = true
    writer.add([row('a', 'old'), row('b')])
    await clock.advance(100)
    writer.add([row('a', 'new')])
    state.isAway = false
    await clock.advance(1_000)
    await writer.close()
    expect(commits).toHaveLength(1)
    expect(commits[0]).toEqual(expect.arrayContaining([row('a', 'new'), row('b')]))
  })

  test('wait again, unless newer ones came while the store was asked', async () => {
    const { clock, commits, state, writer } = open()
    state.isAway = true
    state.onTry = () => writer.add([row('a', 'new')])
    writer.add([row('a', 'old'), row('b')])
    await clock.advance(100)
    state.isAway = false
    state.onTry = () => {}
    await clock.advance(1_000)
    await writer.close()
    expect(commits.flat()).toEqual(expect.arrayContaining([row('a', 'new'), row('b')]))
    expect(commits.flat()).toHaveLength(2)
  })

  test('beyond a bound are left out, which is logged once', async () => {
    const { clock, commits, lines, writer } = open()
    for (let n = 0; n < 10_100; n += 1) writer.add([row(`k${n}`)])
    await clock.advance(100)
    await writer.close()
    expect(commits.flat()).toHaveLength(10_000)
    expect(lines).toEqual([{ level: 'warn', message: expect.stringContaining('are not kept'), fields: { rows: 100 } }])
  })

  test('that were written take no room from later ones', async () => {
    const { clock, commits, writer } = open()
    const large = 'x'.repeat(8 * 1024 * 1024)
    for (let n = 0; n < 9; n += 1) {
      writer.add([row(`k${n}`, large)])
      await clock.advance(100)
    }
    await writer.close()
    expect(commits.flat()).toHaveLength(9)
    // Each is more than others are committed with.
    const other = open()
    other.writer.add([row('a', large)])
    other.writer.add([row('b', large)])
    await other.writer.close()
    expect(other.commits.map(({ length }) => length)).toEqual([1, 1])
  })

  test('that the store does not take for another reason are given up, and told of', async () => {
    const { clock, commits, lines, state, writer } = open()
    state.failure = new Error('damaged')
    writer.add([row('a'), row('b')])
    await clock.advance(100)
    await writer.close()
    expect([commits, state.tried]).toEqual([[], 1])
    expect(lines).toMatchObject([{ level: 'error', fields: { rows: 2 } }])
  })

  test('are not tried one after the other while the store is away, but later, all at once', async () => {
    const { clock, commits, state, writer } = open()
    state.isAway = true
    for (let n = 0; n < 300; n += 1) writer.add([row(`k${n}`)])
    await clock.advance(100)
    expect(state.tried).toBe(1)
    await clock.advance(999)
    expect(state.tried).toBe(1)
    await clock.advance(1)
    expect(state.tried).toBe(2)
    state.isAway = false
    await clock.advance(1000)
    expect(commits.flat()).toHaveLength(300)
    await writer.close()
  })

  test('that belong together are left out together', async () => {
    const { commits, writer } = open()
    for (let n = 0; n < 9_999; n += 1) writer.add([row(`k${n}`)])
    writer.add([row('facts'), row('request')])
    writer.add([row('k0', 'again'), row('k1', 'again')])
    writer.add([row('last')])
    await writer.close()
    expect(commits.flat()).toHaveLength(10_000)
    expect(commits.flat()).toEqual(expect.arrayContaining([row('k0', 'again'), row('last')]))
  })

  test('are written when the server stops; those that the store does not take are told of', async () => {
    const { commits, writer } = open()
    writer.add([row('a')])
    await writer.close()
    expect(commits).toEqual([[row('a')]])
    const other = open()
    other.state.isAway = true
    other.writer.add([row('a')])
    await other.writer.close()
    expect(other.lines).toMatchObject([{ level: 'warn', fields: { rows: 1 } }])
  })
})
