// What the log tells of requests, and what it doesn't.
import { setTimeout as sleep } from 'node:timers/promises'
import { request as send } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLive, type Live } from './live.ts'
import type { Logged } from './support.ts'

const hook = (urlPath: string, more: object = {}) => ({
  webhooks: [{ urlPath, httpMethods: ['POST'] }],
  states: [{ name: 'end' }],
  ...more,
})
const SERVICES = {
  'w/Plain.flux': hook('/plain', { input: [{ name: 'n', type: 'integer', required: true }] }),
  'w/Secret.flux': hook('/in/{hookToken}/x', { input: [{ name: 'n', type: 'integer' }] }),
}

let live: Live
let quiet: Live
beforeAll(async () => {
  live = await openLive({ ACTORFLUX_ACCESS_LOG: 'true' }, SERVICES)
  quiet = await openLive({}, SERVICES)
})
afterAll(() => Promise.all([live.close(), quiet.close()]))

const named = (server: Live, message: string) => server.lines.filter((line) => line.message === message)
/** A line is written when the connection has let go of the answer: a moment after the client has it. */
async function last(
  server: Live,
  message: string,
  fits: (fields: Logged['fields']) => boolean,
): Promise<Logged | undefined> {
  for (let round = 0; round < 1000; round += 1) {
    const line = named(server, message).findLast(({ fields }) => fits(fields))
    if (line) return line
    await sleep(5)
  }
  return undefined
}
const has = (facts: object) => (fields: object | undefined) =>
  Object.entries(facts).every(([key, value]) =>
    Object.entries(fields ?? {}).some(([own, other]) => own === key && other === value),
  )

describe('with ACTORFLUX_ACCESS_LOG', () => {
  test.each([
    ['GET', '/healthz', { method: 'GET', path: '/healthz', status: 200 }],
    [
      'GET',
      '/flux-api/contexts?limit=5&access_token=qzv',
      { method: 'GET', path: '/flux-api/contexts', query: 'limit=5&access_token=[redacted]' },
    ],
    ['DELETE', '/nowhere', { method: 'DELETE', path: '/nowhere', status: 404 }],
    ['POST', '/api/plain?n=1', { method: 'POST', path: '/api/plain', query: 'n=1', status: 204 }],
    ['POST', '/api/in/qzv/x', { method: 'POST', path: '/api/in/{hookToken}/x', status: 204 }],
    ['POST', '/api/in/qzv/x?n=y', { method: 'POST', path: '/api/in/{hookToken}/x', status: 400 }],
  ])('%s %s is logged, without secrets', async (method, path, facts) => {
    await fetch(live.url + path, { method })
    const line = await last(live, 'request', has(facts))
    expect(line).toMatchObject({ level: 'info', fields: { ...facts, duration: expect.any(Number) } })
    expect(JSON.stringify(live.lines)).not.toContain('qzv')
  })

  test('so is what never gets as far as the application', async () => {
    const raw = (path: string, headers: object) =>
      new Promise<void>((resolve) => {
        const call = send(live.url + path, { method: 'GET', agent: false, headers: { ...headers } }, (response) => {
          response.resume().on('end', resolve)
        })
        call.on('error', () => resolve()).end()
      })
    await raw('/healthz', { expect: 'the-impossible' })
    expect(await last(live, 'request', has({ status: 417 }))).toMatchObject({
      fields: { method: 'GET', path: '/healthz' },
    })
  })

  test('so is a client that hangs up, with no status that it would have heard', async () => {
    const call = send(`${live.url}/flux-api/event`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': 100 },
    })
    call.on('error', () => {}).write('{')
    await sleep(100)
    call.destroy()
    expect(await last(live, 'request', has({ path: '/flux-api/event' }))).toMatchObject({
      fields: { method: 'POST', status: null, aborted: true },
    })
  })

  test('without it no request is', async () => {
    expect((await fetch(`${quiet.url}/healthz`)).status).toBe(200)
    expect(named(quiet, 'request')).toEqual([])
  })
})

describe('a webhook that is refused', () => {
  test.each([
    [
      '/api/plain',
      400,
      {
        contextId: null,
        fluxName: 'Plain',
        state: null,
        method: 'POST',
        path: '/api/plain',
        reason: expect.stringContaining('/input/n'),
      },
    ],
    [
      '/api/in/qzv/x?n=y',
      400,
      { fluxName: 'Secret', path: '/api/in/{hookToken}/x', reason: expect.stringContaining('/input/n') },
    ],
    ['/api/none', 404, { fluxName: null, path: '/api/none', reason: 'no webhook is at this path' }],
  ])('is told: %s', async (path, status, fields) => {
    expect((await fetch(quiet.url + path, { method: 'POST' })).status).toBe(status)
    const told = await last(quiet, 'a webhook was refused', has({ path: fields.path }))
    expect(told).toMatchObject({ level: 'info', fields })
    expect(JSON.stringify(quiet.lines)).not.toContain('qzv')
  })
})
