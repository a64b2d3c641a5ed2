// Events that come early, over HTTP: in JSON, in XML, as lines, as CloudEvents, and what is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLive, type Live } from './live.ts'

const busy = {
  name: 'open',
  waiting: true,
  input: [{ name: 'n', type: 'integer', required: true }],
  action: { type: 'map', lines: [{ type: 'set', expression: 'sum + n', evaluate: true, to: ['sum'] }] },
  transitions: [{ to: 'open', event: 'add' }],
}
const output = [{ name: 'sum', type: 'integer', defaultValue: 0 }]
const idle = { name: 'idle', waiting: true, transitions: [{ to: 'open', event: 'go' }] }
const SERVICES = {
  'p/Early.flux': { output, early: '1h', states: [idle, busy] },
  'p/Plain.flux': { output, states: [idle, busy] },
  'p/Cart.flux': { output, input: [{ name: 'of', type: 'integer', required: true }], states: [busy] },
}

let live: Live
beforeAll(async () => {
  live = await openLive({}, SERVICES)
})
afterAll(() => live.close())

const start = async (fluxName = 'Early') =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName } })).json as { contextId: number }).contextId
const send = (body: object | string, more: object = {}) => live.call('POST', '/flux-api/event', { body, ...more })
const xml = (body: string) => send(body, { type: 'application/xml' })
const sumOf = async (contextId: number) => {
  const { json } = await live.call('GET', `/flux-api/context?contextId=${contextId}`)
  return (json as { output: { gloopProperties: { value: unknown }[] } }).output.gloopProperties[0]?.value
}

test('in JSON, texts stand for no number and no boolean but the id of a context', async () => {
  const contextId = await start()
  const of = (more: object) => send({ event: 'add', input: { n: 1 }, contextId: String(contextId), ...more })
  expect(await of({ ttl: '60' })).toMatchObject({ status: 400, json: { errors: [{ pointer: '/ttl' }] } })
  expect(await of({ receipt: 'true' })).toMatchObject({ status: 400, json: { errors: [{ pointer: '/receipt' }] } })
  expect(await of({ ttl: 60, receipt: true })).toMatchObject({ status: 200, json: { pending: [{ contextId }] } })
  const typed = await xml(
    `<e><event>add</event><contextId>${contextId}</contextId><input><n>2</n></input><ttl>60</ttl><receipt>true</receipt></e>`,
  )
  expect(typed).toMatchObject({ status: 200, json: { pending: [{ contextId }] } })
})

describe('an event that is kept', () => {
  test('is told in JSON, in XML, in a line, and in its receipt', async () => {
    const contextId = await start()
    const entry = { contextId, expiresAt: expect.any(Number) }
    const json = await send({ event: 'add', contextId, input: { n: 1 }, eventId: 'http-1' })
    expect(json).toMatchObject({ status: 200, json: { transitions: [], ignored: [], pending: [entry] } })
    const typed = await xml(
      `<e><event>add</event><contextId>${contextId}</contextId><input><n>2</n></input><ttl> 60 </ttl></e>`,
    )
    expect(typed).toMatchObject({ status: 200, json: { pending: [entry] } })
    const inXml = await send({ event: 'add', contextId, input: { n: 3 } }, { accept: 'application/xml' })
    expect(inXml.text).toMatch(new RegExp(`<pending[^>]*><item><contextId[^>]*>${contextId}</contextId><expiresAt`))
    const response = await fetch(`${live.url}/flux-api/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: [
        { event: 'add', contextId, input: { n: 4 }, ttl: 60 },
        { event: 'add', contextId, input: { n: 4 }, ttl: 0 },
        { event: 'add', contextId, input: { text: 'x'.repeat(70_000) } },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    })
    const lines: unknown[] = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { status: 200, pending: [entry] },
      { status: 422 },
      { status: 413 },
      { ok: 1, failed: 2 },
    ])
    expect((await live.call('GET', '/flux-api/event?eventId=http-1')).json).toMatchObject({
      pending: [entry],
      moved: [],
    })
    await send({ event: 'go', contextId })
    expect(await sumOf(contextId)).toBe(10)
    expect((await live.call('GET', '/flux-api/event?eventId=http-1')).json).toMatchObject({
      pending: [],
      moved: [{ contextId, state: 'open', at: expect.any(Number) }],
    })
  })

  test('is told of a CloudEvent with fluxttl', async () => {
    const contextId = await start('Plain')
    const event = {
      specversion: '1.0',
      id: '1',
      source: '/s',
      type: 'add',
      fluxcontextid: String(contextId),
      data: { n: 1 },
    }
    const type = 'application/cloudevents+json'
    expect(await send({ ...event, fluxttl: 9 }, { type })).toMatchObject({
      status: 200,
      json: { pending: [{ contextId }] },
    })
    expect((await send({ ...event, id: '2' }, { type })).status).toBe(409)
  })

  test('beyond the bounds of the context it is refused with 429', async () => {
    const contextId = await start()
    for (let n = 0; n < 100; n += 1) await send({ event: 'add', contextId, input: { n } })
    const { status, headers } = await send({ event: 'add', contextId, input: { n: 1 } })
    expect([status, headers.get('retry-after')]).toEqual([429, '1'])
  })

  test('Prefer: wait shows the context that keeps it, once it rests', async () => {
    const contextId = await start()
    const answer = await send({ event: 'add', contextId, input: { n: 1 } }, { prefer: 'wait=5' })
    expect(answer.json).toMatchObject({ pending: [{ contextId }], context: { id: contextId, status: 'WAITING' } })
    expect(answer.headers.get('preference-applied')).toBe('wait')
  })
})

test.each<[unknown, number]>([
  [1, 200],
  [604_800, 200],
  [0, 422],
  [-5, 422],
  [1.5, 422],
  [604_801, 422],
  ['soon', 400],
  [true, 400],
  [[], 400],
])('ttl: %j', async (ttl, status) => {
  const contextId = await start('Plain')
  expect((await send({ event: 'add', contextId, input: { n: 1 }, ttl })).status).toBe(status)
})

describe('orStart', () => {
  const cart = { event: 'add', input: { n: 5 }, fluxName: 'Cart', orStart: { input: { of: 3 }, tags: ['a'] } }

  test('starts and moves, once, and Prefer: wait shows the one context', async () => {
    const { json, headers } = await send({ ...cart, key: 'k1' }, { prefer: 'wait=5' })
    expect(json).toMatchObject({
      transitions: [{ state: 'open' }],
      executions: [{ state: 'open' }],
      context: { key: 'k1', tags: ['a'], status: 'WAITING' },
    })
    expect(headers.get('preference-applied')).toBe('wait')
    expect((await send({ ...cart, key: 'k1' })).json).toMatchObject({
      transitions: [{ state: 'open' }],
      executions: [],
    })
  })

  test('in XML without types', async () => {
    const { status, json, text } = await xml(
      `<e><event>add</event><key>k2</key><input><n>5</n></input>
        <orStart>
          <fluxName> Cart </fluxName>
          <input><of>3</of></input>
          <tags>x</tags>
        </orStart></e>`,
    )
    expect(status, text).toBe(200)
    const { executions } = json as { executions: { contextId: number }[] }
    expect(executions).toHaveLength(1)
    const view = await live.call('GET', `/flux-api/context?contextId=${executions[0]?.contextId}`)
    expect(view.json).toMatchObject({ key: 'k2', tags: ['x'] })
  })

  test('as lines: those of one key keep their order', async () => {
    const lines = [1, 2, 3, 4].map((n) => ({
      event: 'add',
      key: 'k3',
      input: { n },
      orStart: { fluxName: 'Cart', input: { of: 1 } },
    }))
    const response = await fetch(`${live.url}/flux-api/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    })
    const answers = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { executions?: unknown[] })
    expect(answers.map(({ executions }) => executions?.length)).toEqual([1, 0, 0, 0, undefined])
  })

  test.each<[string, object, number]>([
    ['without a key', { key: undefined, fluxName: undefined }, 400],
    ['that is no object', { orStart: 'yes' }, 400],
    ['with another service', { orStart: { ...cart.orStart, fluxName: 'Early' } }, 400],
    ['with an unknown field', { orStart: { ...cart.orStart, inputs: {} } }, 400],
    ['whose input is no object', { orStart: { input: 5 } }, 422],
    ['whose input is wrong', { orStart: { input: { of: 'x' } } }, 422],
    ['whose input lacks something', { orStart: {} }, 422],
    ['whose tags are wrong', { orStart: { ...cart.orStart, tags: ['a,b'] } }, 422],
    ['for an event that no state names', { event: 'other' }, 422],
    ['for an event with a wrong input', { input: {} }, 422],
    ['for a service that is not there', { fluxName: 'None' }, 404],
  ])('%s', async (_, more, status) => {
    const answer = await send({ ...cart, key: 'wrong', ...more })
    expect(answer.status, answer.text).toBe(status)
    expect((await live.call('GET', '/flux-api/context?key=wrong&fluxName=Cart')).status).toBe(404)
  })
})
