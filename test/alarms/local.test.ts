import { describe, expect, it } from 'vitest'
import { localAlarm } from '../../src/alarms/local.ts'
import type { AlarmClock } from '../../src/ports/clock.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { silent } from '../support/silent.ts'

const NOW = 1_760_000_000_000
const quiet = (): void => {}

/** An alarm on a clock, with nobody reading its log. */
function quietAlarm(): { alarm: AlarmClock; clock: SimulatedClock } {
  const clock = new SimulatedClock(NOW)
  return {
    clock,
    alarm: localAlarm({ clock, log: silent }),
  }
}

/** An alarm that tells when it rang, relative to the start; `answers` are what the rings resolve with, then null. */
function alarmAt(answers: (number | null | Error)[] = []): {
  alarm: AlarmClock
  clock: SimulatedClock
  rings: number[]
  errors: unknown[]
  start(): void
} {
  const clock = new SimulatedClock(NOW)
  const [rings, errors]: [number[], unknown[]] = [[], []]
  const alarm = localAlarm({
    clock,
    log: { ...silent, error: (...told) => void errors.push(told) },
  })
  const ring = async (): Promise<number | null> => {
    rings.push(clock.now() - NOW)
    const answer = answers.shift() ?? null
    if (answer instanceof Error) throw answer
    return answer
  }
  return { alarm, clock, rings, errors, start: () => alarm.start(ring) }
}

describe('the local alarm clock', () => {
  it('looks once when it starts, for what became due before', async () => {
    const { clock, rings, start } = alarmAt()
    await clock.advance(1000)
    expect(rings).toEqual([])
    start()
    await clock.advance(1_000_000)
    expect(rings).toEqual([1000])
  })

  it('rings at the time that the ring before told', async () => {
    const { clock, rings, start } = alarmAt([NOW + 500, NOW + 7000, null])
    start()
    await clock.advance(499)
    expect(rings).toEqual([0])
    await clock.advance(100_000)
    expect(rings).toEqual([0, 500, 7000])
  })

  it('rings for the earliest of the times that were set', async () => {
    const { alarm, clock, rings, start } = alarmAt([null, NOW + 300, NOW + 900])
    start()
    await clock.advance(0)
    for (const due of [900, 300, 100, 800]) alarm.set(NOW + due)
    await clock.advance(1000)
    expect(rings).toEqual([0, 100, 300, 900])
  })

  it('has one timer, however many times are set', async () => {
    const { alarm, clock, start } = alarmAt()
    start()
    await clock.advance(0)
    for (let due = 5000; due > 1000; due--) alarm.set(NOW + due)
    expect(clock.pending).toEqual([NOW + 1001])
  })

  it('keeps a time that was set before it started', async () => {
    const { alarm, clock, rings, start } = alarmAt()
    alarm.set(NOW + 50)
    await clock.advance(20)
    expect(rings).toEqual([])
    start()
    alarm.set(NOW + 50)
    await clock.advance(100)
    expect(rings).toEqual([20, 50])
  })

  it('rings at once for a time that is past', async () => {
    const { alarm, clock, rings, start } = alarmAt()
    start()
    await clock.advance(10)
    alarm.set(NOW - 99_999)
    await clock.advance(0)
    expect(rings).toEqual([0, 10])
  })

  it('never rings early when a timer fires early by the clock', async () => {
    const { alarm, clock, rings, start } = alarmAt()
    start()
    await clock.advance(0)
    alarm.set(NOW + 1000)
    clock.jump(-400)
    await clock.advance(1399)
    expect(rings).toEqual([0])
    await clock.advance(1)
    expect(rings).toEqual([0, 1000])
  })

  it('never rings before a fraction of a millisecond is over', async () => {
    const { alarm, clock, rings, start } = alarmAt()
    start()
    await clock.advance(0)
    alarm.set(NOW + 0.25)
    await clock.advance(10)
    expect(rings).toEqual([0, 1])
  })

  it('notices within a minute that the clock was put forward', async () => {
    const { alarm, clock, rings, start } = alarmAt()
    start()
    await clock.advance(0)
    alarm.set(NOW + 86_400_000)
    clock.jump(86_400_000)
    await clock.advance(60_000)
    expect(rings).toHaveLength(2)
  })

  it('rings for a time years away', async () => {
    const { alarm, clock, rings, start } = alarmAt()
    const due = 40 * 86_400_000
    start()
    alarm.set(NOW + due)
    await clock.advance(due + 1)
    expect(rings).toEqual([0, due])
  })

  it('never rings twice at once, and misses nothing that is set during a ring', async () => {
    const { alarm, clock } = quietAlarm()
    let [atOnce, most, rings] = [0, 0, 0]
    const finish: (() => void)[] = []
    alarm.start(async () => {
      rings++
      most = Math.max(most, ++atOnce)
      await new Promise<void>((resolve) => {
        finish.push(resolve)
      })
      atOnce--
      return null
    })
    await clock.advance(0)
    alarm.set(NOW + 5)
    alarm.set(NOW + 3)
    await clock.advance(100)
    expect([rings, most]).toEqual([1, 1])
    finish.shift()?.()
    await clock.advance(0)
    await clock.advance(0)
    expect([rings, most]).toEqual([2, 1])
    finish.shift()?.()
    await clock.advance(1000)
    expect([rings, most]).toEqual([2, 1])
  })

  it('tries again a little later when a ring fails, and says so', async () => {
    const { clock, rings, errors, start } = alarmAt([new Error('out of reach'), new Error('still'), null])
    start()
    await clock.advance(10_000)
    expect(rings).toHaveLength(3)
    expect(rings[1]).toBeGreaterThan(0)
    expect(errors).toHaveLength(2)
  })

  it('tries again when a ring throws before it is a promise', async () => {
    const { alarm, clock } = quietAlarm()
    let rings = 0
    alarm.start(() => {
      if (++rings === 1) throw new Error('at once')
      return Promise.resolve(null)
    })
    await clock.advance(10_000)
    expect(rings).toBe(2)
  })

  it('rings no more once closed, and waits for the ring under way', async () => {
    const { alarm, clock } = quietAlarm()
    let finish = quiet
    let rings = 0
    alarm.start(() => {
      rings++
      return new Promise((resolve) => {
        finish = () => resolve(NOW + 1)
      })
    })
    await clock.advance(0)
    let closed = false
    const closing = alarm.close().finally(() => {
      closed = true
    })
    await clock.advance(0)
    expect(closed).toBe(false)
    finish()
    await closing
    alarm.set(NOW)
    await clock.advance(100_000)
    expect(rings).toBe(1)
    expect(clock.pending).toEqual([])
  })
})
