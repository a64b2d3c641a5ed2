// What a turn decides of a retry, and of a pause, beside what stores and servers make of it.
import { expect, test } from 'vitest'
import { SYSTEM } from '../../src/model/caller.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import { endRowsOf } from '../../src/engine/turn/answer.ts'
import { readDue } from '../../src/engine/on-end/end-webhooks.ts'
import { compiled, env, event, Hand, TERMINATE } from '../support/turns.ts'

const retry = (more: object = {}): Input => ({
  type: 'RETRY',
  state: null,
  input: null,
  untyped: false,
  definition: null,
  newKey: false,
  seen: null,
  caller: SYSTEM,
  ...more,
})
const PAUSE: Input = { type: 'PAUSE', caller: SYSTEM }
const RESUME: Input = { type: 'RESUME', caller: SYSTEM }

const child = compiled(
  {
    states: [{ name: 'hold', waiting: true, transitions: [{ to: 'end', event: 'end' }] }, { name: 'end' }],
  },
  'Child',
)
const parent = compiled({ states: [{ name: 'call', action: { type: 'invokeFlux', name: 'Child' } }] }, 'Parent')
const waits = (more: JsonObject = {}) =>
  compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }], ...more })

test('a child that ended goes on while its parent still waits for it, in one commit with the parent', () => {
  const hand = new Hand([child])
  const { id } = hand.start(parent).context.record
  const first = hand.context(id)?.record.child ?? 0
  hand.turn(first, [TERMINATE])
  const { results, writes } = hand.turn(first, [retry()])
  expect(results).toEqual([{ kind: 'next' }])
  expect(writes.map(({ context, answersNotification }) => [context.id, answersNotification])).toEqual([
    [first, true],
    [id, true],
  ])
  expect(hand.context(first)?.record).toMatchObject({ status: 'WAITING', parent: { id } })
  expect(hand.context(id)?.record).toMatchObject({ status: 'RUNNING', child: first })
  hand.turn(id, [{ type: 'WAKE' }])
  expect(hand.context(id)?.record).toMatchObject({ status: 'RUNNING', child: first })
  hand.turn(first, [event('end')])
  hand.turn(id, [{ type: 'WAKE' }])
  expect(hand.context(id)?.record.status).toBe('COMPLETED')
  hand.turn(first, [TERMINATE])
  expect(hand.turn(first, [retry()]).results).toMatchObject([{ kind: 'refused', failure: { kind: 'conflict' } }])
})

test('a child whose parent has gone on stays ended', () => {
  const hand = new Hand([child])
  const { id } = hand.start(parent).context.record
  const first = hand.context(id)?.record.child ?? 0
  hand.turn(first, [TERMINATE])
  hand.turn(id, [{ type: 'WAKE' }])
  expect(hand.turn(first, [retry()])).toMatchObject({ writes: [], results: [{ failure: { kind: 'conflict' } }] })
})

test('a context that is neither paused nor ended has nothing of it in its parts', () => {
  const hand = new Hand()
  const { id } = hand.start(waits()).context.record
  const plain = hand.turn(id, [event('go')]).writes[0]?.context
  expect(plain?.parts['head']).not.toMatch(/isPaused|retries|keyEpoch|numbering|beforeEnd/)
  expect(Object.keys(plain?.parts ?? {})).not.toContain('beforeEnd')
  expect(plain?.indexKeys).not.toContain('paused')
  const paused = hand.turn(id, [PAUSE]).writes[0]
  expect(paused?.changed).toEqual(['head'])
  expect(paused?.context.indexKeys).toContain('paused')
  const resumed = hand.turn(id, [RESUME]).writes[0]?.context
  expect(resumed?.indexKeys).toEqual(plain?.indexKeys)
})

const keysOf = ({ context }: ReturnType<Hand['turn']>) => endRowsOf(context, env()).map(({ key }) => key)

test('each end of a context owes a webhook of its own', () => {
  const flux = waits({ onEnd: { url: 'https://x.example/ends', secret: '$secrets.HOOK' } })
  const hand = new Hand()
  const { id } = hand.start(flux).context.record
  const first = keysOf(hand.turn(id, [TERMINATE]))
  hand.turn(id, [retry()])
  const second = keysOf(hand.turn(id, [TERMINATE]))
  expect(first).toHaveLength(2)
  expect(second).toHaveLength(2)
  expect(new Set([...first, ...second]).size).toBe(4)
  const [due = ''] = second
  const row = { partition: 0, space: 'ends' as const, key: due, expiresAt: null }
  expect(readDue({ ...row, value: '{"attempts":0,"characters":1}' })).toMatchObject({ contextId: id, retries: 1 })
})

test('what was seen decides which of several retries has an effect', () => {
  const hand = new Hand()
  const { id } = hand.start(waits()).context.record
  hand.turn(id, [TERMINATE])
  const { epoch, attempt } = hand.context(id)?.record.position ?? { epoch: 0, attempt: 0 }
  const seen = { epoch, attempt }
  const other = hand.turn(id, [retry({ seen: { epoch, attempt: attempt + 1 } })])
  expect(other).toMatchObject({ writes: [], results: [{ failure: { kind: 'conflict' } }] })
  const { results } = hand.turn(id, [retry({ seen }), TERMINATE, retry({ seen }), retry()])
  expect(results.map(({ kind }) => kind)).toEqual(['next', 'next', 'refused', 'next'])
})
