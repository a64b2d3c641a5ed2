// CloudEvents by the HTTP binding, sent with the SDK that others use.
import { CloudEvent, HTTP, type Message } from 'cloudevents'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventIdOf } from '../../../src/model/cloud-event.ts'
import { openLive, type Live } from '../live.ts'

let live: Live
beforeAll(async () => {
  live = await openLive()
})
afterAll(() => live.close())

const start = async (fluxName = 'Waiter') =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName } })).json as { contextId: number }).contextId

async function send(body: string, headers: { readonly [name: string]: string }, query = '') {
  const response = await fetch(`${live.url}/flux-api/event${query}`, { method: 'POST', body, headers })
  const json: unknown = JSON.parse(await response.text())
  return { status: response.status, json }
}

const sendMessage = ({ headers, body }: Message<unknown>) =>
  send(
    typeof body === 'string' ? body : JSON.stringify(body ?? ''),
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  )

const moved = (contextId: number, eventId: unknown) => ({
  status: 200,
  json: expect.objectContaining({ transitions: [{ contextId, state: 'open' }], eventId }),
})

const event = (more: object) =>
  new CloudEvent({ type: 'hold', source: '/shop', id: 'A-1', data: { by: 'Ada' }, ...more })

const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
const PLAIN = { specversion: '1.0', type: 'hold', source: '/shop', id: 'A-1' }

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('one event', () => {
  test.each(['binary', 'structured'] as const)('sent by the SDK, %s', async (mode) => {
    const id = await start()
    expect(await sendMessage(HTTP[mode](event({ id: mode, fluxcontextid: String(id), subject: 'ignored' })))).toEqual(
      moved(id, `/shop ${mode}`),
    )
  })

  test('finds its contexts by tags', async () => {
    const { contextId } = (
      await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Waiter', tags: ['red', 'blue'] } })
    ).json as { contextId: number }
    const answer = await sendMessage(HTTP.structured(event({ id: 'tags', fluxtags: 'green, blue' })))
    expect(answer).toEqual(moved(contextId, '/shop tags'))
  })

  test('may have escapes and quotes in its headers', async () => {
    const id = await start()
    const headers = { 'ce-specversion': '1.0', 'ce-type': '"h%6Fld"', 'ce-id': '1', 'ce-fluxcontextid': String(id) }
    const json = { 'content-type': 'application/json' }
    expect(await send('{"by":"x"}', { ...headers, ...json, 'ce-source': 'Euro%E2%82%AC' })).toEqual(
      moved(id, expect.stringMatching(/^ce-[\da-f]{64}$/)),
    )
    for (const source of ['%E2%82', '%zz'])
      expect((await send('{"by":"x"}', { ...headers, ...json, 'ce-source': source })).status).toBe(400)
  })

  test('has its data as XML, or in base64', async () => {
    const id = await start('Typed')
    const headers = { 'ce-specversion': '1.0', 'ce-type': 'go', 'ce-id': '1', 'ce-source': 's' }
    const xml = { 'content-type': 'application/xml' }
    expect((await send('<d><n>5</n></d>', { ...headers, ...xml, 'ce-fluxcontextid': String(id) })).status).toBe(200)
    let sent = 0
    const structured = async (more: object) =>
      (
        await send(
          JSON.stringify({ ...PLAIN, id: `data ${(sent += 1)}`, type: 'go', fluxcontextid: String(id), ...more }),
          STRUCTURED,
        )
      ).status
    expect(await structured({ data_base64: base64('{"n":5}') })).toBe(200)
    expect(await structured({ data_base64: base64('<d><n>5</n></d>'), datacontenttype: 'text/xml' })).toBe(200)
    expect(await structured({ data: '<d><n>5</n></d>', datacontenttype: 'application/xml' })).toBe(200)
    expect(await structured({ data_base64: base64('5'), datacontenttype: 'text/plain' })).toBe(415)
    expect(await structured({ data_base64: '!!!' })).toBe(400)
    expect(await structured({ data_base64: base64('{"n":5}'), data: {} })).toBe(400)
    for (const data of ['text', 5, [], true]) expect(await structured({ data })).toBe(422)
    // The state requires an input.
    for (const more of [{}, { data: null }, { data: {} }]) expect(await structured(more)).toBe(422)
  })

  test('is refused without what it must have', async () => {
    for (const name of Object.keys(PLAIN)) {
      const { [name as keyof typeof PLAIN]: _left, ...rest } = PLAIN
      expect((await send(JSON.stringify(rest), STRUCTURED)).status, name).toBe(400)
      expect((await send(JSON.stringify({ ...PLAIN, [name]: '' }), STRUCTURED)).status, name).toBe(400)
    }
    const whole = JSON.stringify(PLAIN)
    expect((await send(whole, STRUCTURED)).status).toBe(200)
    const wrong: [number, string, { [name: string]: string }, string?][] = [
      [400, JSON.stringify({ ...PLAIN, specversion: '0.3' }), STRUCTURED],
      [400, JSON.stringify({ ...PLAIN, fluxcontextid: 'one' }), STRUCTURED],
      [400, JSON.stringify({ ...PLAIN, fluxtags: ['a'] }), STRUCTURED],
      [400, '[]', STRUCTURED],
      [400, whole, { ...STRUCTURED, 'idempotency-key': 'k' }],
      [406, whole, { ...STRUCTURED, accept: 'application/xml' }],
      [415, whole, { 'content-type': 'application/cloudevents+xml' }],
      [400, '', { 'ce-id': '1' }],
      [
        415,
        'x',
        { 'ce-specversion': '1.0', 'ce-type': 't', 'ce-id': '1', 'ce-source': 's', 'content-type': 'text/plain' },
      ],
    ]
    for (const [status, body, headers] of wrong) {
      const response = await fetch(`${live.url}/flux-api/event`, { method: 'POST', body, headers })
      expect(response.status, body).toBe(status)
    }
  })
})

const batch = (events: unknown) =>
  send(JSON.stringify(events), { 'content-type': 'application/cloudevents-batch+json' })

test('a batch has an answer for each, in order', async () => {
  const id = await start()
  const to = (more: object) => ({ ...PLAIN, fluxcontextid: String(id), data: { by: 'x' }, ...more })
  const { status, json } = await batch([
    to({ id: '1' }),
    { ...PLAIN, id: 5 },
    7,
    to({ id: '2', type: 'close' }),
    to({ id: '3' }),
  ])
  expect([status, json]).toEqual([
    200,
    [
      expect.objectContaining({
        n: 0,
        status: 200,
        eventId: '/shop 1',
        transitions: [{ contextId: id, state: 'open' }],
      }),
      expect.objectContaining({ n: 1, status: 400 }),
      expect.objectContaining({ n: 2, status: 400 }),
      expect.objectContaining({ n: 3, status: 200, transitions: [{ contextId: id, state: 'shut' }] }),
      expect.objectContaining({ n: 4, status: 409 }),
    ],
  ])
  expect(await batch([])).toEqual({ status: 200, json: [] })
  expect((await batch({})).status).toBe(400)
  const many = Array.from({ length: 1000 }, (_, n) => ({ ...PLAIN, id: n }))
  expect((await batch(many)).json).toHaveLength(1000)
  expect((await batch([...many, PLAIN])).status).toBe(413)
})

test('the id is source and id, or a hash of them', () => {
  expect(eventIdOf('a', 'b')).toBe('a b')
  expect(eventIdOf('a'.repeat(127), 'b'.repeat(127))).toHaveLength(255)
  expect(eventIdOf('a'.repeat(127), 'b'.repeat(128))).toMatch(/^ce-[\da-f]{64}$/)
  for (const odd of [' a', 'ä', 'a\n']) expect(eventIdOf(odd, 'b')).toMatch(/^ce-/)
})

describe('a context that is named by its key', () => {
  const extensions = { fluxkey: 'order 1', fluxname: 'Waiter', fluxpackage: 'q' }
  let id: number
  beforeAll(async () => {
    const { json } = await live.call('POST', '/flux-api/q/execute', { body: { fluxName: 'Waiter', key: 'order 1' } })
    id = (json as { contextId: number }).contextId
  })

  test.each(['binary', 'structured'] as const)('gets a %s event, whose receipt is found', async (mode) => {
    const source = `/shop/${mode}`
    expect(await sendMessage(HTTP[mode](event({ id: 'K1', source, ...extensions })))).toEqual(moved(id, `${source} K1`))
    const found = await live.call('GET', `/flux-api/event?source=${source}&id=K1`)
    expect(found.json).toMatchObject({ eventId: `${source} K1`, moved: [{ contextId: id }] })
  })

  test('gets the events of a batch', async () => {
    const one = { ...PLAIN, ...extensions, data: { by: 'x' } }
    const { json } = await batch([
      { ...one, id: 'b1' },
      { ...one, id: 'b2', fluxkey: 'nobody' },
      { ...one, id: 'b3', fluxname: undefined },
      { ...one, id: 'b4' },
    ])
    expect(json).toMatchObject([
      { status: 200, transitions: [{ contextId: id }] },
      { status: 404 },
      { status: 400 },
      { status: 200, transitions: [{ contextId: id }] },
    ])
    const found = await live.call('GET', '/flux-api/event?source=/shop&id=b4')
    expect(found.json).toMatchObject({ eventId: '/shop b4', moved: [{ contextId: id }], done: true })
  })
})

const path = (query: object) => `/flux-api/event?${new URLSearchParams({ ...query })}`

test('the receipt of an event is found by source and id, also where they are hashed', async () => {
  const id = await start()
  const source = 'ä'.repeat(10)
  const one = { ...PLAIN, source, id: 'x', fluxcontextid: String(id), data: { by: 'x' } }
  expect((await send(JSON.stringify(one), STRUCTURED)).status).toBe(200)
  const { json } = await live.call('GET', path({ source, id: 'x' }))
  expect(json).toMatchObject({ eventId: eventIdOf(source, 'x'), moved: [{ contextId: id }] })
  expect((await live.call('GET', path({ source, id: 'y' }))).status).toBe(404)
  for (const query of [{}, { source }, { id: 'x' }, { source, id: 'x', eventId: 'e' }])
    expect((await live.call('GET', path(query))).status).toBe(400)
})

test('an event may be accepted before it is sent to all', async () => {
  const headers = { ...STRUCTURED, prefer: 'respond-async' }
  const answer = await fetch(`${live.url}/flux-api/event`, {
    method: 'POST',
    body: JSON.stringify({ ...PLAIN, id: 'async 1' }),
    headers,
  })
  expect([answer.status, answer.headers.get('preference-applied'), await answer.json()]).toEqual([
    202,
    'respond-async',
    { message: expect.any(String), eventId: '/shop async 1' },
  ])
  const location = answer.headers.get('location') ?? ''
  expect(location).toBe('/flux-api/event?eventId=%2Fshop%20async%201')
  expect((await live.call('GET', location)).json).toMatchObject({ eventId: '/shop async 1', progress: {} })
})

const whole = (id: number) => ({ ...PLAIN, id: 'named', data: { by: 'x' }, fluxcontextid: String(id) })
const binary = async ({ data, ...attributes }: { readonly [name: string]: unknown }, query = '') => {
  const headers = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, String(value)])
  return send(JSON.stringify(data), { 'content-type': 'application/json', ...Object.fromEntries(headers) }, query)
}
const structured = (event: object, query = '') => send(JSON.stringify(event), STRUCTURED, query)
const inBatch = async (event: object) => {
  const { json } = await batch([event])
  const [{ problem, status }] = json as [{ problem: object; status: number }]
  return { json: problem, status }
}

describe('what is wrong is reported in the names that the sender wrote', () => {
  const modes = [
    ['binary', binary],
    ['structured', structured],
    ['batch', inBatch],
  ] as const
  const wrong: [number, string, object, RegExp][] = [
    [422, '/fluxttl', { fluxttl: '0' }, /^\/fluxttl must/],
    [400, '/fluxttl', { fluxttl: 'soon' }, /^\/fluxttl must be a number$/],
    [400, '/fluxcontextid', { fluxcontextid: 'one' }, /^\/fluxcontextid must be/],
    [400, '/fluxcontextid', { fluxkey: 'k', fluxname: 'Waiter' }, /^\/fluxcontextid must not be given beside key$/],
    [400, '/fluxname', { fluxcontextid: undefined, fluxkey: 'k' }, /^\/fluxname must be given with key$/],
    [
      400,
      '/fluxkey',
      { fluxcontextid: undefined, fluxpackage: 'q' },
      /^\/fluxkey must be given with fluxName and package$/,
    ],
    [422, '/fluxkey', { fluxcontextid: undefined, fluxkey: 'k'.repeat(257), fluxname: 'Waiter' }, /./],
    [422, '/fluxtags/1', { fluxtags: `a,${'b'.repeat(257)}` }, /^\/fluxtags\/1 must/],
    [422, '/data', { data: [] }, /./],
    [422, '/data/by', { data: {} }, /^\/data\/by is required/],
    [400, '/type', { type: '$else' }, /^\/type must not begin with \$$/],
    [400, '/source', { source: '' }, /source /],
    [400, '/source', { source: 'a b' }, /source must not have spaces$/],
  ]

  test.each(modes)('%s', async (mode, sendIt) => {
    const id = await start()
    for (const [status, pointer, more, detail] of wrong) {
      const event = JSON.parse(JSON.stringify({ ...whole(id), ...more }))
      expect(await sendIt(event), `${mode} ${pointer}`).toMatchObject({
        status,
        json: { detail: expect.stringMatching(detail), errors: [expect.objectContaining({ pointer })] },
      })
    }
  })

  test('a parameter of the query keeps its name', async () => {
    const { fluxcontextid: _, ...rest } = whole(1)
    for (const sendIt of [binary, structured]) {
      expect(await sendIt(rest, '?contextId=0')).toMatchObject({ json: { errors: [{ pointer: '/contextId' }] } })
      const both = {
        json: {
          errors: [{ pointer: '/contextId' }],
          detail: expect.stringMatching(/^\/contextId must be the one in the query/),
        },
      }
      expect(await sendIt(whole(1), '?contextId=2')).toMatchObject(both)
    }
  })
})

test('spaces are for the ids of CloudEvents: other senders use visible characters', async () => {
  const id = await start()
  const one = { ...PLAIN, id: 'with space', fluxcontextid: String(id), data: { by: 'x' } }
  expect(await send(JSON.stringify(one), STRUCTURED)).toEqual(moved(id, '/shop with space'))
  expect((await live.call('GET', path({ eventId: '/shop with space' }))).status).toBe(200)
  for (const eventId of ['/shop with space', 'a b']) {
    const body = { event: 'hold', contextId: id, input: { by: 'x' }, eventId }
    const { status, json } = await live.call('POST', '/flux-api/event', { body })
    expect([status, json]).toEqual([
      400,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/eventId' })] }),
    ])
    const lines = { body: JSON.stringify(body), type: 'application/x-ndjson' }
    expect((await live.call('POST', '/flux-api/events', lines)).text).toContain('"status":400')
  }
  const hidden = { event: 'hold', contextId: id, input: { by: 'x' }, cloudEventId: 'a b' }
  expect((await live.call('POST', '/flux-api/event', { body: hidden })).status).toBe(400)
})
