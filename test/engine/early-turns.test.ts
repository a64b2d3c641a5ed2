// Turns of contexts that keep events: what one turn does, what it leaves to the next, and what is stored.
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json/value.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import { copyRowKey, outcomeRowKey, pendingRowKey } from '../../src/model/pending.ts'
import { compiled, env, event, Hand, TERMINATE } from '../support/turns.ts'
import { endedUnread, pendingRowsOf } from '../../src/engine/turn/pending-events.ts'
import { decodeHead } from '../../src/engine/record/decode.ts'
import { headWrite } from '../../src/engine/record/encode.ts'
import { runTurn } from '../../src/engine/turn/turn.ts'

const NOW_MS = 1000

const flux = (busy: JsonObject) =>
  compiled({
    early: '1h',
    output: [{ name: 'seen', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 'idle', waiting: true, transitions: [{ to: 'busy', event: 'go' }] },
      { name: 'busy', waiting: true, ...busy },
    ],
  })

const counts = { type: 'map', lines: [{ type: 'set', expression: 'seen + 1', evaluate: true, to: ['seen'] }] }
const plain = flux({ action: counts, transitions: [{ to: 'busy', event: 'tick' }] })
const heavy = flux({
  action: {
    type: 'map',
    lines: [
      {
        type: 'set',
        expression: 'seen + ("x".repeat(9000).split("").map(c => c + c).map(c => c + c).length > 0 ? 1 : 0)',
        evaluate: true,
        to: ['seen'],
      },
    ],
  },
  transitions: [{ to: 'busy', event: 'tick' }],
})

const tick = (nr: number, more: object = {}): Input => ({
  type: 'EVENT',
  name: 'tick',
  input: {},
  untyped: false,
  tags: null,
  caller: SYSTEM,
  eventId: `e${nr}`,
  arrival: { tags: [], receipt: `r${nr}`, keep: null },
  ...more,
})
const WAKE: Input = { type: 'WAKE' }

test('a record without such events has no part for them, and its turns write no rows', () => {
  const hand = new Hand()
  const started = hand.start(plain)
  const { id } = started.context.record
  const moved = hand.turn(id, [event('go'), event('tick'), TERMINATE])
  for (const { writes, rows } of [started, moved]) {
    expect(Object.keys(writes[0]?.context.parts ?? {})).not.toContain('pending')
    expect(rows).toEqual([])
    expect(rows).toBe(started.rows)
  }
})

test('keeping one changes its own part alone, and lists it', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  const { writes, rows, results } = hand.turn(id, [tick(1)])
  expect(results).toEqual([{ kind: 'kept', expiresAt: NOW_MS + 3_600_000 }])
  expect(writes[0]?.changed).toEqual(['pending'])
  const key = pendingRowKey({ receivedAt: NOW_MS, eventId: 'e1', contextId: id }, 'r1')
  expect(rows).toMatchObject([
    { space: 'pending', key, expiresAt: NOW_MS + 3_600_000 },
    { space: 'copies', key: copyRowKey('e1', id, 'r1'), value: key },
  ])
  expect(JSON.parse(rows[0]?.value ?? '')).toMatchObject({ eventId: 'e1', contextId: id, fluxName: 'Test' })
  const taken = hand.turn(id, [event('go')])
  expect(Object.keys(taken.writes[0]?.context.parts ?? {})).not.toContain('pending')
  expect(taken.rows.map((row) => [row.space, row.key, row.value === null])).toEqual([
    ['pending', key, true],
    ['copies', copyRowKey('e1', id, 'r1'), true],
    ['items', outcomeRowKey('r1', id), false],
  ])
})

test('one that is kept and taken in one turn is told as pending, and leaves nothing but its outcome', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  const { results, rows, context } = hand.turn(id, [tick(1), event('go')])
  expect(results).toMatchObject([{ kind: 'kept' }, { kind: 'next' }])
  expect(context.record).toMatchObject({ pending: [], output: { seen: 1 } })
  expect(rows).toMatchObject([{ space: 'items', key: outcomeRowKey('r1', id) }])
})

test('senders of different scopes may give their events the same id', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  hand.turn(id, [tick(1), tick(1, { arrival: { eventId: 'e1', tags: [], receipt: 'other', keep: 60_000 } })])
  const one = hand.turn(id, [tick(2)], { now: NOW_MS + 60_000 })
  // One copy is over: the other is still found.
  expect(one.context.record.pending.map(({ receipt }) => receipt)).toEqual(['r1', 'r2'])
  expect(one.rows.filter(({ space, value }) => space === 'copies' && value === null)).toMatchObject([
    { key: copyRowKey('e1', id, 'other') },
  ])
  const { rows } = hand.turn(id, [event('go')])
  expect(rows.filter(({ space }) => space === 'items').map(({ key }) => key)).toEqual([
    outcomeRowKey('r1', id),
    outcomeRowKey('r2', id),
  ])
})

test('withdrawing what one sender sent leaves what another sent under the same id', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  hand.turn(id, [tick(1), tick(1, { arrival: { eventId: 'e1', tags: [], receipt: 'other', keep: 60_000 } })])
  const withdraw: Input = { type: 'WITHDRAW', eventId: 'e1', receipt: 'other', caller: SYSTEM }
  const { results, rows, context } = hand.turn(id, [withdraw, withdraw])
  expect(results).toEqual([{ kind: 'withdrawn' }, { kind: 'noop' }])
  expect(context.record.pending.map(({ receipt }) => receipt)).toEqual(['r1'])
  expect(rows.filter(({ value }) => value === null).map(({ space, key }) => [space, key])).toEqual([
    ['pending', pendingRowKey({ receivedAt: NOW_MS, eventId: 'e1', contextId: id }, 'other')],
    ['copies', copyRowKey('e1', id, 'other')],
  ])
})

test('withdrawing removes all copies, and is nothing where there are none', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  const withdraw: Input = { type: 'WITHDRAW', eventId: 'e1', receipt: null, caller: SYSTEM }
  hand.turn(id, [tick(1), tick(2), tick(1, { arrival: { eventId: 'e1', tags: [], receipt: null, keep: 'end' } })])
  const { results, rows, context } = hand.turn(id, [withdraw, withdraw])
  expect(results).toEqual([{ kind: 'withdrawn' }, { kind: 'noop' }])
  expect(context.record.pending.map(({ eventId }) => eventId)).toEqual(['e2'])
  expect(rows.filter(({ value }) => value !== null)).toMatchObject([{ space: 'items', key: outcomeRowKey('r1', id) }])
  expect(hand.turn(id, [TERMINATE, withdraw]).results).toEqual([{ kind: 'next' }, { kind: 'noop' }])
})

test('each starts the count of a thousand moves anew', () => {
  const states: JsonObject[] = [
    { name: 'idle', waiting: true, transitions: [{ to: 'busy', event: 'go' }] },
    { name: 'busy', waiting: true, transitions: [{ to: 'run', event: 'tick' }] },
    {
      name: 'run',
      action: {
        type: 'map',
        lines: [
          { type: 'set', expression: 'seen + 1', evaluate: true, to: ['seen'] },
          { type: 'set', expression: 'seen % 400 == 0 ? "over" : "on"', evaluate: true, to: ['$fluxEvent'] },
        ],
      },
      transitions: [
        { to: 'run', event: 'on' },
        { to: 'busy', event: 'over' },
      ],
    },
  ]
  const far = compiled({ early: 3600, output: [{ name: 'seen', type: 'integer', defaultValue: 0 }], states })
  expect(far.early.get('tick')).toBe(3_600_000)
  const hand = new Hand()
  const { id } = hand.start(far).context.record
  hand.turn(
    id,
    Array.from({ length: 5 }, (_, nr) => tick(nr)),
  )
  let { context } = hand.turn(id, [event('go')])
  for (let turns = 0; context.record.pending.length > 0 && turns < 10; turns += 1) ({ context } = hand.turn(id, [WAKE]))
  expect(context.record).toMatchObject({ status: 'WAITING', output: { seen: 2000 }, pending: [] })
})

test('heavy ones take several turns: what is stored is due at once, and the record says when the context is due', () => {
  const hand = new Hand()
  const { id } = hand.start(heavy).context.record
  hand.turn(
    id,
    Array.from({ length: 100 }, (_, nr) => tick(nr)),
  )
  const first = hand.turn(id, [event('go'), event('tick')])
  const { record } = first.context
  expect(first.results).toHaveLength(1)
  expect(record.pending.length).toBeGreaterThan(0)
  expect(record).toMatchObject({ status: 'WAITING', due: null })
  expect(first.writes[0]?.context.due).toBe(NOW_MS)
  // A message that comes now is behind them all; a wake-up goes on.
  const second = hand.turn(id, [event('tick')])
  expect(second.results).toEqual([])
  expect(second.context.record.pending.length).toBeLessThan(record.pending.length)
  let last = second
  for (let turns = 0; last.context.record.pending.length > 0 && turns < 100; turns += 1) last = hand.turn(id, [WAKE])
  expect(last.context.record.output).toEqual({ seen: 100 })
  expect(last.writes[0]?.context.due).toBe(null)
})

test('those left from a turn that are over by then are dropped, and nothing is due any more', () => {
  const hand = new Hand()
  const { id } = hand.start(heavy).context.record
  hand.turn(
    id,
    Array.from({ length: 100 }, (_, nr) => tick(nr)),
  )
  const { context: stopped } = hand.turn(id, [event('go')])
  const late = hand.turn(id, [WAKE], { now: NOW_MS + 3_600_000 })
  expect(late.context.record.pending).toEqual([])
  expect(late.context.record.output).toEqual(stopped.record.output)
  expect(late.writes[0]?.context.due).toBe(null)
})

test('a context that has become too large ends without taking any', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  hand.turn(id, [tick(1), tick(2)])
  const error = { message: 'too large', type: 'T', className: 'T', realException: null }
  const result = runTurn(id, [{ type: 'OUTGROWN', error }], hand, env())
  expect(result).toMatchObject({ kind: 'decided', context: { record: { status: 'FAILED', pending: [] } } })
  expect(result.kind === 'decided' && result.rows.filter(({ space }) => space === 'items')).toHaveLength(2)
})

test('one whose turn fails half-way is not told to have expired: nothing is written', () => {
  const parent = compiled({
    early: '1h',
    states: [
      { name: 'idle', waiting: true, transitions: [{ to: 'busy', event: 'go' }] },
      { name: 'busy', waiting: true, transitions: [{ to: 'calls', event: 'tick' }] },
      { name: 'calls', action: { type: 'invokeFlux', name: 'Child' } },
    ],
  })
  const hand = new Hand()
  const { id } = hand.start(parent).context.record
  hand.turn(id, [tick(1)])
  hand.service = () => {
    throw new Error('a bug of the server')
  }
  expect(runTurn(id, [event('go')], hand, env())).toMatchObject({ kind: 'threw', error: { name: 'Undecidable' } })
})

test('what is kept does not count for the size of the context', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  const input = { text: 'x'.repeat(50_000) }
  expect(hand.turn(id, [tick(1, { input })], { maxRecord: 10_000 }).results).toMatchObject([{ kind: 'kept' }])
})

test('a context that ends without a turn, of which only the head is read, keeps none', () => {
  const hand = new Hand()
  const { id } = hand.start(plain).context.record
  const { writes } = hand.turn(id, [tick(1), tick(2)])
  const stored = writes[0]?.context
  if (!stored) throw new Error('it was written')
  const before = decodeHead(stored)
  const ended = { ...before, status: 'FAILED' as const, endedAt: 2000 }
  const facts = env({ receiptsMs: 1, now: 2000 })
  const end = (texts: typeof stored.parts) => {
    const context = endedUnread(before, { record: ended, flux: plain, texts }, facts.now)
    return { record: context.record, rows: pendingRowsOf(context, facts) }
  }
  const { record, rows } = end(stored.parts)
  expect(record.pending).toEqual([])
  expect(rows.filter(({ value }) => value === null)).toHaveLength(4)
  expect(rows.filter(({ space }) => space === 'items').map(({ value }) => value)).toEqual([
    '{"became":"expired","at":2000,"reason":"the context ended"}',
    '{"became":"expired","at":2000,"reason":"the context ended"}',
  ])
  expect(Object.keys(headWrite(stored, record, plain, []).context.parts)).not.toContain('pending')
  expect(Object.keys(headWrite(stored, before, plain, []).context.parts)).toContain('pending')
  // What can't be read does not keep it from ending.
  expect(end({ ...stored.parts, pending: '[{' })).toEqual({ record: ended, rows: [] })
})
