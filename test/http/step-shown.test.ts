// The step of a context over HTTP, in both formats, and what it hides.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import { openLive, type Live } from './live.ts'

const SECRET = 'Bearer SECRETAUTHTOKEN123456'
const xsd = xmlSchema()

let live: Live
beforeAll(async () => {
  live = await openLive(
    {},
    {
      'w/fns.ts': `
export const fail = ({ auth }) => { throw new RangeError('not with ' + auth) }
export const hold = () => new Promise(() => {})`,
      'w/Fails.flux': {
        webhooks: [{ urlPath: '/fails', httpMethods: ['POST'] }],
        states: [
          {
            name: 'act',
            action: {
              type: 'invokeCode',
              className: 'fns',
              methodName: 'fail',
              retry: { maxAttempts: 2, delay: 600 },
              inputs: [{ type: 'set', expression: '$request.headers["authorization"]', evaluate: true, to: ['auth'] }],
            },
          },
        ],
      },
      'w/Hold.flux': {
        states: [{ name: 'act', action: { type: 'invokeCode', className: 'fns', methodName: 'hold' } }],
      },
      'w/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'e' }] }] },
    },
  )
})
afterAll(() => live.close())

test('a failed attempt is shown and logged without what let its sender in', async () => {
  const sent = fetch(`${live.url}/api/fails`, { method: 'POST', headers: { authorization: SECRET } })
  await vi.waitFor(() => expect(live.lines.some(({ message }) => message === 'an attempt failed')).toBe(true))
  const { text } = await live.call('GET', '/flux-api/contexts?fluxName=Fails')
  expect(text).toContain('"lastError":{"type":"RangeError","message":"not with [redacted]"')
  expect(text).not.toContain('SECRETAUTH')
  const line = live.lines.find(({ message }) => message === 'an attempt failed')
  expect(line).toMatchObject({
    level: 'info',
    fields: { fluxName: 'Fails', state: 'act', reason: 'RangeError: not with [redacted]', attempt: 1, maxAttempts: 2 },
  })
  const { json } = await live.call('GET', '/flux-api/contexts?fluxName=Fails')
  for (const { id } of JSON.parse(JSON.stringify(json)))
    await live.call('DELETE', `/flux-api/terminate?contextId=${id}`)
  await (await sent).text()
})

test('XML of a context fits the schema, with a step under way, one about to be tried again, and none', async () => {
  const hook = fetch(`${live.url}/api/fails`, { method: 'POST', headers: { authorization: SECRET } })
  await live.call('POST', '/flux-api/w/execute', { body: { fluxName: 'Hold' } })
  await live.call('POST', '/flux-api/w/execute', { body: { fluxName: 'Wait' } })
  const shown = await vi.waitFor(async () => {
    const { text } = await live.call('GET', '/flux-api/contexts', { accept: 'application/xml' })
    expect(text).toContain('<lastError>')
    return text
  })
  expect(shown).toMatch(/<step type="null"\/>/)
  expect(shown).toContain('<kind>invokeCode</kind>')
  const { valid, errors } = await validateXML({ xml: [{ fileName: 'contexts.xml', contents: shown }], schema: [xsd] })
  expect(errors).toEqual([])
  expect(valid).toBe(true)
  const { json } = await live.call('GET', '/flux-api/contexts')
  for (const { id } of JSON.parse(JSON.stringify(json)))
    await live.call('DELETE', `/flux-api/terminate?contextId=${id}`)
  await (await hook).text()
})
