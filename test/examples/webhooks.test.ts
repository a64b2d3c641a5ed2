// The examples of webhooks, called as their comments say.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACTORS } from './examples.ts'
import { openLive, type Live } from '../http/live.ts'

let server: Live
beforeAll(async () => {
  server = await openLive({ ACTORFLUX_ACTORS: ACTORS }, {})
})
afterAll(() => server.close())

const call = (path: string, init: RequestInit = {}) => fetch(`${server.url}${path}`, init)

test('webhooks.Greeting answers in text', async () => {
  expect(await (await call('/api/greeting?name=Ada')).text()).toBe('Hello, Ada!')
  expect(await (await call('/api/greeting')).text()).toBe('Hello, world!')
})

const order = (body: string, headers: Record<string, string> = {}) =>
  call('/api/customers/42/orders?express=true', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'X-Client-Ref': 'shop-7', ...headers },
  })

describe('webhooks.Order', () => {
  test('answers 201 with headers, a cookie and the order', async () => {
    const response = await order('{"items":[{"sku":"A-1","count":2}]}')
    expect(response.status).toBe(201)
    const answer = (await response.json()) as { order: number }
    expect(answer).toEqual({
      order: expect.any(Number),
      customer: 42,
      express: true,
      items: [{ sku: 'A-1', count: 2 }],
    })
    expect(response.headers.get('location')).toBe(`/api/orders/${answer.order}`)
    expect(response.headers.get('x-client-ref')).toBe('shop-7')
    expect(response.headers.getSetCookie()).toEqual([expect.stringContaining(`lastOrder=${answer.order}; `)])
  })

  test('answers in XML if that is asked for, and takes it', async () => {
    const response = await order('<order><items><item><sku>A-1</sku></item></items></order>', {
      'content-type': 'application/xml',
      accept: 'application/xml',
    })
    expect(response.status).toBe(201)
    expect(await response.text()).toContain('<items type="array"><item><sku>A-1</sku></item></items>')
  })

  test('refuses an order without items, and a customer who is no number', async () => {
    const empty = await order('{}')
    expect([empty.status, await empty.text()]).toEqual([400, 'an order needs items'])
    expect((await call('/api/customers/x/orders', { method: 'POST' })).status).toBe(400)
  })
})

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

test('webhooks.Deployment wants to know what', async () => {
  for (const input of ['{}', '{"repository":null,"commit":"1a"}', '{"repository":"ada/engine","commit":null}']) {
    const started = await call('/flux-api/examples/execute', {
      method: 'POST',
      body: `{"fluxName":"webhooks.Deployment","input":${input}}`,
      headers: { 'content-type': JSON_TYPE },
    })
    expect(started.status).toBe(422)
  }
})

/** Each of the files in the field `file`. */
async function upload(
  files: readonly (readonly [name: string, type: string, content: string | Uint8Array<ArrayBuffer>])[],
  title?: string,
) {
  const form = new FormData()
  if (title !== undefined) form.append('title', title)
  for (const [name, type, content] of files) form.append('file', new Blob([content], { type }), name)
  const response = await call('/api/uploads', { method: 'POST', body: form })
  return [response.status, response.status === 200 ? await response.json() : await response.text()]
}

describe('webhooks.Upload', () => {
  test.each([
    [14, 3, 'one\ntwo\nthree\n'],
    [7, 2, 'one\ntwo'],
    [1, 1, '\n'],
    [0, 0, ''],
    [2, 1, 'ü'],
    [900_000, 900_000, '\n'.repeat(900_000)],
  ])('counts, by a script, in text of %i bytes %i lines', async (size, lines, content) => {
    expect(await upload([['notes.md', 'text/markdown', content]], 'Notes')).toEqual([
      200,
      { title: 'Notes', name: 'notes.md', type: 'text/markdown', size, lines },
    ])
  })

  test.each([[new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe])], [new Uint8Array([65, 0, 66, 0, 10, 0])]])(
    'tells of any other file what it is: %j',
    async (content) => {
      expect(await upload([['a.png', 'image/png', content]])).toEqual([
        200,
        { title: 'a.png', name: 'a.png', type: 'image/png', size: 6 },
      ])
    },
  )

  test('looks at the first of several files', async () => {
    expect(
      await upload([
        ['a.txt', 'text/plain', 'a'],
        ['b.png', 'image/png', new Uint8Array([255])],
      ]),
    ).toEqual([200, { title: 'a.txt', name: 'a.txt', type: 'text/plain', size: 1, lines: 1 }])
  })

  test('wants a form with a file', async () => {
    const refused = [415, 'send a form with a file']
    expect(await upload([])).toEqual(refused)
    expect(await upload([], 'Notes')).toEqual(refused)
    const others: [string, string][] = [
      ['text/plain', 'x'],
      [JSON_TYPE, '{"file":{"content":"YQ=="}}'],
      [JSON_TYPE, '[]'],
      [FORM_TYPE, 'file=a'],
    ]
    for (const [type, body] of others)
      expect((await call('/api/uploads', { method: 'POST', body, headers: { 'content-type': type } })).status).toBe(415)
    const text = new FormData()
    text.append('file', 'no file')
    expect((await call('/api/uploads', { method: 'POST', body: text })).status).toBe(415)
  })
})
