import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { whenLauncherEnds } from '../../src/cli/stop.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('the end of the shell by which npm started the server is told once', () => {
  let parent = 7
  const ended = vi.fn()
  whenLauncherEnds(ended, true, () => parent)
  vi.advanceTimersByTime(10_000)
  expect(ended).not.toHaveBeenCalled()
  parent = 1
  vi.advanceTimersByTime(10_000)
  expect(ended).toHaveBeenCalledOnce()
})

test('a server that npm did not start may outlive whoever did', () => {
  let parent = 7
  const ended = vi.fn()
  whenLauncherEnds(ended, false, () => parent)
  parent = 1
  vi.advanceTimersByTime(10_000)
  expect(ended).not.toHaveBeenCalled()
})
