// What is told of a commit: nothing while nobody reads, and no secret of a request.
import { describe, expect, test } from 'vitest'
import { publishMove } from '../../src/engine/turn/commit.ts'
import { REDACTED } from '../../src/model/secret-names.ts'
import { openBench } from '../support/engine.ts'
import { feedOf } from '../support/moves.ts'
import { compiled, Hand } from '../support/turns.ts'

/** Whoever looks at it is found out. */
const untouched = <T extends object>(): T =>
  new Proxy<T>(Object.create(null), {
    get() {
      throw new Error('somebody looked')
    },
  })

describe('while nobody reads', () => {
  test('nothing is made', () => {
    const { feed, moves } = feedOf(false)
    publishMove(feed, untouched())
    expect(moves).toHaveLength(0)
  })
})

describe('while somebody reads', () => {
  const SERVICES = {
    'p/Keeps.flux': {
      tags: ['red'],
      states: [
        { name: 'a', waiting: true, transitions: [{ event: 'on', to: 'b' }] },
        { name: 'b', waiting: true, early: true, transitions: [{ event: 'later', to: 'c' }] },
        { name: 'c' },
      ],
    },
  }

  test('an event that is kept, and taken later, has its commits told', async () => {
    const { feed, moves } = feedOf(true)
    const bench = await openBench(SERVICES, { moves: feed })
    const contextId = await bench.run('Keeps')
    await bench.sendEvent({ contextId, event: 'later', eventId: 'e-later', ttl: 60 })
    await bench.sendEvent({ contextId, event: 'on', eventId: 'e-on' })
    expect(
      moves.map(({ message: { version, kind, event, eventId, from, to, entered } }) => [
        version,
        kind,
        event,
        eventId,
        from,
        to,
        entered,
      ]),
    ).toEqual([
      [1, 'start', null, null, null, 'a', ['a']],
      [2, 'event', 'later', 'e-later', 'a', 'a', []],
      [3, 'event', 'later', 'e-later', 'a', 'c', ['b', 'c']],
    ])
    expect(moves[0]).toMatchObject({ facts: { startState: 'a', secured: false, key: null }, previousAt: null })
  })

  test('tags of a context of which only the head was read are told to filters alone: they may be secrets', () => {
    const { feed, moves } = feedOf(true)
    const { context } = new Hand().start(compiled({ tags: ['red'], states: [{ name: 's' }] }))
    context.isUnread = true
    publishMove(feed, context)
    expect(moves).toMatchObject([{ message: { tags: [REDACTED] }, facts: { tags: ['red'] } }])
  })
})
