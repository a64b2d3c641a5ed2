// Much work at once, for many contexts: the event loop is served in between.
import { describe, expect, test } from 'vitest'
import { Pace } from '../../src/engine/turn/mailboxes.ts'
import { nextTurn } from '../support/held.ts'
import { openBench, outputs, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { HEAVY_COUNTER } from '../support/services.ts'

async function decide(pace: Pace, number: number, steps: number, done: number[]): Promise<void> {
  while (pace.rest) await pace.rest
  done.push(number)
  pace.spend(steps)
}

describe('a pace', () => {
  test('does what is little at once', () => {
    const [pace, done]: [Pace, number[]] = [new Pace(), []]
    for (const number of [1, 2, 3]) void decide(pace, number, 1000, done)
    expect(done).toEqual([1, 2, 3])
  })

  test('lets the event loop go first after much, and then goes on in order', async () => {
    const [pace, done]: [Pace, number[]] = [new Pace(), []]
    for (const number of [1, 2, 3, 4, 5]) void decide(pace, number, 150_000, done)
    expect(done).toEqual([1, 2])
    await nextTurn()
    expect(done).toEqual([1, 2, 3, 4])
    await nextTurn()
    expect(done).toEqual([1, 2, 3, 4, 5])
  })
})

const FILES: Files = { 'p/Heavy.flux': HEAVY_COUNTER }

test.each([false, true])(
  'a broadcast to many contexts that do much work each lets others be served; read from the store first: %s',
  async (isRestarted) => {
    let turns = 0
    const seen = new Set<number>()
    let server = await openBench(FILES, {
      wrap: (store) =>
        withVerbs(store, {
          commit(request) {
            seen.add(turns)
            return store.commit(request)
          },
        }),
    })
    const list = Array.from({ length: 300 }, (_, index) => index)
    const ids: number[] = []
    for (let number = 0; number < 12; number += 1) ids.push(await server.run('Heavy', { list }))
    if (isRestarted) server = await server.restart()
    const count = () => {
      turns += 1
      handle = setImmediate(count)
    }
    let handle = setImmediate(count)
    seen.clear()
    const { transitions } = await server.sendEvent({ event: 'tick' })
    clearImmediate(handle)
    expect(transitions.map(({ contextId }) => contextId)).toEqual(ids)
    expect(seen.size).toBe(ids.length)
    for (const contextId of ids) expect(outputs(await server.getContext({ contextId }))).toEqual({ n: 1 })
  },
)
