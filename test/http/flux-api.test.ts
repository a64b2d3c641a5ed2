import { describe, expect, test } from 'vitest'
import type { FluxApi } from '../../src/api/calls.ts'
import { ANONYMOUS, type Caller } from '../../src/model/caller.ts'
import { conflict, FluxError, invalid, notFound } from '../../src/model/failure.ts'
import { contextView, callsBy, fakeApi, post, testApp } from './support.ts'

const EVENT = '/flux-api/event'
const EXECUTE = '/flux-api/shop/execute'
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('a call that is right', () => {
  test.each([
    [
      'POST',
      EXECUTE,
      { fluxName: 'a.B', startState: 's', input: { n: 1 }, tags: ['x'] },
      'execute',
      { package: 'shop', fluxName: 'a.B', startState: 's', input: { n: 1 }, tags: ['x'] },
    ],
    ['POST', EXECUTE, { fluxName: 'F' }, 'execute', { package: 'shop', fluxName: 'F' }],
    [
      'POST',
      EXECUTE,
      { fluxName: 'F', startState: null, input: null, tags: null },
      'execute',
      { package: 'shop', fluxName: 'F' },
    ],
    [
      'POST',
      '/flux-api/caf%C3%A9%20x/execute',
      { fluxName: 'F', tags: [] },
      'execute',
      { package: 'café x', fluxName: 'F', tags: [] },
    ],
    [
      'POST',
      EVENT,
      { event: 'paid', input: {}, tags: ['a', 'ü'.repeat(128)] },
      'sendEvent',
      { event: 'paid', input: {}, tags: ['a', 'ü'.repeat(128)] },
    ],
    ['POST', EVENT, { event: 'paid', input: null, tags: null }, 'sendEvent', { event: 'paid' }],
    [
      'POST',
      `${EVENT}?contextId=9007199254740991&`,
      { event: 'a$' },
      'sendEvent',
      { contextId: 9007199254740991, event: 'a$' },
    ],
    ['POST', EVENT, { event: 'e', contextId: 5 }, 'sendEvent', { contextId: 5, event: 'e' }],
    [
      'POST',
      EVENT,
      { event: 'e', contextId: '9007199254740991' },
      'sendEvent',
      { contextId: 9007199254740991, event: 'e' },
    ],
    ['POST', `${EVENT}?contextId=5`, { event: 'e', contextId: '5' }, 'sendEvent', { contextId: 5, event: 'e' }],
    ['DELETE', '/flux-api/terminate?contextId=5', undefined, 'terminate', { contextId: 5 }],
    ['GET', '/flux-api/event?eventId=e-1', undefined, 'getEvent', { eventId: 'e-1' }],
    ['GET', '/flux-api/events/pending', undefined, 'listPendingPage', { limit: 30, page: 0 }],
    ['DELETE', '/flux-api/events/pending?eventId=e-1', undefined, 'withdraw', { eventId: 'e-1' }],
    ['GET', '/flux-api/contexts', undefined, 'listPage', { limit: 30, page: 0 }],
    [
      'GET',
      '/flux-api/contexts?fluxName=a.B&tag=x&tag=y,z&status=WAITING_UNTIL&currentState=c&startState=s+t&limit=5&page=2&after=9',
      undefined,
      'listPage',
      {
        fluxName: 'a.B',
        tag: ['x', 'y', 'z'],
        status: ['WAITING_UNTIL'],
        currentState: 'c',
        startState: 's t',
        limit: 5,
        page: 2,
        after: 9,
      },
    ],
    ['GET', '/flux-api/contexts?limit=1001', undefined, 'listPage', { limit: 1000, page: 0 }],
    ['GET', '/flux-api/contexts?limit=99999999999999999999999', undefined, 'listPage', { limit: 1000, page: 0 }],
    ['GET', '/flux-api/context?contextId=5', undefined, 'getContext', { contextId: 5, snapshot: false }],
    ['GET', '/flux-api/context?contextId=5&snapshot=true', undefined, 'getContext', { contextId: 5, snapshot: true }],
    ['GET', '/flux-api/context?contextId=5&snapshot=false', undefined, 'getContext', { contextId: 5, snapshot: false }],
    [
      'GET',
      '/flux-api/context/state?contextId=5&stateName=%E2%82%AC%26',
      undefined,
      'getStateContext',
      { contextId: 5, stateName: '€&' },
    ],
    ['POST', '/flux-api/context/tag?contextId=5&tag=x', undefined, 'addTags', { contextId: 5, tag: ['x'] }],
    [
      'PUT',
      '/flux-api/context/tag?tag=x,y&contextId=5&tag=z',
      undefined,
      'addTags',
      { contextId: 5, tag: ['x', 'y', 'z'] },
    ],
    ['DELETE', '/flux-api/context/tag?contextId=5&tag=x', undefined, 'removeTags', { contextId: 5, tag: ['x'] }],
    ['GET', '/flux-api/definition?fluxName=a.B', undefined, 'getDefinition', { fluxName: 'a.B' }],
    [
      'GET',
      '/flux-api/definition?fluxName=a.B&contextId=5',
      undefined,
      'getDefinition',
      { fluxName: 'a.B', contextId: 5 },
    ],
    [
      'GET',
      '/flux-api/definition?fluxName=a.B&resolved=false',
      undefined,
      'getDefinition',
      { fluxName: 'a.B', resolved: false },
    ],
    [
      'GET',
      '/flux-api/definition?contextId=5&resolved=true',
      undefined,
      'getDefinition',
      { contextId: 5, resolved: true },
    ],
    ['GET', '/flux-api/machine?fluxName=a.B', undefined, 'getMachine', { fluxName: 'a.B' }],
    ['GET', '/flux-api/machine?fluxName=a.B&contextId=5', undefined, 'getMachine', { fluxName: 'a.B', contextId: 5 }],
  ])('%s %s %j calls %s', async (method, path, body, name, request) => {
    const { app, calls } = testApp()
    const response = await app.request(path, body === undefined ? { method } : { ...post(body), method })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(calls).toEqual([{ name, request: body === undefined ? request : { ...request, untyped: false } }])
    expect(await response.json()).toEqual(
      name === 'listPage'
        ? [contextView(1), contextView(2)]
        : name === 'listPendingPage'
          ? []
          : await fakeApi().api[name as keyof FluxApi]({
              contextId: 1,
              fluxName: 'F',
              event: 'e',
              eventId: 'i',
              deliveryId: 'd',
              stateName: 'a',
              tag: [],
              operationId: 'o',
              filter: {},
              do: 'terminate',
            }),
    )
  })

  test('answers HEAD as GET, without a body', async () => {
    const response = await testApp().app.request('/flux-api/contexts', { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
  })

  test('hands hostile keys on as own keys', async () => {
    const { app, calls } = testApp()
    const input = '{"__proto__":{"polluted":1},"constructor":{"prototype":2},"prototype":3,"toString":4}'
    await app.request(EVENT, post(`{"event":"e","input":${input}}`))
    const request = calls[0]?.request as { input: object; tags?: unknown }
    expect(JSON.stringify(request.input)).toBe(input)
    expect(Object.getPrototypeOf(request.input)).toBe(Object.prototype)
    expect(request.tags).toBeUndefined()
    expect({}).not.toHaveProperty('polluted')
  })

  test('takes 64 tags, and 64 levels of nesting', async () => {
    const { app } = testApp()
    expect(
      (await app.request(EVENT, post({ event: 'e', tags: Array.from({ length: 64 }, (_, index) => `t${index}`) })))
        .status,
    ).toBe(200)
    expect((await app.request(EVENT, post(`{"event":"e","input":{"a":${deep(62)}}}`))).status).toBe(200)
    expect((await app.request(EVENT, post(`{"event":"${'[{'.repeat(100)}\\"[","input":{}}`))).status).toBe(200)
  })

  test.each(['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.shop+json', ''])(
    'takes a body of the type "%s"',
    async (type) => {
      const { app } = testApp()
      const body = new TextEncoder().encode('\uFEFF{"event":"e"}')
      expect(
        (await app.request(EVENT, { method: 'POST', body, headers: type === '' ? {} : { 'content-type': type } }))
          .status,
      ).toBe(200)
    },
  )
})

describe('a call that is wrong is refused before the runtime hears of it', () => {
  const bodies: [status: number, path: string, body: unknown, telling: string][] = [
    [400, EVENT, '', 'empty'],
    [400, EVENT, '{"event":', 'JSON'],
    [400, EVENT, "{'event':'e'}", 'JSON'],
    [400, EVENT, '[]', 'the body must be an object'],
    [400, EVENT, 'null', 'the body must be an object'],
    [400, EVENT, '"e"', 'the body must be an object'],
    [400, EVENT, {}, 'event is required'],
    [400, EVENT, '{"__proto__":{"event":"e"}}', "the field '__proto__' is not known"],
    ...[
      'null',
      '0',
      '-1',
      '1.5',
      '"1.0"',
      '"x"',
      '""',
      '"0"',
      '9007199254740992',
      '"9007199254740992"',
      '[1]',
      '{}',
      'true',
    ].map((id): [400, string, string, string] => [
      400,
      EVENT,
      `{"event":"e","contextId":${id}}`,
      'contextId must be a positive integer',
    ]),
    [400, `${EVENT}?contextId=5`, { event: 'e', contextId: 6 }, 'contextId differs'],
    [400, EVENT, { event: null }, 'event'],
    [400, EVENT, { event: '' }, 'event'],
    [400, EVENT, { event: 5, tags: 'x' }, 'event'],
    [400, EVENT, { event: '$else' }, 'must not begin with $'],
    [400, EVENT, `{"event":"e","input":{"a":${deep(63)}}}`, 'nested deeper than 64'],
    [400, EVENT, deep(100_000), 'nested deeper than 64'],
    [400, EVENT, '{"a":'.repeat(100_000), 'nested deeper than 64'],
    [413, EVENT, { event: 'e', input: { a: 'x'.repeat(1024 * 1024) } }, '1048576 bytes'],
    [400, `${EVENT}?contextId=`, { event: 'e' }, 'contextId'],
    [400, `${EVENT}?contextId`, { event: 'e' }, 'contextId'],
    [400, `${EVENT}?contextId=1&contextId=1`, { event: 'e' }, 'given once'],
    [400, EXECUTE, {}, 'fluxName is required'],
    [400, EXECUTE, { fluxName: '' }, 'fluxName'],
    [400, EXECUTE, { fluxName: ['F'] }, 'fluxName'],
  ]
  test.each(bodies)('%i: POST %s %.60j', async (status, path, body, telling) => {
    const { app, calls } = testApp()
    await expectProblem(await app.request(path, post(body)), status, telling)
    expect(calls).toEqual([])
  })

  const contents: [path: string, body: object, errors: { pointer: string; detail: string }[]][] = [
    [EVENT, { event: 'e', input: [] }, [{ pointer: '/input', detail: 'must be an object' }]],
    [EVENT, { event: 'e', input: 'text' }, [{ pointer: '/input', detail: 'must be an object' }]],
    [
      EVENT,
      { event: 'e', input: false, tags: {} },
      [
        { pointer: '/input', detail: 'must be an object' },
        { pointer: '/tags', detail: 'must be a list of texts' },
      ],
    ],
    [EVENT, { event: 'e', tags: 'x' }, [{ pointer: '/tags', detail: 'must be a list of texts' }]],
    [EXECUTE, { fluxName: 'F', startState: 5 }, [{ pointer: '/startState', detail: 'must be a text' }]],
    [EXECUTE, { fluxName: 'F', input: 5 }, [{ pointer: '/input', detail: 'must be an object' }]],
    [EXECUTE, { fluxName: 'F', tags: 7 }, [{ pointer: '/tags', detail: 'must be a list of texts' }]],
  ]
  test.each(contents)('422: POST %s %.60j', async (path, body, errors) => {
    const { app, calls } = testApp()
    expect(await expectProblem(await app.request(path, post(body)), 422)).toMatchObject({ errors })
    expect(calls).toEqual([])
  })

  const ids = [
    '',
    '0',
    '-1',
    '+1',
    '1.0',
    '1e3',
    '0x1',
    ' 1',
    '01',
    'abc',
    '9007199254740992',
    '99999999999999999999',
    '%31%00',
    '١',
    '1,2',
    '%ff',
  ]
  const withId: [method: string, path: string][] = [
    ['POST', '/flux-api/event?'],
    ['DELETE', '/flux-api/terminate?'],
    ['GET', '/flux-api/context?'],
    ['GET', '/flux-api/context/state?stateName=a&'],
    ['POST', '/flux-api/context/tag?tag=x&'],
    ['PUT', '/flux-api/context/tag?tag=x&'],
    ['DELETE', '/flux-api/context/tag?tag=x&'],
    ['GET', '/flux-api/definition?'],
    ['GET', '/flux-api/machine?'],
  ]
  test.each(withId)('400: %s %s with a contextId that is none', async (method, path) => {
    const { app, calls } = testApp()
    for (const id of ids) {
      await expectProblem(
        await app.request(`${path}contextId=${id}`, method === 'POST' ? post({ event: 'e' }) : { method }),
        400,
      )
    }
    expect(calls).toEqual([])
  })

  test.each([
    [400, 'DELETE', '/flux-api/terminate'],
    [400, 'GET', '/flux-api/context'],
    [400, 'GET', '/flux-api/context?contextId=1&snapshot=yes'],
    [400, 'GET', '/flux-api/context?contextId=1&snapshot='],
    [400, 'GET', '/flux-api/context?contextId=1&contextId=2'],
    [400, 'GET', '/flux-api/context/state?contextId=1'],
    [400, 'GET', '/flux-api/context/state?stateName=a'],
    [400, 'GET', '/flux-api/context/state?contextId=1&stateName='],
    [400, 'GET', '/flux-api/context/state?contextId=1&stateName=a&stateName=b'],
    [400, 'GET', '/flux-api/definition'],
    [400, 'GET', '/flux-api/definition?fluxName=F&resolved=yes'],
    [400, 'GET', '/flux-api/machine'],
    [400, 'GET', '/flux-api/definition?fluxName='],
    [400, 'POST', '/flux-api/context/tag?contextId=1'],
    [400, 'POST', '/flux-api/context/tag?contextId=1&tag='],
    [400, 'POST', '/flux-api/context/tag?contextId=1&tag=,'],
    [400, 'DELETE', '/flux-api/context/tag?tag=x'],
    [400, 'GET', '/flux-api/contexts?limit=0'],
    [400, 'GET', '/flux-api/contexts?limit=-1'],
    [400, 'GET', '/flux-api/contexts?limit='],
    [400, 'GET', '/flux-api/contexts?limit=1.5'],
    [400, 'GET', '/flux-api/contexts?limit=ten'],
    [400, 'GET', '/flux-api/contexts?limit=1&limit=2'],
    [400, 'GET', '/flux-api/contexts?page=-1'],
    [400, 'GET', '/flux-api/contexts?page=x'],
    [400, 'GET', '/flux-api/contexts?page=9007199254740991'],
    [400, 'GET', '/flux-api/contexts?page=99999999999999999999'],
    [400, 'GET', '/flux-api/contexts?after=0'],
    [400, 'GET', '/flux-api/contexts?status=waiting'],
    [400, 'GET', '/flux-api/contexts?status='],
    [400, 'GET', '/flux-api/contexts?status=WAITING,running'],
    [400, 'GET', '/flux-api/contexts?status=WAITING&status=each'],
    [400, 'GET', '/flux-api/contexts?order=up'],
    [400, 'GET', '/flux-api/contexts?order=asc&order=desc'],
    [400, 'GET', '/flux-api/contexts?view=short'],
    [400, 'GET', '/flux-api/contexts?paused=maybe'],
    [400, 'GET', '/flux-api/contexts?parent=0'],
    [400, 'GET', '/flux-api/contexts?errorType='],
    [400, 'GET', '/flux-api/contexts?before=0'],
    [400, 'GET', '/flux-api/contexts?dueBefore=soon'],
    [400, 'GET', '/flux-api/contexts?dueBefore='],
    [400, 'GET', '/flux-api/contexts?dueAfter=1'],
    [400, 'GET', '/flux-api/contexts?startedAfter=2026-02-30'],
    [400, 'GET', '/flux-api/contexts?endedBefore=2026-01-01T25:00'],
    [400, 'GET', '/flux-api/contexts?updatedAfter=99999999999999999'],
    [400, 'GET', '/flux-api/contexts?updatedAfter=1.5'],
    [400, 'GET', '/flux-api/contexts/count?by=tag'],
    [400, 'GET', '/flux-api/contexts/count?limit=1'],
    [400, 'GET', '/flux-api/contexts/count?startedBefore=yesterday'],
    [400, 'GET', '/flux-api/contexts?startState=a&startState=b'],
    [400, 'GET', '/flux-api/contexts?tag='],
    [400, 'GET', '/flux-api/contexts?fluxName=%E2%82'],
  ])('%i: %s %.80s', async (status, method, path) => {
    const { app, calls } = testApp()
    await expectProblem(await app.request(path, { method }), status)
    expect(calls).toEqual([])
  })

  test('400: a body that is not UTF-8', async () => {
    const { app, calls } = testApp()
    const body = Uint8Array.from([...Buffer.from('{"event":"'), 0xc3, 0x28, ...Buffer.from('"}')])
    await expectProblem(
      await app.request(EVENT, { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
      400,
      'UTF-8',
    )
    expect(calls).toEqual([])
  })

  test.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/json; charset=utf-16' }],
    [{ 'content-type': 'application/xml; charset="iso-8859-1"' }],
    [{ 'content-type': 'application/jsonx' }],
    [{ 'content-type': 'multipart/form-data; boundary=x' }],
    [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('415: %j', async (headers) => {
    const { app, calls } = testApp()
    await expectProblem(await app.request(EVENT, post({ event: 'e' }, headers)), 415)
    expect(calls).toEqual([])
  })

  test.each(['text/plain', 'application/json;q=0', 'application/json;q=0, application/xml;q=0, text/xml;q=0'])(
    '406: Accept: %s',
    async (accept) => {
      const { app, calls } = testApp()
      await expectProblem(
        await app.request(EVENT, post({ event: 'e' }, { 'content-type': 'application/json', accept })),
        406,
      )
      expect(calls).toEqual([])
    },
  )

  test.each(['Bearer abc', 'Basic YTpi', 'x', ''])(
    '401, never anonymous: Authorization: "%s"',
    async (authorization) => {
      const { app, calls } = testApp()
      const response = await app.request('/flux-api/contexts', { headers: { authorization } })
      await expectProblem(response, 401)
      expect(response.headers.get('www-authenticate')).toBe(
        authorization.startsWith('Bearer') ? 'Bearer error="invalid_token"' : 'Bearer',
      )
      expect(calls).toEqual([])
    },
  )

  test('a hundred thousand levels are refused without stalling', async () => {
    const { app } = testApp()
    // Of processor time, the least of three: a collection of garbage may fall into one.
    const spent: number[] = []
    for (let nr = 0; nr < 3; nr++) {
      const before = process.cpuUsage()
      await app.request(EVENT, post('[{"a":'.repeat(80_000)))
      const { user, system } = process.cpuUsage(before)
      spent.push((user + system) / 1000)
    }
    expect(Math.min(...spent)).toBeLessThan(100)
  })
})

test('without a header the caller is anonymous', async () => {
  const callers: Caller[] = []
  const { api } = fakeApi()
  const { app } = testApp(
    {},
    {
      api: (caller) => {
        callers.push(caller)
        return callsBy(api)
      },
    },
  )
  await app.request('/flux-api/contexts')
  expect(callers).toEqual([ANONYMOUS])
})

async function linkOf(path: string, size: number): Promise<string | null> {
  const contexts = Array.from({ length: size }, (_, index) => contextView(index + 11))
  const last = contexts.at(-1)
  const { app } = testApp({
    listPage: async (request) => ({ contexts, next: last && contexts.length === request.limit ? last.id : null }),
  })
  return (await app.request(path)).headers.get('link')
}

describe('the link to the next page', () => {
  test('carries order, times and statuses, and under desc the id as before', async () => {
    const given = await linkOf(
      '/flux-api/contexts?order=desc&view=summary&status=WAITING,FAILED&status=RUNNING&startedAfter=2026-01-01&dueBefore=1767225600000' +
        '&updatedBefore=2026-01-01T01:00%2B01:00&errorType=a%26b&parent=7&paused=false&after=3&before=99&limit=3',
      3,
    )
    const [, target = ''] = /^<(\/flux-api\/contexts\?.*)>; rel="next"$/.exec(given ?? '') ?? []
    const { searchParams } = new URL(target, 'http://localhost')
    expect(Object.fromEntries(searchParams)).toEqual({
      order: 'desc',
      view: 'summary',
      status: 'WAITING,FAILED,RUNNING',
      startedAfter: '1767225600000',
      updatedBefore: '1767225600000',
      dueBefore: '1767225600000',
      errorType: 'a&b',
      parent: '7',
      paused: 'false',
      after: '3',
      before: '13',
      limit: '3',
    })
  })

  test('carries the filters, and the last id instead of the page', async () => {
    const given = await linkOf(
      '/flux-api/contexts?fluxName=a%26b&tag=x&tag=%C3%BC&status=FAILED&currentState=c&startState=s&limit=3&page=4',
      3,
    )
    const [, target = ''] = /^<(\/flux-api\/contexts\?.*)>; rel="next"$/.exec(given ?? '') ?? []
    const { searchParams } = new URL(target, 'http://localhost')
    expect([...searchParams].sort()).toEqual([
      ['after', '13'],
      ['currentState', 'c'],
      ['fluxName', 'a&b'],
      ['limit', '3'],
      ['startState', 's'],
      ['status', 'FAILED'],
      ['tag', 'x'],
      ['tag', 'ü'],
    ])
  })

  test('is there by default when 30 came', async () =>
    expect(await linkOf('/flux-api/contexts', 30)).toBe('</flux-api/contexts?limit=30&after=40>; rel="next"'))
  test('stands for at most 1000', async () =>
    expect(await linkOf('/flux-api/contexts?limit=5000', 1000)).toContain('limit=1000&after=1010'))
  test('is missing when the page is not full', async () =>
    expect(await linkOf('/flux-api/contexts?limit=3', 2)).toBeNull())
  test('is missing when nothing came', async () => expect(await linkOf('/flux-api/contexts?limit=3', 0)).toBeNull())
})

const failing = (error: unknown) =>
  testApp({
    async terminate() {
      throw error
    },
  })
const ask = (app: ReturnType<typeof testApp>['app']) =>
  app.request('/flux-api/terminate?contextId=5', { method: 'DELETE' })

describe('what the runtime refuses', () => {
  test.each([
    [notFound('there is no context 5'), 404],
    [conflict('it has ended'), 409],
    [new FluxError({ kind: 'malformed', detail: 'd' }), 400],
    [new FluxError({ kind: 'unauthorized', token: 'none', detail: 'd' }), 401],
    [new FluxError({ kind: 'forbidden', detail: 'd' }), 403],
    [new FluxError({ kind: 'busy', detail: 'd', retryAfter: 1 }), 429],
    [new FluxError({ kind: 'unavailable', detail: 'd', retryAfter: 2 }), 503],
  ])('%s is a problem with its detail', async (error, status) => {
    const { app, lines } = failing(error)
    await expectProblem(await ask(app), status, error.failure.detail)
    expect(lines).toEqual([])
  })

  test('invalid input names each fault', async () => {
    const errors = [{ pointer: '/input/a~1b', detail: 'is missing' }]
    expect(await expectProblem(await ask(failing(invalid('not valid', errors)).app), 422)).toMatchObject({ errors })
  })

  test('busy and unavailable say when to try again, in whole seconds', async () => {
    expect(
      (await ask(failing(new FluxError({ kind: 'busy', detail: 'd', retryAfter: 0.02 })).app)).headers.get(
        'retry-after',
      ),
    ).toBe('1')
    expect(
      (await ask(failing(new FluxError({ kind: 'unavailable', detail: 'd', retryAfter: 2.5 })).app)).headers.get(
        'retry-after',
      ),
    ).toBe('3')
  })

  test.each([new TypeError('secret /home/x'), new Error('secret', { cause: 'y' })])(
    '%s is our own fault: logged, and not shown',
    async (error) => {
      const { app, lines } = failing(error)
      const problem = await expectProblem(await ask(app), 500)
      expect(JSON.stringify(problem)).not.toMatch(/secret|home|stack/)
      expect(lines).toEqual([
        {
          level: 'error',
          message: 'a request failed',
          fields: { method: 'DELETE', path: '/flux-api/terminate', error },
        },
      ])
    },
  )
})

/** Every refusal has the same shape. */
async function expectProblem(response: Response, status: number, telling = ''): Promise<unknown> {
  const problem: unknown = await response.json()
  expect(problem).toMatchObject({
    status,
    type: expect.stringMatching(/^urn:actorflux:problem:[a-z-]+$/),
    title: expect.stringMatching(/./),
    detail: expect.stringContaining(telling),
    instance: expect.stringMatching(/^\/[^?]*$/),
  })
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  return problem
}
