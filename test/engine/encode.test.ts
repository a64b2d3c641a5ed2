// A write that changes the head of a context alone leaves all else as the store has it.
import { expect, test } from 'vitest'
import { headWrite } from '../../src/engine/record/encode.ts'
import { compiled, Hand } from '../support/turns.ts'

const flux = compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })

test.each([
  ['waits for a child still has its notification to answer', 7, false],
  ['waits for none has answered', null, true],
] as const)('a context that %s', (_, child, answersNotification) => {
  const { context, writes } = new Hand().start(flux)
  const stored = writes[0]?.context
  if (!stored) throw new Error('it was written')
  const write = headWrite(stored, { ...context.record, child, due: 9 }, flux, [3])
  expect(write).toMatchObject({
    previous: 1,
    changed: ['head'],
    log: [],
    notifies: [3],
    answersNotification,
    context: { version: 2, due: 9, parts: { base: stored.parts['base'], tail: stored.parts['tail'] } },
  })
  expect(JSON.parse(write.context.parts['head'] ?? '')).toMatchObject({ child, due: 9 })
})
