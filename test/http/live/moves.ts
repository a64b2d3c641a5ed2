// A move of a context, as commits give it to the streams.
import type { CommittedMove } from '../../../src/api/streams.ts'

export const move = (contextId: number, more: Partial<CommittedMove['message']> = {}): CommittedMove => ({
  message: {
    contextId,
    package: 'p',
    fluxName: 'F',
    version: 1,
    at: 1,
    kind: 'start',
    event: null,
    eventId: null,
    from: null,
    to: 'a',
    entered: ['a'],
    status: 'WAITING',
    nextRun: null,
    tags: ['red'],
    parent: null,
    ...more,
  },
  facts: { key: 'k', startState: 'a', errorType: null, secured: false },
  previousAt: null,
})
