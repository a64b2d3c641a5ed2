// What else a request to a webhook may come to under its key: events that are sent, to one or to all; an answer that is
// given at once; and nothing, because it is of no interest.
import { beforeEach, describe, expect, test } from 'vitest'
import type { CallParts } from '../../src/engine/calls/call-env.ts'
import { sendUnder } from '../../src/engine/webhooks/send.ts'
import { acceptedAs, sentTo } from '../../src/engine/turn/answer.ts'
import {
  Filtered,
  once,
  type WebhookEffect,
  type WebhookKeeping,
  type WebhookKeys,
} from '../../src/engine/webhooks/once.ts'
import { placeOf, type Addressee } from '../../src/engine/idempotency/kept-answer.ts'

import { SYSTEM } from '../../src/model/caller.ts'
import { conflict, FluxError, unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, partsOf, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { LEASE_MS, SharedMemory } from '../support/shared-memory.ts'
import { clock } from '../support/webhook-once.ts'
import { COUNTER } from '../support/services.ts'

const FILES: Files = { 'p/Count.flux': { ...COUNTER, tags: ['all'] } }
const HEX = (letter: string) => letter.repeat(64)
const DEDUPE = { name: HEX('d'), isDedupe: true, hash: '', keepMs: 60_000 }
const HEADER = { name: HEX('a'), isDedupe: false, hash: 'content', keepMs: 90_000 }
const KINDS = [
  ['a dedupe key', DEDUPE],
  ['a header', HEADER],
] as const
const TIMEOUT_MS = 30_000

const refuse: WebhookEffect = () => Promise.reject(new Filtered())
const refused: WebhookEffect = () => Promise.reject(conflict('it was done'))

interface Server {
  readonly bench: Bench
  readonly core: CallParts
}

async function open(options: BenchOptions): Promise<Server> {
  const bench = await openBench(FILES, options)
  return { bench, core: partsOf(bench.parts) }
}
/** Starts a context, and that is the answer. */
const start =
  ({ core, bench }: Server): WebhookEffect =>
  async (keeping: WebhookKeeping | null) => {
    const flux = bench.parts.catalog.find('p', 'Count')
    if (!flux) throw new Error('it is there')
    if (!keeping) throw new Error('there is a key')
    const { key } = keeping
    const root = {
      flux,
      input: {},
      untyped: true,
      unknown: 'ignore',
      tags: [],
      trigger: null,
      drawn: key.drawn,
    } as const
    const { record } = await core.mailboxes.start(root, {
      partition: keeping.partition,
      rows: (_, record) => [keeping.rowOf(acceptedAs(record))],
    })
    return { answer: acceptedAs(record) }
  }

describe.each([1, 4])('over %d partitions', (partitions) => {
  let shared: SharedMemory
  /** Commits that the first server may still make; then it is dead. */
  let left: number
  /** Reads of rows by the first server, and whether its store is there. */
  let reads: number
  let isAway: boolean
  let one: Server
  let two: Server
  let ids: number[]

  beforeEach(async () => {
    shared = new SharedMemory(partitions, clock)
    left = Infinity
    reads = 0
    isAway = false
    const wrap = (store: Store) =>
      withVerbs(store, {
        commit(request) {
          left -= 1
          return left < 0 ? Promise.reject(unavailable('dead')) : store.commit(request)
        },
        readRow(place) {
          reads += 1
          return isAway ? Promise.reject(unavailable('away')) : store.readRow(place)
        },
      })
    one = await open({ ...shared.server(), wrap })
    two = await open(shared.server())
    ids = []
    for (let at = 0; at < 5; at += 1) ids.push(await one.bench.run('Count'))
  })
  const counts = () =>
    Promise.all(ids.map(async (contextId) => outputs(await two.bench.getContext({ contextId }))['n']))
  const keyed = ({ name, ...key }: typeof DEDUPE, addressee: Addressee = null): WebhookKeys => ({
    key: { ...key, place: placeOf(name, addressee, partitions) },
    remark: null,
  })
  const run = ({ core }: Server, keys: WebhookKeys, effect: WebhookEffect) => once(core, keys, TIMEOUT_MS, effect)

  test('requests that repeat one together, while that is under way, wait no longer than one would', async () => {
    const keys = keyed(HEADER)
    if (!keys.key) throw new Error('there is a key')
    const value = JSON.stringify({ hash: HEADER.hash, at: clock.now(), answer: null })
    const row = { ...keys.key.place, expects: null, value, expiresAt: null }
    await shared.store().commit({ writes: [], rows: [row] })
    const repeats = [1, 2, 3].map(() => run(one, keys, refused).catch((error: FluxError) => error.failure.kind))
    await clock.advance(11_000)
    expect(await Promise.all(repeats)).toEqual(Array.from(repeats, () => 'idempotencyInProgress'))
  })

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
      const { failure } = await core.mailboxes.post(id, input, sendUnder(core, keeping, null).toOne?.(eventId))
      if (failure) throw new FluxError(failure)
      return { answer: { kind: 'sent', eventId, contextIds: [id] } }
    }
  /** Sends one to all that have the tag. */
  const toAll = ({ core }: Server, eventId = 'e'): WebhookEffect => {
    const event = { event: 'tick', eventId, input: {}, untyped: false, tags: ['all'], caller: SYSTEM, receipt: null }
    return async (keeping) => {
      if (keeping === null) throw new Error('there is a key')
      const manner = { above: null, within: 0, bound: null }
      const sent = await sendUnder(core, keeping, null).toAll?.({ ...event, ttl: null }, manner)
      if (!sent) throw new Error('it was sent')
      return { answer: sentTo(sent.answer), replayed: sent.replayed ?? false }
    }
  }

  test.each(KINDS)('an event for one context moves it once, under %s', async (_, kind) => {
    for (const [at, contextId] of ids.entries()) {
      const keys = keyed(kind, { contextId })
      const first = await run(one, keys, post(one, contextId))
      const answer = { kind: 'sent', eventId: 'e', contextIds: [contextId] }
      expect(first).toMatchObject({ replayed: false, answer })
      for (const server of [one, two])
        expect(await run(server, keys, post(server, contextId, 'f'))).toMatchObject({ answer, replayed: true })
      expect((await counts())[at]).toBe(1)
    }
  })

  test.each(KINDS)('an event for all moves each once, under %s', async (_, kind) => {
    const keys = keyed(kind)
    const first = await run(one, keys, toAll(one))
    expect(first).toMatchObject({ replayed: false, answer: { kind: 'sent', eventId: 'e', contextIds: ids } })
    for (const server of [one, two]) {
      expect(await run(server, keys, toAll(server, 'f'))).toMatchObject({ answer: first.answer, replayed: true })
      expect(await run(server, keys, refuse)).toMatchObject({ answer: first.answer, replayed: true })
    }
    expect(await counts()).toEqual(ids.map(() => 1))
  })

  test('an event for all of another content under the same header is refused', async () => {
    await run(one, keyed(HEADER), toAll(one))
    for (const server of [one, two])
      await expect(run(server, keyed({ ...HEADER, hash: 'other' }), toAll(server, 'f'))).rejects.toMatchObject({
        failure: { kind: 'idempotencyMismatch' },
      })
    expect(await counts()).toEqual(ids.map(() => 1))
  })

  test.each(KINDS)('an event for all is sent once, though ten come at once under %s', async (_, kind) => {
    const settled = await Promise.all(Array.from({ length: 10 }, () => run(one, keyed(kind), toAll(one))))
    expect(settled.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await counts()).toEqual(ids.map(() => 1))
  })

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'an event for all that is cut off after %i commits is sent once',
    async (commits) => {
      left = commits
      // Of a server that is dead, nobody gets an answer.
      void run(one, keyed(DEDUPE), toAll(one)).catch(() => undefined)
      await clock.advance(2 * LEASE_MS)
      const repeated = run(two, keyed(DEDUPE), toAll(two))
      await clock.advance(2 * LEASE_MS)
      expect((await repeated).answer).toMatchObject({ kind: 'sent', contextIds: ids })
      expect(await counts()).toEqual(ids.map(() => 1))
      expect(await run(two, keyed(DEDUPE), toAll(two))).toMatchObject({ replayed: true })
      expect(await counts()).toEqual(ids.map(() => 1))
    },
  )

  describe('twenty deliveries at once', () => {
    let effects: number
    beforeEach(() => {
      effects = 0
    })
    const twenty = (effect: WebhookEffect, addressee: Addressee = null) =>
      Promise.allSettled(
        Array.from({ length: 20 }, () =>
          run(one, keyed(DEDUPE, addressee), (keeping) => {
            effects += 1
            return effect(keeping)
          }),
        ),
      )

    test('are one try: the others have its answer', async () => {
      const [id = 0] = ids
      const settled = await twenty(post(one, id), { contextId: id })
      expect(settled.filter(({ status }) => status === 'rejected')).toEqual([])
      expect(effects).toBe(1)
      expect(await counts()).toEqual([1, 0, 0, 0, 0])
    })

    test('that are of no interest are judged one after the other, and look for an answer a few times each', async () => {
      reads = 0
      const settled = await twenty(refuse)
      expect(settled.filter(({ status }) => status === 'rejected')).toEqual([])
      expect(effects).toBe(20)
      expect(reads).toBeLessThanOrEqual(20 * 2)
    })

    test('are refused together when the store is away', async () => {
      isAway = true
      const settled = await twenty(() => Promise.reject(unavailable('away')))
      expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(20)
      expect(effects).toBe(1)
    })
  })

  describe('what is of no interest', () => {
    test('is not remembered, and leaves its turn to the next', async () => {
      const [contextId = 0] = ids
      const keys = keyed(DEDUPE, { contextId })
      const all = await Promise.all([
        run(one, keys, refuse),
        run(one, keys, refuse),
        run(one, keys, post(one, contextId)),
        run(one, keys, refuse),
      ])
      expect(all.map(({ answer }) => 'kind' in answer && answer.kind)).toEqual(['filtered', 'filtered', 'sent', 'sent'])
      expect(await counts()).toEqual([1, 0, 0, 0, 0])
    })

    test.each(KINDS)('is a repeat all the same, if its key is kept, under %s', async (_, kind) => {
      const [contextId = 0] = ids
      const keys = keyed(kind, { contextId })
      const { answer } = await run(one, keys, post(one, contextId))
      expect(await run(two, keys, refuse)).toMatchObject({ answer, replayed: true })
      if (kind === HEADER)
        await expect(run(two, keyed({ ...kind, hash: 'other' }, { contextId }), refuse)).rejects.toMatchObject({
          failure: { kind: 'idempotencyMismatch' },
        })
    })
  })

  test.each(KINDS)('a context whose start is the answer is told of in the same way, under %s', async (_, kind) => {
    const keys = keyed(kind)
    const first = await run(one, keys, start(one))
    expect(first).toMatchObject({ replayed: false, answer: { kind: 'accepted', status: 'WAITING' } })
    const contextId = 'contextId' in first.answer ? first.answer.contextId : 0
    await one.bench.sendEvent({ contextId, event: 'tick' })
    expect(await run(two, keys, start(two))).toMatchObject({ answer: first.answer, replayed: true })
    await two.bench.terminate({ contextId })
    expect(await run(two, keys, start(two))).toMatchObject({ answer: first.answer, replayed: true })
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
})
