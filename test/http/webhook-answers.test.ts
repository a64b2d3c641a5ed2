// What `$response` may hold and how, and what becomes of an answer that another server must be told of.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { openLive, type Live } from './live.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const text = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: false, to })
const from = (path: string[], ...to: string[]) => ({ from: path, to })
const hook = (urlPath: string) => ({ webhooks: [{ urlPath, httpMethods: ['GET'] }] })
const OUT = { output: [{ name: 'out', type: 'object' }] }
const answers = (...lines: object[]) => ({
  ...OUT,
  states: [{ name: 'end', action: { type: 'map', lines: [...lines, from(['$response'], 'out')] } }],
})
const typed = (type: string, content = '{ a: 1 }') =>
  answers(set(`{ "Content-Type": "${type}" }`, '$response', 'headers'), set(content, '$response', 'content'))

const SERVICES = {
  'w/TypedJson.flux': { ...typed('application/json'), ...hook('/typed/json') },
  'w/TypedApi.flux': { ...typed('application/vnd.api+json; charset=utf-8'), ...hook('/typed/api') },
  'w/TypedXml.flux': { ...typed('application/soap+xml'), ...hook('/typed/xml') },
  'w/TypedText.flux': { ...typed('text/plain'), ...hook('/typed/text') },
  'w/Literal.flux': {
    ...answers(
      text('201', '$response', 'responseCode'),
      text('sid', '$response', 'cookies', '0', 'name'),
      text('abc', '$response', 'cookies', '0', 'value'),
      text('true', '$response', 'cookies', '0', 'httpOnly'),
      text('false', '$response', 'cookies', '0', 'secure'),
      text('4070908800000', '$response', 'cookies', '0', 'expires'),
      text('X-A', '$response', 'headers', '0', 'name'),
      text('a', '$response', 'headers', '0', 'value'),
      text('AAH/', '$response', 'content'),
      text('true', '$response', 'encoded'),
    ),
    ...hook('/literal'),
  },
  'w/Untyped.flux': {
    ...answers(set('202', '$response', 'responseCode')),
    output: [{ name: 'out' }],
    ...hook('/untyped'),
  },
  'w/Replaced.flux': {
    ...OUT,
    output: [{ name: 'out', type: 'any' }],
    ...hook('/replaced'),
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [set('404', '$response', 'responseCode'), from(['$response'], 'out'), text('found', 'out')],
        },
      },
    ],
  },
  'w/Besides.flux': {
    output: [{ name: 'out', type: 'any' }, { name: 'more' }],
    ...hook('/besides'),
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [set('203', '$response', 'responseCode'), from(['$response'], 'out'), text('x', 'more')],
        },
      },
    ],
  },
  'w/Twice.flux': {
    output: [
      { name: 'first', type: 'any' },
      { name: 'second', type: 'any' },
    ],
    ...hook('/twice'),
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [
            set('201', '$response', 'responseCode'),
            from(['$response'], 'first'),
            set('202', '$response', 'responseCode'),
            from(['$response'], 'second'),
            set('1', 'second'),
          ],
        },
      },
    ],
  },
  'w/Amended.flux': {
    ...answers(text('old', '$response', 'content')),
    ...hook('/amended'),
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [text('old', '$response', 'content'), from(['$response'], 'out'), text('new', 'out', 'content')],
        },
      },
    ],
  },
  'w/Nested.flux': {
    ...answers(),
    ...hook('/nested'),
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [
            set('201', '$response', 'responseCode'),
            text('hello', '$response', 'content'),
            set('1', 'out', 'before'),
            from(['$response'], 'out', 'r'),
          ],
        },
      },
    ],
  },
  'w/Cookie.flux': {
    ...answers(
      set('["a/b+c==", "a b", "50%", "x=1&y"].map(value => ({ name: "c", value: value }))', '$response', 'cookies'),
    ),
    ...hook('/cookie'),
  },
  'w/BadCookie.flux': {
    ...answers(
      set('[{ name: "c", value: "x\\r\\nX-B: 1" }]', '$response', 'cookies'),
      text('x', '$response', 'content'),
    ),
    ...hook('/bad/cookie'),
  },
  'w/ManyHeaders.flux': {
    ...answers(set('{ "X-A": "a".repeat(257).split("") }', '$response', 'headers'), text('x', '$response', 'content')),
    ...hook('/bad/headers'),
  },
  'w/ManyCookies.flux': {
    ...answers(set('"a".repeat(257).split("").map(value => ({ name: "c", value: value }))', '$response', 'cookies')),
    ...hook('/bad/cookies'),
  },
  'w/LongHeaders.flux': {
    ...answers(set('{ "X-A": "a".repeat(70000) }', '$response', 'headers'), text('x', '$response', 'content')),
    ...hook('/bad/long'),
  },
  'w/Waits.flux': {
    ...OUT,
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
    ...hook('/waits'),
  },
  'w/BadBase64.flux': {
    ...answers(text('no base64!', '$response', 'content'), set('true', '$response', 'encoded')),
    ...hook('/bad/base64'),
  },
  'w/BadProxy.flux': {
    ...answers(set('{ "Proxy-Authorization": "x" }', '$response', 'headers')),
    ...hook('/bad/proxy'),
  },
  'w/BadTypes.flux': {
    ...answers(
      set('[{ name: "Content-Type", value: "a/b" }, { name: "content-type", value: "c/d" }]', '$response', 'headers'),
      text('x', '$response', 'content'),
    ),
    ...hook('/bad/types'),
  },
  // What takes a while without being a step of the server that was called: any server may wake the child.
  'w/Napping.flux': { states: [{ name: 'nap', transitions: [{ wait: 'duration:0.3', to: 'end' }] }, { name: 'end' }] },
  'w/fns.ts': `export const slow = () => new Promise((resolve) => { setTimeout(resolve, 2500, 'slow') })`,
  'w/Late.flux': {
    ...OUT,
    webhooks: [{ urlPath: '/late', httpMethods: ['GET'], timeout: 1 }],
    states: [
      {
        name: 'act',
        action: { type: 'invokeFlux', name: 'Napping', inputs: [], outputs: [set('{ done: true }', 'out')] },
      },
    ],
  },
  'w/Passing.flux': {
    ...OUT,
    webhooks: [{ urlPath: '/passing', httpMethods: ['GET'], timeout: 2 }],
    states: [
      {
        name: 'act',
        action: { type: 'invokeFlux', name: 'Napping', inputs: [], outputs: [set('{ done: true }', 'out')] },
        transitions: [{ wait: 'duration:0.2', to: 'slow' }],
      },
      { name: 'slow', action: { type: 'invokeCode', className: 'fns', methodName: 'slow', inputs: [], outputs: [] } },
    ],
  },
}

describe('$response', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({}, SERVICES)
  })
  afterAll(() => live.close())
  const call = (path: string, accept = '*/*') => fetch(`${live.url}/api${path}`, { headers: { accept } })

  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  test.each([
    ['/typed/json', 'application/xml', 'application/json', /^\{"a":1\}$/],
    ['/typed/json', browser, 'application/json', /^\{"a":1\}$/],
    ['/typed/api', browser, 'application/vnd.api+json; charset=utf-8', /^\{"a":1\}$/],
    ['/typed/text', browser, 'text/plain', /^\{"a":1\}$/],
    ['/typed/xml', '*/*', 'application/soap+xml', /<response><a type="number">1<\/a><\/response>/],
  ])(
    'has its data in the format of its Content-Type, whatever Accept says: %s %s',
    async (path, accept, type, body) => {
      const response = await call(path, accept)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
      expect(await response.text()).toMatch(body)
    },
  )

  test('can be filled by literal text, and by index', async () => {
    const response = await call('/literal')
    expect([response.status, response.headers.get('x-a'), response.headers.getSetCookie()]).toEqual([
      201,
      'a',
      ['sid=abc; HttpOnly; Expires=Thu, 01 Jan 2099 00:00:00 GMT'],
    ])
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 1, 255])
  })

  test('goes into an output that nobody gave a type', async () => expect((await call('/untyped')).status).toBe(202))

  test('answers no more when its output was filled with something else', async () => {
    const response = await call('/replaced')
    expect([response.status, await response.text()]).toEqual([200, 'found'])
  })

  test('answers also when other outputs are filled after it', async () =>
    expect((await call('/besides')).status).toBe(203))

  test('answers as the output that it went into last and is still in, and as that is now', async () => {
    expect((await call('/twice')).status).toBe(201)
    expect(await (await call('/amended')).text()).toBe('new')
  })

  test('answers from a part of an output, too', async () => {
    const response = await call('/nested')
    expect([response.status, await response.text()]).toEqual([201, 'hello'])
  })

  test('has the values of cookies as they are, where a cookie can hold them', async () => {
    expect((await call('/cookie')).headers.getSetCookie()).toEqual(['c=a/b+c==', 'c=a%20b', 'c=50%25', 'c=x=1&y'])
  })

  test('that is still to come is XML that the schema knows', async () => {
    const schema = await (await fetch(`${live.url}/flux-api/schema.xsd`)).text()
    const response = await call('/waits', 'application/xml')
    const { valid, rawOutput } = await validateXML({
      xml: { fileName: 'answer.xml', contents: await response.text() },
      schema,
      extension: 'schema',
    })
    expect([response.status, valid, rawOutput]).toEqual([202, true, expect.any(String)])
  })

  test.each([
    ['/bad/base64'],
    ['/bad/proxy'],
    ['/bad/types'],
    ['/bad/cookie'],
    ['/bad/headers'],
    ['/bad/cookies'],
    ['/bad/long'],
  ])("that can't be sent is 500: %s", async (path) => expect((await call(path)).status).toBe(500))
})

test('a workflow that fails is told to the log', async () => {
  const live = await openLive(
    {},
    {
      'w/Fails.flux': {
        ...hook('/fails'),
        states: [
          {
            name: 'end',
            action: {
              type: 'invokeCode',
              className: 'Errors',
              methodName: 'throwException',
              inputs: [text('out of figs', 'message')],
            },
          },
        ],
      },
    },
  )
  await fetch(`${live.url}/api/fails`)
  await live.close()
  expect(live.lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      fields: expect.objectContaining({
        contextId: expect.any(Number),
        reason: expect.stringContaining('out of figs'),
      }),
    }),
  )
})

describe('a context that another server carries on', () => {
  const servers: Live[] = []
  beforeAll(async () => {
    for (let count = 0; count < 2; count += 1)
      servers.push(
        await openLive(
          { ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `answers-${process.pid}` },
          SERVICES,
        ),
      )
  })
  afterAll(() => Promise.all(servers.map((server) => server.close())))
  const callAll = (path: string) =>
    Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const response = await fetch(`${servers[index % 2]?.url}/api${path}`)
        return `${response.status} ${await response.text()}`
      }),
    )

  test('is answered as soon as that server has done so', async () => {
    const times: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const began = performance.now()
      await callAll('/late')
      times.push(performance.now() - began)
    }
    // The child sleeps for 0.3 s; servers that only looked would take almost 1 s for the slowest of twelve.
    expect(Math.min(...times)).toBeLessThan(800)
  })
  test('is answered in time', async () =>
    expect(new Set(await callAll('/late'))).toEqual(new Set(['200 {"done":true}'])))
  test('is answered as it paused, though it runs again', async () =>
    expect(new Set(await callAll('/passing'))).toEqual(new Set(['200 {"done":true}'])))
})
