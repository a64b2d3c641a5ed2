// The calls that show services, their schemas, and what a context can take: over HTTP, on both stores.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openLive, tokenOf, type Live } from './live.ts'
import { storesOf } from '../support/effort.ts'

const gate = (more: object = {}) => ({
  comment: 'opens for those who ask',
  input: [{ name: 'owner', required: true, comments: 'whose it is' }],
  output: [{ name: 'opened', type: 'date' }],
  triggers: ['ring'],
  states: [
    {
      name: 'Shut',
      waiting: true,
      input: [
        { name: 'by', required: true, allowNull: false },
        { name: 'times', type: 'integer', min: 1 },
      ],
      transitions: [
        { event: 'open', to: 'Open' },
        { event: 'knock', to: 'Shut' },
        { wait: 'duration:60', to: 'Rusty' },
      ],
    },
    {
      name: 'Open',
      action: { lines: [{ type: 'set', expression: 'wide', to: ['$fluxEvent'] }] },
      transitions: [
        { event: 'wide', to: 'Leaving' },
        { event: 'narrow', to: 'Shut' },
      ],
    },
    { name: 'Leaving', transitions: [{ wait: 'duration:60', to: 'Rusty' }] },
    {
      name: 'Rusty',
      waiting: true,
      transitions: [
        { event: 'oil', to: 'Shut', early: '1h' },
        { event: 'knock', to: 'Rusty' },
        { event: '$else', to: 'Gone' },
      ],
    },
    { name: 'Gone' },
  ],
  ...more,
})

const SERVICES = {
  'p/doors.Gate.flux': gate(),
  'p/Secret.flux': gate({ secured: true, triggers: [] }),
  'p/Twin.flux': gate({ triggers: [] }),
  'q/Twin.flux': gate({ triggers: [], comment: null }),
  'p/Waiter.flux': {
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
  },
}

describe.each(storesOf(['the embedded store', 'Redis']))('on %s', (store) => {
  let live: Live
  const token = tokenOf('invoke')
  beforeAll(async () => {
    const env = store === 'Redis' ? { ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: randomUUID() } : {}
    live = await openLive(env, SERVICES, { invoke: 'invoke' })
  })
  afterAll(() => live.close())

  const get = async (path: string, by?: string) => {
    const { status, json } = await live.call('GET', `/flux-api/${path}`, by === undefined ? {} : { token: by })
    return { status, answer: json as { [name: string]: unknown } }
  }
  const start = async (fluxName: string, more: object = {}, by?: string) => {
    const body = { fluxName, ...(fluxName === 'Waiter' ? {} : { input: { owner: 'Ada' } }), ...more }
    const { json } = await live.call('POST', '/flux-api/p/execute', { body, ...(by !== undefined && { token: by }) })
    return (json as { contextId: number }).contextId
  }
  const told = async (body: object, by?: string) => {
    const options = { body, ...(by !== undefined && { token: by }) }
    const { status, json } = await live.call('POST', '/flux-api/p/execute', options)
    const { detail, message } = json as { detail?: string; message?: string }
    return `${status} ${detail ?? message?.replace(/context \d+/, 'context N')}`
  }
  const events = async (contextId: number) => (await get(`context/events?contextId=${contextId}`)).answer

  test('a waiting context shows what it takes, what happens if nothing comes, and why it takes no others', async () => {
    const contextId = await start('doors.Gate', { key: 'front' })
    const input = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        by: { type: 'string' },
        times: { type: ['integer', 'null'], minimum: 1, maximum: 2_147_483_647 },
      },
      required: ['by'],
    }
    const answer = await events(contextId)
    expect(answer).toEqual({
      contextId,
      state: 'Shut',
      status: 'WAITING_UNTIL',
      events: [
        { event: 'open', to: 'Open', input },
        { event: 'knock', to: 'Shut', input },
      ],
      else: null,
      timed: { at: expect.any(Number), to: 'Rusty', event: null },
      others: [
        { event: 'wide', states: ['Open'], reason: 'is set by the action of Open, and is not taken from outside' },
        { event: 'narrow', states: ['Open'], reason: 'is set by the action of Open, and is not taken from outside' },
        { event: 'oil', states: ['Rusty'], reason: 'is taken in Rusty, and is kept for it if it comes earlier' },
        { event: 'ring', states: [], reason: "starts 'doors.Gate', and is taken in no state" },
      ],
    })
    expect((await get(`context?contextId=${contextId}`)).answer).toMatchObject({
      nextRun: (answer['timed'] as { at: number }).at,
    })
    expect((await get('context/events?key=front&fluxName=doors.Gate')).answer).toEqual(answer)
  })

  test('a state with $else takes any event, and one that is to be left takes none', async () => {
    const rusty = await events(await start('doors.Gate', { startState: 'Rusty' }))
    expect(rusty).toMatchObject({
      status: 'WAITING',
      events: [{ event: 'oil' }, { event: 'knock' }],
      else: { type: 'object', properties: {} },
      timed: null,
      others: [],
    })
    const leaving = await events(await start('doors.Gate', { startState: 'Leaving' }))
    expect(leaving).toMatchObject({ status: 'WAITING_UNTIL', events: [], else: null, timed: { to: 'Rusty' } })
    expect((leaving['others'] as { event: string }[]).map(({ event }) => event)).toContain('knock')
    const gone = await start('doors.Gate', { startState: 'Gone' })
    expect(await events(gone)).toEqual({
      contextId: gone,
      state: 'Gone',
      status: 'COMPLETED',
      events: [],
      else: null,
      timed: null,
      others: [],
    })
  })

  test('a state that is misspelt is named, with the one that was probably meant', async () => {
    const contextId = await start('doors.Gate')
    const near = "'doors.Gate' has no state 'Rustyy'; did you mean 'Rusty'?"
    expect((await get(`context/state?contextId=${contextId}&stateName=Rustyy`)).answer['detail']).toBe(near)
    expect((await get(`context/wait?contextId=${contextId}&state=Rustyy`)).answer['detail']).toContain(
      "is no state of 'doors.Gate'; did you mean 'Rusty'?",
    )
  })

  test('what cannot be found, or may not be seen, is refused', async () => {
    const secret = await start('Secret', {}, token)
    const statuses = await Promise.all(
      [
        'context/events',
        'context/events?contextId=999999999',
        `context/events?contextId=${secret}`,
        'schema',
        'schema?fluxName=None',
        'schema?fluxName=Twin',
        'schema?fluxName=Twin&package=q',
        'schema?fluxName=Secret',
        'services?page=1',
      ].map(async (path) => (await get(path)).status),
    )
    expect(statuses).toEqual([400, 404, 401, 400, 404, 409, 200, 401, 400])
    expect((await get(`context/events?contextId=${secret}`, token)).status).toBe(200)
    expect((await get('schema?fluxName=Secret', token)).answer).toMatchObject({ package: 'p', fluxName: 'Secret' })
  })

  test('a schema has the inputs of a start, and all outputs', async () => {
    expect((await get('schema?fluxName=doors.Gate')).answer).toEqual({
      package: 'p',
      fluxName: 'doors.Gate',
      definition: expect.stringMatching(/^[\da-f]{64}$/),
      input: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { owner: { type: ['string', 'null'], description: 'whose it is' } },
        required: ['owner'],
        additionalProperties: false,
      },
      output: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          opened: { type: ['integer', 'null'], minimum: -8.64e15, maximum: 8.64e15 },
        },
        required: ['opened'],
        additionalProperties: false,
      },
    })
  })

  test('services are listed with counts of their contexts, and secured ones only to who may see them', async () => {
    type Listed = { services: { package: string; fluxName: string; contexts: object }[]; faults: object[] }
    const list = async (by?: string) => (await get('services', by)).answer as unknown as Listed
    const countsOf = async (by?: string) =>
      Object.fromEntries((await list(by)).services.map((one) => [`${one.package}/${one.fluxName}`, one.contexts]))
    const before = await countsOf()
    expect(before).not.toHaveProperty('p/Secret')
    expect(before).toMatchObject({ 'p/Twin': {}, 'q/Twin': {}, 'p/Waiter': {} })
    const [one] = [await start('Waiter'), await start('Waiter'), await start('Twin')]
    await live.call('POST', `/flux-api/event?contextId=${one}`, { body: { event: 'go' } })
    const after = await countsOf()
    expect(after).toMatchObject({ 'p/Waiter': { WAITING: 1, COMPLETED: 1 }, 'p/Twin': { WAITING_UNTIL: 1 } })
    expect(after['q/Twin']).toEqual({})
    expect((await countsOf(token))['p/Secret']).toEqual({ WAITING_UNTIL: 1 })
    expect((await list()).services.find(({ fluxName }) => fluxName === 'doors.Gate')).toEqual({
      package: 'p',
      fluxName: 'doors.Gate',
      comment: 'opens for those who ask',
      secured: false,
      states: ['Shut', 'Open', 'Leaving', 'Rusty', 'Gone'],
      triggers: ['ring'],
      webhooks: [],
      input: [{ name: 'owner', required: true, comments: 'whose it is' }],
      output: [{ name: 'opened', type: 'date' }],
      definition: expect.stringMatching(/^[\da-f]{64}$/),
      file: 'p/doors.Gate.flux',
      contexts: before['p/doors.Gate'],
    })
  })

  test('a service whose new version is refused is shown as it was, and the fault is told', async () => {
    const first = (await get('services')).answer
    await live.reload({
      'p/Waiter.flux': { states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'nowhere' }] }] },
      'p/Secret.flux': { secured: true, states: [{ name: 'end', transitions: [{ to: 'nowhere' }] }] },
      'p/New.flux': { states: [{ name: 'end', transitions: [{ to: 'nowhere' }] }] },
      'p/Hidden.flux': { secured: true, states: [{ name: 'end', transitions: [{ to: 'nowhere' }] }] },
    })
    const { services, faults, loadedAt } = (await get('services')).answer
    expect(services).toEqual(first['services'])
    const fault = {
      pointer: '/states/0/transitions/0/to',
      line: 1,
      column: expect.any(Number),
      reason: expect.stringMatching(/^there is no state "nowhere"/),
      severity: 'fault',
    }
    const shown = [
      { file: 'p/New.flux', ...fault },
      { file: 'p/Waiter.flux', ...fault },
    ]
    expect((faults as object[]).filter((one) => 'severity' in one && one.severity === 'fault')).toEqual(shown)
    expect(loadedAt).toBeGreaterThan(Number(first['loadedAt']))
    const all = (await get('services', token)).answer['faults']
    expect(all).toContainEqual({ file: 'p/Secret.flux', ...fault })
    expect(all).toContainEqual({ file: 'p/Hidden.flux', ...fault })
  })

  test('the call of a service whose file has a fault says so, to who may see it', async () => {
    const place = '#/states/0/transitions/0/to: there is no state "nowhere"; there is'
    expect(await told({ fluxName: 'New' })).toBe(
      `404 package 'p' has no service 'New': its file has a fault: p/New.flux:1:47 ${place} end`,
    )
    expect(await told({ fluxName: 'Waiter' })).toBe(
      `200 started 'Waiter' as context N, as it was loaded before: its file has a fault: p/Waiter.flux:1:76 ${place} wait`,
    )
    expect(await told({ fluxName: 'Hidden' })).toBe("404 package 'p' has no service 'Hidden'")
    expect(await told({ fluxName: 'Hidden' }, token)).toContain('p/Hidden.flux:1:62')
    expect(await told({ fluxName: 'Waitr' })).toBe("404 package 'p' has no service 'Waitr'; did you mean 'Waiter'?")
    expect(await told({ fluxName: 'Sekret' })).toBe("404 package 'p' has no service 'Sekret'")
    expect(await told({ fluxName: 'Sekret' }, token)).toContain("did you mean 'Secret'?")
  })

  const contextsOfSecret = async (by?: string) => {
    const services = (await get('services', by)).answer['services'] as { fluxName: string; contexts: object }[]
    return services.find(({ fluxName }) => fluxName === 'Secret')?.contexts
  }

  test('contexts that were secured when they were started stay so when the service is not any more', async () => {
    const before = await contextsOfSecret(token)
    expect(before).not.toEqual({})
    await live.reload({ ...SERVICES, 'p/Secret.flux': gate({ triggers: [] }) })
    await start('Secret', {})
    expect(await contextsOfSecret()).toEqual({ WAITING_UNTIL: 1 })
    expect(await contextsOfSecret(token)).toEqual({ WAITING_UNTIL: 1 + Object(before)['WAITING_UNTIL'] })
  })
})
