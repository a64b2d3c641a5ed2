import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

/** A parent, and the child that it waits for. */
async function ask(): Promise<{ parent: number; child: number }> {
  const parent = await examples.run('Parent', { question: 'How many seats?' })
  const children = await examples.listContexts({ fluxName: 'Child' })
  expect(children).toMatchObject([{ status: 'WAITING', currentState: 'WaitForAnswer' }])
  return { parent, child: children[0]?.id ?? 0 }
}

test('waits for its child and takes over its output', async () => {
  const { parent, child } = await ask()
  expect(await examples.getContext({ contextId: parent })).toMatchObject({
    status: 'RUNNING',
    currentState: 'Ask',
    waiting: false,
  })
  await examples.sendEvent({ contextId: child, event: 'answer', input: { text: 'two' } })
  expect(await examples.getContext({ contextId: child })).toMatchObject({ status: 'COMPLETED' })
  const view = await examples.untilIn(parent, 'Answered')
  expect(view.status).toBe('COMPLETED')
  expect(outputs(view)).toEqual({ reply: 'How many seats? two', problem: null })
})

test('a child that is terminated is an exception of its parent', async () => {
  const { parent, child } = await ask()
  await examples.terminate({ contextId: child })
  const view = await examples.untilIn(parent, 'NoAnswer')
  expect(view.status).toBe('COMPLETED')
  expect(outputs(view)).toEqual({ reply: null, problem: expect.stringContaining('terminated') })
})

test('a parent that is terminated takes its child with it', async () => {
  const { parent, child } = await ask()
  await examples.terminate({ contextId: parent })
  expect(await examples.getContext({ contextId: child })).toMatchObject({ status: 'TERMINATED' })
})
