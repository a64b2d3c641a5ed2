// A step that runs in this process: its time limit, its signal, and what the function may do to its arguments.
import { expect, test, vi } from 'vitest'
import type { Json } from '../../src/model/json/value.ts'
import type { StepRunner } from '../../src/ports/steps.ts'
import { runFunction } from '../../src/engine/steps/steps.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { flux } from '../steps/flux.ts'

const name = { package: 'p', className: 'Fn', methodName: 'f' }

const never = () => Promise.reject(new Error('it runs in this process'))

/** Runs a function with these arguments. */
function open(run: StepRunner['run'], args = {}) {
  const clock = new SimulatedClock()
  const controller = new AbortController()
  const call = { ...name, args, flux }
  const result = runFunction(
    { runner: { run, runIsolated: never }, clock, secrets: undefined },
    { call, hasSecrets: false, isolate: false, timeout: 5_000, controller },
  )
  return { clock, controller, result }
}
const deaf = () => new Promise<Json>(() => {})

test('a function may change its arguments, and nobody else sees it', async () => {
  const args = { list: [1], text: 'a' }
  const { result } = open(async ({ args: own }) => {
    own['text'] = 'b'
    if (Array.isArray(own['list'])) own['list'].push(2)
    return own
  }, args)
  expect(await result).toEqual({ list: [1, 2], text: 'b' })
  expect(args).toEqual({ list: [1], text: 'a' })
})

test('a copy of arguments with names that are numbers takes no more room', async () => {
  const list: Json = JSON.parse(`[${Array(5000).fill('{"1000":1}').join()}]`)
  const before = process.memoryUsage().heapUsed
  const copy = await open(async ({ args }) => args, { list }).result
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000)
  expect(copy).toEqual({ list })
})

test('one that ignores its signal is waited for until its time is over, and no longer', async () => {
  const { clock, controller, result } = open(deaf)
  const ended = vi.fn()
  result.catch(ended)
  await clock.advance(4_999)
  expect(ended).not.toHaveBeenCalled()
  await clock.advance(1)
  await expect(result).rejects.toMatchObject({ name: 'TimeoutError', message: 'no result within 5 s' })
  expect(controller.signal.aborted).toBe(true)
})

test('one that is aborted is not waited for, and its time limit is gone', async () => {
  const { clock, controller, result } = open(deaf)
  controller.abort(new DOMException('the context has ended', 'AbortError'))
  await expect(result).rejects.toMatchObject({ name: 'AbortError', message: 'the context has ended' })
  expect(clock.pending).toEqual([])
})

test.each([
  ['returns', () => Promise.resolve(7)],
  ['throws', () => Promise.reject(new Error('no'))],
])('nothing is left of the limit of one that %s', async (_, run) => {
  const { clock, controller, result } = open(run)
  await Promise.allSettled([result])
  expect(clock.pending).toEqual([])
  expect(controller.signal.aborted).toBe(false)
})
