// Operations over HTTP: statuses, `Location`, JSON and XML, and the roles that they need.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Role } from '../../src/model/caller.ts'
import { openLive, tokenOf, type Live } from './live.ts'

const begun = z.object({ operationId: z.string(), matched: z.number() })
const URL_PATH = '/flux-api/operations'

let live: Live
beforeAll(async () => {
  live = await openLive()
})
afterAll(() => live.close())

const start = async (tag: string) => {
  const body = { fluxName: 'Waiter', tags: [tag], input: { tag } }
  expect((await live.call('POST', '/flux-api/p/execute', { body })).status).toBe(200)
}
const viewOf = async (location: string) => (await live.call('GET', location)).json
const asTag = (tag: string, more: object = {}) => ({ filter: { tag }, do: 'tag', with: { tags: ['seen'] }, ...more })

test('an operation is accepted, shown, listed, and can not be stopped when it is done', async () => {
  await start('one')
  const { status, json, headers } = await live.call('POST', URL_PATH, { body: asTag('one') })
  const { operationId, matched } = begun.parse(json)
  const location = headers.get('location') ?? ''
  expect([status, matched, location]).toEqual([202, 1, `${URL_PATH}?operationId=${operationId}`])
  await expect.poll(() => viewOf(location)).toMatchObject({ operationId, status: 'done', done: 1, changed: 1 })
  expect((await live.call('GET', URL_PATH)).json).toMatchObject([{ operationId }])
  expect((await live.call('DELETE', location)).status).toBe(409)
  const unknown = await live.call('GET', `${URL_PATH}?operationId=nothing`)
  expect([unknown.status, (await live.call('DELETE', `${URL_PATH}?operationId=nothing`)).status]).toEqual([404, 404])
  expect((await live.call('DELETE', URL_PATH)).status).toBe(400)
})

test('a dry run changes nothing', async () => {
  await start('two')
  const { status, json } = await live.call('POST', URL_PATH, { body: asTag('two', { dryRun: true }) })
  expect([status, json]).toMatchObject([200, { dryRun: true, matched: 1, wouldMove: 1, would: [{ to: 'open' }] }])
  expect(json).not.toHaveProperty('operationId')
})

test('in XML it is the same', async () => {
  await start('three')
  const body = `<request><filter><tag>three</tag><paused>false</paused></filter><do>tag</do><with><tags><item>seen</item></tags></with><rate>10.5</rate></request>`
  const { status, text, headers } = await live.call('POST', URL_PATH, {
    type: 'application/xml',
    accept: 'application/xml',
    body,
  })
  expect([status, text]).toEqual([202, expect.stringMatching(/<operationId>.*<\/operationId><matched.*>1<\/matched>/)])
  const location = headers.get('location') ?? ''
  await expect.poll(() => viewOf(location)).toMatchObject({ status: 'done', changed: 1 })
  const shown = await live.call('GET', location, { accept: 'application/xml' })
  expect(shown.text).toContain('<operation>')
  const listed = await live.call('GET', URL_PATH, { accept: 'application/xml' })
  expect(listed.text).toContain('<operations')
})

test.each<[object, number]>([
  [{ do: 'terminate' }, 400],
  [{ filter: {}, do: 'dance' }, 400],
  [{ filter: { colour: 'red' }, do: 'terminate' }, 400],
  [{ filter: {}, do: 'terminate', rate: 1e-9 }, 422],
  [{ filter: {}, do: 'terminate', rate: '0.9' }, 422],
  [{ filter: {}, do: 'terminate', rate: 'fast' }, 400],
  [{ filter: {}, do: 'event' }, 422],
  [{ filter: {}, do: 'tag', with: {} }, 422],
  [{ filter: {}, do: 'retry' }, 422],
  [{ filter: {}, do: 'migrate' }, 422],
])('%j is refused with %i', async (body, status) => {
  expect((await live.call('POST', URL_PATH, { body })).status).toBe(status)
})

test('where a token is needed, it needs the role of what is to be done', async () => {
  const roles = { read: 'read', invoke: 'invoke', admin: 'admin' } as const
  const guarded = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, undefined, roles)
  const statusOf = async (role: Role | null, name: string) => {
    const body = { filter: { status: 'all' }, do: name, dryRun: true }
    return (await guarded.call('POST', URL_PATH, { body, ...(role !== null && { token: tokenOf(role) }) })).status
  }
  expect(await statusOf(null, 'terminate')).toBe(401)
  expect(await statusOf('read', 'terminate')).toBe(403)
  expect(await statusOf('invoke', 'terminate')).toBe(200)
  expect(await statusOf('invoke', 'pause')).toBe(403)
  expect(await statusOf('invoke', 'retry')).toBe(403)
  expect(await statusOf('admin', 'retry')).toBe(200)
})
