import { afterAll, beforeAll, expect, test } from 'vitest'
import { NOW, openExamples, outputs, path, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

test('tells when it will go on', async () => {
  const contextId = await examples.run('DelayUntilDate', { at: '2030-01-01T09:00:00+01:00', text: 'happy new year' })
  const view = await examples.getContext({ contextId })
  expect(view).toMatchObject({ status: 'WAITING_UNTIL', currentState: 'Scheduled', nextRun: 1_893_484_800_000 })
  await expect(examples.sendEvent({ contextId, event: 'hurry' })).rejects.toMatchObject({
    failure: { kind: 'conflict' },
  })
  await examples.terminate({ contextId })
})

test('goes on at that time and not before', async () => {
  const at = NOW + 3_600_000
  const contextId = await examples.run('DelayUntilDate', { at })
  await examples.pass(3599.999)
  expect(await examples.getContext({ contextId })).toMatchObject({ status: 'WAITING_UNTIL', currentState: 'Scheduled' })
  await examples.pass(0.001)
  const view = await examples.untilIn(contextId, 'Remind')
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['Scheduled', 'Remind'])
  expect(outputs(view)).toEqual({ reminder: 'it is time', remindedAt: at })
})

test('a time in the past is due at once', async () => {
  const contextId = await examples.run('DelayUntilDate', { at: '2001-01-01', text: 'late' })
  await examples.pass(0)
  const view = await examples.untilIn(contextId, 'Remind')
  expect(outputs(view)).toEqual({ reminder: 'late', remindedAt: examples.clock.now() })
})
