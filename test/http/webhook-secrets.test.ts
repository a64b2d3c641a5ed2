// What lets the sender of a webhook in: services see it, those who look at contexts and logs don't, wherever it was
// carried to.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLive, type Live } from './live.ts'

const SECRET = 'SECRETAUTHTOKEN123456'
const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const from = (path: string[], ...to: string[]) => ({ from: path, to })
const hook = (urlPath: string) => ({ webhooks: [{ urlPath, httpMethods: ['GET'] }] })

const SERVICES = {
  'w/fns.ts': `
export const tell = ({ auth }: { auth: string }, { log }: { log: { warn(message: string, fields: object): void } }) => {
  log.warn('got ' + auth, { auth, text: JSON.stringify({ auth }) })
  throw Object.assign(new Error('no good: ' + auth), { name: auth, data: { auth } })
}
`,
  'w/Parent.flux': {
    ...hook('/parent'),
    output: [{ name: 'out', type: 'any' }],
    states: [
      {
        name: 'act',
        action: {
          type: 'invokeFlux',
          name: 'Kid',
          inputs: [set('$request.headers["authorization"]', 'auth')],
          outputs: [],
        },
      },
    ],
  },
  'w/Kid.flux': {
    input: [{ name: 'auth' }],
    states: [
      { name: 'act', action: { type: 'invokeFlux', name: 'Grandkid', inputs: [from(['auth'], 'auth')], outputs: [] } },
    ],
  },
  'w/Grandkid.flux': {
    input: [{ name: 'auth' }],
    states: [
      {
        name: 'act',
        action: {
          type: 'invokeCode',
          className: 'fns',
          methodName: 'tell',
          inputs: [from(['auth'], 'auth')],
          outputs: [],
        },
      },
    ],
  },
  'w/Carrying.flux': {
    ...hook('/carrying'),
    tags: ['t-${Authorization}'],
    input: [{ name: 'Authorization' }],
    output: [{ name: 'json' }, { name: 'jsonInJson' }, { name: 'token' }, { name: 'empty' }],
    states: [
      {
        name: 'first',
        transitions: [{ event: '$else', to: 'second' }],
        action: {
          type: 'map',
          lines: [
            set('json({ a: $request.headers["authorization"] })', 'json'),
            set('json([json({ a: $request.headers["authorization"] })])', 'jsonInJson'),
            set('$request.headers["authorization"].slice(7)', 'token'),
            set('""', 'empty'),
            set('$request.headers["authorization"]', '$fluxEvent'),
          ],
        },
      },
      {
        name: 'second',
        action: {
          type: 'invokeCode',
          className: 'Errors',
          methodName: 'throwException',
          inputs: [set('Authorization', 'message')],
          outputs: [],
        },
      },
    ],
  },
  'w/Odd.flux': {
    ...hook('/odd'),
    states: [{ name: 'act', action: { type: 'invokeFlux', name: 'OddKid', inputs: [], outputs: [] } }],
  },
  'w/odd.mjs': `export const tell = (_, { log }) => { log.warn(new Error('an error')); log.warn({ an: 'object' }); log.warn(undefined) }`,
  'w/OddKid.flux': {
    states: [
      { name: 'act', action: { type: 'invokeCode', className: 'odd', methodName: 'tell', inputs: [], outputs: [] } },
    ],
  },
  'w/Plain.flux': {
    ...hook('/plain'),
    output: [{ name: 'empty' }],
    states: [{ name: 'end', action: { type: 'map', lines: [set('""', 'empty')] } }],
  },
  'w/Any.flux': {
    allowExtraProperties: true,
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }],
  },
}

let live: Live
beforeAll(async () => {
  live = await openLive({}, SERVICES)
})
afterAll(() => live.close())

const call = (path: string, headers: Record<string, string>) => fetch(`${live.url}/api${path}`, { headers })
/** All that can be seen of the contexts of a service. */
const shown = async (fluxName: string, status: string) => {
  const { text, json } = await live.call('GET', `/flux-api/contexts?fluxName=${fluxName}&status=${status}`)
  expect(json, fluxName).not.toEqual([])
  return text
}

test.each([['ApiKey'], ['Bearer']])(
  'is hidden in children and theirs, in their errors and in what they log: %s',
  async (scheme) => {
    expect((await call('/parent', { Authorization: `${scheme} ${SECRET}`, cookie: 'sid=shortsid' })).status).toBe(500)
    for (const fluxName of ['Parent', 'Kid', 'Grandkid']) expect(await shown(fluxName, 'FAILED')).not.toContain(SECRET)
    const logged = JSON.stringify(live.lines)
    expect(logged).toContain('got [redacted]')
    expect(logged).not.toContain(SECRET)
  },
)

test('is hidden within JSON, in tags, events, traces and without its scheme', async () => {
  expect((await call('/carrying', { Authorization: `Bearer ${SECRET}` })).status).toBe(500)
  const text = await shown('Carrying', 'FAILED')
  expect(text).not.toContain(SECRET)
  expect(text).toContain('"tags":["t-[redacted]"]')
  expect(text).toContain('"event":"[redacted]"')
  expect(text).toContain('"transition":"[redacted]"')
})

test('is no matter to what functions log, whatever that is', async () => {
  expect((await call('/odd', { cookie: 'sid=SIDSIDSIDSIDSIDSID00' })).status).toBe(204)
  expect(live.lines.map(({ message }) => message)).toEqual(expect.arrayContaining(['an error', '{"an":"object"}']))
})

test('hides nothing else when it is empty', async () => {
  expect((await call('/plain', { Authorization: '', cookie: 'theme=' })).status).toBe(200)
  expect(await shown('Plain', 'COMPLETED')).toContain('{"name":"empty","type":"string","value":""}')
})

test('is not taken for what only has the name of a method', async () => {
  const input = { toString: '', valueOf: 1, value: { toString: 1 }, list: [{ name: 'x', value: { toString: null } }] }
  const { json } = await live.call('POST', '/flux-api/w/execute', { body: { fluxName: 'Any', input } })
  const { contextId } = json as { contextId: number }
  for (const path of [
    `context?contextId=${contextId}&snapshot=true`,
    `context/state?contextId=${contextId}&stateName=wait`,
  ]) {
    for (const accept of ['application/json', 'application/xml'])
      expect((await live.call('GET', `/flux-api/${path}`, { accept })).status).toBe(200)
  }
  expect(await shown('Any', 'WAITING')).toContain(`"id":${contextId}`)
})
