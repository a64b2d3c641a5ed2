// What the pages refuse: forms of others, who has no token or too weak a one, and addresses that lead elsewhere. Over HTTP, as
// a program sends it.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openLive, tokenOf, type Live } from '../http/live.ts'

const SERVICES = {
  'p/Waiter.flux': {
    states: [
      {
        name: 'open',
        waiting: true,
        input: [{ name: 'by', required: true }],
        transitions: [{ event: 'close', to: 'shut' }],
      },
      { name: 'shut' },
    ],
  },
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'x', to: 'rest' }] }],
  },
  'p/Hooked.flux': {
    webhooks: [{ urlPath: '/hooked', httpMethods: ['POST'] }],
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'x', to: 'rest' }] }],
  },
}

type Fields = { readonly [name: string]: string }

/** A browser, as far as cookies go. */
class Client {
  readonly cookies = new Map<string, string>()
  /** As they were set. */
  readonly set: string[] = []
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async get(path: string, headers: Fields = {}): Promise<{ response: Response; text: string }> {
    return this.#send(path, { headers })
  }

  /** `$form` is that of the page of `from`, if it isn't given. */
  async post(path: string, fields: Fields, { from, headers = {} }: { from?: string; headers?: Fields } = {}) {
    const token = from === undefined ? {} : { $form: formTokenIn((await this.get(from, headers)).text) }
    return this.#send(path, { method: 'POST', headers, body: new URLSearchParams({ ...token, ...fields }) })
  }

  async #send(path: string, init: RequestInit & { headers: Fields }) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { accept: 'text/html', ...(cookie !== '' && { cookie }), ...init.headers }
    const response = await fetch(this.#url + path, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      this.set.push(line)
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return { response, text: await response.text() }
  }
}

/** Hidden fields that all forms have. */
const fieldsIn = (text: string): Fields =>
  Object.fromEntries(
    [...text.matchAll(/name="(\$form|\$once)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  )

const formTokenIn = (text: string): string => /name="\$form" value="([^"]*)"/.exec(text)?.[1] ?? ''

async function start(live: Live, fluxName: string, token?: string): Promise<number> {
  const { json } = await live.call('POST', '/flux-api/p/execute', {
    body: { fluxName },
    ...(token !== undefined && { token }),
  })
  return Number(Object(json).contextId)
}

/** All that a page or the API would show of it. */
const stateOf = async (live: Live, id: number, token?: string) => {
  const { json } = await live.call('GET', `/flux-api/context?contextId=${id}`, token === undefined ? {} : { token })
  const { status, currentState, tags, version } = Object(json)
  return { status, currentState, tags, version }
}

const posts = (id: number) =>
  [
    ['/inspector/services/p/Waiter/start', {}],
    [`/inspector/contexts/${id}/events`, { event: 'close', 'input.by': 'me' }],
    [`/inspector/contexts/${id}/tags`, { tag: 'x', do: 'add' }],
    [`/inspector/contexts/${id}/terminate`, {}],
    ['/inspector/contexts/many', { do: 'terminate', id: String(id), scope: 'chosen', sure: 'yes' }],
    ['/inspector/contexts/many', { do: 'terminate', id: String(id) }],
    [`/inspector/contexts/${id}/retry`, {}],
    [`/inspector/contexts/${id}/pause`, {}],
    [`/inspector/contexts/${id}/resume`, {}],
    ['/inspector/contexts/many', { do: 'pause', id: String(id), scope: 'chosen', sure: 'yes' }],
    ['/inspector/operations/any/stop', {}],
    ['/inspector/deliveries/replay', { deliveryId: 'any' }],
  ] as const

describe('without tokens', () => {
  let live: Live
  let id: number
  beforeAll(async () => {
    live = await openLive({}, SERVICES, { boss: 'invoke' })
    id = await start(live, 'Waiter')
  })
  afterAll(() => live.close())

  const count = async () => Object((await live.call('GET', '/flux-api/contexts/count?by=status')).json).total

  test.each([
    ['without the token of the form', {}, {}],
    ['with a wrong one', { $form: 'A'.repeat(43) }, {}],
    ['with a foreign Origin', 'own', { origin: 'https://elsewhere.example' }],
    ['with Origin null', 'own', { origin: 'null' }],
    ['as a page of another site', 'own', { 'sec-fetch-site': 'cross-site' }],
    ['with another cookie', 'own', { cookie: `actorflux_form=${'B'.repeat(43)}` }],
    ['with no cookie', 'own', { cookie: 'x=y' }],
  ] as const)('a POST %s is 403 and changes nothing', async (_title, fields, headers) => {
    const [before, total] = [await stateOf(live, id), await count()]
    for (const [path, more] of [
      ...posts(id),
      ['/inspector/login', { token: 'x' }],
      ['/inspector/logout', {}],
    ] as const) {
      const client = new Client(live.url)
      const token = formTokenIn((await client.get('/inspector/services/p/Waiter')).text)
      expect(token).not.toBe('')
      const own = fields === 'own' ? { $form: token } : fields
      const { response, text } = await client.post(path, { ...own, ...more }, { headers })
      expect([path, response.status]).toEqual([path, 403])
      expect(text).toMatch(/^<!doctype html>/)
    }
    expect([await stateOf(live, id), await count()]).toEqual([before, total])
  })

  test('what is sent twice is done once, unless it says something else', async () => {
    const client = new Client(live.url)
    const path = '/inspector/services/p/Waiter'
    const own = fieldsIn((await client.get(path)).text)
    const before = await count()
    const starts = await Promise.all([1, 2, 3].map(() => client.post(`${path}/start`, own)))
    const [address, ...others] = new Set(starts.map(({ response }) => response.headers.get('location')))
    expect(starts.map(({ response }) => response.status)).toEqual([303, 303, 303])
    expect([others, (await count()) - before]).toEqual([[], 1])
    const other = await client.post(`${path}/start`, { ...own, tags: 'a' })
    expect(other.response.headers.get('location')).not.toBe(address)
    for (let times = 0; times < 2; times++) await client.post(`${path}/start`, { $form: own['$form'] ?? '' })
    expect((await count()) - before).toBe(4)

    const form = fieldsIn((await client.get(address ?? '')).text)
    const sent = { ...form, event: 'close' }
    const refused = await client.post(`${address}/events`, sent)
    expect([refused.response.status, fieldsIn(refused.text)['$once']]).not.toEqual([422, form['$once']])
    const taken = await Promise.all([1, 2].map(() => client.post(`${address}/events`, { ...sent, 'input.by': 'me' })))
    expect(taken.map(({ response }) => response.status)).toEqual([303, 303])
    expect(await stateOf(live, Number(address?.split('/').at(-1)))).toMatchObject({ currentState: 'shut' })
  })

  test('a text is found as an id, a service, a key or a tag', async () => {
    const { json } = await live.call('POST', '/flux-api/p/execute', {
      body: { fluxName: 'Waiter', tags: ['4711', 'due or not'] },
    })
    const tagged = Number(Object(json).contextId)
    const found = async (text: string) =>
      (await new Client(live.url).get(`/inspector/find?q=${encodeURIComponent(text)}`)).response.headers.get('location')
    expect(await found(String(tagged))).toBe(`/inspector/contexts/${tagged}`)
    expect(await found('1')).toBe('/inspector/contexts/1')
    expect(await found('4711')).toBe('/inspector/contexts?tag=4711&status=all')
    expect(await found('4712')).toBe('/inspector/contexts/4712')
    expect(await found('Waiter')).toBe('/inspector/contexts?fluxName=p%2FWaiter')
    expect(await found('due or not')).toBe('/inspector/contexts?tag=due+or+not&status=all')
    expect(await found(' ')).toBe('/inspector/contexts')
  })

  test('a form is URL-encoded, whole, and of a size', async () => {
    const client = new Client(live.url)
    await client.get('/inspector/services/p/Waiter')
    const cookie = [...client.cookies].map((pair) => pair.join('=')).join('; ')
    const send = (type: string, body: string) =>
      fetch(`${live.url}/inspector/services/p/Waiter/start`, {
        method: 'POST',
        headers: { cookie, 'content-type': type },
        body,
      })
    expect((await send('application/json', '{}')).status).toBe(415)
    expect((await send('text/plain', '$form=x')).status).toBe(415)
    const many = Array.from({ length: 2000 }, (_, index) => `f${index}=1`).join('&')
    expect((await send('application/x-www-form-urlencoded', many)).status).toBe(413)
  })

  test('the policy lets only own scripts and styles run, and nothing frames a page', async () => {
    for (const path of ['/inspector', '/inspector/contexts/99999', '/inspector/assets/live.js', '/inspector/login']) {
      const { response } = await new Client(live.url).get(path)
      const policy = Object.fromEntries(
        (response.headers.get('content-security-policy') ?? '').split(';').map((part) => {
          const [name = '', ...values] = part.trim().split(' ')
          return [name, values.join(' ')]
        }),
      )
      expect(policy).toMatchObject({
        'default-src': "'none'",
        'script-src': "'self'",
        'style-src': "'self'",
        'object-src': "'none'",
        'base-uri': "'none'",
        'form-action': "'self'",
        'frame-ancestors': "'none'",
      })
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      if (!path.includes('assets')) expect(response.headers.get('cache-control')).toBe('no-store')
    }
  })

  test('no page has a script or a style of its own in it', async () => {
    for (const path of [
      '/inspector',
      '/inspector/services/p/Waiter',
      `/inspector/contexts/${id}`,
      '/inspector/operations',
      '/inspector/wake-ups',
      '/inspector/health',
    ])
      expect((await new Client(live.url).get(path)).text).not.toMatch(/<style|<script(?! src=)|\sstyle=|\son\w+=/i)
  })

  test.each([
    '/inspector/contexts/99999',
    '/inspector/contexts/0',
    '/inspector/contexts/-1',
    '/inspector/contexts/1e3',
    '/inspector/contexts/99999999999999999999',
    '/inspector/contexts/%3Cscript%3E',
    '/inspector/services/p/Nothing',
    '/inspector/services/nothing/Waiter',
    '/inspector/operations/nothing',
    '/inspector/assets/nothing.js',
    '/inspector/assets/..%2f..%2finspector.js',
    '/inspector/nothing',
  ])('%s is not found', async (path) => {
    const { response, text } = await new Client(live.url).get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(text).not.toContain('<script>')
  })

  test('bad filters are told, and change nothing', async () => {
    for (const query of ['status=NOTHING', 'parent=x', 'before=x', 'dueBefore=never', 'paused=perhaps', 'order=up'])
      expect([400, 422]).toContain((await new Client(live.url).get(`/inspector/contexts?${query}`)).response.status)
  })

  test('what is secured is not shown to who has no token', async () => {
    const token = tokenOf('boss')
    const secret = await start(live, 'Secret', token)
    const client = new Client(live.url)
    expect((await client.get('/inspector/contexts')).text).not.toContain('Secret')
    expect((await client.get(`/inspector/contexts/${secret}`)).response.status).toBe(401)
    await client.post('/inspector/login', { token, next: '/inspector' }, { from: '/inspector/login' })
    expect((await client.get('/inspector/contexts')).text).toContain('Secret')
    expect((await client.get(`/inspector/contexts/${secret}`)).response.status).toBe(200)
  })

  test('the address with a slash leads to the services', async () => {
    const { response } = await new Client(live.url).get('/inspector/')
    expect([response.status, response.headers.get('location')]).toEqual([302, '/inspector'])
  })
})

describe('where every call needs a token', () => {
  let live: Live
  const [invoker, reader] = [tokenOf('boss'), tokenOf('guest')]
  let id: number
  beforeAll(async () => {
    const known = {
      boss: 'invoke',
      guest: 'read',
      slow: { role: 'invoke', rate: '6/m' },
      chief: 'admin',
      short: 'invoke',
    } as const
    live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, known)
    id = await start(live, 'Waiter', invoker)
  })
  afterAll(() => live.close())

  const loggedIn = async (token: string, headers: Fields = {}) => {
    const client = new Client(live.url)
    const { response } = await client.post(
      '/inspector/login',
      { token },
      { from: `/inspector/contexts/${id}`, headers },
    )
    expect([response.status, response.headers.get('location')]).toEqual([303, '/inspector'])
    return client
  }

  test('a page asks for a token, and shows nothing else', async () => {
    for (const path of ['/inspector', `/inspector/contexts/${id}`, '/inspector/contexts', '/inspector/wake-ups']) {
      const { response, text } = await new Client(live.url).get(path)
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(text).toContain('action="/inspector/login"')
      expect(text).not.toMatch(/Waiter|shut/)
      // Nothing has gone wrong yet.
      expect(text).not.toContain('role="alert"')
    }
    for (const [path, fields] of posts(id)) {
      const { response, text } = await new Client(live.url).post(path, fields, { from: '/inspector' })
      expect(response.status).toBe(401)
      // What is sent is not got by its address.
      expect(text).toContain('name="next" value="/inspector"')
    }
  })

  test('the cookie holds a session and no token, is not for scripts, nor for other sites', async () => {
    const client = await loggedIn(invoker)
    expect(client.set.length).toBeGreaterThan(1)
    for (const line of client.set) {
      expect(line).toMatch(/; HttpOnly/i)
      expect(line).toMatch(/; SameSite=Strict/i)
      expect(line).not.toMatch(/; Secure/i)
      expect(line).not.toContain(invoker)
    }
    const secure = await loggedIn(invoker, { 'x-forwarded-proto': 'https' })
    for (const line of secure.set) expect(line).toMatch(/; Secure/i)
    expect((await client.get(`/inspector/contexts/${id}`)).response.status).toBe(200)
  })

  test('who may only read sees no forms, and changes nothing', async () => {
    const client = await loggedIn(reader)
    const before = await stateOf(live, id, reader)
    for (const path of [
      '/inspector/services/p/Waiter',
      `/inspector/contexts/${id}`,
      '/inspector/contexts',
      '/inspector/deliveries',
    ]) {
      const { response, text } = await client.get(path)
      expect([path, response.status]).toEqual([path, 200])
      const forms = [...text.matchAll(/<form [^>]*method="post" action="([^"]*)"/g)].map(([, action]) => action)
      expect(forms.filter((action) => action !== '/inspector/logout')).toEqual([])
      expect(text).not.toMatch(/name="(?:do|input\.\w+|event)"/)
    }
    for (const [path, fields] of posts(id)) {
      const { response } = await client.post(path, fields, { from: '/inspector' })
      expect([path, response.status]).toEqual([path, 403])
    }
    expect(await stateOf(live, id, reader)).toEqual(before)
  })

  test('pages and forms count as calls of a token that has a rate', async () => {
    const client = await loggedIn(tokenOf('slow'))
    const { text } = await client.get('/inspector')
    const fields = { tag: 'x', do: 'add', $form: formTokenIn(text) }
    const statuses: number[] = []
    for (let count = 0; count < 6; count++)
      statuses.push((await client.post(`/inspector/contexts/${id}/tags`, fields)).response.status)
    expect([statuses[0], statuses.at(-1)]).toEqual([303, 429])
    const { response } = await client.get('/inspector/contexts')
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, expect.any(String)])
  })

  test('who may not administer sees no forms to steer with, and steers nothing', async () => {
    const plain = await loggedIn(invoker)
    const boss = await loggedIn(tokenOf('chief'))
    const path = `/inspector/contexts/${id}`
    const steering = /action="[^"]*\/(?:retry|pause|resume)"|name="do" value="(?:retry|pause|resume)"/
    const many = { do: 'pause', id: String(id), scope: 'chosen', sure: 'yes' }
    for (const list of [path, '/inspector/contexts?status=all']) {
      const { text } = await plain.get(list)
      expect([list, steering.test(text), text.includes('Terminate …')]).toEqual([list, false, true])
      expect(steering.test((await boss.get(list)).text)).toBe(true)
    }
    const before = await stateOf(live, id, invoker)
    for (const [to, fields] of [
      [`${path}/retry`, {}],
      [`${path}/pause`, {}],
      [`${path}/resume`, {}],
      ['/inspector/contexts/many', many],
    ] as const)
      expect([to, (await plain.post(to, fields, { from: path })).response.status]).toEqual([to, 403])
    expect(await stateOf(live, id, invoker)).toEqual(before)

    const paused = await boss.post(`${path}/pause`, {}, { from: path })
    expect([paused.response.status, paused.response.headers.get('location')]).toEqual([303, path])
    expect((await plain.get(path)).text).toContain('Paused: nothing goes on until it is resumed')
    expect((await boss.post(`${path}/resume`, {}, { from: path })).response.status).toBe(303)
    const begun = await boss.post('/inspector/contexts/many', many, { from: path })
    const operation = begun.response.headers.get('location') ?? ''
    await vi.waitFor(async () => expect((await boss.get(operation)).text).toContain('1 of 1 done, 1 changed'))
    // What only an administrator may begin, others don't stop.
    expect((await plain.get(operation)).response.status).toBe(200)
    expect((await plain.post(`${operation}/stop`, {}, { from: path })).response.status).toBe(403)
    expect((await boss.post(`${path}/resume`, {}, { from: path })).response.status).toBe(303)
  })

  test('a session is enough for the context in XML', async () => {
    const client = await loggedIn(reader)
    const { text } = await client.get(`/inspector/contexts/${id}?tab=XML`)
    expect(text).toMatch(new RegExp(`&lt;id type=&quot;number&quot;&gt;${id}&lt;/id&gt;`))
    for (const [, href] of text.matchAll(/ href="(\/[^"]*)"/g)) expect(href).not.toMatch(/^\/flux-api/)
  })

  test('a Bearer header is taken as well', async () => {
    const headers = { authorization: `Bearer ${invoker}` }
    const client = new Client(live.url)
    expect((await client.get('/inspector', headers)).response.status).toBe(200)
    expect((await client.get('/inspector', { authorization: 'Bearer wrong' })).response.status).toBe(401)
    const { response } = await client.post(
      `/inspector/contexts/${id}/tags`,
      { tag: 'x' },
      { from: `/inspector/contexts/${id}`, headers },
    )
    expect(response.status).toBe(303)
    expect((await stateOf(live, id, reader)).tags).toContain('x')
  })

  test('a session ends with its log-out', async () => {
    const client = await loggedIn(reader)
    const kept = new Client(live.url)
    for (const [name, value] of client.cookies) kept.cookies.set(name, value)
    expect((await kept.get('/inspector')).response.status).toBe(200)
    expect((await client.post('/inspector/logout', {}, { from: '/inspector' })).response.status).toBe(303)
    for (const each of [client, kept]) expect((await each.get('/inspector')).response.status).toBe(401)
  })

  test.each([
    '//elsewhere.example',
    'https://elsewhere.example/inspector',
    '/\\elsewhere.example',
    '/inspector\\..\\..\\x',
    '/inspectorx',
    'javascript:alert(1)',
    '/flux-api/contexts',
    ' /inspector',
    '\t//elsewhere.example',
    '/inspector/../..//elsewhere.example',
  ])('a log-in never leads away: %s', async (next) => {
    const client = new Client(live.url)
    const { response } = await client.post('/inspector/login', { token: reader, next }, { from: '/inspector' })
    expect(response.status).toBe(303)
    const target = new URL(response.headers.get('location') ?? '', live.url)
    expect([target.origin, /^\/inspector(?:\/|$)/.test(target.pathname)]).toEqual([live.url, true])
  })

  test('a log-in leads to the page that was asked for', async () => {
    const client = new Client(live.url)
    const asked = '/inspector/contexts?status=all&tag=a%26b'
    const { text } = await client.get(asked)
    const next = /name="next" value="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const { response } = await client.post('/inspector/login', { token: reader, next, $form: formTokenIn(text) })
    expect(response.headers.get('location')).toBe(asked)
  })

  test('a token that was revoked ends its session', async () => {
    const client = await loggedIn(tokenOf('short'))
    await live.revoke('short')
    await expect.poll(async () => (await client.get('/inspector')).response.status, { timeout: 10_000 }).toBe(401)
    const { response } = await client.post(`/inspector/contexts/${id}/terminate`, {}, { from: '/inspector' })
    expect(response.status).toBe(401)
  })

  test('log-ins are limited, and this does not end sessions', async () => {
    const known = await loggedIn(reader)
    const client = new Client(live.url)
    const $form = formTokenIn((await client.get('/inspector')).text)
    const statuses = new Set<number>()
    for (let count = 0; count < 65; count++) {
      const { response } = await client.post('/inspector/login', { token: `wrong ${count}`, $form })
      statuses.add(response.status)
      if (response.status === 429) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect([...statuses]).toEqual([401, 429])
    expect((await known.get('/inspector')).response.status).toBe(200)
    expect((await client.post('/inspector/login', { token: reader, $form })).response.status).toBe(303)
  })
})
