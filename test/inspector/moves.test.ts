// The moves of a context, as its page tells them.
import { expect, test } from 'vitest'
import { emptyModel } from '../../src/api/contexts.ts'
import { staysOf } from '../../src/inspector/pages/context/moves.ts'
import { contextView } from '../http/support.ts'

const AT = Date.UTC(2026, 0, 2)
const entered = (stateName: string) => ({ fluxName: 'F', stateName, stateIndex: 0, enteredAt: AT })
const left = (event: string | null, to: string) => ({ event, to, takenAt: AT, values: {} })
const state = (name: string, ...transitionContexts: ReturnType<typeof left>[]) => ({
  name,
  input: emptyModel('input'),
  output: emptyModel('output'),
  transitionContexts,
})

test('moves between the same states at the same time are told in their order', () => {
  const context = {
    ...contextView(7),
    executionHistory: ['Check', 'Count', 'Check', 'Count'].map(entered),
    stateContexts: [state('Check', left('low', 'Count'), left('high', 'Count')), state('Count', left(null, 'Check'))],
  }
  expect(staysOf(context, null, AT).map(({ event }) => event)).toEqual([null, 'low', null, 'high'])
})
