// Sessions of browsers: what a cookie is worth, and for how long.
import { Hono } from 'hono'
import { beforeEach, describe, expect, test } from 'vitest'
import { FluxError } from '../../src/model/failure.ts'
import { ANONYMOUS, type Caller } from '../../src/model/caller.ts'
import { checkFormToken, formTokenOf, Sessions } from '../../src/inspector/sessions.ts'

const CALLER: Caller = { name: 'boss', roles: ['invoke'] }
const unauthorized = () => new FluxError({ kind: 'unauthorized', detail: 'it is not known', token: 'invalid' })
const HOUR_MS = 3_600_000

let now: number
let valid: Set<string>
let app: Hono
beforeEach(() => {
  now = 1_000_000
  valid = new Set(['Bearer good'])
  const sessions = new Sessions({
    now: () => now,
    authenticate(header) {
      if (header === undefined) return ANONYMOUS
      if (valid.has(header)) return CALLER
      throw unauthorized()
    },
  })
  app = new Hono()
    .get('/who', (c) => c.json({ name: sessions.callerOf(c).name ?? null, has: sessions.hasSession(c) }))
    .get('/in/:token', (c) => {
      sessions.logIn(c, c.req.param('token'), {
        peer: c.req.header('peer') ?? '10.0.0.1',
        forwardedFor: c.req.header('x-forwarded-for'),
      })
      return c.text('in')
    })
    .get('/out', (c) => {
      sessions.logOut(c)
      return c.text('out')
    })
    .get('/form', (c) => c.text(formTokenOf(c)))
    .get('/check/:token', (c) => {
      checkFormToken(c, c.req.param('token'))
      return c.text('fine')
    })
    .onError((error, c) => c.json({ failed: error instanceof FluxError ? error.failure : String(error) }, 400)) as Hono
})

const ask = async (path: string, headers: { readonly [name: string]: string } = {}) => {
  const response = await app.request(path, { headers })
  const text = await response.text()
  return { text, status: response.status, cookie: response.headers.get('set-cookie') }
}
const who = async (cookie: string) => JSON.parse((await ask('/who', { cookie })).text)
const pairOf = (cookie: string | null) => cookie?.split(';')[0] ?? ''
const logIn = async () => pairOf((await ask('/in/good')).cookie)

describe('a session', () => {
  test('is whose token began it, for as long as the token is valid', async () => {
    const cookie = await logIn()
    expect(cookie).not.toContain('good')
    expect(await who(cookie)).toEqual({ name: 'boss', has: true })
    valid.clear()
    expect(await who(cookie)).toMatchObject({ failed: { kind: 'unauthorized' } })
  })

  test('lasts twelve hours', async () => {
    const cookie = await logIn()
    now += 12 * HOUR_MS - 1
    expect(await who(cookie)).toMatchObject({ has: true })
    now += 1
    expect(await who(cookie)).toEqual({ name: null, has: false })
  })

  test('ends with its log-out, whoever kept the cookie', async () => {
    const cookie = await logIn()
    const { cookie: removed } = await ask('/out', { cookie })
    expect(removed).toMatch(/^actorflux_session=; Max-Age=0; Path=\/inspector/i)
    expect(await who(cookie)).toEqual({ name: null, has: false })
  })

  test('that is not known is nobody', async () => {
    expect(await who('actorflux_session=made-up')).toEqual({ name: null, has: false })
  })

  test('comes after an Authorization header', async () => {
    const cookie = await logIn()
    const { text } = await ask('/who', { cookie, authorization: 'Bearer other' })
    expect(text).toContain('unauthorized')
  })

  test('is one of at most fifty of a token: the oldest ends, and none of another', async () => {
    valid.add('Bearer other')
    const other = pairOf((await ask('/in/other')).cookie)
    const first = await logIn()
    const second = await logIn()
    for (let count = 0; count < 49; count++) await logIn()
    expect(await who(first)).toMatchObject({ has: false })
    expect(await who(second)).toMatchObject({ has: true })
    expect(await who(other)).toMatchObject({ has: true })
  })

  test('is one of at most a thousand: the oldest ends', async () => {
    const first = await logIn()
    const second = await logIn()
    for (let count = 0; count < 999; count++) {
      valid.add(`Bearer t${count}`)
      await ask(`/in/t${count}`)
    }
    expect(await who(first)).toMatchObject({ has: false })
    expect(await who(second)).toMatchObject({ has: true })
  })
})

type Headers = { readonly [name: string]: string }
const failFrom = async (headers: Headers, times = 20) => {
  for (let count = 0; count < times; count++) expect((await ask('/in/bad', headers)).text).toContain('unauthorized')
}
const comesIn = async (headers: Headers) => (await ask('/in/good', headers)).text === 'in'

describe('log-ins', () => {
  test('that fail are limited for a minute, and those that succeed are not counted', async () => {
    for (let count = 0; count < 100; count++) await logIn()
    await failFrom({})
    expect((await ask('/in/good')).text).toContain('rateLimited')
    now += 59_999
    expect(JSON.parse((await ask('/in/good')).text).failed).toMatchObject({ kind: 'rateLimited', retryAfter: 1 })
    now += 1
    expect((await ask('/in/good')).text).toBe('in')
  })

  test('of one address keep out no other', async () => {
    await failFrom({ peer: '10.0.0.7' })
    expect(await comesIn({ peer: '10.0.0.7' })).toBe(false)
    expect(await comesIn({ peer: '::ffff:10.0.0.7' })).toBe(false)
    expect(await comesIn({ peer: '10.0.0.8' })).toBe(true)
  })

  test('of one network of IPv6 are those of one client', async () => {
    for (let host = 1; host <= 20; host++) await failFrom({ peer: `2001:db8:0:1::${host}` }, 1)
    expect(await comesIn({ peer: '2001:db8::1:aa:bb:cc:dd' })).toBe(false)
    expect(await comesIn({ peer: '2001:db8:0:2::1' })).toBe(true)
    expect(await comesIn({ peer: '::1' })).toBe(true)
  })

  test('behind a proxy are counted by the address that the proxy saw', async () => {
    await failFrom({ 'x-forwarded-for': '1.1.1.1, 192.0.2.1' })
    expect(await comesIn({ 'x-forwarded-for': '2.2.2.2,192.0.2.1' })).toBe(false)
    expect(await comesIn({ 'x-forwarded-for': '192.0.2.2' })).toBe(true)
    // Whoever makes such addresses up has no more than so many for all of them.
    for (let client = 3; client < 12; client++) await failFrom({ 'x-forwarded-for': `192.0.2.${client}` })
    expect(await comesIn({ 'x-forwarded-for': '192.0.2.99' })).toBe(false)
    expect(await comesIn({ peer: '10.0.0.2', 'x-forwarded-for': '192.0.2.99' })).toBe(true)
  })

  test('are remembered of so many addresses, the newest', async () => {
    await failFrom({ peer: 'a' })
    expect(await comesIn({ peer: 'a' })).toBe(false)
    for (let count = 0; count < 10_000; count++) await ask('/in/bad', { peer: `b${count}` })
    expect(await comesIn({ peer: 'a' })).toBe(true)
    await failFrom({ peer: 'b9999' }, 19)
    expect(await comesIn({ peer: 'b9999' })).toBe(false)
  })
})

describe('cookies', () => {
  test.each(['/in/good', '/form'])('of %s are for this server alone, and not for scripts', async (path) => {
    const { cookie } = await ask(path)
    for (const part of [/; HttpOnly/i, /; SameSite=Strict/i, /; Path=\/inspector/i]) expect(cookie).toMatch(part)
    expect(cookie).not.toMatch(/; Secure/i)
    expect((await ask(path, { 'x-forwarded-proto': 'https' })).cookie).toMatch(/; Secure/i)
  })
})

describe('the token of a form', () => {
  test('is bound to its cookie', async () => {
    const { text: token, cookie } = await ask('/form')
    const own = pairOf(cookie)
    expect((await ask(`/check/${token}`, { cookie: own })).text).toBe('fine')
    for (const [given, jar] of [
      [token, ''],
      [token, pairOf((await ask('/form')).cookie)],
      ['other', own],
      [own.split('=')[1] ?? '', own],
    ])
      expect((await ask(`/check/${given}`, { cookie: jar ?? '' })).text).toContain('crossOrigin')
  })

  test('stays the same while the cookie does, and a cookie of another form is replaced', async () => {
    const { text, cookie } = await ask('/form')
    expect(await ask('/form', { cookie: pairOf(cookie) })).toMatchObject({ text, cookie: null })
    expect((await ask('/form', { cookie: 'actorflux_form=x' })).cookie).toMatch(/^actorflux_form=[\w-]{43};/)
  })
})
