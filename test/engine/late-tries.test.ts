// Broadcasts whose commits come true late, or unheard of: whoever carries them on moves and starts nobody a second time,
// and tells of those who were.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventAnswer, Receipt } from '../../src/api/events.ts'
import { BroadcastRows } from '../../src/engine/fanout/broadcast-rows.ts'
import { move } from '../../src/engine/fanout/receivers.ts'
import { RowTaken } from '../../src/engine/turn/message.ts'
import { partitionOfKey } from '../../src/engine/record/index-keys.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { conflict, inDoubt, notFound, unavailable } from '../../src/model/failure.ts'
import type { CommitOutcome, CommitRequest, Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { BEAT_MS, SharedMemory } from '../support/shared-memory.ts'
import type { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore, withVerbs } from '../support/stores.ts'
import { silent as log } from '../support/silent.ts'
import { storesOf } from '../support/effort.ts'

const open = [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'more' }] }]
const FILES: Files = {
  /** Takes the event once. */
  'p/Once.flux': {
    states: [
      {
        name: 'w',
        waiting: true,
        transitions: [
          { to: 'taken', event: 'once' },
          { to: 'taken', event: 'only' },
        ],
      },
      { name: 'taken', waiting: true, transitions: [{ to: 'w', event: 'back' }] },
    ],
  },
  'p/Plain.flux': { triggers: ['plain'], states: open },
  'p/Counts.flux': {
    triggers: [{ event: 'keyed', key: 'k' }],
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 's', waiting: true, transitions: [{ to: 'seen', event: 'keyed' }] },
      {
        name: 'seen',
        action: { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
        transitions: [{ to: 's' }],
      },
    ],
  },
  /** Its key is looked up before the commit. */
  'p/Never.flux': {
    triggers: [{ event: 'never', key: 'k' }],
    keyReuse: 'never',
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 's', waiting: true, transitions: [{ to: 'seen', event: 'never' }] },
      {
        name: 'seen',
        action: { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
        transitions: [{ to: 's' }],
      },
    ],
  },
  'p/Chance.flux': {
    triggers: [{ event: 'chance', key: '${uuid()}-${random()}-${now()}-${$trackerId}' }],
    states: open,
  },
  'p/Unless.flux': {
    triggers: [
      { event: 'once', unlessMoved: true },
      { event: 'late', key: '${uuid()}', unlessMoved: true },
    ],
    states: open,
  },
  /** Takes it, or doesn't wait for it. */
  'p/Late.flux': {
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'w', event: 'go' }] },
      { name: 'w', waiting: true, transitions: [{ to: 'begin', event: 'late' }] },
    ],
  },
  'p/Both.flux': { states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'both' }] }] },
  'p/Began.flux': { triggers: ['both'], states: open },
  'p/Input.flux': {
    input: [{ name: 'at', type: 'date', defaultValue: 'now' }],
    triggers: [{ event: 'input', key: '${at}' }],
    states: open,
  },
  'p/Root.flux': { triggers: ['root'], key: '${uuid()}', states: open },
}

/** What becomes of a commit: its server hears nothing of it, and it is made never, at once or later. */
type Fate = 'lost' | 'unanswered' | 'late' | null

const startsOf = async (bench: Bench, fluxName: string) =>
  (await bench.listContexts({ fluxName, limit: 20 })).map(({ id }) => id)

describe.each(storesOf([3, 1]))('in a store of %i partitions', (partitions) => {
  let shared: SharedMemory
  let clock: SimulatedClock
  let servers: Bench[]
  /** Of the next commits of contexts of the first server. */
  let fateOf: (request: CommitRequest) => Fate
  let late: (() => Promise<CommitOutcome>)[]
  /** Whether the first server is dead. */
  let isDead: boolean

  const unreliable = (store: Store): Store =>
    withVerbs(store, {
      async commit(request) {
        if (isDead) throw unavailable('dead')
        const fate = request.writes.length > 0 ? fateOf(request) : null
        if (fate === 'lost') throw inDoubt('unanswered')
        if (fate === 'late') {
          late.push(() => store.commit(request))
          throw inDoubt('unanswered')
        }
        const outcome = await store.commit(request)
        if (fate === 'unanswered') throw inDoubt('unanswered')
        return outcome
      },
      heartbeat: (request) => (isDead ? Promise.reject(unavailable('dead')) : store.heartbeat(request)),
    })

  const openServer = async (wrap: (store: Store) => Store = (store) => store) => {
    const bench = await openBench(FILES, { ...shared.server(), wrap })
    servers.push(bench)
    return bench
  }

  beforeEach(() => {
    shared = new SharedMemory(partitions)
    ;({ clock } = shared)
    ;[servers, late, fateOf, isDead] = [[], [], () => null, false]
  })
  afterEach(() => {
    isDead = false
  })

  const failed = { failure: { kind: 'unavailable', inDoubt: true } }

  /** Another server carries it on, once the first has said nothing for too long. */
  async function carriedOn(request: { event: string; eventId: string }): Promise<[Bench, EventAnswer]> {
    isDead = true
    const two = await openServer()
    await clock.advance(9 * BEAT_MS)
    await expect.poll(async () => (await two.getEvent({ eventId: request.eventId })).done).toBe(true)
    return [two, await two.sendEvent(request)]
  }

  const chance = { event: 'chance', eventId: 'e' }

  test.each([
    ['a key that is made by chance', 'chance', 'Chance'],
    ['a key of its service that is made by chance', 'root', 'Root'],
    ['a key of the time', 'input', 'Input'],
    ['a fixed key', 'keyed', 'Counts'],
    ['no key', 'plain', 'Plain'],
  ])('a start under %s, which came true unheard of, is not made again', async (_, event, fluxName) => {
    // Each broadcast has other keys: they lie in several partitions.
    for (let nr = 0; nr < 6; nr += 1) {
      const one = await openServer(unreliable)
      const request = { event, eventId: `e${nr}`, input: {} }
      fateOf = ({ writes: [write] }) => (write?.previous === 0 ? 'unanswered' : null)
      await expect(one.sendEvent(request)).rejects.toMatchObject(failed)
      fateOf = () => null
      const [two, { executions, transitions, ignored }] = await carriedOn(request)
      expect([executions, transitions, ignored]).toEqual([[{ contextId: expect.any(Number), state: 's' }], [], []])
      const [contextId = 0, ...others] = await startsOf(two, fluxName)
      expect([contextId, others]).toEqual([executions[0]?.contextId, []])
      await two.terminate({ contextId })
      isDead = false
      await Promise.all(servers.splice(0).map((bench) => bench.engine.close({ grace: 0 })))
    }
  })

  test.each(['unanswered', 'late'] as const)(
    'a context that got the event in place of a start, %s, and has ended since: no other is started',
    async (fate) => {
      for (let nr = 0; nr < 6; nr += 1) {
        const one = await openServer(unreliable)
        const { executions } = await one.sendEvent({ event: 'keyed', eventId: `first${nr}`, tags: ['t'] })
        const [{ contextId } = { contextId: 0 }] = executions
        const request = { event: 'keyed', eventId: `e${nr}` }
        fateOf = ({ writes: [write] }) => (write?.context.id === contextId ? fate : null)
        await expect(one.sendEvent(request)).rejects.toMatchObject(failed)
        isDead = true
        const two = await openServer()
        for (const commit of late.splice(0)) await commit()
        await two.terminate({ contextId })
        await clock.advance(9 * BEAT_MS)
        await expect.poll(async () => (await two.getEvent({ eventId: request.eventId })).done).toBe(true)
        const receipt = await two.getEvent({ eventId: request.eventId })
        expect([receipt.moved.map((one) => one.contextId), receipt.started]).toEqual([[contextId], []])
        expect((await two.sendEvent(request)).transitions).toEqual([{ contextId, state: 's' }])
        ;[isDead, fateOf] = [false, () => null]
        await Promise.all(servers.splice(0).map((bench) => bench.engine.close({ grace: 0 })))
      }
    },
  )

  test('a start in doubt, whose key a context has that got the event already, is never made', async () => {
    for (let nr = 0; nr < 6; nr += 1) {
      const one = await openServer(unreliable)
      const { executions } = await one.sendEvent({ event: 'keyed', eventId: `first${nr}` })
      const [{ contextId } = { contextId: 0 }] = executions
      const request = { event: 'keyed', eventId: `e${nr}` }
      fateOf = ({ writes: [write] }) => (write?.previous === 0 ? 'late' : null)
      await expect(one.sendEvent(request)).rejects.toMatchObject(failed)
      fateOf = () => null
      await clock.advance(9 * BEAT_MS)
      await expect.poll(async () => (await one.getEvent({ eventId: request.eventId })).done).toBe(true)
      await one.terminate({ contextId })
      expect(late).toHaveLength(1)
      for (const commit of late.splice(0)) await commit()
      const receipt = await one.getEvent({ eventId: request.eventId })
      expect([receipt.moved.map((moved) => moved.contextId), receipt.started]).toEqual([[contextId], []])
      expect(await startsOf(one, 'Counts')).toEqual([])
      await Promise.all(servers.splice(0).map((bench) => bench.engine.close({ grace: 0 })))
    }
  })

  test.each([
    ['a key that is made by chance', 'chance', 'Chance'],
    ['a key of its service that is made by chance', 'root', 'Root'],
    ['a key of the time', 'input', 'Input'],
    ['no key', 'plain', 'Plain'],
  ])('a start under %s comes true late, in whatever partition: there is one', async (_, event, fluxName) => {
    for (let nr = 0; nr < 6; nr += 1) {
      const one = await openServer(unreliable)
      const request = { event, eventId: `e${nr}`, input: {} }
      fateOf = ({ writes: [write] }) => (write?.previous === 0 ? 'late' : null)
      await expect(one.sendEvent(request)).rejects.toMatchObject(failed)
      isDead = true
      const two = await openServer((store) =>
        withVerbs(store, {
          async commit(made) {
            // While the other server is about to start it.
            if (made.writes.some(({ previous }) => previous === 0)) for (const commit of late.splice(0)) await commit()
            return store.commit(made)
          },
        }),
      )
      await clock.advance(9 * BEAT_MS)
      await expect.poll(async () => (await two.getEvent({ eventId: request.eventId })).done).toBe(true)
      const { executions } = await two.sendEvent(request)
      const ids = await startsOf(two, fluxName)
      expect([late.length, ids.length]).toEqual([0, 1])
      expect(executions.map(({ contextId }) => contextId)).toEqual(ids)
      await two.terminate({ contextId: ids[0] ?? 0 })
      isDead = false
      await Promise.all(servers.splice(0).map((bench) => bench.engine.close({ grace: 0 })))
    }
  })

  test.each([
    ['once', 'Once', async (bench: Bench, contextId: number) => bench.sendEvent({ contextId, event: 'back' })],
    ['late', 'Late', async (bench: Bench, contextId: number) => bench.sendEvent({ contextId, event: 'go' })],
  ])(
    'a start that was ruled out, since whoever carries %s on moved somebody, does not come late',
    async (event, fluxName, beginToWait) => {
      for (let nr = 0; nr < 6; nr += 1) {
        const one = await openServer(unreliable)
        const contextId = await one.run(fluxName)
        if (event === 'once') await one.sendEvent({ contextId, event })
        const request = { event, eventId: `e${nr}` }
        fateOf = () => 'late'
        await expect(one.sendEvent(request)).rejects.toMatchObject(failed)
        fateOf = () => null
        await beginToWait(one, contextId)
        const [two, { transitions, executions }] = await carriedOn(request)
        expect([transitions, executions]).toMatchObject([[{ contextId }], []])
        const [commit] = late.splice(0)
        expect(await commit?.()).toMatchObject({ ok: false })
        expect(await startsOf(two, 'Unless')).toEqual([])
        isDead = false
        await two.terminate({ contextId })
        await Promise.all(servers.splice(0).map((bench) => bench.engine.close({ grace: 0 })))
      }
    },
  )

  test('a move that comes true while another server carries it on is told as a move', async () => {
    const one = await openServer(unreliable)
    const ids = [await one.run('Once'), await one.run('Once')]
    const request = { event: 'only', eventId: 'e' }
    fateOf = () => 'late'
    await expect(one.sendEvent(request)).rejects.toMatchObject(failed)
    isDead = true
    const two = await openServer((store) =>
      withVerbs(store, {
        async commit(made) {
          if (made.writes.length > 0) for (const commit of late.splice(0)) await commit()
          return store.commit(made)
        },
      }),
    )
    await clock.advance(9 * BEAT_MS)
    await expect.poll(async () => (await two.getEvent({ eventId: 'e' })).done).toBe(true)
    const { transitions, ignored } = await two.sendEvent(request)
    expect(transitions.map(({ contextId, state }) => [contextId, state]).toSorted()).toEqual(
      ids.map((id) => [id, 'taken']),
    )
    expect(ignored).toEqual([])
  })

  test('an event that has reached nobody goes to who has the key by then, when it is carried on again', async () => {
    const bench = await openServer(unreliable)
    const send = () => bench.sendEvent({ event: 'keyed', eventId: 'e' })
    fateOf = () => 'lost'
    await expect(send()).rejects.toMatchObject(failed)
    fateOf = () => null
    const contextId = await bench.run('Counts', {}, { key: 'k' })
    // The start is refused, since that one has the key.
    fateOf = ({ writes }) => (writes.some(({ previous }) => previous > 0) ? 'late' : null)
    await clock.advance(BEAT_MS)
    await expect.poll(() => late.length).toBeGreaterThan(0)
    fateOf = () => null
    await clock.advance(BEAT_MS)
    await expect.poll(async () => (await bench.getEvent({ eventId: 'e' })).done).toBe(true)
    expect((await send()).transitions).toEqual([{ contextId, state: 's' }])
    for (const commit of late) expect(await commit()).toMatchObject({ ok: false })
    expect(outputs(await bench.getContext({ contextId }))['n']).toBe(1)
  })

  test('a start that came true before it could be ruled out is told', async () => {
    const one = await openServer(unreliable)
    const contextId = await one.run('Once')
    await one.sendEvent({ contextId, event: 'once' })
    fateOf = () => 'late'
    await expect(one.sendEvent({ event: 'once', eventId: 'e' })).rejects.toMatchObject(failed)
    fateOf = () => null
    await one.sendEvent({ contextId, event: 'back' })
    isDead = true
    const two = await openServer((store) =>
      withVerbs(store, {
        async commit(made) {
          if (made.writes.length > 0) for (const commit of late.splice(0)) await commit()
          return store.commit(made)
        },
      }),
    )
    await clock.advance(9 * BEAT_MS)
    await expect.poll(async () => (await two.getEvent({ eventId: 'e' })).done).toBe(true)
    const { transitions, executions } = await two.sendEvent({ event: 'once', eventId: 'e' })
    const [started] = await startsOf(two, 'Unless')
    expect([transitions, executions]).toEqual([[{ contextId, state: 'taken' }], [{ contextId: started, state: 's' }]])
  })

  test('a receipt tells of a move and a start that came true after they were told to be in doubt', async () => {
    const one = await openServer(unreliable)
    const comesTrue = async (eventId: string) => {
      for (const commit of late.splice(0)) await commit()
      await clock.advance(BEAT_MS)
      await expect.poll(async () => (await one.getEvent({ eventId })).done).toBe(true)
      return one.getEvent({ eventId })
    }
    const ids = [await one.run('Once'), await one.run('Once')]
    const [, second = 0] = ids
    fateOf = ({ writes: [write] }) => (write?.context.id === second ? 'late' : null)
    await expect(one.sendEvent({ event: 'only', eventId: 'e' })).rejects.toMatchObject(failed)
    expect(await one.getEvent({ eventId: 'e' })).toMatchObject({ done: false, counts: { moved: 1 } })
    fateOf = () => null
    const { moved, ignored, counts } = await comesTrue('e')
    expect([moved.map(({ contextId }) => contextId).toSorted(), ignored]).toEqual([ids, []])
    expect(counts).toMatchObject({ moved: 2, started: 0, ignored: 0 })

    const waiting = await one.run('Both')
    fateOf = ({ writes: [write] }) => (write?.previous === 0 ? 'late' : null)
    await expect(one.sendEvent({ event: 'both', eventId: 'f' })).rejects.toMatchObject(failed)
    fateOf = () => null
    const receipt = await comesTrue('f')
    const [contextId = 0] = await startsOf(one, 'Began')
    expect(receipt).toMatchObject({
      moved: [{ contextId: waiting }],
      started: [{ contextId }],
      ignored: [],
      counts: { moved: 1, started: 1, ignored: 0 },
    })
  })

  const accepted = async (event: string): Promise<[Bench, () => Promise<Receipt>]> => {
    const bench = await openServer(unreliable)
    return [
      bench,
      async () => {
        let times = 0
        fateOf = () => ((times += 1) === 1 ? 'unanswered' : null)
        await bench.sendEvent({ event, eventId: 'e', respondAsync: true })
        for (let tries = 0; tries < 5; tries += 1) await bench.advance(BEAT_MS)
        return bench.getEvent({ eventId: 'e' })
      },
    ]
  }

  describe('one that is accepted, whose server is told nothing of a commit that was made,', () => {
    test('tells of the move, and not that it was ignored', async () => {
      const [bench, send] = await accepted('once')
      const contextId = await bench.run('Once')
      expect(await send()).toMatchObject({
        done: true,
        moved: [{ contextId, state: 'taken' }],
        counts: { moved: 1, started: 0, ignored: 0 },
      })
    })

    test.each([
      ['a key', 'keyed', 'Counts'],
      ['a key that is never used again', 'never', 'Never'],
    ])('does not send the event to what it has started under %s', async (_, event, fluxName) => {
      const [bench, send] = await accepted(event)
      const { done, started, counts } = await send()
      expect([done, counts]).toMatchObject([true, { moved: 0, started: 1, ignored: 0 }])
      const view = await bench.getContext({ key: 'k', fluxName })
      expect([started[0]?.contextId, outputs(view)['n']]).toEqual([view.id, 0])
    })
  })

  test('keys that are made by chance lie in all partitions', async () => {
    const one = await openServer()
    const keys = new Set<string>()
    const found = new Set<number>()
    let tries = 0
    // That two hundred keys leave out one of three partitions has a chance of 10^-35.
    for (; tries < 20 || (found.size < partitions && tries < 200); tries += 1) {
      const { executions } = await one.sendEvent({ ...chance, eventId: `e${tries}` })
      const { key } = await one.getContext({ contextId: executions[0]?.contextId ?? 0 })
      keys.add(String(key))
      found.add(partitionOfKey({ package: 'p', fluxName: 'Chance', key: String(key) }, partitions))
    }
    expect([keys.size, found.size]).toEqual([tries, partitions])
  })
})

const AWAY = { failure: { kind: 'unavailable' } }
const item = (contextId: number) => ({ answer: 'transitions', stand: { contextId, state: 's' }, at: 1 }) as const
const sent = { event: 'go', input: {}, untyped: false, tags: [], caller: ANONYMOUS, eventId: 'e', ttl: null }

const post = (id: number) => {
  const value = JSON.stringify(item(id))
  return Promise.reject(
    id === 4 ? new RowTaken({ space: 'items', key: 'row', value }) : id === 2 ? conflict('no') : notFound('gone'),
  )
}

/** Sends it to contexts 1 to 4, of which rows tell as `readRow` says. */
function sentAgain(readRow: Store['readRow']) {
  const store = emptyStore({ readRow })
  const rows = new BroadcastRows(store, 'row', { sent, upTo: 4, expiresAt: 0, drawn: { seed: 's', now: 0 } })
  const catalog = { all: () => [], triggeredBy: () => [] }
  const mailboxes = { post, start: () => post(0) }
  const refusals = { log: () => Promise.resolve() }
  const sending = { store, rows, mailboxes, log, catalog, refusals, sent }
  return Promise.all([1, 2, 3, 4].map((id) => move(sending, id)))
}

test('of those for whom nothing is to be told, or who ignored it, the rows tell who was moved before', async () => {
  const readRow: Store['readRow'] = async ({ key, partition, space }) => {
    const id = Number(key.split(':')[1])
    expect([partition, space]).toEqual([0, 'items'])
    return id < 3 ? { key, partition, value: JSON.stringify(item(id)), expiresAt: null } : null
  }
  expect(await sentAgain(readRow)).toEqual([item(1), item(2), null, item(4)])
})

test('nothing is told of them while these rows are out of reach', async () => {
  expect(await sentAgain(() => Promise.reject(unavailable('away')))).toMatchObject([AWAY, AWAY, AWAY, item(4)])
})
