// Many requests at once for one large context, at a server with little memory: they are answered one after the other, or
// refused for a while, and the server lives on.
import { Agent, get } from 'node:http'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'

/** Several times as many as the memory has room for. */
const READERS = 100
/** Half a megabyte of small values. */
const MANY = Object.fromEntries(Array.from({ length: 49_000 }, (_, index) => [`k${index.toString(36)}`, 1]))
const SECRET = 'a-secret-of-the-request'

const SERVICES = {
  'p/Large.flux': {
    input: [{ name: 'v', type: 'any' }],
    webhooks: [{ urlPath: '/large', httpMethods: ['POST'], answer: 'accepted' }],
    states: [{ name: 'open', waiting: true, transitions: [{ event: 'go', to: 'open' }] }],
  },
}

let server: Server
const agent = new Agent({ maxSockets: READERS })
beforeAll(async () => {
  const node = ['--max-old-space-size=512', '--max-semi-space-size=32']
  server = await startServer({ program: inject('program'), ...(await placeFor(SERVICES)), node })
})
afterAll(cleanUp)

function statusOf(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(server.url + path, { agent }, (response) => {
      response
        .resume()
        .once('error', reject)
        .once('end', () => resolve(response.statusCode ?? 0))
    }).once('error', reject)
  })
}

async function survive(contextId: unknown) {
  const paths = Array.from({ length: READERS }, () => `/flux-api/context?contextId=${String(contextId)}`)
  const statuses = await Promise.all(paths.map(statusOf))
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
  expect(statuses).toContain(200)
  expect(server.isRunning()).toBe(true)
  expect(await statusOf(paths[0] ?? '')).toBe(200)
}

describe('of one large context, many readers at once', () => {
  test('are answered within the memory, or refused', { timeout: 120_000 }, async () => {
    const { execute } = createClient({ url: server.url })
    const { contextId } = await execute({ package: 'p', fluxName: 'Large', input: { v: MANY } })
    await survive(contextId)
  })

  test('of which each is shown a copy without secrets, too', { timeout: 120_000 }, async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': SECRET }
    const body = JSON.stringify({ v: { ...MANY, quoted: SECRET } })
    const answer = await fetch(`${server.url}/api/large`, { method: 'POST', headers, body })
    const { contextId } = Object(await answer.json())
    await survive(contextId)
  })
})
