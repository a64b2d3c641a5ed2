// The client against a real server: each call, lists over all pages, and the stream of moves.
import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createClient, Problem, type Client, type StreamItem } from '../../src/client/client.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { SERVICES } from './services.ts'

let client: Client
let url: string
beforeAll(async () => {
  const place = await placeFor(SERVICES)
  ;({ url } = await startServer({ program: inject('program'), ...place }))
  client = createClient({ url })
})
afterAll(cleanUp)

const started = async (input: object = {}, tags: readonly string[] = []): Promise<number> =>
  (await client.execute({ package: 'shop', fluxName: 'Order', input: { item: 'tea', ...input }, tags })).contextId

async function problemOf(call: Promise<unknown>): Promise<Problem> {
  try {
    await call
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('it succeeded')
}

describe('the calls', () => {
  test('start a context, move it, and show it', async () => {
    const { contextId, started: isNew } = await client.execute({
      package: 'shop',
      fluxName: 'Order',
      input: { item: 'tea' },
      key: 'k/1 ?&',
    })
    expect(isNew).toBe(true)
    const named = { key: 'k/1 ?&', fluxName: 'Order', package: 'shop' }
    expect(await client.getContext(named)).toMatchObject({ id: contextId, currentState: 'Open', status: 'WAITING' })
    expect(await client.getContext({ contextId, snapshot: true })).toMatchObject({ snapshot: { status: 'active' } })
    expect(await client.getContextEvents({ contextId })).toMatchObject({
      events: [{ event: 'paid' }, { event: 'cancel' }],
    })
    expect(await client.addTags({ contextId, tag: ['a b', 'ü&='] })).toMatchObject({ message: expect.any(String) })
    expect(await client.removeTags({ contextId, tag: ['a b'] })).toMatchObject({ message: expect.any(String) })
    expect((await client.getContext({ contextId })).tags).toEqual(['ü&='])
    const moved = await client.sendEvent({ contextId, event: 'paid', input: { amount: 3 } })
    expect(moved.transitions).toEqual([{ contextId, state: 'Paid' }])
    expect(await client.waitFor({ contextId, status: ['COMPLETED'] })).toMatchObject({ currentState: 'Paid' })
    expect(await client.getStateContext({ contextId, stateName: 'Open' })).toMatchObject({ name: 'Open' })
    expect(await client.countContexts({ by: 'fluxName', status: 'all' })).toMatchObject({ by: 'fluxName' })
  })

  test('show services, definitions and webhooks', async () => {
    expect((await client.listServices()).services.map(({ fluxName }) => fluxName)).toContain('Order')
    expect(await client.getDefinition({ fluxName: 'Order' })).toMatchObject({ states: expect.any(Array) })
    expect(await client.getMachine({ fluxName: 'Order' })).toMatchObject({ initial: 'Open' })
    expect(await client.getServiceSchema({ fluxName: 'Order', package: 'shop' })).toMatchObject({ fluxName: 'Order' })
    expect(await client.listWebhooks()).toEqual([])
    expect(await client.listDeliveries()).toEqual([])
    expect(await client.listDeliveriesPage({ limit: 1 })).toEqual({ deliveries: [], next: null })
    expect(await problemOf(client.replayDelivery({ deliveryId: 'none' }))).toMatchObject({ status: 404 })
  })

  test('an event has a receipt, and can be withdrawn while it is pending', async () => {
    const contextId = await started()
    const { eventId, pending } = await client.sendEvent({ contextId, event: 'shipped', ttl: 60, receipt: true })
    expect(pending).toMatchObject([{ contextId }])
    expect(await client.listPending({ contextId })).toMatchObject([{ eventId, event: 'shipped' }])
    expect((await client.listPendingPage({ contextId, limit: 1 })).events).toHaveLength(1)
    await client.withdraw({ eventId })
    expect(await client.getEvent({ eventId })).toMatchObject({ eventId, withdrawn: [{ contextId }] })
    expect(await problemOf(client.stopEvent({ eventId }))).toMatchObject({ status: 409 })
    expect(await client.terminate({ contextId })).toMatchObject({ message: expect.any(String) })
  })

  test('an answer may be held until the context rests', async () => {
    const { context } = await client.execute(
      { package: 'shop', fluxName: 'Order', input: { item: 'tea' } },
      { wait: 5 },
    )
    expect(context).toMatchObject({ currentState: 'Open' })
  })

  test('an event for many is accepted when it is stored', async () => {
    const contextId = await started({}, ['many'])
    const answer = await client.sendEvent({ event: 'cancel', tags: ['many'], respondAsync: true })
    expect(answer).toMatchObject({ accepted: true, transitions: [], executions: [], ignored: [], pending: [] })
    await client.waitFor({ contextId, state: ['Cancelled'] })
  })

  test('numbers that JSON can not hold are text, as the server shows them', async () => {
    const contextId = await started({ serial: 9_007_199_254_740_993n })
    const { input } = await client.getContext({ contextId })
    expect(input.gloopProperties).toContainEqual(expect.objectContaining({ name: 'serial', value: '9007199254740993' }))
    await expect(started({ serial: Number.NaN })).rejects.toThrow('serial is NaN')
  })
})

describe('a refusal is an error', () => {
  test('with all that the server says', async () => {
    const contextId = await started()
    const problem = await problemOf(client.sendEvent({ contextId, event: 'paid', input: { amount: 'much' } }))
    expect(problem).toBeInstanceOf(Error)
    expect(problem).toMatchObject({
      name: 'Problem',
      status: 422,
      type: 'urn:actorflux:problem:invalid-content',
      errors: [{ pointer: '/input/amount' }],
      retryable: false,
      retryAfter: null,
    })
    expect(problem.message).toBe(problem.detail)
    expect(problem.title).not.toBe('')
  })

  test('of a start whose key is in use, with the context that has it', async () => {
    const start = { package: 'shop', fluxName: 'Order', input: { item: 'tea' }, key: 'taken' }
    const { contextId } = await client.execute(start)
    expect(await problemOf(client.execute(start))).toMatchObject({ status: 409, contextId })
  })

  test('of a wait, with the context', async () => {
    const contextId = await started()
    const problem = await problemOf(client.waitFor({ contextId, state: ['Paid'], timeout: 0 }))
    expect(problem).toMatchObject({ status: 504, context: { id: contextId } })
  })

  test('of fields that the call does not know, and of an empty list', async () => {
    const misspelt: object = { contextid: 1, event: 'paid' }
    expect(await problemOf(client.sendEvent({ event: 'paid', ...misspelt }))).toMatchObject({ status: 400 })
    expect(await problemOf(client.listContexts({ status: [] }))).toMatchObject({ status: 400 })
    expect(await problemOf(client.addTags({ contextId: 1, tag: [] }))).toMatchObject({ status: 400 })
  })

  test('before it is sent, where it could not be', async () => {
    await expect(client.execute({ package: '', fluxName: 'Order' })).rejects.toThrow('package must be')
    expect(() => createClient({ url: 'ftp://localhost' })).toThrow('url must begin with http')
    expect(() => createClient({ url, token: 'two\nlines' })).toThrow(TypeError)
    expect(() => createClient({ url, retries: -1 })).toThrow('retries')
  })
})

describe('a service', () => {
  test('is started, and sent events by id, key and tags', async () => {
    const order = client.service('shop/Order')
    const { contextId } = await order.execute({ item: 'tea' }, { key: 'service', tags: ['of-service'] })
    expect(await client.getContext({ contextId })).toMatchObject({ key: 'service', tags: ['of-service'] })
    const byTags = await order.send('paid', { tags: ['of-service'], input: { amount: 1 }, wait: 5 })
    expect(byTags).toMatchObject({ transitions: [{ contextId, state: 'Paid' }], context: { id: contextId } })
    const started = await order.send('cancel', { key: 'new', orStart: { input: { item: 'x' }, tags: ['begun'] } })
    const [{ contextId: begun } = { contextId: 0 }] = started.executions
    expect(await client.getContext({ contextId: begun })).toMatchObject({ tags: ['begun'], currentState: 'Cancelled' })
    const { contextId: third } = await order.execute({ item: 'tea' })
    await order.send('cancel', { contextId: third, eventId: 'third', receipt: true })
    expect(await client.getEvent({ eventId: 'third' })).toMatchObject({ moved: [{ contextId: third }] })
  })

  test.each([-1, 1.5, Number.NaN])('is not waited for so long: %s', async (wait) => {
    await expect(client.service('shop/Order').execute({ item: 'x' }, { wait })).rejects.toThrow('wait must be')
  })

  test('must be named, and an event must be for somebody', async () => {
    expect(() => client.service('Order')).toThrow('package/fluxName')
    const order = client.service('shop/Order')
    // @ts-expect-error the compiler says so as well
    await expect(order.send('cancel', {})).rejects.toThrow('contextId, key or tags')
    // @ts-expect-error
    await expect(order.execute(['tea'])).rejects.toThrow('input must be an object')
  })
})

describe('lists', () => {
  test('go over all pages, in either order, with all filters', async () => {
    const ids: number[] = []
    for (let count = 0; count < 7; count += 1) ids.push(await started({}, ['listed', `n${count % 2}`]))
    const idsOf = async (filters: Parameters<Client['contexts']>[0]) => {
      const found: number[] = []
      for await (const { id } of client.contexts(filters)) found.push(id)
      return found
    }
    expect(await idsOf({ tag: ['listed'], limit: 2 })).toEqual(ids)
    expect(await idsOf({ tag: ['listed'], limit: 3, order: 'desc', view: 'summary' })).toEqual(ids.toReversed())
    expect(await idsOf({ tag: ['listed', 'n1'], limit: 1 })).toEqual(ids.filter((_, n) => n % 2 === 1))
    expect(await idsOf({ tag: ['listed'], limit: 1, after: ids[1], before: ids[5] })).toEqual(ids.slice(2, 5))
    expect(await idsOf({ tag: ['listed'], limit: 1, order: 'desc', after: ids[1], before: ids[5] })).toEqual(
      ids.slice(2, 5).toReversed(),
    )
    const page = await client.listPage({ tag: ['listed'], limit: 2, order: 'desc', after: ids[0] })
    expect(page.contexts.map(({ id }) => id)).toEqual([ids[6], ids[5]])
    expect(page.next).toBe(ids[5])
    expect(await client.listContexts({ tag: ['listed'], limit: 3 })).toHaveLength(3)
  })
})

describe('the stream', () => {
  test('yields the moves that fit, and ends with its signal', async () => {
    const controller = new AbortController()
    const items: StreamItem[] = []
    const contextId = await started()
    const other = await started()
    const opening = new EventEmitter()
    const begun = once(opening, 'open')
    const reading = (async () => {
      const watched = createClient({
        url,
        async fetch(target, init) {
          const response = await fetch(target, init)
          opening.emit('open')
          return response
        },
      })
      for await (const item of watched.stream({ contextId }, { signal: controller.signal })) {
        items.push(item)
        if ('to' in item && item.to === 'Paid') controller.abort()
      }
    })()
    await begun
    await client.addTags({ contextId: other, tag: ['other'] })
    await client.addTags({ contextId, tag: ['seen'] })
    await client.sendEvent({ contextId, event: 'paid', input: { amount: 1 } })
    await reading
    expect(items).toMatchObject([
      { contextId, kind: 'tag', tags: ['seen'] },
      { contextId, kind: 'event', event: 'paid', from: 'Open', to: 'Paid' },
    ])
  })

  test('tells of a gap', async () => {
    for await (const item of client.stream({ lastEventId: 'unknown' })) {
      expect(item).toMatchObject({ gap: { from: 'unknown', to: expect.any(String) } })
      break
    }
  })

  test('fails at once where its filters are refused', async () => {
    await expect(client.stream({ status: [] }).next()).rejects.toMatchObject({ status: 400 })
  })
})
