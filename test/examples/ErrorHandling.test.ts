import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, path, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

/** Lets the pause before the next attempt pass, once the attempt has failed. */
async function passPause(contextId: number, seconds: number): Promise<void> {
  const due = examples.clock.now() + seconds * 1000
  const { status } = await examples.until(contextId, ({ nextRun }) => nextRun === due)
  expect(status).toBe('RUNNING')
  await examples.pass(seconds)
}

test('the third attempt succeeds, after pauses of one and two seconds', async () => {
  const contextId = await examples.run('ErrorHandling', { failures: 2 })
  await passPause(contextId, 1)
  await passPause(contextId, 2)
  const view = await examples.untilIn(contextId, 'Done')
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['Call', 'Done'])
  expect(outputs(view)).toEqual({ answer: '42', attempts: 3, problem: null, problemType: null, trace: null })
})

test('when all attempts fail, the $exception transition carries what happened', async () => {
  const contextId = await examples.run('ErrorHandling', { failures: 3 })
  await passPause(contextId, 1)
  await passPause(contextId, 2)
  const view = await examples.untilIn(contextId, 'Done')
  expect(view).toMatchObject({ status: 'COMPLETED', error: null })
  expect(path(view)).toEqual(['Call', 'Repair', 'Done'])
  expect(outputs(view)).toEqual({
    answer: '42, as always',
    attempts: null,
    problem: 'no answer at attempt 3',
    problemType: 'NotThere',
    trace: [{ fluxName: 'ErrorHandling', stateName: 'Call', transition: null, stateIndex: 0 }],
  })
})

test('a call that never fails takes no pause', async () => {
  const view = await examples.untilIn(await examples.run('ErrorHandling', { failures: 0 }), 'Done')
  expect(outputs(view)).toMatchObject({ answer: '42', attempts: 1 })
})
