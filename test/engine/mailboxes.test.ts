// Mailboxes: what waits for a context is decided together, bounded, and others are served in between.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { COUNTER, HEAVY_COUNTER } from '../support/services.ts'

const FILES: Files = { 'p/Count.flux': COUNTER, 'p/Heavy.flux': HEAVY_COUNTER }

let bench: Bench

async function open(wrap: (store: Store) => Store): Promise<void> {
  bench = await openBench(FILES, { wrap })
}

/** Holds commits back until they are let go. Counts them. */
function gate() {
  const state = { isOpen: true, commits: 0, waiting: [] as (() => void)[] }
  return {
    state,
    close: () => {
      state.isOpen = false
    },
    open: () => {
      state.isOpen = true
      for (const go of state.waiting.splice(0)) go()
    },
    wrap: (store: Store) =>
      withVerbs(store, {
        async commit(request) {
          state.commits += 1
          if (!state.isOpen)
            await new Promise<void>((resolve) => {
              state.waiting.push(resolve)
            })
          return store.commit(request)
        },
      }),
  }
}

describe('a full mailbox', () => {
  test('refuses what is sent to the context, by id, and by a broadcast, which names it', async () => {
    const held = gate()
    await open(held.wrap)
    const contextId = await bench.run('Count')
    held.close()
    // The first one is being committed; the others wait.
    const sent = Array.from({ length: 1001 }, () => bench.sendEvent({ contextId, event: 'tick' }))
    const busy = {
      failure: { kind: 'busy', detail: `1000 messages already wait for context ${contextId}`, retryAfter: 1 },
    }
    await expect(bench.sendEvent({ contextId, event: 'tick' })).rejects.toMatchObject(busy)
    await expect(bench.terminate({ contextId })).rejects.toMatchObject(busy)
    await expect(bench.addTags({ contextId, tag: ['t'] })).rejects.toMatchObject(busy)
    await expect(bench.removeTags({ contextId, tag: ['t'] })).rejects.toMatchObject(busy)
    expect(await bench.sendEvent({ event: 'tick' })).toMatchObject({
      transitions: [],
      ignored: [{ contextId, fluxName: 'Count', reason: busy.failure.detail }],
    })
    held.open()
    await Promise.all(sent)
    expect(await bench.sendEvent({ event: 'tick' })).toMatchObject({ transitions: [{ contextId }], ignored: [] })
    expect(outputs(await bench.getContext({ contextId }))).toEqual({ n: 1002 })
    await bench.terminate({ contextId })
  })
})

const slowly = async <T>(run: () => Promise<T>): Promise<T> => {
  await sleep(25)
  return run()
}

describe('what waits', () => {
  test('is decided a hundred at a time', async () => {
    const held = gate()
    await open(held.wrap)
    const contextId = await bench.run('Count')
    held.close()
    held.state.commits = 0
    const sent = Array.from({ length: 251 }, () => bench.sendEvent({ contextId, event: 'tick' }))
    held.open()
    await Promise.all(sent)
    expect(outputs(await bench.getContext({ contextId }))).toEqual({ n: 251 })
    // 1, 100, 100, 50.
    expect(held.state.commits).toBe(4)
  })

  test('is decided in several turns when it is much work', async () => {
    const held = gate()
    await open(held.wrap)
    const contextId = await bench.run('Heavy', { list: Array.from({ length: 210 }, (_, index) => index) })
    held.close()
    held.state.commits = 0
    const sent = Array.from({ length: 5 }, () => bench.sendEvent({ contextId, event: 'tick' }))
    held.open()
    await Promise.all(sent)
    expect(outputs(await bench.getContext({ contextId }))).toEqual({ n: 5 })
    // 1, 2, 2.
    expect(held.state.commits).toBe(3)
  })

  test('for a context that is not in memory is decided together, however slow the store is', async () => {
    let commits = 0
    await open((store) =>
      withVerbs(store, {
        load: (request) => slowly(() => store.load(request)),
        readRow: (request) => slowly(() => store.readRow(request)),
        commit(request) {
          commits += 1
          return slowly(() => store.commit(request))
        },
      }),
    )
    const contextId = await bench.run('Count')
    bench = await bench.restart()
    commits = 0
    await Promise.all(Array.from({ length: 60 }, () => bench.sendEvent({ contextId, event: 'tick' })))
    expect(commits).toBeLessThanOrEqual(3)
    expect(outputs(await bench.getContext({ contextId }))).toEqual({ n: 60 })
  })

  test('lets others be served between two turns that write nothing', async () => {
    await open((store) => store)
    const contextId = await bench.run('Count')
    let turns = 0
    const count = () => {
      turns += 1
      handle = setImmediate(count)
    }
    let handle = setImmediate(count)
    const sent = Array.from({ length: 1001 }, () => bench.sendEvent({ contextId, event: 'unknown' }))
    const seen = sent.map((refused) =>
      refused.then(
        () => {
          throw new Error('it is refused')
        },
        () => turns,
      ),
    )
    const [first = NaN, ...others] = await Promise.all(seen)
    clearImmediate(handle)
    // One turn decides the first, and ten the others.
    expect((others.at(-1) ?? NaN) - first).toBeGreaterThanOrEqual(9)
  })
})
