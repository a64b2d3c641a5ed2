// Sessions of browsers: what a cookie is worth, and for how long.
import { Hono } from 'hono'
import { beforeEach, describe, expect, test } from 'vitest'
import { FluxError } from '../../src/model/failure.ts'
import { ANONYMOUS, type Caller } from '../../src/model/caller.ts'
import { checkFormToken, formTokenOf, openSessions } from '../../src/inspector/sessions.ts'

const CALLER: Caller = { name: 'boss', roles: ['invoke'] }
const unauthorized = () => new FluxError({ kind: 'unauthorized', detail: 'it is not known', token: 'invalid' })
const HOUR_MS = 3_600_000

let now: number
let valid: Set<string>
let app: Hono
beforeEach(() => {
  now = 1_000_000
  valid = new Set(['Bearer good'])
  const sessions = openSessions({
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
      sessions.logIn(c, c.req.param('token'))
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

describe('log-ins', () => {
  test('with wrong tokens are limited for a minute, and those with a right one never', async () => {
    const wrong = async () => JSON.parse((await ask('/in/bad')).text).failed
    for (let count = 0; count < 60; count++) expect(await wrong()).toMatchObject({ kind: 'unauthorized' })
    expect(await wrong()).toMatchObject({ kind: 'rateLimited', retryAfter: 1 })
    expect((await ask('/in/good')).text).toBe('in')
    now += 60_000
    for (let count = 0; count < 60; count++) expect(await wrong()).toMatchObject({ kind: 'unauthorized' })
    expect(await wrong()).toMatchObject({ kind: 'rateLimited' })
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
