// What a context owes when it has ended: each way to end, and what is told of it.
import { describe, expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { eventually, haveLeft, KEY, ON_END, openWorld, Receiver, STORES } from './ends-bench.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const waits = { name: 'w', waiting: true, transitions: [{ to: 'end', event: 'go' }] }
const FILES: Files = {
  'p/Fn.ts':
    'export function boom({ text = "no" }) { throw new Error(text) }\nexport const deaf = () => new Promise(() => {})',
  'p/Order.flux': {
    onEnd: { ...ON_END, url: 'https://${host}/orders/${n}' },
    key: 'order-${n}',
    tags: ['blue'],
    input: [
      { name: 'n', type: 'integer' },
      { name: 'host', defaultValue: 'x.example' },
    ],
    output: [{ name: 'twice', type: 'integer' }, { name: 'nothing' }],
    states: [waits, { name: 'end', action: { type: 'map', lines: [set('n * 2', 'twice')] } }],
  },
  'p/AtOnce.flux': { onEnd: ON_END, states: [{ name: 'end' }] },
  'p/Boom.flux': {
    onEnd: ON_END,
    states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'boom' } }],
  },
  'p/Parent.flux': {
    states: [
      {
        name: 'ask',
        action: { type: 'invokeFlux', name: 'Child', inputs: [] },
        transitions: [{ to: 'end' }, { to: 'end', event: '$exception' }],
      },
      { name: 'end' },
    ],
  },
  'p/Child.flux': { onEnd: ON_END, states: [waits, { name: 'end' }] },
  'p/Silent.flux': { key: 'k', states: [waits, { name: 'end' }] },
  'p/BadUrl.flux': {
    onEnd: { ...ON_END, url: 'https://x.example/${n.padStart(5)}' },
    input: [{ name: 'n', type: 'any' }],
    states: [{ name: 'end' }],
  },
  'p/Leak.flux': {
    webhooks: [{ urlPath: '/leak', httpMethods: ['POST'] }],
    onEnd: ON_END,
    states: [
      {
        name: 's',
        action: {
          type: 'invokeCode',
          className: 'Fn',
          methodName: 'boom',
          inputs: [set('$request.headers.authorization', 'text')],
        },
      },
    ],
  },
  'p/Login.flux': {
    webhooks: [{ urlPath: '/login', httpMethods: ['POST'] }],
    onEnd: ON_END,
    key: 'of ${$request.headers.authorization}',
    tags: ['${$request.headers.authorization}'],
    output: [{ name: 'proof' }, { name: 'word' }, { name: 'pin', sensitive: true }],
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [
            set('`got ${$request.headers.authorization}`', 'proof'),
            set('"plain"', 'word'),
            set('"4242"', 'pin'),
          ],
        },
      },
    ],
  },
}

const AUTHORIZATION = 'Bearer qzv-12-secret'

/** Calls a webhook as one who has a secret. Its answer may never come. */
function login(bench: Bench, path: string, idempotencyKey: string | null = null) {
  const found = bench.engine.webhooks.find('POST', [path])
  if (!found || !('endpoint' in found)) throw new Error('the webhook is not there')
  const headers = [{ name: 'Authorization', value: AUTHORIZATION }]
  return bench.engine.webhooks.receive({
    endpoint: found.endpoint,
    request: { method: 'POST', uri: `/api/${path}`, headers, cookies: [], parameters: {}, body: null },
    deliveryId: 'd',
    time: 0,
    idempotencyKey,
    replayOf: null,
    rawBody: new Uint8Array(),
    timeout: 2000,
    onStarted() {},
  })
}
const unheard = () => undefined

describe.each(STORES)('on the %s store, a webhook is owed', (kind) => {
  async function open() {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    return { world, receiver, bench: await world.open(receiver) }
  }

  test('by a context that completes, with its URL, its outputs and what it is known by', async () => {
    const { world, receiver, bench } = await open()
    const contextId = await bench.run('Order', { n: 4 })
    expect(await world.owed()).toBe(0)
    await bench.sendEvent({ contextId, event: 'go' })
    await receiver.has(1)
    const [sent] = receiver.came
    expect(sent).toMatchObject({ url: 'https://x.example/orders/4', secret: KEY })
    expect(sent?.id).toMatch(new RegExp(`^msg_[0-9a-f]{24}_${contextId}-end$`))
    expect(receiver.events).toEqual([
      {
        type: 'context.completed',
        timestamp: new Date(bench.clock.now()).toISOString(),
        data: {
          contextId,
          package: 'p',
          fluxName: 'Order',
          status: 'COMPLETED',
          key: 'order-4',
          tags: ['blue'],
          output: { twice: 8, nothing: null },
          error: null,
        },
      },
    ])
    await haveLeft(world, 0)
  })

  test('by one that ends in its first turn, one that fails, and one that is terminated', async () => {
    const { world, receiver, bench } = await open()
    const [first, second, third] = [await bench.run('AtOnce'), await bench.run('Boom'), await bench.run('Child')]
    await bench.terminate({ contextId: third })
    await receiver.has(3)
    const [one, two, three] = receiver.events.toSorted(
      (a, b) => Number(a.data['contextId']) - Number(b.data['contextId']),
    )
    expect(one).toMatchObject({
      type: 'context.completed',
      data: { contextId: first, key: null, tags: [], output: {} },
    })
    const error = { type: 'Error', message: 'no', fluxStackTrace: [{ fluxName: 'Boom' }] }
    expect(two).toMatchObject({ type: 'context.failed', data: { contextId: second, status: 'FAILED', error } })
    expect(three).toMatchObject({
      type: 'context.terminated',
      data: { contextId: third, status: 'TERMINATED', error: null },
    })
    await haveLeft(world, 0)
  })

  test('by a child that ends, and by one that its parent no longer waits for', async () => {
    const { world, receiver, bench } = await open()
    const parents = [await bench.run('Parent'), await bench.run('Parent')]
    const children = await bench.listContexts({ fluxName: 'Child' })
    expect(children).toHaveLength(2)
    const [done, left] = children.map(({ id }) => id)
    await bench.sendEvent({ contextId: done, event: 'go' })
    await bench.terminate({ contextId: parents[1] ?? 0 })
    await receiver.has(2)
    expect(receiver.events.map(({ type, data }) => [type, data['contextId']]).sort()).toEqual([
      ['context.completed', done],
      ['context.terminated', left],
    ])
    await haveLeft(world, 0)
  })

  test('by one that another one with its key replaces', async () => {
    const { world, receiver, bench } = await open()
    const first = await bench.run('Order', { n: 1 })
    const second = await bench.run('Order', { n: 1 }, { existing: 'replace' })
    await receiver.has(1)
    expect(receiver.events).toMatchObject([{ type: 'context.terminated', data: { contextId: first, key: 'order-1' } }])
    expect(second).not.toBe(first)
    await haveLeft(world, 0)
  })

  test('by none whose service has no onEnd: not a row is written', async () => {
    const { world, bench } = await open()
    const contextId = await bench.run('Silent')
    await bench.sendEvent({ contextId, event: 'go' })
    expect(await world.store.countRows({ space: 'ends' })).toBe(0)
  })

  test('once, whatever comes after the end', async () => {
    const { world, receiver, bench } = await open()
    const contextId = await bench.run('Child')
    await bench.terminate({ contextId })
    await expect(bench.terminate({ contextId })).rejects.toThrow('has ended')
    await expect(bench.sendEvent({ contextId, event: 'go' })).rejects.toThrow('has ended')
    await haveLeft(world, 0)
    expect(receiver.came).toHaveLength(1)
  })

  test('and told without the secrets of the request that started it, and without sensitive values', async () => {
    const { world, receiver, bench } = await open()
    void login(bench, 'login').catch(unheard)
    await receiver.has(1)
    const output = { proof: 'got [redacted]', word: 'plain', pin: '[redacted]' }
    expect(receiver.events).toMatchObject([{ data: { key: 'of [redacted]', tags: ['[redacted]'], output } }])
    void login(bench, 'leak').catch(unheard)
    await receiver.has(2)
    expect(receiver.events[1]).toMatchObject({ type: 'context.failed', data: { error: { message: '[redacted]' } } })
    for (const { body } of receiver.came) expect(body).not.toMatch(/qzv|4242/)
    await haveLeft(world, 0)
  })

  test('and sent though the context was deleted meanwhile', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    receiver.answer = () => ({ ok: false, reason: 'not now' })
    const bench = await world.open(receiver, { retention: 10_000 })
    const contextId = await bench.run('AtOnce')
    await eventually(async () => {
      await bench.advance(1000)
      await expect(bench.getContext({ contextId })).rejects.toThrow('no context')
    })
    receiver.answer = () => ({ ok: true })
    await eventually(async () => {
      await bench.advance(30_000)
      expect(await world.owed()).toBe(0)
    })
    expect(receiver.came.length).toBeGreaterThan(1)
    expect(new Set(receiver.came.map(({ id, body }) => id + body)).size).toBe(1)
  })

  test('where its URL cannot be worked out, and changes nothing of the context', async () => {
    const { world, receiver, bench } = await open()
    const contextId = await bench.run('BadUrl', { n: 7 })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'COMPLETED' })
    const failed = 'a webhook at the end of a context was not accepted; it will be sent again'
    await eventually(() =>
      expect(bench.logged.filter(({ message }) => message === failed)).toMatchObject([
        { fields: { contextId, attempt: 1, reason: expect.stringContaining("its URL can't be worked out: ") } },
      ]),
    )
    expect(receiver.came).toEqual([])
    expect(await world.owed()).toBe(1)
  })
})

describe('a context that is ended without a turn, since its data may end servers', () => {
  const deaf = { name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'deaf', timeout: 600 } }
  const DEAF: Files = {
    'p/Fn.ts': 'export function deaf() { return new Promise(() => {}) }',
    'p/Deaf.flux': {
      onEnd: ON_END,
      tags: ['blue'],
      input: [{ name: 'text' }],
      output: [{ name: 'kept', defaultValue: 'x' }],
      states: [deaf],
    },
    'p/Secret.flux': {
      webhooks: [{ urlPath: '/secret', httpMethods: ['POST'] }],
      onEnd: ON_END,
      key: 'of ${$request.headers.authorization}',
      tags: ['${$request.headers.authorization}'],
      states: [deaf],
    },
    'p/Pin.flux': {
      onEnd: ON_END,
      tags: ['${text}'],
      input: [{ name: 'text', sensitive: true }],
      states: [deaf],
    },
    'p/Over.flux': {
      onEnd: { ...ON_END, url: 'https://x.example/${text.length}' },
      input: [{ name: 'text' }],
      states: [deaf],
    },
  }
  const POISON = '{"text":'

  /** Its step has ended so many servers that the next one ends it, and the turn that would end it ends another. */
  async function killed(
    fluxName: string,
    {
      isPoisoned,
      path,
      idempotencyKey,
    }: { readonly isPoisoned: boolean; readonly path?: string; readonly idempotencyKey?: string },
  ) {
    const receiver = new Receiver()
    const endings: (readonly string[])[] = []
    const deadly = (store: Store) =>
      withVerbs(store, {
        commit(request) {
          const isRelease = request.writes.some(
            ({ context, previous }) => context.owner?.startsWith('nobody') === true && previous > 0,
          )
          const end = request.writes.find(({ context }) => context.endedAt !== null)
          if (end) endings.push(end.changed)
          // A turn changes more than the head.
          return isRelease || (end && end.changed.length > 1)
            ? Promise.reject(unavailable('dead'))
            : store.commit(request)
        },
        async load(request) {
          const stored = await store.load(request)
          return stored && isPoisoned ? { ...stored, parts: { ...stored.parts, input: POISON } } : stored
        },
      })
    let bench = await openBench(DEAF, { secrets: { HOOK: KEY }, webhookSender: receiver, wrap: deadly })
    if (path !== undefined) void login(bench, path, idempotencyKey).catch(unheard)
    const contextId =
      path === undefined
        ? await bench.run(fluxName, { text: 'short' })
        : await eventually(async () => {
            const [view] = await bench.listContexts({ fluxName })
            if (!view) throw new Error('it has not started yet')
            return view.id
          })
    // Of all servers: that which ends the context tries to send its webhook.
    const logs: (typeof bench.logged)[] = []
    for (let nr = 0; nr < 8; nr += 1) {
      await eventually(() => expect(bench.clock.pending.length).toBeGreaterThan(0))
      logs.push(bench.logged)
      bench = await bench.restart()
    }
    logs.push(bench.logged)
    await eventually(() => expect(endings.at(-1)).toEqual(['head']))
    return { bench, receiver, contextId, logged: () => logs.flat() }
  }

  test('owes one all the same, with its outputs when it is small', async () => {
    const { receiver, contextId } = await killed('Deaf', { isPoisoned: false })
    await receiver.has(1)
    const error = { type: 'LeaseLost' }
    expect(receiver.events).toMatchObject([
      { type: 'context.failed', data: { contextId, tags: ['blue'], output: { kept: 'x' }, error } },
    ])
  })

  test('owes one with what its head has, when its data cannot be read', async () => {
    const { receiver, contextId } = await killed('Deaf', { isPoisoned: true })
    await receiver.has(1)
    const error = { type: 'LeaseLost' }
    expect(receiver.events).toMatchObject([
      { type: 'context.failed', data: { contextId, tags: ['blue'], output: null, error } },
    ])
  })

  test('owes one without anything that may have secrets of the request, when its data cannot be read', async () => {
    const { receiver, contextId } = await killed('Secret', { isPoisoned: true, path: 'secret' })
    await receiver.has(1)
    expect(receiver.events).toMatchObject([
      { type: 'context.failed', data: { contextId, key: null, tags: null, output: null, error: null } },
    ])
    expect(receiver.came[0]?.body).not.toContain('qzv')
  })

  test('owes one without anything that may have sensitive values, when its data cannot be read', async () => {
    const { receiver, contextId } = await killed('Pin', { isPoisoned: true })
    await receiver.has(1)
    expect(receiver.events).toMatchObject([
      { type: 'context.failed', data: { contextId, key: null, tags: null, output: null, error: null } },
    ])
  })

  test('gives its end as the answer to the key with which its webhook was called', async () => {
    const idempotencyKey = 'once'
    const { bench, contextId } = await killed('Secret', { isPoisoned: false, path: 'secret', idempotencyKey })
    expect(await login(bench, 'secret', idempotencyKey)).toMatchObject({
      replayed: true,
      answer: { kind: 'failed', contextId, reason: expect.stringMatching(/^LeaseLost: /) },
    })
  })

  test('is sent nowhere when its URL is made of inputs that cannot be read', async () => {
    const { receiver, contextId, logged } = await killed('Over', { isPoisoned: true })
    await eventually(() =>
      expect(logged().filter(({ message }) => message.startsWith('a webhook'))).toMatchObject([
        { fields: { contextId, reason: expect.stringContaining('the inputs of the context were not read') } },
      ]),
    )
    expect(receiver.came).toEqual([])
  })
})
