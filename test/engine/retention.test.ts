// Finished contexts are deleted once they are old enough, some at a time, again and again.
import { expect, test, vi } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { purgesOf } from '../../src/engine/cluster/heartbeat.ts'
import { held } from '../support/held.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore } from '../support/stores.ts'
import { silent } from '../support/silent.ts'

type Purge = Parameters<Store['purge']>[0]

function open(retention: number, purge: (request: Purge) => Promise<number>) {
  const clock = new SimulatedClock(1_000_000)
  const logged: string[] = []
  const log = {
    ...silent,
    error: (message: string) => {
      logged.push(message)
    },
  }
  const asked: Purge[] = []
  const store = emptyStore({
    purge(request) {
      asked.push(request)
      return purge(request)
    },
  })
  return { clock, logged, asked, purges: purgesOf({ store, clock, log, retention }) }
}

test('it deletes until there is nothing left, and again after a tenth of the retention', async () => {
  const left = [500, 20, 0]
  const { clock, asked, purges } = open(60_000, () => Promise.resolve(left.shift() ?? 0))
  purges.within(0)
  await clock.advance(0)
  expect(asked).toEqual(Array.from({ length: 3 }, () => ({ endedBefore: 940_000, limit: 500 })))
  await clock.advance(5999)
  expect(asked).toHaveLength(3)
  await clock.advance(1)
  expect(asked.slice(3)).toEqual([{ endedBefore: 946_000, limit: 500 }])
  await purges.stop()
  await clock.advance(60_000)
  expect(asked).toHaveLength(4)
})

test.each([
  [10, 1000],
  [7 * 86_400_000, 60_000],
])('with a retention of %d ms, %d ms pass in between', async (retention, pause) => {
  const { clock, asked, purges } = open(retention, () => Promise.resolve(0))
  purges.within(0)
  await clock.advance(pause - 1)
  expect(asked).toHaveLength(1)
  await clock.advance(1)
  expect(asked).toHaveLength(2)
  await purges.stop()
})

test('a store that fails is told of and asked again', async () => {
  let isAway = true
  const { clock, logged, asked, purges } = open(10_000, () =>
    isAway ? Promise.reject(new Error('away')) : Promise.resolve(0),
  )
  purges.within(0)
  await clock.advance(0)
  expect(logged).toEqual(['finished contexts could not be purged; trying again later'])
  isAway = false
  await clock.advance(1000)
  expect([asked.length, logged.length]).toEqual([2, 1])
  await purges.stop()
})

test('stopping waits for the purge under way, and begins no other', async () => {
  const purged = held<number>()
  const { clock, asked, purges } = open(60_000, () => purged.promise)
  purges.within(0)
  const onStopped = vi.fn()
  const stopped = purges.stop().finally(onStopped)
  await clock.advance(0)
  expect(onStopped).not.toHaveBeenCalled()
  purged.release(500)
  await stopped
  await clock.advance(60_000)
  expect(asked).toHaveLength(1)
})
