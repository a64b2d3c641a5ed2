import { afterAll, beforeAll, expect, test } from 'vitest'
import { NOW, openExamples, outputs, path, values, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

const start = (patience = 600) => examples.run('ApprovalWithTimeout', { request: 'a day off', patience })

test('waits, and tells until when', async () => {
  const view = await examples.getContext({ contextId: await start() })
  expect(view).toMatchObject({
    status: 'WAITING_UNTIL',
    waiting: true,
    currentState: 'WaitForDecision',
    nextRun: NOW + 600_000,
    endedAt: null,
  })
  expect(outputs(view)).toEqual({ decision: null, by: null })
})

test('an approval is taken, and its data are in the outputs', async () => {
  const contextId = await start()
  const answer = await examples.sendEvent({ contextId, event: 'approve', input: { by: 'Ada' } })
  expect(answer).toMatchObject({ transitions: [{ contextId, state: 'Approved' }], executions: [], ignored: [] })
  const view = await examples.getContext({ contextId })
  expect(view).toMatchObject({ status: 'COMPLETED', currentState: 'Approved', nextRun: null, waiting: false })
  expect(outputs(view)).toEqual({ decision: 'approved', by: 'Ada' })
  expect(path(view)).toEqual(['WaitForDecision', 'Approved'])
})

test('a rejection carries its note to the next state', async () => {
  const contextId = await start()
  await examples.sendEvent({ contextId, event: 'reject', input: { by: 'Bob', note: 'too busy' } })
  const view = await examples.getContext({ contextId })
  expect(outputs(view)).toEqual({ decision: 'rejected: too busy', by: 'Bob' })
  const waited = await examples.getStateContext({ contextId, stateName: 'WaitForDecision' })
  expect(waited.transitionContexts).toEqual([
    { event: 'reject', to: 'Rejected', takenAt: examples.now(), values: { why: 'too busy' } },
  ])
  expect(values(waited.input)).toEqual({ by: 'Bob', note: 'too busy' })
})

test('a rejection without a note says so', async () => {
  const contextId = await start()
  await examples.sendEvent({ contextId, event: 'reject', input: { by: 'Bob' } })
  expect(outputs(await examples.getContext({ contextId }))).toMatchObject({ decision: 'rejected: no reason given' })
})

test('an event without its required input is refused and changes nothing', async () => {
  const contextId = await start()
  const before = await examples.getContext({ contextId })
  await expect(examples.sendEvent({ contextId, event: 'approve', input: {} })).rejects.toMatchObject({
    failure: { kind: 'invalid', errors: [{ pointer: '/input/by' }] },
  })
  expect(await examples.getContext({ contextId })).toEqual(before)
})

test('when nobody decides in time it expires, and its action has not run', async () => {
  const contextId = await start(30)
  await examples.pass(29)
  expect(await examples.getContext({ contextId })).toMatchObject({
    status: 'WAITING_UNTIL',
    currentState: 'WaitForDecision',
  })
  await examples.pass(1)
  const view = await examples.untilIn(contextId, 'Expired')
  expect(view.status).toBe('COMPLETED')
  expect(outputs(view)).toEqual({ decision: 'expired', by: null })
  await expect(examples.sendEvent({ contextId, event: 'approve', input: { by: 'Ada' } })).rejects.toMatchObject({
    failure: { kind: 'conflict' },
  })
})
