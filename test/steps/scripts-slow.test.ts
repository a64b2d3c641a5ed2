// Scripts that compute for long, however many, keep no other script waiting.
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { run, thrown } from './run-script.ts'

describe('a script', () => {
  test('lets go of those that wait when one before them takes its process with it', async () => {
    const first = Array.from({ length: 5 }, () =>
      thrown('return Array.prototype.indexOf.call({ length: 2 ** 53 }, 1)', { timeout: 50 }),
    )
    const others = Array.from({ length: 5 }, (_, n) => run('return n', { n }))
    expect(await Promise.all(others)).toEqual([0, 1, 2, 3, 4])
    expect(new Set(await Promise.all(first))).toEqual(
      new Set(['TimeoutError: the script computed for longer than 0.05 s']),
    )
  })

  test('does not wait for long behind scripts that turn out to be slow, however many', async () => {
    const controller = new AbortController()
    let ended = 0
    const places = Math.max(2, Math.min(4, availableParallelism() - 1))
    // More than there are places for slow ones.
    const slow = Array.from({ length: 3 * places }, (_, nr) =>
      run(`for (;;); // ${nr}`, {}, { timeout: 60_000, signal: controller.signal })
        .catch(() => 'called off')
        .finally(() => {
          ended += 1
        }),
    )
    expect(await run('return 1')).toBe(1)
    expect(ended).toBe(0)
    controller.abort()
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['called off']))
  }, 60_000)

  test('lets a script compute for as long as it is given', async () => {
    expect(
      await run('const start = Date.now(); while (Date.now() - start < 1300); return "done"', {}, { timeout: 20_000 }),
    ).toBe('done')
  })

  test('has its whole time when it turns out to be slow, and no more', async () => {
    const began = performance.now()
    expect(await thrown('for (;;); // whole', { timeout: 1700 })).toBe(
      'TimeoutError: the script computed for longer than 1.7 s',
    )
    expect(performance.now() - began).toBeGreaterThanOrEqual(1650)
  })

  test('is not taken for slow because this process was held up', async () => {
    const controller = new AbortController()
    const places = Math.max(2, Math.min(4, availableParallelism() - 1))
    const slow = Array.from({ length: places }, (_, nr) =>
      run(`for (;;); // held ${nr}`, {}, { timeout: 120_000, signal: controller.signal }).catch(() => 'called off'),
    )
    // It got a place, so those before it are known to be slow.
    expect(await run('return "warm"')).toBe('warm')
    const quick = run('return "quick"')
    await sleep(5)
    const until = performance.now() + 1300
    while (performance.now() < until);
    expect(await quick).toBe('quick')
    expect(await run('return "quick"')).toBe('quick')
    controller.abort()
    await Promise.all(slow)
  }, 60_000)
})
