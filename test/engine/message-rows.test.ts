// Rows of messages: written in the commit of the turn, and a guard that fails concerns only its own message.
import { beforeEach, expect, test } from 'vitest'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import type { Mailboxes } from '../../src/engine/turn/mailboxes.ts'
import type { RowsOf } from '../../src/engine/turn/message.ts'
import type { RootRequest } from '../../src/engine/turn/start-request.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { inDoubt } from '../../src/model/failure.ts'
import type { RowWrite } from '../../src/model/rows.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { openMailboxes } from '../support/mailboxes.ts'
import { isOfDefinition } from '../support/stores.ts'
import { compiled, event } from '../support/turns.ts'

const flux = compiled({
  states: [
    {
      name: 'a',
      waiting: true,
      transitions: [
        { to: 'a', event: 'tick' },
        { to: 'b', event: 'end' },
      ],
    },
    { name: 'b' },
  ],
})
const request: RootRequest = { flux, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null }

const row = (key: string, value: string): RowWrite => ({
  partition: 0,
  space: 'idempotency',
  key,
  expects: null,
  value,
  expiresAt: null,
})
const rowsFor =
  (key: string, value: string): RowsOf =>
  () => [row(key, value)]

let store: Store
let mailboxes: Mailboxes
let commits: CommitRequest[]
/** Instead of the next commit. */
let instead: ((request: CommitRequest) => ReturnType<Store['commit']>) | null

beforeEach(async () => {
  store = new MemoryStore(new Memory({ now: () => 1000, silence: null }))
  commits = []
  instead = null
  const commit: Store['commit'] = (asked) => {
    if (isOfDefinition(asked)) return store.commit(asked)
    commits.push(asked)
    const run = instead ?? ((given) => store.commit(given))
    instead = null
    return run(asked)
  }
  mailboxes = await openMailboxes({ commit }, undefined, store)
})

const valueOf = async (key: string) => (await store.readRow({ partition: 0, space: 'idempotency', key }))?.value
const startOne = async () => (await mailboxes.start(request)).record.id
const versionOf = (id: number) => store.version({ id })

test('the rows of a start are in its commit, and none is there without the other', async () => {
  const { record } = await mailboxes.start(request, { rows: rowsFor('k', 'first') })
  expect(await valueOf('k')).toBe('first')
  expect(commits).toHaveLength(1)
  await expect(mailboxes.start(request, { rows: rowsFor('k', 'second') })).rejects.toMatchObject({
    name: 'RowTaken',
    space: 'idempotency',
    key: 'k',
    value: 'first',
  })
  expect([await valueOf('k'), await store.highestId()]).toEqual(['first', record.id])
})

test('a guard that fails takes out its own message; those of the same turn are committed', async () => {
  const id = await startOne()
  await store.commit({ writes: [], rows: [row('taken', 'before')] })
  const first = mailboxes.post(id, event('tick'))
  // These wait for the first turn, and are decided together.
  const [taken, free, plain] = [
    mailboxes.post(id, event('tick'), { rows: rowsFor('taken', 'x') }),
    mailboxes.post(id, event('tick'), { rows: rowsFor('free', 'y') }),
    mailboxes.post(id, event('tick')),
  ]
  await expect(taken).rejects.toMatchObject({ name: 'RowTaken', key: 'taken', value: 'before' })
  expect([(await first).moved, (await free).moved, (await plain).moved]).toEqual([true, true, true])
  expect([await valueOf('taken'), await valueOf('free')]).toEqual(['before', 'y'])
  expect((await plain).record.moves).toBe(4)
})

test('a guard that fails, of a row of the turn itself, fails all messages of the turn', async () => {
  const early = compiled({
    early: '1h',
    states: [
      { name: 'a', waiting: true, transitions: [{ to: 'b', event: 'go' }] },
      { name: 'b', waiting: true, transitions: [{ to: 'b', event: 'tick' }] },
    ],
  })
  const { id } = (await mailboxes.start({ ...request, flux: early })).record
  instead = async ({ rows: [own] = [] }) => {
    if (own?.space !== 'pending') throw new Error('the turn has no row of its own')
    return { ok: false, row: { space: own.space, key: own.key, value: null } }
  }
  const kept: Input = {
    type: 'EVENT',
    name: 'tick',
    eventId: 'e-2',
    input: {},
    untyped: false,
    tags: null,
    caller: SYSTEM,
    arrival: { tags: [], receipt: null, keep: null },
  }
  const first = mailboxes.post(id, event('nothing'))
  const both = [mailboxes.post(id, kept), mailboxes.post(id, event('go'))]
  await first
  const told = await Promise.allSettled(both)
  expect(told.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect((await mailboxes.post(id, event('go'))).moved).toBe(true)
})

test('of two in one turn that write the same row, the first is committed and the second refused', async () => {
  const id = await startOne()
  const first = mailboxes.post(id, event('tick'))
  const twins = ['one', 'two'].map((value) => mailboxes.post(id, event('tick'), { rows: rowsFor('k', value) }))
  const last = mailboxes.post(id, event('tick'))
  const [one, two] = await Promise.allSettled(twins)
  expect(one?.status).toBe('fulfilled')
  expect(two).toMatchObject({ status: 'rejected', reason: { name: 'RowTaken', value: 'one' } })
  expect((await last).record.moves).toBe(4)
  await first
})

test('what changes nothing writes its rows only if it asks for that', async () => {
  const id = await startOne()
  const add = { type: 'TAG' as const, add: [], remove: ['x'], caller: { roles: [] } }
  expect((await mailboxes.post(id, add, { rows: rowsFor('silent', 'x') })).moved).toBe(false)
  expect((await mailboxes.post(id, event('nobody'), { rows: rowsFor('refused', 'x') })).failure).not.toBeNull()
  expect([await valueOf('silent'), await valueOf('refused')]).toEqual([undefined, undefined])
  const before = await versionOf(id)
  await mailboxes.post(id, add, { rows: rowsFor('told', 'x'), rowsAlways: true })
  expect([await valueOf('told'), await versionOf(id)]).toEqual(['x', before])
  await expect(mailboxes.post(id, add, { rows: rowsFor('told', 'y'), rowsAlways: true })).rejects.toMatchObject({
    name: 'RowTaken',
  })
})

const movesRow: RowsOf = (_, { moves }) => [row('k', String(moves))]

test('rows are asked for again with each try, of the record that is committed', async () => {
  const id = await startOne()
  instead = async (asked) => {
    // Another server is faster.
    const [write] = asked.writes
    const stored = await store.load({ id })
    if (!write || !stored) throw new Error('there is a write')
    await store.commit({ writes: [{ ...write, context: { ...write.context, version: stored.version + 1 } }] })
    return store.commit(asked)
  }
  await mailboxes.post(id, event('tick'), { rows: movesRow })
  expect(await valueOf('k')).toBe('3')
})

test('a commit whose answer was lost leaves its rows, and its message is not committed a second time', async () => {
  const id = await startOne()
  instead = async (asked) => {
    await store.commit(asked)
    throw inDoubt('the answer was lost')
  }
  await expect(mailboxes.post(id, event('tick'), { rows: rowsFor('k', 'x') })).rejects.toMatchObject({
    failure: { kind: 'unavailable', inDoubt: true },
  })
  await expect(mailboxes.post(id, event('tick'), { rows: rowsFor('k', 'x') })).rejects.toMatchObject({
    name: 'RowTaken',
    value: 'x',
  })
  expect(await versionOf(id)).toBe(2)
})
