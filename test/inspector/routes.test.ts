// What pages ask of the API, and what their forms do: each call is looked at, and answered by the test.
import { xmlPieces } from '../../src/http/formats/xml/encode.ts'
import { describe, expect, test, vi } from 'vitest'
import type { FluxApi } from '../../src/api/flux-api.ts'
import { createInspector } from '../../src/inspector/inspector.tsx'
import { ANONYMOUS, type Caller } from '../../src/model/caller.ts'
import { conflict, FluxError, invalid } from '../../src/model/failure.ts'
import { statusOf } from '../../src/http/problem.ts'
import { contextView, fakeApi, memoryLog } from '../http/support.ts'

const NOW = 1_800_000_000_000
const HEALTH = {
  trouble: null,
  store: 'embedded',
  runId: 'r',
  uptimeMs: 1,
  lagMs: 0,
  memoryBytes: 1,
  steps: [],
  servers: [],
}

const SCHEMA = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    note: { type: 'string' },
    list: { type: 'array' },
    level: { type: 'string', enum: ['a', 'b'] },
  },
}
const serviceOf = (owner: string, fluxName: string) => ({
  package: owner,
  fluxName,
  comment: null,
  secured: false,
  states: [],
  triggers: [],
  webhooks: [],
  input: [],
  output: [],
  definition: 'h',
  file: 'f',
  contexts: {},
})

const answerOf = async (response: Response) => ({
  status: response.status,
  location: response.headers.get('location'),
  text: await response.text(),
})

function open(overrides: Partial<FluxApi> = {}, caller: Caller = ANONYMOUS) {
  const { api, calls } = fakeApi({
    listServices: () => Promise.resolve({ services: [serviceOf('p', 'Order')], faults: [], loadedAt: 1 }),
    ...overrides,
  })
  const { log, lines } = memoryLog()
  const app = createInspector(
    {
      api: () => api,
      authenticate: () => caller,
      requireAuth: false,
      now: () => NOW,
      log,
      version: '1',
      health: () => Promise.resolve(HEALTH),
    },
    {
      checkHost() {},
      checkCall() {},
      statusOf,
      async readForm(c) {
        const form = new Map<string, string[]>()
        for (const [name, value] of new URLSearchParams(await c.req.text()))
          form.set(name, [...(form.get(name) ?? []), value])
        return form
      },
      stream: () => Promise.reject(new Error('not here')),
      peerOf: () => null,
      xmlOf: xmlPieces,
    },
  )
  const get = async (path: string) => answerOf(await app.request(path))
  const post = async (path: string, fields: readonly (readonly [string, string])[]) => {
    const page = await app.request('/login')
    const cookie = (page.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const token = /name="\$form" value="([^"]*)"/.exec(await page.text())?.[1] ?? ''
    const body = new URLSearchParams({ $form: token })
    for (const [name, value] of fields) body.append(name, value)
    return answerOf(await app.request(path, { method: 'POST', headers: { cookie }, body }))
  }
  const asked = (name: keyof FluxApi) => calls.filter((call) => call.name === name).map(({ request }) => request)
  return { get, post, asked, calls, lines }
}

/** Its calls are noted, and there is always a next page. */
const listed = () => {
  const asked: object[] = []
  const counted: object[] = []
  const opened = open({
    listPage(request) {
      asked.push(JSON.parse(JSON.stringify(request)))
      return Promise.resolve({ contexts: [contextView(7)], next: 7 })
    },
    countContexts(request) {
      counted.push(JSON.parse(JSON.stringify(request)))
      return Promise.resolve({ total: 2, by: 'status', counts: { WAITING: 2 } })
    },
  })
  return { ...opened, asked, counted }
}

/** Address of the next page. */
const next = (text: string) => /href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&')

describe('the list', () => {
  test('asks for what its address says, newest first, and leads on with all of it', async () => {
    const { get, asked, counted } = listed()
    const { text } = await get(
      '/contexts?tag=a&tag=b&status=FAILED&paused=true&parent=3&key=&done=x&startedAfter=5&view=full',
    )
    const filters = { tag: ['a', 'b'], status: 'FAILED', paused: true, parent: 3, startedAfter: '5' }
    expect(asked).toEqual([{ ...filters, order: 'desc', limit: 50, view: 'summary' }])
    // Counts show how many there are of each status, whichever is listed.
    const { status: _listed, ...others } = filters
    expect(counted).toEqual([{ ...others, by: 'status' }])
    expect(next(text)).toBe('/inspector/contexts?tag=a%2Cb&status=FAILED&paused=true&parent=3&startedAfter=5&before=7')
    await get('/contexts?paused=false&before=9')
    expect(asked[1]).toEqual({ paused: false, order: 'desc', limit: 50, view: 'summary', before: 9 })
  })

  test('oldest first goes on behind the last one, and keeps its order', async () => {
    const { get, asked } = listed()
    const { text } = await get('/contexts?order=asc&after=3&before=9')
    expect(asked).toEqual([{ order: 'asc', limit: 50, view: 'summary', after: 3 }])
    expect(next(text)).toBe('/inspector/contexts?order=asc&after=7')
    expect(text).toContain('name="back" value="/inspector/contexts?order=asc"')
  })

  test.each([
    ['17', '/inspector/contexts/17'],
    [' Order ', '/inspector/contexts?fluxName=Order'],
    ['known', '/inspector/contexts?key=known&status=all'],
    ['a&b', '/inspector/contexts?tag=a%26b&status=all'],
  ])('finds %s', async (text, location) => {
    const { get } = open({
      listPage: ({ key }) => Promise.resolve({ contexts: key === 'known' ? [contextView(1)] : [], next: null }),
    })
    expect(await get(`/find?q=${encodeURIComponent(text)}`)).toMatchObject({ status: 302, location })
  })
})

describe('many', () => {
  const FORM = [
    ['do', 'terminate'],
    ['back', '/inspector/contexts?tag=x'],
  ] as const

  test('asks first, names the filters, and offers only what is an id', async () => {
    const { post, calls } = open()
    const ids = ['4', 'x', '-1', '1.5', '0', '1e99'].map((id) => ['id', id] as const)
    const { status, text } = await post('/contexts/many', [...FORM, ...ids])
    expect([status, [...text.matchAll(/name="id" value="([^"]*)"/g)].map(([, id]) => id)]).toEqual([200, ['4']])
    expect(text).toContain('that match: tag=x')
    expect(calls.filter(({ name }) => name === 'terminate')).toEqual([])
  })

  test.each(['/elsewhere', 'https://elsewhere.example/', '/inspector/contextsx?tag=y', '//elsewhere.example'])(
    'never leads back to %s',
    async (back) => {
      const { post } = open()
      const { text } = await post('/contexts/many', [
        ['do', 'terminate'],
        ['back', back],
      ])
      expect(text).not.toContain(back)
      expect(text).toContain('href="/inspector/contexts"')
      expect(text).toContain('all that are unfinished')
    },
  )

  test.each([
    [[['do', 'tag']], 'name the tag'],
    [[['do', 'event']], 'name the event'],
    [[['do', 'dance']], 'it is not known what is to be done'],
  ] as const)('%j is refused', async (fields, detail) => {
    const { status, text } = await open().post('/contexts/many', fields)
    expect([status, text.includes(detail)]).toEqual([400, true])
  })

  test('all that match means those that are unfinished, unless the filter says otherwise', async () => {
    for (const [back, status] of [
      ['/inspector/contexts?tag=x', ['RUNNING', 'WAITING', 'WAITING_UNTIL']],
      ['/inspector/contexts?tag=x&status=FAILED', 'FAILED'],
    ] as const) {
      const asked: object[] = []
      const { post } = open({
        listPage(request) {
          asked.push(request)
          return Promise.resolve({ contexts: [], next: null })
        },
      })
      const answer = await post('/contexts/many', [
        ['do', 'untag'],
        ['tag', 'y'],
        ['back', back],
        ['sure', 'yes'],
      ])
      expect([answer.status, answer.location]).toEqual([303, expect.stringMatching(/^\/inspector\/runs\/[\w-]{36}$/)])
      await vi.waitFor(() => expect(asked[0]).toMatchObject({ tag: ['x'], status, order: 'desc', limit: 1 }))
    }
  })

  test('those that were chosen are meant, and no others', async () => {
    const { post, asked } = open()
    await post('/contexts/many', [...FORM, ['id', '4'], ['id', '9'], ['scope', 'chosen'], ['sure', 'yes']])
    await vi.waitFor(() => expect(asked('terminate')).toEqual([{ contextId: 4 }, { contextId: 9 }]))
    expect(asked('listPage')).toEqual([])
  })
})

describe('a context', () => {
  const taking: Partial<FluxApi> = {
    getContext: () => Promise.resolve(contextView(7)),
    getDefinition: () => Promise.resolve({}),
    getContextEvents: () =>
      Promise.resolve({
        contextId: 7,
        state: 'a',
        status: 'WAITING',
        events: [{ event: 'go', to: 'b', input: SCHEMA }],
        else: null,
        timed: null,
        others: [],
      }),
  }

  test('its event is sent with what was typed, which is coerced where it is checked', async () => {
    const { post, asked } = open(taking)
    const fields = [
      ['event', 'go'],
      ['input.count', '7'],
      ['input.list', '[1]'],
      ['input.note', ''],
      ['empty.note', 'on'],
    ] as const
    expect(await post('/contexts/7/events', fields)).toMatchObject({ status: 303, location: '/inspector/contexts/7' })
    expect(asked('sendEvent')).toEqual([
      { contextId: 7, event: 'go', input: { count: '7', list: [1], note: '' }, untyped: true },
    ])
  })

  test('what is no JSON sends nothing, and is shown with what was typed', async () => {
    const { post, asked } = open(taking)
    const { status, text } = await post('/contexts/7/events', [
      ['event', 'go'],
      ['input.list', '[<1'],
      ['input.level', 'b'],
      ['empty.note', 'on'],
    ])
    expect([status, asked('sendEvent')]).toEqual([422, []])
    expect(text).toMatch(/<textarea [^>]*aria-invalid="true"[^>]*>\s*\[&lt;1\s*<\/textarea>/)
    expect(text).toMatch(/<option value="b" selected/)
    expect(text).toMatch(/name="empty\.note" checked/)
    expect(text).toContain('must be JSON')
  })

  test.each([
    [conflict('the context does not wait'), 409],
    [
      invalid('not so', [
        { pointer: '/input/other', detail: 'is unknown' },
        // Its name begins as that of a field does.
        { pointer: '/input/counter', detail: 'is unknown' },
        { pointer: '/input/list/0', detail: 'is wrong' },
      ]),
      422,
    ],
  ])('a refusal is told in the form: %s', async (failure, status) => {
    const { post } = open({ ...taking, sendEvent: () => Promise.reject(failure) })
    const answer = await post('/contexts/7/events', [['event', 'go']])
    expect(answer.status).toBe(status)
    expect(answer.text).toContain(failure.failure.detail)
    expect(answer.text).toContain('name="input.count"')
    // What is wrong with a field that the form doesn't have is told, too.
    for (const name of ['other', 'counter'])
      expect(answer.text.includes(`<code>/input/${name}</code> is unknown`)).toBe(status === 422)
    const wrong = [...answer.text.matchAll(/class="wrong"[^>]*>([^<]*)</g)].map(([, text]) => text)
    expect(wrong).toEqual(status === 422 ? ['0 is wrong'] : [])
  })

  test('what has nothing to do with the form is a page of its own', async () => {
    const failure = new FluxError({ kind: 'notFound', detail: 'there is no context 7' })
    const { post } = open({ ...taking, sendEvent: () => Promise.reject(failure) })
    const answer = await post('/contexts/7/events', [['event', 'go']])
    expect([answer.status, answer.text.includes('name="input.count"')]).toEqual([404, false])
  })

  test('is shown without its definition where that is lost, and not where it can not be read now', async () => {
    const lost = new FluxError({ kind: 'notFound', detail: 'there is no such definition' })
    expect((await open({ ...taking, getDefinition: () => Promise.reject(lost) }).get('/contexts/7')).status).toBe(200)
    const fault = new FluxError({ kind: 'unavailable', detail: 'Redis is away', retryAfter: 1 })
    expect((await open({ ...taking, getDefinition: () => Promise.reject(fault) }).get('/contexts/7')).status).toBe(503)
  })

  test.each([
    ['remove', 'removeTags'],
    ['add', 'addTags'],
  ] as const)('%s a tag', async (deed, name) => {
    const { post, asked } = open(taking)
    await post('/contexts/7/tags', [
      ['tag', 'x'],
      ['do', deed],
    ])
    expect([asked('addTags').length + asked('removeTags').length, asked(name)]).toEqual([
      1,
      [{ contextId: 7, tag: ['x'] }],
    ])
  })

  test('a fault of ours is in the log, and not on the page', async () => {
    const { get, lines } = open({ getContext: () => Promise.reject(new Error('secret inside')) })
    const { status, text } = await get('/contexts/7')
    expect([status, text.includes('secret inside')]).toEqual([500, false])
    expect(lines.map(({ level }) => level)).toEqual(['error'])
  })

  test('who may only read sees no forms, also where no token is needed', async () => {
    const reader = open(taking, { name: 'r', roles: ['read'] })
    expect((await reader.get('/contexts/7')).text).not.toContain('action="/inspector/contexts/7/')
    expect((await reader.post('/contexts/7/terminate', [])).status).toBe(403)
    expect(reader.asked('terminate')).toEqual([])
    expect((await open(taking).get('/contexts/7')).text).toContain('action="/inspector/contexts/7/events"')
  })
})

describe('a service', () => {
  const services: Partial<FluxApi> = {
    listServices: () =>
      Promise.resolve({ services: [serviceOf('q', 'Order'), serviceOf('p', 'Order')], faults: [], loadedAt: 1 }),
    getServiceSchema: ({ package: owner = '', fluxName = '' }) =>
      Promise.resolve({ package: owner, fluxName, definition: 'h', input: SCHEMA, output: {} }),
    getDefinition: () => Promise.resolve({}),
  }

  test('is the one of its package', async () => {
    const { get } = open(services)
    expect((await get('/services/p/Order')).text).toContain('action="/inspector/services/p/Order/start"')
    expect((await get('/services/r/Order')).status).toBe(404)
  })

  test('is started with what was typed', async () => {
    const { post, asked } = open(services)
    const fields = [
      ['input.count', '7'],
      ['tags', ' a, ,b '],
    ] as const
    expect(await post('/services/p/Order/start', fields)).toMatchObject({
      status: 303,
      location: '/inspector/contexts/7',
    })
    expect(asked('execute')).toEqual([
      { package: 'p', fluxName: 'Order', input: { count: '7' }, tags: ['a', 'b'], untyped: true },
    ])
  })
})

describe('other pages', () => {
  test('deliveries are asked for by their filters, page by page', async () => {
    const asked: object[] = []
    const { get } = open({
      listDeliveriesPage(request) {
        asked.push(JSON.parse(JSON.stringify(request)))
        return Promise.resolve({ deliveries: [], next: 'n' })
      },
    })
    const { text } = await get('/deliveries?urlPath=%2Fa&outcome=refused&after=x')
    await get('/deliveries?urlPath=&outcome=nonsense')
    expect(asked).toEqual([{ limit: 50, urlPath: '/a', outcome: 'refused', after: 'x' }, { limit: 50 }])
    expect(text).toContain('/inspector/deliveries?urlPath=%2Fa&amp;outcome=refused&amp;after=n')
  })

  test('a delivery is sent again, and what became of it is told', async () => {
    const { post, asked } = open()
    const { status, location } = await post('/deliveries/replay', [['deliveryId', 'd']])
    expect([status, location]).toEqual([303, '/inspector/deliveries?done=Sent%20again%3A%20202%2C%20context%207'])
    expect(asked('replayDelivery')).toEqual([{ deliveryId: 'd' }])
  })

  test('errors of the last hour are told by type, the most frequent first', async () => {
    const asked: object[] = []
    const failed = ['A', 'B', 'B'].map((type, index) => ({
      ...contextView(index + 1),
      error: { type, message: `${type} ${index}`, className: '', realException: null, fluxStackTrace: [] },
    }))
    const { get } = open({
      listPage(request) {
        asked.push(request)
        return Promise.resolve({ contexts: failed, next: null })
      },
    })
    const { text } = await get('/health')
    expect(asked).toEqual([
      { status: 'FAILED', endedAfter: NOW - 3_600_000, order: 'desc', view: 'summary', limit: 1000 },
    ])
    expect(text.indexOf('B 1')).toBeGreaterThan(0)
    expect(text.indexOf('B 1')).toBeLessThan(text.indexOf('A 0'))
    expect(text).not.toContain('B 2')
  })

  test('wake-ups are those of the next day', async () => {
    const { get, asked } = open()
    await get('/wake-ups')
    expect(asked('listPage')).toEqual([
      { status: ['WAITING_UNTIL'], dueBefore: NOW + 86_400_000, view: 'summary', limit: 1000 },
    ])
  })
})

test('assets are got again only if they have changed', async () => {
  const { api } = fakeApi()
  const app = createInspector(
    {
      api: () => api,
      authenticate: () => ANONYMOUS,
      requireAuth: true,
      now: () => NOW,
      log: memoryLog().log,
      version: '1',
      health: () => Promise.resolve(HEALTH),
    },
    {
      checkHost() {},
      checkCall() {},
      statusOf,
      readForm: () => Promise.resolve(new Map()),
      stream: () => Promise.reject(new Error('not here')),
      peerOf: () => null,
      xmlOf: xmlPieces,
    },
  )
  for (const name of ['style.css', 'live.js', 'idiomorph.js']) {
    const first = await app.request(`/assets/${name}`)
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    const etag = first.headers.get('etag') ?? ''
    const again = await app.request(`/assets/${name}`, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    expect((await app.request(`/assets/${name}`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  }
})
