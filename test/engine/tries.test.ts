// What one try of a turn leaves for the next, and what it doesn't.
import { describe, expect, test } from 'vitest'
import { SYSTEM } from '../../src/model/caller.ts'
import type { StoredContext } from '../../src/ports/store.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import type { RootRequest } from '../../src/engine/turn/start-request.ts'
import { TurnData } from '../../src/engine/turn/turn-data.ts'
import { openMailboxes, partsOn } from '../support/mailboxes.ts'
import { compiled, event, Hand } from '../support/turns.ts'

const waits = compiled({
  output: [{ name: 'text', defaultValue: 'x'.repeat(100_000) }],
  states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }],
})
const end = compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })

describe('what a turn has at hand', () => {
  test('is of the present incarnation after a conflict, and not before', async () => {
    const { state, parts } = await partsOn({})
    const data = new TurnData(parts)
    state.incarnation = 1
    data.rewind()
    expect(data.incarnation).toBe(0)
    data.forget()
    expect(data.incarnation).toBe(1)
  })

  test('are the same ids at each try, and others after a conflict', async () => {
    const { parts } = await partsOn({ reserveIds: () => Promise.resolve({ first: 1, count: 3 }) })
    const data = new TurnData(parts)
    expect(data.newId(0)).toBeUndefined()
    await data.fetch({ kind: 'id', partition: 0 }, null)
    for (let tries = 0; tries < 3; tries += 1) {
      data.rewind()
      // The first was fetched for it, the others were at hand.
      expect([data.newId(0), data.newId(0), data.newId(0), data.newId(0)]).toEqual([1, 2, 3, undefined])
    }
    data.forget()
    expect(data.newId(0)).toBeUndefined()
  })

  test('takes room once, whatever relatives it has, and gives it back', async () => {
    const stored = new Map<number, StoredContext>()
    const hand = new Hand()
    for (let times = 0; times < 2; times += 1)
      for (const { context } of hand.start(waits).writes) stored.set(context.id, context)
    const { parts } = await partsOn(
      {
        load: ({ id }) => Promise.resolve(stored.get(id) ?? null),
        readRow: async (row) => ({ ...row, value: waits.text, expiresAt: null }),
      },
      // There is room for one, however large, and for no other.
      1,
    )
    const { turns } = parts
    const data = new TurnData(parts)
    await data.fetch({ kind: 'context', id: 1 }, 1)
    const { held } = turns
    expect(held).toBeGreaterThan(100_000)
    await data.fetch({ kind: 'context', id: 2 }, 1)
    expect([data.context(1)?.record.id, data.context(2)?.record.id, turns.held]).toEqual([1, 2, held])
    data.forget()
    expect([data.context(1), data.context(2), turns.held]).toEqual([undefined, undefined, 0])
  })
})

const request: RootRequest = { flux: end, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null }

test('a start takes one id, although it waits for that and for its definition', async () => {
  let reserved = 0
  const mailboxes = await openMailboxes({
    reserveIds({ count }) {
      reserved += count
      return Promise.resolve({ first: reserved, count })
    },
  })
  expect((await mailboxes.start(request)).record.id).toBe(1)
  expect(reserved).toBe(1)
})

test('the room of a turn is given back at its end', async () => {
  const stored = new Hand().start(waits).writes[0]?.context ?? null
  const mailboxes = await openMailboxes({
    load: () => Promise.resolve(stored),
    readRow: async (row) => ({ ...row, value: waits.text, expiresAt: null }),
  })
  expect(await mailboxes.post(1, event('go'))).toMatchObject({ moved: true })
  await mailboxes.idle()
  expect(mailboxes.turns.held).toBe(0)
})

test('a message that throws leaves nothing behind: the others take the ids that they took before', async () => {
  const written: number[] = []
  const mailboxes = await openMailboxes(
    {
      reserveIds: () => Promise.resolve({ first: 1, count: 9 }),
      commit({ writes }) {
        written.push(...writes.map(({ context: { id } }) => id))
        return Promise.resolve({ ok: true })
      },
    },
    {
      'p/Child.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] },
      'p/Parent.flux': {
        states: [
          {
            name: 'w',
            waiting: true,
            transitions: [
              { to: 'w', event: 'stay' },
              { to: 'call', event: 'go' },
            ],
          },
          { name: 'call', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'w' }] },
        ],
      },
    },
  )
  const start = async (name: string) => {
    const flux = mailboxes.catalog.find('p', name)
    if (!flux) throw new Error('it was loaded')
    return (await mailboxes.start({ ...request, flux })).record.id
  }
  // The definition of the child is stored already, so the turn below runs without a pause.
  expect([await start('Child'), await start('Parent')]).toEqual([1, 2])
  const throwing: Input = {
    type: 'EVENT',
    name: 'go',
    eventId: 'e-1',
    input: {},
    untyped: false,
    get tags(): never {
      throw new Error('half-way')
    },
    caller: SYSTEM,
  }
  const first = mailboxes.post(2, event('stay'))
  // Both wait for the first, and are decided in one turn.
  const [spawns, throws] = [mailboxes.post(2, event('go')), mailboxes.post(2, throwing)]
  await expect(throws).rejects.toThrow('half-way')
  expect([(await first).moved, (await spawns).record.child]).toEqual([true, 3])
  expect(written).toEqual([1, 2, 2, 2, 3])
  await mailboxes.idle()
})
