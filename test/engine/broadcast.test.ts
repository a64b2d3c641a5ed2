// Broadcasts: who is addressed is known before anyone is moved, and others are served between thousands.
import { describe, expect, test } from 'vitest'
import { SYSTEM } from '../../src/model/caller.ts'
import { conflict } from '../../src/model/failure.ts'
import { BroadcastRun } from '../../src/engine/fanout/broadcast-run.ts'
import { BroadcastPlace } from '../../src/engine/fanout/receivers.ts'
import type { Store } from '../../src/ports/store.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { openBench, partsOf } from '../support/engine.ts'
import { emptyStore, withVerbs } from '../support/stores.ts'
import { compiled, Hand, outcomeOf } from '../support/turns.ts'

const WAVE = 1000
const outcome = outcomeOf(
  new Hand().start(compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })),
  {
    moved: false,
    failure: conflict('not now').failure,
  },
)

test('others are served after each thousand that it finds, though nothing is written', async () => {
  const ids = Array.from({ length: 3 * WAVE + 1 }, (_, index) => index + 1)
  let turns = 0
  const posted: number[] = []
  const count = () => {
    turns += 1
    handle = setImmediate(count)
  }
  let handle = setImmediate(count)
  const bench = await openBench({ 'p/A.flux': { states: [{ name: 's' }] } })
  const parts = {
    ...partsOf(bench.parts),
    store: emptyStore({
      highestId: () => Promise.resolve(ids.length),
      selectIds({ after = 0, limit }) {
        const some = ids.slice(after, after + limit)
        return Promise.resolve({ ids: some, rest: after + limit < ids.length ? (some.at(-1) ?? null) : null })
      },
    }),
    mailboxes: {
      post() {
        posted.push(turns)
        return Promise.resolve(outcome)
      },
      start: () => Promise.reject(new Error('nothing is triggered')),
    },
  }
  const sent = {
    event: 'go',
    input: {},
    untyped: false,
    tags: [],
    caller: SYSTEM,
    eventId: 'e',
    ttl: null,
  }
  const drawn = { seed: '', now: 0 }
  const stored = { sent, upTo: ids.length, expiresAt: 0, drawn }
  const run = new BroadcastRun(parts, { key: 'row', stored, place: new BroadcastPlace(null) })
  await run.prepare()
  const answer = await run.sendUnstored()
  clearImmediate(handle)
  await bench.close()
  expect(answer.ignored).toHaveLength(ids.length)
  for (const wave of [1, 2, 3]) expect(posted[wave * WAVE]).toBeGreaterThan(posted[wave * WAVE - 1] ?? Infinity)
})

/** A store of five partitions. `next`: the id that each gives out next, which decides who comes before whom. */
function partitioned(next: number[]): Store {
  const PARTITIONS = 5
  return withVerbs(new MemoryStore(new Memory({ now: Date.now, silence: null, partitions: PARTITIONS })), {
    reserveIds({ count, partition }) {
      const first = next[partition] ?? 0
      next[partition] = first + count * PARTITIONS
      return Promise.resolve({ first, count })
    },
  })
}

describe('on several partitions', () => {
  const wait = { name: 'wait', waiting: true, transitions: [{ to: 'wait', event: 'go' }] }
  const FILES = {
    'p/Many.flux': { states: [wait] },
    'p/Parent.flux': {
      states: [
        { name: 'wait', waiting: true, transitions: [{ to: 'call', event: 'go' }] },
        { name: 'call', action: { type: 'invokeFlux', name: 'Child' } },
      ],
    },
    'p/Child.flux': {
      output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
      states: [{ ...wait, action: { lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] } }],
    },
  }

  test('a child that the event itself starts does not hear it, though its id lies between those that do', async () => {
    const next = [5, 6, 7, 8, 9]
    const bench = await openBench(FILES, { store: partitioned(next) })
    const parent = await bench.run('Parent')
    // More than are asked for at once come after the parent, then its child, and then one more.
    const many = await Promise.all(Array.from({ length: WAVE + 500 }, () => bench.run('Many')))
    for (const partition of next.keys()) next[partition] = 100_000 + partition
    const last = await bench.run('Many')
    const childId = 50_000 + (parent % 5)
    next[parent % 5] = childId
    const answer = await bench.sendEvent({ event: 'go' })
    const [child] = await bench.listContexts({ fluxName: 'Child' })
    expect(child?.id).toBe(childId)
    expect(child?.executionHistory).toHaveLength(1)
    const moved = answer.transitions.map(({ contextId }) => contextId)
    expect(moved).not.toContain(childId)
    expect(moved).toEqual(expect.arrayContaining([parent, last]))
    expect(moved.length).toBeGreaterThanOrEqual(many.length + 2)
  })
})
