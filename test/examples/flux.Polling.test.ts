import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, path, values, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

/** It rests between two looks when the given number of them is done. */
const afterLook = (contextId: number, count: number) =>
  examples.until(
    contextId,
    ({ status, executionHistory }) => status === 'WAITING_UNTIL' && executionHistory.length === count,
  )

test('looks every two seconds until the job is ready', async () => {
  const contextId = await examples.run('flux.Polling', { job: 'report-1', readyAfter: 3, interval: 2 })
  for (const count of [1, 2]) {
    const view = await afterLook(contextId, count)
    expect(view).toMatchObject({ currentState: 'Look', nextRun: examples.clock.now() + 2000 })
    expect(view.stateContexts.map(({ output }) => values(output))).toEqual([{ count }])
    await examples.pass(1.999)
    expect((await examples.getContext({ contextId })).executionHistory).toHaveLength(count)
    await examples.pass(0.001)
  }
  const view = await examples.untilIn(contextId, 'Ready')
  expect(view.status).toBe('COMPLETED')
  expect(outputs(view)).toEqual({ result: 'report-1 is done', looks: 3 })
  expect(path(view)).toEqual(['Look', 'Look', 'Look', 'Ready'])
  expect(view.stateContexts[0]?.transitionContexts.map(({ event, to }) => [event, to])).toEqual([
    ['again', 'Look'],
    ['again', 'Look'],
    ['ready', 'Ready'],
  ])
})

test('gives up by itself', async () => {
  const contextId = await examples.run('flux.Polling', { readyAfter: 3, maxLooks: 2, interval: 10 })
  await afterLook(contextId, 1)
  await examples.pass(10)
  const view = await examples.untilIn(contextId, 'GaveUp')
  expect(view.status).toBe('COMPLETED')
  expect(outputs(view)).toEqual({ result: null, looks: 2 })
})
