// The rows of a webhook's keys get the first answer of its context, in whatever commit that is made.
import { expect, test } from 'vitest'
import { decodeRecord } from '../../src/engine/record/decode.ts'
import { baseOf } from '../../src/engine/record/encode.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { runStart } from '../../src/engine/turn/turn.ts'
import { answerRowsAfter } from '../../src/engine/turn/answer.ts'
import { compiled, env, Hand, TERMINATE } from '../support/turns.ts'

const flux = compiled({ states: [{ name: 's', action: { type: 'script', script: 'return 1' } }] })
const MINUTE_MS = 60_000
const answerRows = [
  { key: 'a', hash: '', keepMs: 10 * MINUTE_MS },
  { key: 'b', hash: 'h', keepMs: 1000 },
]
const DONE = { type: 'DONE', epoch: 1, attempt: 1, owner: 'me', result: 1 } as const

/** A context that runs a step, and was started at 1000. */
function started({ rows = answerRows }: { rows?: typeof answerRows | null } = {}) {
  const hand = new Hand()
  const request = {
    flux,
    input: {},
    untyped: false,
    unknown: 'refuse',
    tags: [],
    trigger: null,
    request: { shown: {}, raw: new Uint8Array() },
    answerRows: rows ?? undefined,
  } as const
  const result = runStart(request, 0, hand, env())
  if (result.kind !== 'decided') throw new Error('it starts')
  const [write] = result.writes
  if (!write) throw new Error('it is written')
  hand.contexts.set(1, { record: result.context.record, flux, texts: write.context.parts })
  return { hand, stored: write.context, rows: result.rows, record: result.context.record }
}
const row = (key: string, hash: string, keepMs: number) => ({
  partition: 0,
  space: 'idempotency',
  key,
  value: JSON.stringify({ hash, at: 1000, answer: { kind: 'nothing', contextId: 1 } }),
  expiresAt: 1000 + keepMs,
})

test('a start writes none of them, and the commit with the answer all, without a guard', () => {
  const { hand, rows } = started()
  expect(rows).toEqual([])
  expect(hand.turn(1, [DONE], { now: 1500 }).rows).toEqual([row('a', '', 10 * MINUTE_MS), row('b', 'h', 1000)])
  expect(hand.turn(1, [DONE], { now: 1500 }).rows).toEqual([])
})

test('a context that is terminated has its answer', () => {
  const { hand } = started()
  expect(hand.turn(1, [TERMINATE], { now: 1500 }).rows).toHaveLength(2)
})

test('a context that is retried has had its answer: its next end leaves the rows alone', () => {
  const { hand } = started()
  hand.turn(1, [TERMINATE], { now: 1500 })
  const retry = { state: null, input: null, definition: null, newKey: false, seen: null, untyped: false } as const
  hand.turn(1, [{ type: 'RETRY', ...retry, caller: SYSTEM }], { now: 1600 })
  const { context, rows } = hand.turn(1, [{ ...DONE, epoch: 2 }], { now: 1700 })
  expect([context.record.status, rows]).toEqual(['COMPLETED', []])
})

test.each([
  [1899, ['a', 'b']],
  [1900, ['a']],
  [1000 + 9 * MINUTE_MS - 1, ['a']],
  [1000 + 9 * MINUTE_MS, []],
])('rows that expire, or are about to at %i, are left alone', (now, keys) => {
  const { hand } = started()
  expect(hand.turn(1, [DONE], { now }).rows.map(({ key }) => key)).toEqual(keys)
})

test('a context without such rows writes none, and its record does not mention them', () => {
  const { hand, stored } = started({ rows: null })
  expect(stored.parts['base']).not.toContain('answerRows')
  expect(hand.turn(1, [DONE]).rows).toEqual([])
})

test('they are in the part of the record that is written once, and are read from there', () => {
  const { hand, stored, record } = started()
  expect(decodeRecord(stored)).toEqual(record)
  expect(decodeRecord(stored).answerRows).toEqual(answerRows)
  const [write] = hand.turn(1, [DONE]).writes
  expect(write?.changed).not.toContain('base')
  expect(write?.context.parts['base']).toBe(stored.parts['base'])
  expect(JSON.stringify(baseOf({ ...record, answerRows: undefined }))).not.toContain('answerRows')
})

test('a context that ends without a turn, of which only the head is read, has its answer', () => {
  const { record } = started()
  const error = {
    type: 'ServerLost',
    message: 'six servers were lost',
    className: '',
    realException: null,
    fluxStackTrace: [],
  }
  const ended = { ...record, status: 'FAILED' as const, updatedAt: 1200, endedAt: 1200, error }
  const rows = answerRowsAfter({ before: record, record: ended, flux }, 1)
  expect(rows.map(({ value }) => JSON.parse(value ?? '').answer)).toEqual(
    [1, 2].map(() => ({ kind: 'failed', contextId: 1, reason: 'ServerLost: six servers were lost' })),
  )
  expect(answerRowsAfter({ before: { ...record, paused: 'WAITING' }, record: ended, flux }, 1)).toEqual([])
})
