// Deliveries of webhooks over a socket: who may see them and send them again, what the calls refuse, and XML.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openLive, tokenOf, type Live } from './live.ts'

const SERVICES = {
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'], name: 'The hook' }],
    input: [{ name: 'n', type: 'integer' }],
    output: [{ name: 'n', type: 'integer' }],
    states: [{ name: 'end', action: { type: 'map', lines: [{ from: ['n'], to: ['n'] }] } }],
  },
  'p/Bad.flux': {
    webhooks: [{ urlPath: '/bad', httpMethods: ['POST'] }],
    output: [{ name: 'out', type: 'any' }],
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [
            { type: 'set', expression: '200', to: ['$response', 'responseCode'] },
            {
              type: 'set',
              expression: '[{ name: "x", value: "a\\nb" }]',
              evaluate: true,
              to: ['$response', 'headers'],
            },
            { from: ['$response'], to: ['out'] },
          ],
        },
      },
    ],
  },
}
const LIST = '/flux-api/webhooks/deliveries'
const first = z.tuple([z.object({ deliveryId: z.string(), status: z.number().nullable() })]).rest(z.unknown())

const [read, invoke] = [tokenOf('reader'), tokenOf('invoker')]
let live: Live
beforeAll(async () => {
  live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, { reader: 'read', invoker: 'invoke' })
})
afterAll(() => live.close())

const newest = async (path: string) => {
  const list = () => live.call('GET', `${LIST}?urlPath=${path}&limit=1`, { token: read })
  await expect.poll(async () => (await list()).text).toMatch(/"status":\d/)
  return first.parse((await list()).json)[0]
}

test('reading takes the role read, sending again the role invoke', async () => {
  expect((await live.call('POST', '/api/hook?n=7', { body: { a: 1 } })).status).toBe(200)
  const { deliveryId } = await newest('/hook')
  const again = `${LIST}/replay?deliveryId=${deliveryId}`
  const statuses = async (method: string, path: string) =>
    Promise.all(
      [undefined, read, invoke].map(
        async (token) => (await live.call(method, path, token === undefined ? {} : { token })).status,
      ),
    )
  expect(await statuses('GET', '/flux-api/webhooks')).toEqual([401, 200, 200])
  expect(await statuses('GET', LIST)).toEqual([401, 200, 200])
  expect(await statuses('POST', again)).toEqual([401, 403, 200])
  expect((await live.call('GET', again, { token: invoke })).status).toBe(405)
})

const refused = async (method: string, path: string) => {
  const { status, text } = await live.call(method, path, { token: invoke })
  return `${status} ${text}`
}

test('unknown parameters and outcomes are refused, with the nearest name', async () => {
  expect(await refused('GET', '/flux-api/webhooks?urlPath=/hook')).toMatch(/^400 /)
  expect(await refused('GET', `${LIST}?urlpath=/hook`)).toMatch(/^400 .*urlPath/)
  expect(await refused('GET', `${LIST}?outcome=acepted`)).toMatch(/^400 .*accepted/)
  expect(await refused('GET', `${LIST}?limit=0`)).toMatch(/^400 /)
  expect(await refused('GET', `${LIST}?after=x`)).toMatch(/^400 .*next page/)
  expect(await refused('POST', `${LIST}/replay`)).toMatch(/^400 /)
  expect(await refused('POST', `${LIST}/replay?deliveryID=x`)).toMatch(/^400 .*deliveryId/)
})

test('the endpoints are listed, with counts and the last delivery', async () => {
  await live.call('POST', '/api/hook?n=8', { body: {} })
  await live.call('POST', '/api/hook?n=no', { body: {} })
  const { json } = await live.call('GET', '/flux-api/webhooks', { token: read })
  expect(json).toEqual([
    expect.objectContaining({ urlPath: '/bad', name: null, last: null }),
    {
      urlPath: '/hook',
      httpMethods: ['POST'],
      package: 'p',
      fluxName: 'Hook',
      name: 'The hook',
      scheme: null,
      counts: expect.objectContaining({ invalid: 1, 'signature-invalid': 0 }),
      last: expect.objectContaining({ method: 'POST', outcome: 'invalid', status: 400, contextId: null }),
    },
  ])
})

test('the status of one that is sent again is that of HTTP, also where the answer is one that HTTP forbids', async () => {
  expect((await live.call('POST', '/api/bad', { body: {} })).status).toBe(500)
  const { deliveryId, status } = await newest('/bad')
  expect(status).toBe(500)
  const again = await live.call('POST', `${LIST}/replay?deliveryId=${deliveryId}`, { token: invoke })
  expect(again.json).toMatchObject({ status: 500, contextId: expect.any(Number) })
})

test('XML has the roots webhooks and deliveries', async () => {
  for (const [path, root] of [
    ['/flux-api/webhooks', 'webhooks'],
    [LIST, 'deliveries'],
  ] as const) {
    const { text, headers } = await live.call('GET', path, { token: read, accept: 'application/xml' })
    expect(headers.get('content-type')).toBe('application/xml')
    expect(text).toMatch(new RegExp(`^<\\?xml [^>]+>\\s*<${root}[ >]`))
  }
})
