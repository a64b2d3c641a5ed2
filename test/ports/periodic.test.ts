// Work that is repeated by a clock.
import { expect, test } from 'vitest'
import { Periodic } from '../../src/ports/periodic.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'

test('runs now also where a run is due whose timer has not fired yet', async () => {
  const clock = new SimulatedClock()
  let runs = 0
  const periodic = new Periodic(clock, async () => {
    runs += 1
    return null
  })
  periodic.within(100)
  clock.jump(150)
  await periodic.now()
  expect(runs).toBe(1)
  await clock.advance(1000)
  expect(runs).toBe(1)
})
