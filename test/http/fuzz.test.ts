import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { testApp } from './support.ts'

const PATHS = ['event', 'shop/execute', 'terminate', 'contexts', 'context', 'context/state', 'context/tag', 'definition', 'nowhere']
const NAMES = ['contextId', 'tag', 'limit', 'page', 'after', 'status', 'snapshot', 'fluxName', 'stateName', '__proto__', 'constructor', 'toString']
const TYPES = ['application/json', 'text/plain', 'application/x+json', '', ';;;', 'application/json; charset="']

const word = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('1', '0', 'true', 'WAITING', '%', '%ff', '%00', '&', '=', ',', '9'.repeat(30), '__proto__'))
const value = fc.oneof(fc.json(), fc.jsonValue({ maxDepth: 3 }).map((data) => JSON.stringify({ event: 'e', fluxName: 'F', input: data, tags: data, startState: data })))
const mutated = fc.tuple(value, fc.nat(), fc.string({ unit: 'binary', maxLength: 3 }))
  .map(([text, at, piece]) => { const cut = at % (text.length + 1); return text.slice(0, cut) + piece + text.slice(cut) })
const header = fc.string().map((text) => text.replaceAll(/[^\t\x20-\x7e]/g, ''))

test('no request makes the server fail', async () => {
  const { app, lines } = testApp()
  const request = fc.record({
    path: fc.constantFrom(...PATHS),
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'),
    query: fc.array(fc.tuple(fc.constantFrom(...NAMES), word, fc.boolean()), { maxLength: 4 }),
    body: fc.oneof(value, mutated, fc.uint8Array()),
    type: fc.constantFrom(...TYPES),
    accept: fc.option(header, { nil: undefined }),
  })
  await fc.assert(fc.asyncProperty(request, async ({ path, method, query, body, type, accept }) => {
    const search = query.map(([name, text, escaped]) => `${name}=${escaped ? encodeURIComponent(text) : text}`).join('&')
    const headers = { 'content-type': type, ...(accept === undefined ? {} : { accept }) }
    const response = await app.request(`/flux-api/${path}?${search}`, { method, headers, ...(method === 'GET' || method === 'HEAD' ? {} : { body }) })
    expect(response.status).toBeLessThan(500)
    if (response.status >= 400 && method !== 'HEAD') expect(await response.json()).toMatchObject({ status: response.status })
  }), { numRuns: 800 })
  expect(lines).toEqual([])
})
