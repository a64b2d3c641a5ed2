import { describe, expect, test } from 'vitest'
import type { RunningStep } from '../../src/ports/steps.ts'
import type { Frame } from '../../src/watchdog/examine.ts'
import type { Facts } from '../../src/watchdog/shared.ts'
import { judge } from '../../src/watchdog/judge.ts'

const step = (contextId: number, more: Partial<RunningStep> = {}): RunningStep => ({
  contextId,
  fluxName: 'F',
  state: 's',
  package: 'p',
  className: 'a.b',
  methodName: 'm',
  stepKey: `${contextId}-1`,
  attempt: 1,
  ...more,
})
const frame = (file: string, name = 'f'): Frame => ({ name, file, line: 3, column: 7 })
const facts = (more: Partial<Facts>): Facts => ({
  step: null,
  running: [],
  packages: [
    { name: 'p', root: '/actors/p' },
    { name: 'q', root: '/actors/q' },
  ],
  isDebugged: false,
  heap: 0.1,
  ...more,
})
const OWN = frame('/server/dist/runtime/decide.js')

describe('the watchdog blames', () => {
  test.each<[string, number | null, readonly Frame[], Partial<Facts>]>([
    [
      'the step that what runs was started by',
      2,
      [frame('/actors/p/a/b.ts'), OWN],
      { step: step(2), running: [step(1), step(2)] },
    ],
    [
      'not one of another package that merely led here',
      1,
      [frame('/actors/q/c.ts')],
      { step: step(2), running: [step(1, { package: 'q', className: 'x' }), step(2)] },
    ],
    ['the only step of the module', 2, [frame('/actors/p/c.mjs')], { running: [step(1), step(2, { className: 'c' })] }],
    ['nobody when several run the module', null, [frame('/actors/p/a/b.js')], { running: [step(1), step(2)] }],
    [
      'the server when no code of a service is there, whatever led to it',
      null,
      [OWN],
      { step: step(1), running: [step(1)] },
    ],
  ])('%s', (_, contextId, frames, given) => {
    expect(judge({ frames, facts: facts(given) }, null).step?.contextId ?? null).toBe(contextId)
  })

  test('a built-in function that was called and has not returned', () => {
    const verdict = judge({ frames: [OWN], facts: facts({}) }, { step: step(1, { className: 'Http' }), isCalled: true })
    expect(verdict.standstill).toMatchObject({ step: { stepKey: '1-1', attempt: 1 }, isCertain: true, stack: '' })
  })

  test("not one that merely waits while the server's own code runs", () => {
    expect(judge({ frames: [OWN], facts: facts({}) }, { step: step(1), isCalled: false })).toMatchObject({
      step: null,
      reason: expect.stringMatching(/^the server's own code/),
      standstill: { step: null, isCertain: true },
    })
  })

  test('garbage collection when the memory is nearly full', () => {
    expect(judge({ frames: [OWN], facts: facts({ heap: 0.95 }) }, null).reason).toMatch(/^garbage collection/)
    expect(judge({ frames: [OWN], facts: facts({}) }, null).reason).toMatch(/^the server's own code/)
  })

  test('whom it can, when nothing can be seen', () => {
    expect(judge(null, { step: step(1), isCalled: false })).toMatchObject({
      step: { contextId: 1 },
      stack: null,
      standstill: { isCertain: true },
    })
    expect(judge(null, null)).toMatchObject({ step: null, standstill: { step: null, isCertain: false } })
  })
})

test('the stack is in paths of the package, without those of the server for the context, and bounded', () => {
  const many = Array.from({ length: 500 }, () => frame('/actors/p/a/b.ts', 'recursive'))
  const { stack, standstill } = judge(
    { frames: [...many, OWN, frame('node:internal/timers')], facts: facts({ step: step(1) }) },
    null,
  )
  expect(standstill.stack).toMatch(/^at recursive \(a\/b\.ts:3:7\)\n/)
  expect(Buffer.byteLength(standstill.stack)).toBeLessThanOrEqual(4096)
  expect(
    judge(
      { frames: [frame('/actors/p/x.ts', ''), OWN, frame('node:internal/timers')], facts: facts({ step: step(1) }) },
      null,
    ).stack,
  ).toBe('at x.ts:3:7\nat f (/server/dist/runtime/decide.js:3:7)')
  expect(stack).toMatch(/^at recursive/)
})
