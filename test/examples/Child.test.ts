import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, path, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

test('can be started without a parent', async () => {
  const contextId = await examples.run('Child', { question: 'How many seats?' })
  await expect(examples.sendEvent({ contextId, event: 'answer' })).rejects.toMatchObject({
    failure: { kind: 'invalid' },
  })
  await examples.sendEvent({ contextId, event: 'answer', input: { text: 'two' } })
  const view = await examples.getContext({ contextId })
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['WaitForAnswer', 'Answered'])
  expect(outputs(view)).toEqual({ answer: 'How many seats? two' })
})
