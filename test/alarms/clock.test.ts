import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/alarms/clock.ts'

const DAY = 86_400_000

describe('the clock of the process', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_760_000_000_000 })
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  it('tells the time in epoch milliseconds', () => {
    expect(systemClock.now()).toBe(1_760_000_000_000)
  })

  it('calls back once, after the time', () => {
    const callback = vi.fn<() => void>()
    systemClock.after(100, callback)
    vi.advanceTimersByTime(99)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1000)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('calls back after months, which is longer than a timer can run', () => {
    const callback = vi.fn<() => void>()
    systemClock.after(100 * DAY, callback)
    vi.advanceTimersByTime(100 * DAY - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('can be called off, at first and months later', () => {
    const callback = vi.fn<() => void>()
    systemClock.after(10, callback)()
    const cancel = systemClock.after(100 * DAY, callback)
    vi.advanceTimersByTime(90 * DAY)
    cancel()
    vi.advanceTimersByTime(90 * DAY)
    expect(callback).not.toHaveBeenCalled()
  })

  it('calls back at once when the time is past', () => {
    const callback = vi.fn<() => void>()
    systemClock.after(-5, callback)
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })
})
