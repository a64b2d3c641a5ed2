import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

const open = (customerId: string) => examples.run('Tags', { customerId, subject: 'no light' })
const found = async (...tag: string[]) => (await examples.listContexts({ tag })).map(({ id }) => id)

test('one tag is fixed, one comes from an input, and all of a query must match', async () => {
  const [first, second] = [await open('a-1'), await open('a-2')]
  expect((await examples.getContext({ contextId: first })).tags).toEqual(['ticket', 'customer-a-1'])
  expect(await found('ticket')).toEqual([first, second])
  expect(await found('ticket', 'customer-a-2')).toEqual([second])
  expect(await found('customer-a-1', 'customer-a-2')).toEqual([])
})

test('an event finds the contexts that have any of its tags, and no others', async () => {
  const [mine, other] = [await open('b-1'), await open('b-2')]
  expect(await examples.sendEvent({ event: 'close' })).toMatchObject({ transitions: [], executions: [], ignored: [] })
  expect(await examples.sendEvent({ event: 'close', tags: ['customer-b-3'] })).toMatchObject({ transitions: [] })
  const answer = await examples.sendEvent({
    event: 'close',
    input: { answer: 'bulb changed' },
    tags: ['customer-b-1', 'customer-b-3'],
  })
  expect(answer.transitions).toEqual([{ contextId: mine, state: 'Closed' }])
  const view = await examples.getContext({ contextId: mine })
  expect(view.status).toBe('COMPLETED')
  expect(outputs(view)).toEqual({ answer: 'bulb changed' })
  expect(await examples.getContext({ contextId: other })).toMatchObject({ status: 'WAITING', currentState: 'Open' })
})

test('tags can be added and removed', async () => {
  const contextId = await open('c-1')
  const { message } = await examples.addTags({ contextId, tag: ['urgent'] })
  expect(message).toContain('urgent')
  expect(message).toContain(String(contextId))
  expect(await found('customer-c-1', 'urgent')).toEqual([contextId])
  await examples.removeTags({ contextId, tag: ['urgent'] })
  expect(await found('customer-c-1', 'urgent')).toEqual([])
  expect((await examples.getContext({ contextId })).tags).toEqual(['ticket', 'customer-c-1'])
})
