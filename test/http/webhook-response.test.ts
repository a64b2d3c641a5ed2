// The headers of the answer that a service makes for a webhook: what belongs to the connection, and how many there may
// be.
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json/value.ts'
import { JSON_FORMAT } from '../../src/http/formats/codecs.ts'
import { responseOf, UnsafeResponse } from '../../src/http/webhooks/response.ts'

const MAX_HEADERS = 256
const statusOf = (response: JsonObject) => responseOf(response, JSON_FORMAT).status
const headers = (count: number) => Array.from({ length: count }, (_, nr) => ({ name: `X-${nr}`, value: 'v' }))
const cookies = [{ name: 'a', value: 'b' }]

test.each([
  'Connection',
  'Keep-Alive',
  'Proxy-Connection',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'TE',
  'Trailer',
  'Trailers',
  'Transfer-Encoding',
  'Upgrade',
])('%s belongs to the connection, and is refused', (name) => {
  expect(() => statusOf({ headers: { [name]: 'x' } })).toThrow(UnsafeResponse)
  expect(() => statusOf({ headers: { [name]: null } })).toThrow(UnsafeResponse)
  expect(statusOf({ headers: { [`X-${name}`]: 'x' } })).toBe(200)
})

test('there may be 256 headers, with the cookies, and no more', () => {
  expect(statusOf({ headers: headers(MAX_HEADERS) })).toBe(200)
  expect(statusOf({ headers: headers(MAX_HEADERS - 1), cookies })).toBe(200)
  for (const more of [{ headers: headers(MAX_HEADERS + 1) }, { headers: headers(MAX_HEADERS), cookies }])
    expect(() => statusOf(more)).toThrow(UnsafeResponse)
})
