// A state that can't be entered: nothing of it is done.
import { expect, test } from 'vitest'
import { recompile } from '../../../src/definitions/service.ts'
import { pinnedText } from '../../../src/definitions/pinned/text.ts'
import { event, Hand } from '../../support/turns.ts'

/** Its default can't be read any more. */
const word = { name: 'word', type: 'integer', defaultValue: 'x' }
const write = { type: 'set', expression: '"done"', evaluate: true, to: ['note'] }

function sent(transition: object) {
  const source = {
    output: [{ name: 'note', type: 'string' }],
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 'broken', event: 'go' }] },
      {
        name: 'broken',
        output: [word],
        action: { type: 'map', lines: [write] },
        transitions: [
          { to: 'end', event: '$else', ...transition },
          { to: 'end', event: '$exception' },
        ],
      },
      { name: 'end' },
    ],
  }
  const flux = recompile(pinnedText({ package: 'p', fluxName: 'Test', source, models: new Map() }))
  const hand = new Hand()
  return hand.turn(hand.start(flux).context.record.id, [event('go')]).context.record
}

test.each([
  ['that is left at once', {}],
  ['that may be left later', { wait: 'duration:5' }],
])('the action of a state %s is not run', (_, transition) => {
  expect(sent(transition)).toMatchObject({ status: 'FAILED', state: 1, output: {}, error: { type: 'DefinitionError' } })
})
