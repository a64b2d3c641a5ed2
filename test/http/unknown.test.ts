// Nothing that a call doesn't know is passed over: it would change what the call means.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLive, type Live } from './live.ts'
import { post, testApp } from './support.ts'

const EVENT = '/flux-api/event'
const EXECUTE = '/flux-api/shop/execute'
const MALFORMED = { type: 'urn:actorflux:problem:malformed-request', status: 400 }

describe('an unknown field of a body', () => {
  test.each([
    [EVENT, { event: 'e', contextid: 1 }, 'contextid', 'contextId'],
    [EVENT, { event: 'e', Tags: ['x'] }, 'Tags', 'tags'],
    [EVENT, { event: 'e', inptu: {} }, 'inptu', null],
    [EVENT, { event: 'e', inputs: {} }, 'inputs', 'input'],
    [EVENT, { event: 'e', quay: 'k' }, 'quay', null],
    [EVENT, { evnt: 'e' }, 'evnt', 'event'],
    [EXECUTE, { fluxName: 'F', startstate: 'a' }, 'startstate', 'startState'],
    [EXECUTE, { fluxname: 'F' }, 'fluxname', 'fluxName'],
    [EXECUTE, { fluxName: 'F', package: 'shop' }, 'package', null],
  ])('is named, with the nearest that is known: POST %s %j', async (path, body, name, nearest) => {
    const { app, calls } = testApp()
    const response = await app.request(path, post(body))
    const detail = `is not known${nearest === null ? '' : `; did you mean '${nearest}'?`}`
    expect(await response.json()).toMatchObject({
      ...MALFORMED,
      detail: `the field '${name}' ${detail}`,
      errors: [{ pointer: `/${name}`, detail }],
    })
    expect(calls).toEqual([])
  })

  test('is named by JSON pointer, whatever its name is, and each is', async () => {
    const response = await testApp().app.request(
      EVENT,
      post('{"event":"e","a/b~c":1,"__proto__":2,"constructor":3,"":4}'),
    )
    const { errors, detail } = (await response.json()) as { errors: { pointer: string }[]; detail: string }
    expect(errors.map(({ pointer }) => pointer)).toEqual(['/a~1b~0c', '/__proto__', '/constructor', '/'])
    expect(detail).toBe('4 fields are not known')
  })

  test('does not make the answer large, nor the work', async () => {
    const { app } = testApp()
    const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`name-${index}`, 1]))
    const response = await app.request(EVENT, post({ event: 'e', ...many }))
    const { errors, detail } = (await response.json()) as { errors: object[]; detail: string }
    expect([errors.length, detail]).toEqual([20, '40000 fields are not known; errors names the first 20'])
    const long = await app.request(
      EVENT,
      post(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}${'n'.repeat(30_000)}`, 1]))),
    )
    expect(long.status).toBe(400)
    expect((await long.text()).length).toBeLessThan(30_000)
  })

  test('may be anything in `input`', async () => {
    const { app, calls } = testApp()
    const input = { contextid: 1, '': 2, any: { thing: 3 } }
    expect((await app.request(EVENT, post({ event: 'e', input }))).status).toBe(200)
    expect(calls).toMatchObject([{ request: { input } }])
  })
})

describe('an unknown parameter of a query', () => {
  test.each([
    ['POST', `${EVENT}?contextid=1`, 'contextid', 'contextId'],
    ['POST', `${EXECUTE}?contextId=1`, 'contextId', null],
    ['DELETE', '/flux-api/terminate?contextId=1&force=true', 'force', null],
    ['GET', '/flux-api/contexts?fluxname=F', 'fluxname', 'fluxName'],
    ['GET', '/flux-api/contexts?tags=x', 'tags', 'tag'],
    ['HEAD', '/flux-api/contexts?tags=x', 'tags', 'tag'],
    ['GET', '/flux-api/contexts?%74ags=x&tags=y', 'tags', 'tag'],
    ['GET', '/flux-api/contexts?constructor=x', 'constructor', null],
    ['GET', '/flux-api/contexts?=x', '', null],
    ['GET', '/flux-api/context?contextId=1&snapshots=true', 'snapshots', 'snapshot'],
    ['GET', '/flux-api/context/state?contextId=1&stateName=a&x=1', 'x', null],
    ['POST', '/flux-api/context/tag?contextId=1&tag=x&y', 'y', null],
    ['PUT', '/flux-api/context/tag?contextId=1&tag=x&y', 'y', null],
    ['DELETE', '/flux-api/context/tag?contextId=1&tag=x&y', 'y', null],
    ['GET', '/flux-api/definition?fluxNam=F', 'fluxNam', 'fluxName'],
    ['GET', '/flux-api/schema.xsd?v=1', 'v', null],
  ])('is named: %s %s', async (method, path, name, nearest) => {
    const { app, calls } = testApp()
    const response = await app.request(path, method === 'POST' ? post({ event: 'e', fluxName: 'F' }) : { method })
    expect(response.status).toBe(400)
    expect(calls).toEqual([])
    if (method === 'HEAD') return
    const detail = `is not known${nearest === null ? '' : `; did you mean '${nearest}'?`}`
    expect(await response.json()).toMatchObject({
      ...MALFORMED,
      detail: `the parameter '${name}' ${detail}`,
      errors: [{ pointer: `/${name}`, detail }],
    })
  })

  test('is not what is empty', async () => {
    expect((await testApp().app.request('/flux-api/contexts?&fluxName=F&&')).status).toBe(200)
    expect((await testApp().app.request('/flux-api/contexts?')).status).toBe(200)
  })
})

describe('over HTTP, with a runtime behind', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive(
      {},
      {
        'p/Ping.flux': {
          states: [{ name: 'wait', waiting: true, transitions: [{ event: 'ping', to: 'end' }] }, { name: 'end' }],
        },
      },
    )
  })
  afterAll(() => live.close())
  const start = async () =>
    ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Ping' } })).json as { contextId: number })
      .contextId

  test('a misspelt contextId moves nobody, the right one that context alone', async () => {
    const [first, second, third] = [await start(), await start(), await start()]
    expect((await live.call('POST', EVENT, { body: { event: 'ping', contextid: first } })).status).toBe(400)
    expect((await live.call('GET', '/flux-api/contexts')).json).toHaveLength(3)
    expect((await live.call('POST', EVENT, { body: { event: 'ping', contextId: first } })).json).toMatchObject({
      transitions: [{ contextId: first }],
    })
    expect(
      (
        await live.call('POST', EVENT, {
          type: 'application/xml',
          body: `<send><event>ping</event><contextId> ${second} </contextId></send>`,
        })
      ).json,
    ).toMatchObject({ transitions: [{ contextId: second }] })
    expect((await live.call('GET', '/flux-api/contexts')).json).toMatchObject([{ id: third }])
    for (const body of [
      '<send><event>ping</event><contextId/></send>',
      '<send><event>ping</event><contextId type="null"/></send>',
      '<send><event>ping</event><contextid/></send>',
      '<send><event>ping</event><key>k</key></send>',
    ]) {
      expect([body, (await live.call('POST', EVENT, { type: 'application/xml', body })).status]).toEqual([body, 400])
    }
    expect((await live.call('GET', '/flux-api/contexts')).json).toMatchObject([{ id: third }])
  })

  test('an event that no service knows is answered with a hint, in XML, too', async () => {
    const json = await live.call('POST', EVENT, { body: { event: 'pong' } })
    expect([json.status, json.json]).toEqual([
      200,
      expect.objectContaining({
        transitions: [],
        executions: [],
        ignored: [],
        hint: "no service knows the event 'pong'; did you mean 'ping'?",
      }),
    ])
    const xml = await live.call('POST', EVENT, { body: { event: 'unheard' }, accept: 'application/xml' })
    expect(xml.text).toContain('<pending type="array"/><hint>no service knows the event \'unheard\'</hint></response>')
    const contextId = await start()
    const alone = await live.call('POST', EVENT, { body: { event: 'pong', contextId } })
    expect([alone.status, alone.json]).toEqual([
      409,
      expect.objectContaining({ hint: "no service knows the event 'pong'; did you mean 'ping'?" }),
    ])
  })
})
