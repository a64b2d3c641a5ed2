// What else a request to a webhook may come to under its keys: events that are sent, to one or to all; an answer that is
// given at once; and nothing, because it is of no interest.
import { beforeEach, describe, expect, test } from 'vitest'
import { isReplayed } from '../../src/api/replayed.ts'
import { BroadcastPlace } from '../../src/engine/calls/broadcast-place.ts'
import { EngineCore } from '../../src/engine/core.ts'
import { sendUnder, startUnder, type Committed, type WebhookKeeping } from '../../src/engine/webhooks/keeping.ts'
import { readKeptWebhook, sentTo } from '../../src/engine/webhooks/kept-webhooks.ts'
import { Once, type WebhookEffect } from '../../src/engine/webhooks/once.ts'
import type { WebhookKeys } from '../../src/engine/webhooks/webhook-keys.ts'
import { WebhookWaits } from '../../src/engine/webhooks/webhook-waits.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { FluxError, unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { MemoryStore } from '../simulation/memory-store.ts'
import { Memory } from '../simulation/memory.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { BEAT_MS, clock, closing, feed } from '../support/webhook-once.ts'

const FILES: Files = {
  'p/Count.flux': {
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    tags: ['all'],
    states: [
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
        transitions: [{ to: 'w', event: 'tick' }],
      },
    ],
  },
}
const LEASE_MS = 7 * BEAT_MS
const HEX = (letter: string) => letter.repeat(64)
const DEDUPE = { key: HEX('d'), hash: '', keepMs: 60_000 }
const HEADER = { key: HEX('a'), hash: 'content', keepMs: 90_000 }
const both: WebhookKeys = { dedupe: DEDUPE, idempotency: HEADER, remark: null }
const deduped: WebhookKeys = { ...both, idempotency: null }
const headed: WebhookKeys = { ...both, dedupe: null }
const TIMEOUT_MS = 30_000
const FILTERED: Committed = { contextId: null, answer: { kind: 'filtered' } }

const refuse: WebhookEffect = () => Promise.resolve(FILTERED)

interface Server {
  readonly bench: Bench
  readonly core: EngineCore
  readonly once: Once
}

async function open(store: Store): Promise<Server> {
  const bench = await openBench(FILES, { clock, store, others: { beat: BEAT_MS, feed } })
  closing.push(() => bench.close())
  const core = new EngineCore(bench.parts)
  const waits = new WebhookWaits({ store, clock, feed: null })
  const { commits, idempotency } = core
  return { bench, core, once: new Once({ store, clock, commits, idempotency, waits, beat: BEAT_MS }) }
}
/** Starts a context, and that is the answer. */
const start =
  ({ core, bench }: Server): WebhookEffect =>
  async (keeping: WebhookKeeping | null) => {
    const flux = bench.parts.catalog.find('p', 'Count')
    if (!flux) throw new Error('it is there')
    const { answerRows, options } = startUnder(keeping, true)
    expect(answerRows).toBeUndefined()
    const request = { flux, input: {}, untyped: true, unknown: 'ignore', tags: [], trigger: null } as const
    const { record } = await core.mailboxes.start(request, options)
    const { id: contextId, status } = record
    return { contextId, answer: { kind: 'accepted', contextId, status } }
  }

describe.each([1, 4])('over %d partitions', (partitions) => {
  let memory: Memory
  /** Commits that the first server may still make; then it is dead. */
  let left: number
  let one: Server
  let two: Server
  let ids: number[]

  beforeEach(async () => {
    memory = new Memory({ now: () => clock.now(), partitions, silence: LEASE_MS })
    left = Infinity
    const shared = new MemoryStore(memory)
    one = await open(
      withVerbs(shared, {
        commit(request) {
          left -= 1
          return left < 0 ? Promise.reject(unavailable('dead')) : shared.commit(request)
        },
      }),
    )
    two = await open(new MemoryStore(memory))
    ids = []
    for (let at = 0; at < 5; at += 1) ids.push(await one.bench.run('Count'))
  })
  const counts = () =>
    Promise.all(ids.map(async (contextId) => outputs(await two.bench.getContext({ contextId }))['n']))
  const run = ({ once }: Server, keys: WebhookKeys, effect: WebhookEffect) => once.run(keys, TIMEOUT_MS, effect)

  /** Sends an event to one context. */
  const post =
    ({ core }: Server, id: number, eventId = 'e'): WebhookEffect =>
    async (keeping) => {
      const input = {
        type: 'EVENT',
        name: 'tick',
        eventId: 'e-1',
        input: {},
        untyped: false,
        tags: null,
        caller: SYSTEM,
      } as const
      const { failure } = await core.mailboxes.post(id, input, sendUnder(keeping).toOne?.(eventId))
      if (failure) throw new FluxError(failure)
      return { contextId: null, answer: { kind: 'sent', eventId, contextIds: [id] } }
    }
  /** Sends one to all that have the tag. */
  const toAll = ({ core, bench }: Server, eventId = 'e'): WebhookEffect => {
    const event = { event: 'tick', eventId, input: {}, untyped: false, tags: ['all'], caller: SYSTEM, receipt: null }
    return async (keeping) => {
      if (keeping === null) throw new Error('there is a key')
      const manner = { above: null, within: 0, place: new BroadcastPlace(null) }
      const { store } = bench.parts
      const { keptBroadcasts } = core
      const sent = await keeping.broadcast({ store, keptBroadcasts }, { ...event, ttl: null }, manner)
      return { contextId: null, answer: sentTo(sent), replayed: isReplayed(sent) }
    }
  }

  test.each([
    ['a dedupe key', deduped],
    ['a header', headed],
    ['both', both],
  ])('an event for one context moves it once, under %s', async (_, keys) => {
    for (const [at, id] of ids.entries()) {
      const own = (row: WebhookKeys['dedupe']) => row && { ...row, key: HEX(String(at)) + row.key.slice(0, 1) }
      const unique: WebhookKeys = { ...keys, dedupe: own(keys.dedupe), idempotency: own(keys.idempotency) }
      const first = await run(one, unique, post(one, id))
      expect(first).toMatchObject({ replayed: false, answer: { kind: 'sent', eventId: 'e', contextIds: [id] } })
      for (const server of [one, two])
        expect(await run(server, unique, post(server, id, 'f'))).toMatchObject({ answer: first.answer, replayed: true })
      expect((await counts())[at]).toBe(1)
    }
  })

  test('an event for another context under the same dedupe key is a repeat', async () => {
    const [id = 0, ...others] = ids
    const { answer } = await run(one, deduped, post(one, id))
    for (const other of others)
      for (const server of [one, two])
        expect(await run(server, deduped, post(server, other))).toMatchObject({ answer, replayed: true })
    expect(await counts()).toEqual([1, 0, 0, 0, 0])
  })

  test.each([
    ['a dedupe key', deduped],
    ['a header', headed],
    ['both', both],
  ])('an event for all moves each once, under %s', async (_, keys) => {
    const first = await run(one, keys, toAll(one))
    expect(first).toMatchObject({ replayed: false, answer: { kind: 'sent', eventId: 'e', contextIds: ids } })
    for (const server of [one, two]) {
      expect(await run(server, keys, toAll(server, 'f'))).toMatchObject({ answer: first.answer, replayed: true })
      expect(await run(server, keys, refuse)).toMatchObject({ answer: first.answer, replayed: true })
    }
    if (keys === both)
      expect(await run(two, headed, toAll(two, 'g'))).toMatchObject({ answer: first.answer, replayed: true })
    expect(await counts()).toEqual(ids.map(() => 1))
  })

  test('an event for all is sent once, though ten deliveries come at once', async () => {
    const settled = await Promise.all(Array.from({ length: 10 }, () => run(one, both, toAll(one))))
    expect(settled.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await counts()).toEqual(ids.map(() => 1))
  })

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'an event for all that is cut off after %i commits is sent once',
    async (commits) => {
      left = commits
      // Of a server that is dead, nobody gets an answer.
      void run(one, both, toAll(one)).catch(() => undefined)
      await clock.advance(2 * LEASE_MS)
      const repeated = run(two, both, toAll(two))
      await clock.advance(2 * LEASE_MS)
      expect((await repeated).answer).toMatchObject({ kind: 'sent', contextIds: ids })
      expect(await counts()).toEqual(ids.map(() => 1))
      // Its rows are there, whoever wrote them.
      for (const keys of [deduped, headed]) expect(await run(two, keys, toAll(two))).toMatchObject({ replayed: true })
      expect(await counts()).toEqual(ids.map(() => 1))
    },
  )

  describe('what is of no interest', () => {
    test('is not remembered, and leaves its turn to the next', async () => {
      const [id = 0] = ids
      const all = await Promise.all([
        run(one, both, refuse),
        run(one, deduped, refuse),
        run(one, deduped, post(one, id)),
        run(one, deduped, refuse),
      ])
      expect(all.map(({ answer }) => 'kind' in answer && answer.kind)).toEqual(['filtered', 'filtered', 'sent', 'sent'])
      expect(await counts()).toEqual([1, 0, 0, 0, 0])
    })

    test('is a repeat all the same, if its key is kept', async () => {
      const [id = 0] = ids
      const { answer } = await run(one, both, post(one, id))
      for (const keys of [both, deduped, headed])
        expect(await run(two, keys, refuse)).toMatchObject({ answer, replayed: true })
      const other: WebhookKeys = { ...headed, idempotency: { ...HEADER, hash: 'other' } }
      await expect(run(two, other, refuse)).rejects.toMatchObject({ failure: { kind: 'idempotencyMismatch' } })
    })
  })

  test('a context whose start is the answer is told of in the same way', async () => {
    const first = await run(one, both, start(one))
    expect(first).toMatchObject({ replayed: false, answer: { kind: 'accepted', status: 'WAITING' } })
    const contextId = first.contextId ?? 0
    await one.bench.sendEvent({ contextId, event: 'tick' })
    for (const keys of [both, deduped, headed])
      expect(await run(two, keys, start(two))).toMatchObject({ answer: first.answer, replayed: true })
    await two.bench.terminate({ contextId })
    expect(await run(two, deduped, start(two))).toMatchObject({ answer: first.answer, replayed: true })
  })
})

const at = (contextId: number) => ({ contextId, state: 's' })

test('the answer of an event names each context once', () => {
  const answer = { message: '', eventId: 'e', ignored: [], transitions: [at(1), at(2)], executions: [at(2)] }
  const pending = [
    { contextId: 3, expiresAt: null },
    { contextId: null, expiresAt: 1 },
  ]
  const sent = { kind: 'sent', eventId: 'e', contextIds: [1, 2, 3] }
  expect(sentTo({ ...answer, pending })).toEqual(sent)
  expect(readKeptWebhook(JSON.stringify({ hash: '', at: 1, answer: { ...answer, pending } }))).toEqual({
    hash: '',
    held: null,
    answer: sent,
  })
})
