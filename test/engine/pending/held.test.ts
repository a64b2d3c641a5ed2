// Events with a time to live that nobody takes when they come: the first context that comes to wait takes them, once.
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { ANONYMOUS } from '../../../src/model/caller.ts'
import type { Bench } from '../../support/engine.ts'
import { embedded, inMemory, onRedis, seenBy, seenByAll, pass, type World } from './world.ts'
import { storesOf } from '../../support/effort.ts'

const DAY_S = 86_400
const paid = (by: number, more: object = {}) => ({ event: 'paid', input: { by }, ttl: DAY_S, ...more })
const NOBODY = { transitions: [], executions: [], ignored: [] }

describe.each(
  storesOf([
    ['a store in three partitions', () => inMemory(3)],
    ['the embedded store', embedded],
    ['Redis', () => onRedis(1)],
    ['Redis, in three partitions', () => onRedis(3)],
  ]),
)('on %s, an event with a ttl', (name, openWorld) => {
  let world: World
  let bench: Bench
  beforeEach(async () => {
    world = await openWorld()
    bench = await world.open()
  })

  const start = (count: number, fluxName = 'Order', more: object = {}) =>
    Promise.all(Array.from({ length: count }, () => bench.run(fluxName, {}, more)))
  const go = (contextId: number) => bench.sendEvent({ contextId, event: 'go' })
  const listed = async (filter: object = {}) => (await bench.listPending(filter)).map(({ eventId }) => eventId)
  /** Nothing more comes of what was offered. */
  const none = () => expect.poll(() => listed()).toEqual([])

  test('is pending for nobody, and is taken by the first that comes to wait, once', async () => {
    const ids = await start(6)
    for (let by = 0; by < 3; by += 1) {
      const answer = await bench.sendEvent(paid(by))
      const expiresAt = world.clock.now() + DAY_S * 1000
      expect(answer).toMatchObject({ ...NOBODY, pending: [{ contextId: null, expiresAt }] })
      const row = { eventId: answer.eventId, event: 'paid', contextId: null, fluxName: null, tags: [], expiresAt }
      expect(await bench.listPending({})).toEqual([{ ...row, receivedAt: world.clock.now() }])
      await go(ids[2 * by] ?? 0)
      await expect.poll(() => seenBy(bench, ids[2 * by] ?? 0)).toEqual([by])
      const other = ids[2 * by + 1] ?? 0
      await go(other)
      await none()
      expect(await seenBy(bench, other)).toEqual([])
      await bench.terminate({ contextId: other })
    }
    expect(await seenByAll(bench, ids)).toEqual([0, 1, 2])
  })

  test('is not held when somebody is moved', async () => {
    const [id = 0] = await start(1)
    await go(id)
    expect(await bench.sendEvent(paid(1))).toMatchObject({ transitions: [{ contextId: id }], pending: [] })
    expect(await listed()).toEqual([])
  })

  test('is taken in the order of arrival', async () => {
    const [id = 0] = await start(1, 'Long')
    for (let by = 0; by < 7; by += 1) {
      await bench.sendEvent(paid(by))
      await world.clock.advance(1)
    }
    await go(id)
    await expect.poll(() => seenBy(bench, id)).toEqual([0, 1, 2, 3, 4, 5, 6])
    await none()
  })

  test('goes to a context with a tag in common, also one that gets the tag while it waits', async () => {
    const [[plain = 0], [blue = 0], [red = 0]] = [
      await start(1),
      await start(1, 'Order', { tags: ['blue'] }),
      await start(1, 'Order', { tags: ['blue'] }),
    ]
    for (const id of [plain, blue, red]) await go(id)
    const { eventId } = await bench.sendEvent(paid(1, { tags: ['red', 'green'] }))
    await pass(world)
    expect(await listed({ tag: ['green'], event: 'paid' })).toEqual([eventId])
    expect([await listed({ tag: ['green', 'blue'] }), await listed({ event: 'other' })]).toEqual([[], []])
    await bench.addTags({ contextId: red, tag: ['green'] })
    await expect.poll(() => seenBy(bench, red)).toEqual([1])
    expect([await seenBy(bench, plain), await seenBy(bench, blue)]).toEqual([[], []])
    // Of those that have tags, none takes an event without.
    const { eventId: other } = await bench.sendEvent(paid(2, { tags: ['white'] }))
    await pass(world)
    expect(await listed()).toEqual([other])
  })

  test('is taken by a child, and by no state that takes any event', async () => {
    await bench.sendEvent({ event: 'paid', ttl: DAY_S })
    const [any = 0] = await start(1, 'Any')
    await go(any)
    await pass(world)
    expect((await bench.getContext({ contextId: any })).currentState).toBe('any')
    const [parent = 0] = await start(1, 'Parent')
    await go(parent)
    await bench.until(parent, ({ status }) => status === 'COMPLETED')
    await none()
  })

  test('whose input does not suit the one that takes it has expired, and the receipt says why', async () => {
    const [id = 0] = await start(1)
    await bench.sendEvent({ event: 'paid', input: { by: 'x' }, ttl: DAY_S, eventId: 'bad' })
    await go(id)
    await none()
    const receipt = await bench.getEvent({ eventId: 'bad' })
    expect(receipt).toMatchObject({ pending: [], moved: [], counts: { expired: 1, pending: 0 }, done: true })
    expect(receipt.expired).toMatchObject([{ contextId: null, reason: expect.stringContaining('/input/by') }])
    expect(bench.logged.filter(({ message }) => message === 'a pending event expired')).toHaveLength(1)
    expect((await bench.getContext({ contextId: id })).currentState).toBe('open')
  })

  test('is never taken after its time', async () => {
    const [id = 0] = await start(1)
    await bench.sendEvent({ event: 'paid', input: { by: 1 }, ttl: 1, eventId: 'late' })
    await world.clock.advance(1001)
    await expect
      .poll(() => bench.getEvent({ eventId: 'late' }), { timeout: 3000 })
      .toMatchObject({
        pending: [],
        expired: [{ contextId: null, reason: 'its time was over' }],
      })
    expect(await listed()).toEqual([])
    // The time of Redis can't be moved.
    if (name.startsWith('Redis')) await sleep(1000)
    await go(id)
    await pass(world)
    expect(await seenBy(bench, id)).toEqual([])
    await expect(bench.withdraw({ eventId: 'late' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
  })

  test('has a receipt that follows it', async () => {
    const [id = 0] = await start(1)
    const { pending } = await bench.sendEvent(paid(1, { eventId: 'e' }))
    expect(await bench.getEvent({ eventId: 'e' })).toMatchObject({ pending, moved: [], counts: { pending: 1 } })
    const again = await bench.sendEvent(paid(1, { eventId: 'e' }))
    expect(again.pending).toEqual(pending)
    await go(id)
    await expect.poll(() => seenBy(bench, id)).toEqual([1])
    await expect
      .poll(() => bench.getEvent({ eventId: 'e' }))
      .toMatchObject({
        repeated: 1,
        pending: [],
        moved: [{ contextId: id, state: 'begin' }],
        counts: { moved: 1, pending: 0 },
      })
    expect((await bench.sendEvent(paid(1, { eventId: 'e' }))).pending).toEqual(pending)
    await go(id)
    await pass(world)
    expect(await seenBy(bench, id)).toEqual([1])
  })

  test('can be withdrawn, once', async () => {
    const [id = 0] = await start(1)
    const { eventId } = await bench.sendEvent(paid(1))
    await bench.sendEvent(paid(2, { eventId: 'own' }))
    expect(await bench.withdraw({ eventId })).toEqual({ message: `withdrew the event '${eventId}'` })
    await bench.withdraw({ eventId: 'own' })
    await expect(bench.withdraw({ eventId: 'own' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    await expect(bench.withdraw({ eventId: 'none' })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    expect(await bench.getEvent({ eventId: 'own' })).toMatchObject({ pending: [], withdrawn: [{ contextId: null }] })
    await go(id)
    await pass(world)
    expect([await listed(), await seenBy(bench, id)]).toEqual([[], []])
  })

  test('is withdrawn by its sender alone, where others used the same id; else by whoever asks', async () => {
    const [id = 0] = await start(1)
    const [ann, bob] = ['ann', 'bob'].map((name) => bench.engine.api({ name, roles: ['invoke'] }))
    if (!ann || !bob) throw new Error('there are two senders')
    for (const [by, sender] of [ann, bob].entries()) {
      await sender.sendEvent(paid(by, { eventId: 'same' }))
      await sender.sendEvent(paid(by, { eventId: 'kept', contextId: id }))
    }
    expect((await listed()).toSorted()).toEqual(['kept', 'kept', 'same', 'same'])
    for (const eventId of ['same', 'kept']) {
      const pending = [{ contextId: eventId === 'same' ? null : id }]
      await bob.withdraw({ eventId })
      expect(await bob.getEvent({ eventId })).toMatchObject({ pending: [], counts: { withdrawn: 1 } })
      expect(await ann.getEvent({ eventId })).toMatchObject({ pending, counts: { withdrawn: 0 } })
      await expect(bob.withdraw({ eventId })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
      expect(await listed()).toContain(eventId)
      // An operator, who has sent nothing under that id.
      await bench.withdraw({ eventId })
      expect(await ann.getEvent({ eventId })).toMatchObject({ pending: [], counts: { withdrawn: 1 } })
    }
    expect(await listed()).toEqual([])
  })

  test('is either withdrawn or taken', async () => {
    const ids = await start(12)
    for (const [by, id] of ids.entries()) {
      const eventId = `race-${by}`
      await bench.sendEvent(paid(by, { eventId }))
      const [withdrawal] = await Promise.allSettled([bench.withdraw({ eventId }), go(id)])
      await none()
      const isTaken = withdrawal.status === 'rejected'
      await expect.poll(() => seenBy(bench, id)).toEqual(isTaken ? [by] : [])
      const { moved, withdrawn } = await bench.getEvent({ eventId })
      expect([moved.length, withdrawn.length]).toEqual(isTaken ? [1, 0] : [0, 1])
      if (!isTaken) await bench.sendEvent({ contextId: id, event: 'back', input: { by: 0 } })
    }
  })

  test('of an id that another sender has used, too, is another event', async () => {
    const token = { name: 't', roles: ['invoke' as const] }
    await bench.sendEvent(paid(1, { eventId: 'same' }))
    await bench.engine.api(token).sendEvent(paid(2, { eventId: 'same' }))
    expect(await listed()).toEqual(['same', 'same'])
    const [id = 0] = await start(1, 'Long')
    await go(id)
    await expect.poll(async () => (await seenBy(bench, id)).length).toBe(2)
    await none()
    await bench.sendEvent({ contextId: id, event: 'back', input: { by: 0 } })
  })

  test('reaches secured services if its sender may use them, and is hidden from others then', async () => {
    const [nobody, token] = [bench.engine.api(ANONYMOUS), bench.engine.api({ name: 't', roles: ['invoke'] })]
    const [secret = 0] = await start(1, 'Secret')
    await nobody.sendEvent({ event: 'paid', ttl: DAY_S })
    await go(secret)
    await pass(world)
    expect((await bench.getContext({ contextId: secret })).currentState).toBe('open')
    const [second = 0] = await start(1, 'Secret')
    await bench.sendEvent({ contextId: secret, event: 'paid' })
    const { eventId } = await token.sendEvent({ event: 'paid', ttl: DAY_S })
    expect([(await nobody.listPending({})).length, (await token.listPending({})).length]).toEqual([1, 2])
    await expect(nobody.withdraw({ eventId })).rejects.toMatchObject({ failure: { kind: 'unauthorized' } })
    await go(second)
    await bench.until(second, ({ status }) => status === 'COMPLETED')
    await expect.poll(() => listed()).toHaveLength(1)
  })

  test('is listed page by page', async () => {
    const sent: string[] = []
    for (let by = 0; by < 7; by += 1) {
      sent.push((await bench.sendEvent(paid(by, { tags: [by % 2 === 0 ? 'even' : 'odd'] }))).eventId)
      await world.clock.advance(1)
    }
    expect(await listed({ limit: 3, page: 1 })).toEqual(sent.slice(3, 6))
    expect(await listed({ tag: ['odd'] })).toEqual(sent.filter((__, by) => by % 2 === 1))
    const found: string[] = []
    let [after, pages]: [string | undefined, number] = [undefined, 0]
    do {
      const page = await bench.listPendingPage({ limit: 3, ...(after !== undefined && { after }) })
      found.push(...page.events.map(({ eventId }) => eventId))
      after = page.next ?? undefined
      pages += 1
    } while (after !== undefined)
    expect([found, pages]).toEqual([sent, 3])
    expect((await bench.listPendingPage({ limit: 7 })).next).toBeNull()
    expect(await listed({ contextId: 1_000_000 })).toEqual([])
    await expect(bench.listPending({ after: 'x' })).rejects.toMatchObject({ failure: { kind: 'malformed' } })
  })
})

describe.each([
  ['the embedded store', embedded],
  ['a store in three partitions', () => inMemory(3)],
])('on %s, events with a ttl', (_, openWorld) => {
  let world: World
  beforeEach(async () => {
    world = await openWorld()
  })

  test('are bounded in the number of their tags, in all', async () => {
    const bench = await world.open({ bounds: { pending: 100 } })
    const tags = Array.from({ length: 64 }, (_, n) => `t${n}`)
    for (let by = 0; by < 15; by += 1) await bench.sendEvent(paid(by, { tags }))
    await expect(bench.sendEvent(paid(15, { tags, eventId: 'e' }))).rejects.toMatchObject({ failure: { kind: 'busy' } })
    await bench.sendEvent(paid(15, { tags: tags.slice(0, 40), eventId: 'e' }))
    expect(await bench.listPending({})).toHaveLength(16)
  })

  test('are bounded in number and size; what is over does not count', async () => {
    const bench = await world.open({ bounds: { pending: 2 } })
    await bench.sendEvent(paid(1, { ttl: 5 }))
    await bench.sendEvent(paid(2))
    await expect(bench.sendEvent(paid(3))).rejects.toMatchObject({ failure: { kind: 'busy' } })
    await expect(bench.sendEvent(paid(3, { eventId: 'e' }))).rejects.toMatchObject({ failure: { kind: 'busy' } })
    await world.clock.advance(5001)
    await bench.sendEvent(paid(3, { eventId: 'e' }))
    await bench.withdraw({ eventId: 'e' })
    await expect(bench.sendEvent({ event: 'paid', ttl: 5, input: { text: 'x'.repeat(65_536) } })).rejects.toMatchObject(
      { failure: { kind: 'tooLarge' } },
    )
    expect(await bench.listPending({})).toHaveLength(1)
  })
})

test('an event that is held waits for a server that starts', async () => {
  const world = await embedded()
  const bench = await world.open()
  const [id, later] = [await bench.run('Order'), await bench.run('Order')]
  await bench.sendEvent(paid(1))
  const again = await bench.restart()
  expect(await again.listPending()).toHaveLength(1)
  await again.sendEvent({ contextId: id, event: 'go' })
  await expect.poll(() => seenBy(again, id)).toEqual([1])
  await again.sendEvent({ contextId: later, event: 'go' })
  await pass(world)
  expect(await seenBy(again, later)).toEqual([])
})
