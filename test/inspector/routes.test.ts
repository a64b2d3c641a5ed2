// What pages ask of the API, and what their forms do: each call is looked at, and answered by the test.
import { describe, expect, test } from 'vitest'
import type { FluxApi } from '../../src/api/calls.ts'
import { type ContextEventsView, type ContextView, emptyModel } from '../../src/api/contexts.ts'
import { OPERATION_EXAMPLE } from '../../src/api/operations.ts'
import type { WebhookView } from '../../src/api/webhooks.ts'
import { ANONYMOUS, type Caller } from '../../src/model/caller.ts'
import { conflict, FluxError, invalid } from '../../src/model/failure.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { contextView, fakeApi } from '../http/support.ts'
import { openPages } from './pages.ts'

const NOW = 1_800_000_000_000

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

/** The fields of a retry, and what the call gets of them. */
const RETRY_TYPED = [
  ['state', 'Charge'],
  ['inputs', '{"amount": 3}'],
  ['current', 'on'],
  ['newKey', 'on'],
] as const
const RETRY_TOLD = { state: 'Charge', input: { amount: 3 }, definition: 'current', newKey: true }

function open(overrides: Partial<FluxApi> = {}, caller: Caller = ANONYMOUS) {
  const { api, calls } = fakeApi({
    listServices: () => Promise.resolve({ services: [serviceOf('p', 'Order')], faults: [], loadedAt: 1 }),
    ...overrides,
  })
  const pages = openPages({ api: () => api, caller, now: () => NOW })
  const asked = (name: keyof FluxApi) => calls.filter((call) => call.name === name).map(({ request }) => request)
  return { ...pages, asked, calls }
}

/** What a list offers to do with contexts. */
const offered = async (query: string, caller?: Caller) =>
  [...(await open({}, caller).get(`/contexts${query}`)).text.matchAll(/name="do" value="(\w+)"/g)].map(
    ([, command]) => command,
  )

/** A context with those facts. */
const showing = (more: Partial<ContextView>, overrides: Partial<FluxApi> = {}) => ({
  getContext: () => Promise.resolve({ ...contextView(7), ...more }),
  getDefinition: () => Promise.resolve({ states: [{ name: 'a' }, { name: 'Charge' }] }),
  ...overrides,
})

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

/** The events that have forms on the page of a context, each with its inputs. */
const fieldsIn = (text: string) =>
  text
    .slice(text.indexOf('It can take'), text.indexOf('id="steering"'))
    .split('<summary>')
    .slice(1)
    .map((form) => [
      /<code>([^<]*)/.exec(form)?.[1],
      ...[...form.matchAll(/name="input\.([^"]*)"/g)].map(([, name]) => name),
    ])

/** Address of the next page. */
const next = (text: string) => /href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&')

describe('the list', () => {
  test('asks for what its address says, newest first, and leads on with all of it', async () => {
    const { get, asked, counted } = listed()
    const { text } = await get(
      '/contexts?tag=a&tag=b&status=FAILED&paused=true&parent=3&key=&page=x&startedAfter=5&view=full',
    )
    const filters = { tag: ['a', 'b'], status: ['FAILED'], paused: true, parent: 3, startedAfter: '5' }
    expect(asked).toEqual([{ ...filters, order: 'desc', limit: 50, view: 'summary' }])
    // Counts show how many there are of each status, whichever is listed.
    const { status: _listed, ...others } = filters
    expect(counted).toEqual([others])
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
    [' Order ', '/inspector/contexts?fluxName=p%2FOrder'],
    ['p/Order', '/inspector/contexts?fluxName=p%2FOrder'],
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

  test('all that match means what the list shows; of a list, only what has failed or was terminated is retried', async () => {
    for (const [command, query, filter] of [
      ['untag', '?tag=x', { tag: 'x' }],
      ['untag', '?tag=x&status=FAILED&order=asc&before=3', { tag: 'x', status: 'FAILED' }],
      ['retry', '?status=all', { status: 'FAILED,TERMINATED' }],
      ['retry', '?status=FAILED,WAITING', { status: 'FAILED' }],
      ['retry', '?tag=x', { tag: 'x' }],
    ] as const) {
      const { post, asked } = open()
      const fields = [
        ['do', command],
        ['tag', 'y'],
        ['back', `/inspector/contexts${query}`],
        ['sure', 'yes'],
      ] as const
      expect(await post('/contexts/many', fields)).toMatchObject({ status: 303, location: '/inspector/operations/o' })
      expect(asked('startOperation')).toEqual([
        { filter, do: command, with: command === 'retry' ? {} : { tags: ['y'] } },
      ])
    }
  })

  test('those that were chosen are meant, and no others, whatever has become of them', async () => {
    const { post, asked } = open()
    await post('/contexts/many', [...FORM, ['id', '4'], ['id', '9'], ['scope', 'chosen'], ['sure', 'yes']])
    expect(asked('startOperation')).toEqual([{ filter: { status: 'all' }, contextIds: [4, 9], do: 'terminate' }])
  })

  test('an event with its inputs, and a retry with all that it may be told', async () => {
    const { post, asked } = open()
    await post('/contexts/many', [
      ['do', 'event'],
      ['with', 'go'],
      ['inputs', '{"by": "me"}'],
      ['sure', 'yes'],
    ])
    await post('/contexts/many', [['do', 'retry'], ['id', '4'], ['scope', 'chosen'], ...RETRY_TYPED, ['sure', 'yes']])
    expect(asked('startOperation').map((request) => Object(request).with)).toEqual([
      { event: 'go', input: { by: 'me' } },
      RETRY_TOLD,
    ])
  })

  test('a form that is sent again begins nothing, also when it is done', async () => {
    const { post, asked } = open()
    const once = {
      a: [...FORM, ['sure', 'yes'], ['$once', 'a']],
      b: [...FORM, ['sure', 'yes'], ['$once', 'b']],
    } as const
    const answers = [await post('/contexts/many', once.a), await post('/contexts/many', once.a)]
    expect(answers.map(({ status }) => status)).toEqual([303, 303])
    expect(asked('startOperation')).toHaveLength(1)
    await post('/contexts/many', once.b)
    expect(asked('startOperation')).toHaveLength(2)
  })

  test('what is refused asks again, with what was typed and what was chosen', async () => {
    const wrong = [{ pointer: '/with/state', detail: 'is not there' }]
    const { post } = open({ startOperation: () => Promise.reject(invalid('it can not be begun', wrong)) })
    const { status, text } = await post('/contexts/many', [
      ['do', 'retry'],
      ['id', '4'],
      ['scope', 'chosen'],
      ...RETRY_TYPED,
      ['sure', 'yes'],
    ])
    expect(status).toBe(422)
    expect(text).toContain('it can not be begun')
    expect(text).toMatch(/value="chosen" checked/)
    expect(text).toMatch(/name="state" value="Charge"[^>]*aria-invalid="true"/)
    expect(text).toMatch(/id="retry-state-wrong">is not there</)
    expect(text).toMatch(/name="newKey" checked/)
    const typed = await open().post('/contexts/many', [
      ['do', 'event'],
      ['with', 'go'],
      ['inputs', '[<1'],
      ['sure', 'yes'],
    ])
    expect([typed.status, typed.text.includes('must be a JSON object')]).toEqual([422, true])
    expect(typed.text).toMatch(/>\s*\[&lt;1\s*<\/textarea>/)
  })
})

describe('operations', () => {
  test('one shows how far it is and why some could not take it, and is stopped by its form', async () => {
    const { get, post, asked } = open()
    const { status, text } = await get('/operations/o')
    expect(status).toBe(200)
    for (const part of [
      '4,000 of 25,000 done, 3,999 changed, 1 failed',
      'href="/inspector/contexts/17"',
      'fluxName=Order',
    ])
      expect(text).toContain(part)
    expect(asked('getOperation')).toEqual([{ operationId: 'o' }])
    expect(await post('/operations/o/stop', [])).toMatchObject({ status: 303, location: '/inspector/operations/o' })
    expect(asked('stopOperation')).toEqual([{ operationId: 'o' }])
  })

  test('one that is done has no form; it may be done while it is stopped', async () => {
    const done: Partial<FluxApi> = {
      getOperation: () => Promise.resolve({ ...OPERATION_EXAMPLE, status: 'done', endedAt: NOW }),
    }
    expect((await open(done).get('/operations/o')).text).not.toContain('/stop"')
    const { post, asked } = open(done)
    expect((await post('/operations/o/stop', [])).status).toBe(303)
    expect(asked('stopOperation')).toEqual([])
    const late = open({ stopOperation: () => Promise.reject(conflict('it is done')) })
    expect((await late.post('/operations/o/stop', [])).status).toBe(303)
  })

  test('the list goes on behind the last one, and the list of contexts leads to it', async () => {
    const all = Array.from({ length: 120 }, (_, index) => ({ ...OPERATION_EXAMPLE, operationId: `o${index}` }))
    const { get } = open({ listOperations: () => Promise.resolve(all) })
    const first = (await get('/operations')).text
    expect([...first.matchAll(/id="op-o\d+"/g)]).toHaveLength(50)
    expect(next(first)).toBe('/inspector/operations?after=o49')
    const last = (await get('/operations?after=o99')).text
    expect([...last.matchAll(/id="op-(o\d+)"/g)].map(([, id]) => id)).toEqual(
      all.slice(100).map(({ operationId }) => operationId),
    )
    expect(next(last)).toBeUndefined()
    expect((await get('/contexts')).text).toContain('href="/inspector/operations"')
    expect((await open({ listOperations: () => Promise.resolve([]) }).get('/operations')).text).toContain(
      'No operation yet',
    )
  })

  test('a list offers what some of it may take, to who may', async () => {
    const tags = ['tag', 'untag']
    expect(await offered('')).toEqual([...tags, 'event', 'pause', 'resume', 'terminate'])
    expect(await offered('?status=FAILED')).toEqual([...tags, 'retry'])
    expect(await offered('?status=COMPLETED')).toEqual(tags)
    expect(await offered('?paused=true')).toEqual([...tags, 'event', 'resume', 'terminate'])
    expect(await offered('?status=all')).toEqual([...tags, 'event', 'retry', 'pause', 'resume', 'terminate'])
    const invoker: Caller = { name: 'i', roles: ['invoke'] }
    expect(await offered('?status=all', invoker)).toEqual([...tags, 'event', 'terminate'])
    expect(await offered('', { name: 'r', roles: ['read'] })).toEqual([])
    for (const path of ['/contexts/many', '/contexts/7/retry'])
      expect((await open({}, invoker).post(path, [['do', 'retry']])).status).toBe(403)
  })
})

describe('a context', () => {
  const EVENTS: ContextEventsView = {
    contextId: 7,
    state: 'a',
    status: 'WAITING',
    events: [{ event: 'go', to: 'b', input: SCHEMA }],
    else: null,
    timed: null,
    others: [],
  }
  const taking: Partial<FluxApi> = {
    getContext: () => Promise.resolve(contextView(7)),
    getDefinition: () => Promise.resolve({}),
    getContextEvents: () => Promise.resolve(EVENTS),
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

  test('forms of events have their own inputs where the definition tells them apart', async () => {
    const input = {
      properties: Object.fromEntries(
        ['by', 'amount', 'sum', 'why', 'note', 'shared', 'odd'].map((name) => [
          name,
          { type: 'string', ...(name === 'sum' && { description: 'with paid or refunded; in euros' }) },
        ]),
      ),
      required: ['by'],
    }
    const definition = {
      states: [
        {
          name: 'a',
          action: { lines: [{ from: ['shared'], to: ['x'] }] },
          transitions: [
            { event: 'paid', to: 'b', lines: [{ from: ['amount'], to: ['y'] }] },
            { event: 'refunded', to: 'b', lines: [{ type: 'set', expression: 'note + why', to: ['y'] }] },
            { event: 'cancel', to: 'b', lines: [{ from: ['why'], to: ['y'] }] },
            { event: '$exception', to: 'b', lines: [{ from: ['note'], to: ['y'] }] },
          ],
        },
      ],
    }
    const events = ['paid', 'refunded', 'cancel'].map((event) => ({ event, to: 'b', input }))
    const getContextEvents = async () => ({ ...EVENTS, events })
    const shownOf = async (getDefinition: FluxApi['getDefinition']) =>
      (await open({ ...taking, getContextEvents, getDefinition }).get('/contexts/7')).text
    const text = await shownOf(async () => definition)
    expect(fieldsIn(text)).toEqual([
      ['paid', 'by', 'amount', 'sum', 'note', 'shared', 'odd'],
      ['refunded', 'by', 'sum', 'why', 'note', 'shared', 'odd'],
      ['cancel', 'by', 'why', 'note', 'shared', 'odd'],
    ])
    expect(text).not.toContain('elsewhere')
    const all = Object.keys(input.properties)
    const deciding = { lines: [{ from: ['shared'], to: ['$fluxEvent'] }] }
    const [state] = definition.states
    expect(fieldsIn(await shownOf(async () => ({})))).toEqual(events.map(({ event }) => [event, ...all]))
    expect(await shownOf(async () => ({ states: [{ ...state, action: deciding }] }))).toContain('may lead elsewhere')
  })

  test('of many events the first have forms, and any other is chosen by its name', async () => {
    const events = Array.from({ length: 500 }, (_, index) => ({ event: `e${index}`, to: 'b', input: SCHEMA }))
    const getContextEvents = async () => ({ ...EVENTS, events })
    const { get, post } = open({ ...taking, getContextEvents, sendEvent: () => Promise.reject(conflict('not now')) })
    const formsIn = async (path: string) => fieldsIn((await get(path)).text).map(([event]) => event)
    expect(await formsIn('/contexts/7')).toEqual(['e0', 'e1', 'e2', 'e3'])
    expect(await formsIn('/contexts/7?event=e499')).toEqual(['e499', 'e0', 'e1', 'e2'])
    expect(await formsIn('/contexts/7?event=unknown')).toEqual(['e0', 'e1', 'e2', 'e3'])
    const { text } = await get('/contexts/7')
    expect(text).toContain('<label for="other-event">496 more events</label>')
    // One that was refused is shown, wherever it stands among them.
    const refused = await post('/contexts/7/events', [['event', 'e77']])
    expect(fieldsIn(refused.text)[0]?.[0]).toBe('e77')
    expect(refused.text).toContain('not now')
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
  ] as const)('%s a tag', async (command, name) => {
    const { post, asked } = open(taking)
    await post('/contexts/7/tags', [
      ['tag', 'x'],
      ['do', command],
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

describe('a context is steered:', () => {
  const STEP = {
    state: 'a',
    kind: 'invokeCode' as const,
    className: 'c',
    methodName: 'm',
    attempt: 3,
    maxAttempts: 5,
    startedAt: null,
    timeoutAt: null,
    nextAttemptAt: NOW + 4000,
    stepKey: 'k',
    server: null,
    lastError: { type: 'Error', message: 'no', at: NOW - 1000, stack: null },
  }

  test.each<[string, Partial<ContextView>, string[], string]>([
    ['one that waits', {}, ['pause'], 'Paused, it starts no step'],
    ['one that is paused', { paused: true }, ['resume'], '<span class="status paused">paused</span>'],
    ['one in a back-off', { status: 'RUNNING', step: STEP }, ['retry', 'pause'], 'Makes attempt 3 of 5 now.'],
    ['one that failed', { status: 'FAILED', endedAt: 2 }, ['retry', 'retry'], 'a new set of attempts'],
    ['one that was terminated', { status: 'TERMINATED', endedAt: 2 }, ['retry', 'retry'], 'where it stood'],
    ['one that is completed', { status: 'COMPLETED', endedAt: 2 }, [], 'Completed'],
  ])('%s has the forms that apply', async (_title, more, forms, said) => {
    const { text } = await open(showing(more)).get('/contexts/7')
    const shown = [...text.matchAll(/action="\/inspector\/contexts\/7\/(retry|pause|resume)"/g)].map(
      ([, command]) => command,
    )
    expect(shown).toEqual(forms)
    expect(text).toContain(said)
    const invoker = await open(showing(more), { name: 'i', roles: ['invoke'] }).get('/contexts/7')
    expect(invoker.text).not.toMatch(/action="[^"]*\/(?:retry|pause|resume)"/)
  })

  test.each(['retry', 'pause', 'resume'] as const)('%s, once for each form', async (command) => {
    const { post, asked } = open(showing({ status: 'FAILED' }))
    const answer = await post(`/contexts/7/${command}`, [['$once', 'a']])
    expect(answer).toMatchObject({ status: 303, location: '/inspector/contexts/7' })
    expect(asked(command)).toEqual([{ contextId: 7, idempotencyKey: expect.stringMatching(/^[\w-]{43}$/) }])
  })

  test('a retry is told the state, its inputs, the definition and the key', async () => {
    const { post, asked } = open(showing({ status: 'FAILED' }))
    await post('/contexts/7/retry', RETRY_TYPED)
    expect(asked('retry')).toEqual([{ contextId: 7, ...RETRY_TOLD }])
  })

  test.each([
    [conflict('its parent has gone on'), 409, []],
    [
      invalid('not so', [
        { pointer: '/state', detail: 'is not known' },
        { pointer: '/input/by', detail: 'is required' },
      ]),
      422,
      ['is not known', 'by is required'],
    ],
  ] as const)('a refusal shows the form again: %s', async (failure, status, wrong) => {
    const { post } = open(showing({ status: 'FAILED' }, { retry: () => Promise.reject(failure) }))
    const answer = await post('/contexts/7/retry', RETRY_TYPED)
    expect(answer.status).toBe(status)
    expect(answer.text).toContain(failure.failure.detail)
    expect(answer.text).toMatch(/<option value="Charge" selected/)
    expect(answer.text).toContain('name="current" checked')
    expect([...answer.text.matchAll(/class="wrong"[^>]*>([^<]*)</g)].map(([, text]) => text)).toEqual(wrong)
  })

  test('inputs that are no JSON retry nothing, and what is refused is told also where there is no form any more', async () => {
    const { post, asked } = open(showing({ status: 'FAILED' }))
    const { status, text } = await post('/contexts/7/retry', [['inputs', '{"a": <']])
    expect([status, asked('retry')]).toEqual([422, []])
    expect(text).toMatch(/<textarea [^>]*aria-invalid="true"[^>]*>\s*\{&quot;a&quot;: &lt;\s*<\/textarea>/)
    const completed = showing({ status: 'COMPLETED' }, { pause: () => Promise.reject(conflict('it has ended')) })
    const late = await open(completed).post('/contexts/7/pause', [])
    expect([late.status, late.text.includes('it has ended')]).toEqual([409, true])
  })

  test('its timeline shows where it was retried, and which attempt comes next', async () => {
    const entry = { fluxName: 'F', stateName: 'a', stateIndex: 0, enteredAt: 1 }
    const executionHistory = [entry, { ...entry, event: '$retry' as const, enteredAt: 2 }]
    const { text } = await open(showing({ status: 'RUNNING', step: STEP, executionHistory })).get('/contexts/7')
    expect(text).toContain('<code>$retry</code>')
    expect(text).toContain('attempt 3 of 5 comes next')
    expect(text).toContain('attempt 2 of 5 failed</span></td><td class="said"><code>Error: no</code>')
  })
})

describe('a context that moved', () => {
  const at = (ms: number) => ({ fluxName: 'F', stateIndex: 0, enteredAt: NOW - 60_000 + ms })
  const left = (name: string, to: string, ms: number, values: JsonObject = {}) => ({
    name,
    input: emptyModel('input'),
    output: emptyModel('output'),
    transitionContexts: [{ event: null, to, takenAt: NOW - 60_000 + ms, values }],
  })
  const definition: JsonObject = {
    states: [
      {
        name: 'Nap',
        waiting: true,
        transitions: [
          { event: 'wake', to: 'Charge' },
          { wait: 'duration:10', to: 'Charge' },
        ],
      },
      {
        name: 'Charge',
        transitions: [
          { to: 'Pay' },
          { event: '$exception', to: 'Pay', lines: [{ from: ['$fluxException', 'message'], to: ['why', 'text'] }] },
        ],
      },
      {
        name: 'Pay',
        action: { type: 'invokeFlux', name: 'Payment' },
        transitions: [{ to: 'Next' }, { event: '$exception', to: 'Next' }],
      },
      { name: 'Next' },
    ],
    models: { Order: { gloopProperties: [{ name: 'dueAt', type: 'date' }] } },
  }
  const moved: Partial<ContextView> = {
    currentState: 'Next',
    executionHistory: [
      { ...at(0), stateName: 'Nap' },
      { ...at(10_000), stateName: 'Charge' },
      { ...at(11_000), stateName: 'Pay' },
      { ...at(11_005), stateName: 'Next' },
    ],
    stateContexts: [
      left('Nap', 'Charge', 10_000),
      left('Charge', 'Pay', 11_000, { why: { text: 'card declined' } }),
      left('Pay', 'Next', 11_005),
    ],
  }
  const child = { ...contextView(9), fluxName: 'Payment', status: 'COMPLETED' as const, startedAt: NOW - 49_000 }

  test('tells what times and exceptions led on, and links to each child after it went on', async () => {
    const asked: object[] = []
    const { get } = open(
      showing(moved, {
        getDefinition: async () => definition,
        async listPage(request) {
          asked.push({ ...request })
          return { contexts: [child], next: null }
        },
      }),
    )
    const { text } = await get('/contexts/7')
    const rows = [...text.matchAll(/<tr data-row[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
      row
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    expect(rows).toEqual([
      expect.stringMatching(/start → Nap 10 s$/),
      expect.stringMatching(/after 10 s → Charge 1 s$/),
      expect.stringMatching(/exception: card declined → Pay , child Payment 9 COMPLETED 5 ms$/),
      // Both of its transitions may have been taken.
      expect.stringMatching(/– → Next 49 s …$/),
    ])
    expect(text).toContain('href="/inspector/contexts/9"')
    expect(asked).toEqual([{ parent: 7, status: 'all', order: 'desc', view: 'summary', limit: 100 }])
  })

  test('whose definition starts none is asked for no children', async () => {
    const { get, asked } = open(showing(moved))
    expect((await get('/contexts/7')).text).not.toContain('card declined')
    expect(asked('listPage')).toEqual([])
  })

  test('shows the end of one that failed in its timeline', async () => {
    const error = { type: 'Declined', message: 'no', className: '', realException: null, fluxStackTrace: [] }
    const { text } = await open(showing({ ...moved, status: 'FAILED', error })).get('/contexts/7')
    expect(text).toContain('failed</span></td><td class="said"><code>Declined: no</code>')
  })

  test('shows dates of its data as dates, and models as trees', async () => {
    const born = Date.UTC(2020, 0, 2)
    const note = 'a text that is so long that it does not stand in a line of its own'
    const input: ContextView['input'] = {
      ...emptyModel('input'),
      gloopProperties: [
        { name: 'born', type: 'date', value: born },
        { name: 'count', type: 'long', value: born },
        { name: 'order', type: 'model', reference: 'Order', value: { dueAt: born, note } },
        { name: 'days', type: 'date', array: true, value: [born] },
        { name: 'list', type: 'integer', array: true, value: [1, 2] },
      ],
    }
    const asked: object[] = []
    const { get } = open(showing({ input }, { getDefinition: async (request) => (asked.push(request), definition) }))
    const { text } = await get('/contexts/7?tab=Data')
    const date = '<time datetime="2020-01-02T00:00:00.000Z">2020-01-02T00:00:00.000Z</time>'
    expect(text).toContain(`<dt>born</dt><dd>${date}</dd>`)
    expect(text).toContain(`<dt>count</dt><dd><code>${born}</code></dd>`)
    expect(text).toContain(
      `<dt>order</dt><dd><dl><dt>dueAt</dt><dd>${date}</dd><dt>note</dt><dd><code>${note}</code></dd></dl>`,
    )
    expect(text).toContain(`<dt>days</dt><dd><dl><dt>0</dt><dd>${date}</dd></dl>`)
    expect(text).toContain('<dt>list</dt><dd><code>[1,2]</code></dd>')
    expect(asked).toEqual([{ contextId: 7, resolved: true }])
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

  test('of the same name as one of another package is mixed with it nowhere', async () => {
    const { get, asked } = open({
      ...services,
      ...showing({ package: 'p', fluxName: 'Order' }),
      listServices: async () => ({
        services: ['q', 'p'].map((owner) => ({ ...serviceOf(owner, 'Order'), contexts: { FAILED: 1 } })),
        faults: [],
        loadedAt: 1,
      }),
      listPage: async () => ({
        contexts: [{ ...contextView(7), package: 'p', fluxName: 'Order', nextRun: NOW + 1000 }],
        next: null,
      }),
    })
    for (const page of ['/', '/services/p/Order', '/contexts', '/wake-ups', '/contexts/7']) {
      const { text } = await get(page)
      const names = [...text.matchAll(/fluxName=([^&"]*)/g)].map(([, name]) => decodeURIComponent(name ?? ''))
      expect([page, ...names.filter((name) => !/^[pq]\/Order$/.test(name))]).toEqual([page])
      expect([page, text.includes('p/Order')]).toEqual([page, true])
    }
    expect(asked('countContexts')).toContainEqual({ fluxName: 'p/Order', by: 'currentState' })
    // Of a name that two have, both are found.
    expect((await get('/find?q=Order')).location).toBe('/inspector/contexts?fluxName=Order')
    expect((await get('/contexts')).text).toMatch(/<datalist id="fluxName-list"><option value="q\/Order"/)
  })

  test('is started with what was typed', async () => {
    const { post, asked } = open(services)
    const fields = [
      ['input.count', '7'],
      ['tags', ' a, ,b '],
      ['key', 'k-1'],
    ] as const
    expect(await post('/services/p/Order/start', fields)).toMatchObject({
      status: 303,
      location: '/inspector/contexts/7',
    })
    expect(asked('execute')).toEqual([
      { package: 'p', fluxName: 'Order', input: { count: '7' }, tags: ['a', 'b'], key: 'k-1', untyped: true },
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
    // What is no outcome is refused by the call.
    expect(asked).toEqual([
      { limit: 50, urlPath: '/a', outcome: 'refused', after: 'x' },
      { limit: 50, outcome: 'nonsense' },
    ])
    expect(text).toContain('/inspector/deliveries?urlPath=%2Fa&amp;outcome=refused&amp;after=n')
  })

  test('who has no delivery is told how to send one, and who has none that matches is led to all', async () => {
    const webhook: WebhookView = {
      urlPath: "/it's",
      httpMethods: ['POST'],
      package: 'p',
      fluxName: 'Order',
      name: null,
      scheme: null,
      counts: {
        accepted: 0,
        duplicate: 0,
        filtered: 0,
        handshake: 0,
        ignored: 0,
        invalid: 0,
        'signature-invalid': 0,
        failed: 0,
        timeout: 0,
        refused: 0,
      },
      last: null,
    }
    const { get } = open({
      listWebhooks: () => Promise.resolve([webhook]),
      listDeliveriesPage: () => Promise.resolve({ deliveries: [], next: null }),
    })
    expect((await get('/deliveries')).text).toContain(
      'npx actorflux webhook test &#39;/it&#39;\\&#39;&#39;s&#39; --url http://localhost<',
    )
    expect((await get('/deliveries?outcome=refused')).text).toContain(
      '<a href="/inspector/deliveries">All deliveries</a>',
    )
  })

  test('a delivery is sent again, and what became of it is told', async () => {
    const { get, post, asked } = open()
    const { status, location } = await post('/deliveries/replay', [['deliveryId', 'd']])
    expect([status, location]).toEqual([303, '/inspector/deliveries?done=202&context=7'])
    expect(asked('replayDelivery')).toEqual([{ deliveryId: 'd' }])
    const { text } = await get('/deliveries?done=202&context=7')
    expect(text).toContain('Sent again: 202')
    expect(text).toContain('<a href="/inspector/contexts/7">context 7</a>')
  })

  test.each(['/deliveries', '/contexts'])('no address writes a notice on %s', async (page) => {
    const { text } = await open().get(`${page}?done=Send+your+token&context=elsewhere`)
    expect(text).not.toContain('class="notice"')
    expect(text.replaceAll(/<[^>]*>/g, '')).not.toMatch(/Send your token|elsewhere/)
  })

  test('where there is nothing yet, a command starts a service that is loaded, on the server that was asked', async () => {
    const empty = {
      listPage: () => Promise.resolve({ contexts: [], next: null }),
      listOperations: () => Promise.resolve([]),
    }
    const host = { host: 'flux.example:8443' }
    const { text } = await open(empty).get('/contexts', host)
    expect(text).toContain('curl -X POST http://flux.example:8443/flux-api/p/execute')
    expect(text).toContain('{&quot;fluxName&quot;:&quot;Order&quot;}')
    expect((await open(empty).get('/operations', host)).text).toMatch(
      /&quot;fluxName&quot;:&quot;p\/Order&quot;.*http:\/\/flux\.example:8443\/flux-api\/operations/,
    )
    const none = { ...empty, listServices: async () => ({ services: [], faults: [], loadedAt: 1 }) }
    for (const page of ['/contexts', '/operations']) expect((await open(none).get(page)).text).not.toContain('curl')
    // Nobody resolves such a name, but a shell would.
    expect((await open(empty).get('/contexts', { host: '$(id)' })).text).not.toContain('$(id)')
  })

  test('where the data lies is told to who has a token', async () => {
    expect((await open().get('/health')).text).not.toContain('/srv/data')
    expect((await open({}, { name: 'r', roles: ['read'] }).get('/health')).text).toContain('/srv/data')
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

  test('a wake-up is told with its time', async () => {
    const context = { ...contextView(7), nextRun: NOW + 60_000, startedAt: NOW - 86_400_000 }
    const { get } = open({ listPage: () => Promise.resolve({ contexts: [context], next: null }) })
    expect((await get('/wake-ups')).text).toContain(new Date(NOW + 60_000).toISOString().slice(0, 19))
  })

  test('health tells which of the servers is this one', async () => {
    const { text } = await open({}, { name: 'r', roles: ['read'] }).get('/health')
    expect(text).toMatch(/>r<[^]*this one[^]*>other<[^]*heard 5 s ago/)
  })
})

test('assets are got again only if they have changed', async () => {
  const { app } = openPages({ api: () => fakeApi().api, caller: ANONYMOUS, now: () => NOW, requireAuth: true })
  for (const name of ['style.css', 'live.js', 'idiomorph.js']) {
    const first = await app.request(`/assets/${name}`)
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    expect((await first.arrayBuffer()).byteLength).toBeLessThan(12 * 1024)
    const etag = first.headers.get('etag') ?? ''
    const again = await app.request(`/assets/${name}`, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    expect((await app.request(`/assets/${name}`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  }
})
