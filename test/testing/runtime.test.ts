// The test kit runs services on the real engine, at a time that stands still.
import { afterEach, describe, expect, test } from 'vitest'
import { createTestRuntime, type TestOptions, type TestRuntime } from '../../src/testing/runtime.ts'
import { WEBHOOK_SCHEMES } from '../../src/model/webhook-schemes/schemes.ts'
import { held } from '../support/held.ts'
import { folderOf, type Files } from '../definitions/catalog-files.ts'

const opened: TestRuntime[] = []
afterEach(async () => {
  for (const runtime of opened.splice(0)) await runtime.close()
})

async function open(files: Files, options: TestOptions = {}): Promise<TestRuntime> {
  const runtime = await createTestRuntime({ actors: await folderOf(files), ...options })
  opened.push(runtime)
  return runtime
}

const call = (methodName: string, more: object = {}) => ({
  type: 'invokeCode',
  className: 'bank',
  methodName,
  inputs: [{ from: ['amount'], to: ['amount'] }],
  outputs: [{ from: ['$result'], to: ['result'] }],
  ...more,
})

const set = (expression: string, to: string) => ({ type: 'set', expression, evaluate: true, to: [to] })

const BANK = 'export const charge = ({ amount }) => ({ id: `real-${amount}` })\n'
const PAY = {
  key: '${amount}',
  input: [{ name: 'amount', type: 'integer', required: true, allowNull: false }],
  output: [{ name: 'result', type: 'any' }],
  states: [
    {
      name: 'Charge',
      action: call('charge', { retry: { maxAttempts: 4, delay: 60, factor: 2 }, timeout: 10 }),
      transitions: [{ to: 'Paid' }, { event: '$exception', to: 'Failed' }],
    },
    { name: 'Paid' },
    { name: 'Failed' },
  ],
}
const FILES = { 'shop/bank.mjs': BANK, 'shop/Pay.flux': PAY }

describe('functions', () => {
  test('that are not faked run as they are', async () => {
    const runtime = await open(FILES)
    const { contextId } = await runtime.execute('shop/Pay', { amount: 7 })
    expect(await runtime.context(contextId)).toMatchObject({
      state: 'Paid',
      status: 'COMPLETED',
      input: { amount: 7 },
      output: { result: { id: 'real-7' } },
    })
    expect(runtime.calls('bank.charge')).toEqual([
      { arguments: { amount: 7 }, attempt: 1, stepKey: '1-1', contextId, at: Date.UTC(2026, 0, 1) },
    ])
  })

  test('are faked by a function, with or without their package', async () => {
    const runtime = await open(FILES)
    runtime.fake('bank.charge', ({ amount }: { amount: number }, flux) => ({ amount: amount * 2, key: flux.stepKey }))
    const first = await runtime.execute('shop/Pay', { amount: 1 })
    expect((await runtime.context(first.contextId)).output).toEqual({ result: { amount: 2, key: '1-1' } })
    runtime.fake('shop/bank.charge', async () => 'of the package')
    const second = await runtime.execute({ package: 'shop', fluxName: 'Pay', input: { amount: 2 } })
    expect((await runtime.context(second.contextId)).output).toEqual({ result: 'of the package' })
  })

  test('are faked by a list of results and errors, one for each call', async () => {
    const runtime = await open(FILES)
    const declined = Object.assign(new Error('no'), { name: 'Declined' })
    runtime.fake('bank.charge', [declined, { id: 'ch_1' }])
    const { contextId } = await runtime.execute('shop/Pay', { amount: 7 })
    expect(await runtime.context(contextId)).toMatchObject({
      status: 'RUNNING',
      step: { attempt: 2, lastError: { type: 'Declined', message: 'no' } },
    })
    await runtime.advance('1m')
    expect((await runtime.context(contextId)).output).toEqual({ result: { id: 'ch_1' } })
    const { contextId: next } = await runtime.execute('shop/Pay', { amount: 8 })
    const message = 'the fake of bank.charge has 2 results, and none for another call'
    expect((await runtime.context(next)).step).toMatchObject({ lastError: { message } })
  })

  test.each(['bank.chrage', 'shop/bank.chrage'])('no service calls can not be faked: %s', async (name) => {
    const runtime = await open(FILES)
    const message = `no service calls a function "${name}"; did you mean "${name.replace('chrage', 'charge')}"?`
    expect(() => runtime.fake(name, [])).toThrow(message)
    expect(() => runtime.calls(name)).toThrow(message)
  })

  test('that are isolated run here, and end with their time', async () => {
    const action = call('charge', { isolate: true, timeout: 10 })
    const runtime = await open({
      ...FILES,
      'shop/Pay.flux': { ...PAY, states: [{ ...PAY.states[0], action }, ...PAY.states.slice(1)] },
      'shop/bank.mjs': 'export const charge = () => process.pid\n',
    })
    const first = await runtime.execute('shop/Pay', { amount: 1 })
    expect((await runtime.context(first.contextId)).output).toEqual({ result: process.pid })
    runtime.fake('bank.charge', () => new Promise(() => {}))
    const { contextId } = await runtime.execute('shop/Pay', { amount: 2 })
    await runtime.advance(9_999)
    expect(await runtime.context(contextId)).toMatchObject({ state: 'Charge', status: 'RUNNING' })
    await runtime.advance(1)
    expect(await runtime.context(contextId)).toMatchObject({ state: 'Failed' })
  })

  test('that wait for another context let time go on', async () => {
    const runtime = await open({
      ...FILES,
      'shop/bank.mjs': `export async function charge({ amount }, flux) {
  const { contextId } = await flux.execute({ fluxName: 'Sleep' })
  return (await flux.waitFor({ contextId, status: ['COMPLETED'], timeout: 300 })).status
}\n`,
      'shop/Sleep.flux': { states: [{ name: 'A', transitions: [{ to: 'B', wait: 'duration:5' }] }, { name: 'B' }] },
    })
    const { contextId } = await runtime.execute('shop/Pay', { amount: 1 })
    expect((await runtime.context(contextId)).status).toBe('RUNNING')
    await runtime.advance('5s')
    expect((await runtime.context(contextId)).output).toEqual({ result: 'COMPLETED' })
  })
})

describe('time', () => {
  test('a week of back-offs is one call, and each attempt has its own time', async () => {
    const retry = { maxAttempts: 200, delay: 3600 }
    const runtime = await open({
      ...FILES,
      'shop/Pay.flux': {
        ...PAY,
        states: [{ ...PAY.states[0], action: call('charge', { retry }) }, ...PAY.states.slice(1)],
      },
    })
    runtime.fake('bank.charge', () => {
      throw new Error('not now')
    })
    const { contextId } = await runtime.execute('shop/Pay', { amount: 1 })
    const start = runtime.now()
    await runtime.advance('7d')
    const times = runtime.calls('bank.charge').map(({ at }) => at - start)
    expect(times).toEqual(Array.from({ length: 7 * 24 + 1 }, (_, hour) => hour * 3_600_000))
    expect(runtime.now() - start).toBe(7 * 86_400_000)
    expect((await runtime.context(contextId)).step?.attempt).toBe(7 * 24 + 2)
  })

  test('a year passes, and what has ended is still there', async () => {
    const runtime = await open(FILES, { now: '2026-03-01T12:00:00+01:00' })
    const { contextId } = await runtime.execute('shop/Pay', { amount: 1 })
    await runtime.advance('365d')
    expect(await runtime.context(contextId)).toMatchObject({ endedAt: Date.UTC(2026, 2, 1, 11), status: 'COMPLETED' })
  })

  test('an event that came before a context waits is there for it, also after days and a crash', async () => {
    const states = [{ name: 'A', waiting: true, transitions: [{ event: 'go', to: 'B' }] }, { name: 'B' }]
    const runtime = await open({ 'p/W.flux': { states } })
    await runtime.send('go', { ttl: 7 * 86_400 })
    await runtime.advance('3d')
    await runtime.crash()
    const { contextId } = await runtime.execute('p/W')
    expect((await runtime.context(contextId)).state).toBe('B')
  })

  test.each(['1 week', '-1s', -1, Number.NaN])('%j is no duration', async (time) => {
    const runtime = await open(FILES)
    await expect(runtime.advance(time)).rejects.toThrow('is no duration')
  })

  test('must begin at some time', async () => {
    await expect(open(FILES, { now: 'soon' })).rejects.toThrow('now must be a time')
  })
})

describe('a crash', () => {
  test('in the middle of a step loses it, and it runs again under its key', async () => {
    const runtime = await open(FILES)
    runtime.fake('bank.charge', [new Promise(() => {}), { id: 'ch_2' }])
    const { contextId } = await runtime.execute('shop/Pay', { amount: 1 })
    expect(await runtime.context(contextId)).toMatchObject({ status: 'RUNNING', state: 'Charge' })
    await runtime.crash()
    expect((await runtime.context(contextId)).output).toEqual({ result: { id: 'ch_2' } })
    const calls = runtime.calls('bank.charge')
    expect(calls.map(({ stepKey, attempt }) => [stepKey, attempt])).toEqual([
      ['1-1', 1],
      ['1-1', 1],
    ])
  })

  test('drops the result of a step that was under way', async () => {
    const runtime = await open(FILES)
    const { promise, release } = held<string>()
    runtime.fake('bank.charge', [promise, new Promise(() => {})])
    const { contextId } = await runtime.execute('shop/Pay', { amount: 1 })
    await runtime.crash()
    release('too late')
    await runtime.idle()
    expect((await runtime.context(contextId)).status).toBe('RUNNING')
  })

  test('leaves timers and what is waited for', async () => {
    const states = [
      {
        name: 'A',
        waiting: true,
        transitions: [
          { event: 'go', to: 'B' },
          { wait: 'duration:60', to: 'B' },
        ],
      },
      { name: 'B' },
    ]
    const runtime = await open({ 'p/W.flux': { states } })
    const [one, other] = [await runtime.execute('p/W'), await runtime.execute('p/W')]
    await runtime.crash()
    await runtime.send('go', { contextId: one.contextId })
    expect((await runtime.context(one.contextId)).state).toBe('B')
    await runtime.advance('60s')
    await runtime.crash()
    expect((await runtime.context(other.contextId)).state).toBe('B')
  })
})

const HTTP = {
  input: [{ name: 'url' }, { name: 'body', type: 'any' }],
  output: [{ name: 'answer', type: 'any' }],
  states: [
    {
      name: 'Ask',
      action: {
        type: 'invokeCode',
        className: 'Http',
        methodName: 'request',
        inputs: [
          { from: ['url'], to: ['url'] },
          { from: ['body'], to: ['body'] },
          { type: 'set', expression: '`Bearer ${$secrets.TOKEN}`', evaluate: true, to: ['headers', 'Authorization'] },
          { type: 'set', expression: 'POST', to: ['method'] },
        ],
        outputs: [{ from: ['$result'], to: ['answer'] }],
      },
    },
  ],
}

const URL = 'https://api.example/v1/items'
const HOOK = `whsec_${Buffer.from('x'.repeat(24)).toString('base64')}`
const openHttp = () => open({ 'p/Ask.flux': HTTP }, { secrets: { TOKEN: 'a secret token' } })

describe('requests', () => {
  test('are answered, with their secrets', async () => {
    const runtime = await openHttp()
    runtime.http(URL, ({ body }) => ({ status: 201, headers: { 'X-Id': '7' }, body: { got: body } }))
    const { contextId } = await runtime.execute('p/Ask', { url: `${URL}?page=2`, body: { a: 1 } })
    expect((await runtime.context(contextId)).output).toMatchObject({
      answer: { status: 201, headers: { 'x-id': '7' }, body: { got: { a: 1 } }, url: `${URL}?page=2` },
    })
    expect(runtime.sent()).toEqual([
      {
        method: 'POST',
        url: `${URL}?page=2`,
        headers: {
          authorization: 'Bearer a secret token',
          'content-type': 'application/json',
          'user-agent': 'actorflux',
        },
        body: { a: 1 },
        at: runtime.now(),
        status: 201,
      },
    ])
  })

  test('follow redirects, and text is text', async () => {
    const runtime = await openHttp()
    runtime.http(URL, { status: 303, headers: { location: '/other' } })
    runtime.http('https://api.example/*', { body: 'there' })
    const { contextId } = await runtime.execute('p/Ask', { url: URL })
    expect((await runtime.context(contextId)).output).toMatchObject({ answer: { status: 200, body: 'there' } })
    expect(runtime.sent().map(({ method, url }) => `${method} ${url}`)).toEqual([
      `POST ${URL}`,
      'GET https://api.example/other',
    ])
  })

  test.each([
    [{ code: 'ECONNREFUSED' }, `can't get an answer from "api.example": it refuses the connection`],
    [{}, 'away'],
  ])('fail with %j as the network does', async (more, message) => {
    const runtime = await openHttp()
    runtime.http(URL, () => {
      throw Object.assign(new Error('away'), more)
    })
    const { contextId } = await runtime.execute('p/Ask', { url: URL })
    expect((await runtime.context(contextId)).error).toMatchObject({ type: 'HttpError', message })
  })

  test('without an answer fail the step, and nothing leaves', async () => {
    const runtime = await openHttp()
    runtime.http('https://api.example/v1/itens', {})
    const { contextId } = await runtime.execute('p/Ask', { url: URL })
    expect((await runtime.context(contextId)).error).toMatchObject({
      type: 'HttpError',
      message: expect.stringContaining(
        `no request leaves a test: there is no answer of ${URL}; did you mean "https://api.example/v1/itens"?`,
      ),
    })
    expect(runtime.sent()).toMatchObject([{ url: URL, status: null }])
  })

  test('end with their time, by the clock of the test', async () => {
    const runtime = await openHttp()
    runtime.http(URL, () => new Promise(() => {}))
    const { contextId } = await runtime.execute('p/Ask', { url: URL })
    await runtime.advance('29s')
    expect((await runtime.context(contextId)).status).toBe('RUNNING')
    await runtime.advance('1s')
    expect((await runtime.context(contextId)).error).toMatchObject({
      type: 'TimeoutError',
      message: 'no answer within 30 s',
    })
  })

  test('of the end of a context are tried again at the date of Retry-After', async () => {
    const onEnd = { url: 'https://hook.example/end', secret: '$secrets.HOOK' }
    const runtime = await open({ 'p/End.flux': { onEnd, states: [{ name: 'end' }] } }, { secrets: { HOOK } })
    const date = new Date(runtime.now() + 2 * 3_600_000).toUTCString()
    runtime.http(onEnd.url, () => ({ status: 503, headers: { 'retry-after': date } }))
    await runtime.execute('p/End')
    await runtime.advance('1h')
    expect(runtime.sent()).toHaveLength(1)
    await runtime.advance('1h')
    expect(runtime.sent()).toHaveLength(2)
  })

  test('of signed webhooks are verified at the time of the test', async () => {
    const states = [
      {
        name: 'a',
        action: {
          type: 'invokeCode',
          className: 'Webhooks',
          methodName: 'verify',
          inputs: [set('$request.headers', 'headers'), set('$secrets.HOOK', 'secrets')],
          outputs: [set('$result.valid', 'valid')],
        },
      },
    ]
    const runtime = await open(
      {
        'p/Hook.flux': { webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }], output: [{ name: 'valid' }], states },
      },
      { secrets: { HOOK } },
    )
    const signed = WEBHOOK_SCHEMES.standard.sign(
      { secrets: [HOOK], toleranceS: 300 },
      { method: 'POST', target: '', host: null, headers: [['webhook-id', 'msg_1']], body: Buffer.from('{}') },
      { nowMs: runtime.now(), publicUrl: null },
    )
    const headers = { 'content-type': 'application/json', ...Object.fromEntries(signed) }
    expect(await runtime.webhook('/hook', { headers, body: '{}' })).toMatchObject({ status: 200, body: 'true' })
  })

  test('of the end of a context are sent, and tried again', async () => {
    const onEnd = { url: 'https://hook.example/end', secret: '$secrets.HOOK' }
    const runtime = await open({ 'p/End.flux': { onEnd, states: [{ name: 'end' }] } }, { secrets: { HOOK } })
    await runtime.execute('p/End')
    expect(runtime.sent()).toMatchObject([{ method: 'POST', url: onEnd.url, status: null }])
    runtime.http(onEnd.url, { status: 204 })
    await runtime.advance('10s')
    const [first, second, ...others] = runtime.sent()
    expect(others).toEqual([])
    expect(second).toMatchObject({ status: 204, body: { data: { fluxName: 'End' } } })
    expect([first, second].map((each) => each?.headers['webhook-id'])).toEqual(['msg_test_1-end', 'msg_test_1-end'])
    expect(Number(second?.headers['webhook-timestamp'])).toBe(Math.floor((second?.at ?? 0) / 1000))
  })
})

test('webhooks are called, and answer when their context does', async () => {
  const runtime = await open({
    'p/Hook.flux': {
      webhooks: [{ urlPath: '/hook/{name}', httpMethods: ['POST'] }],
      input: [{ name: 'name' }],
      output: [{ name: 'text' }],
      states: [
        {
          name: 'Greet',
          action: {
            type: 'invokeCode',
            className: 'bank',
            methodName: 'charge',
            outputs: [{ type: 'set', expression: '`Hello ${name}`', evaluate: true, to: ['text'] }],
          },
        },
      ],
    },
    'p/bank.mjs': BANK,
  })
  expect(await runtime.webhook('/hook/Ada')).toMatchObject({ status: 200, body: 'Hello Ada' })
  expect(await runtime.webhook('/nowhere')).toMatchObject({ status: 404, body: { title: expect.any(String) } })
  runtime.fake('bank.charge', () => new Promise(() => {}))
  const { promise, release } = held<string>()
  runtime.fake('bank.charge', () => promise)
  const answer = runtime.webhook('/hook/Ada')
  await runtime.idle()
  release('done')
  expect(await answer).toMatchObject({ status: 200, body: 'Hello Ada' })
})

test('what is drawn by chance follows from the seed, also ids', async () => {
  const files = {
    'p/Draw.flux': {
      output: [{ name: 'number', type: 'double' }, { name: 'id' }],
      states: [{ name: 'a', action: { lines: [set('random()', 'number'), set('uuid()', 'id')] } }],
    },
  }
  const drawn = async (seed?: number) => {
    const runtime = await open(files, { seed })
    const { contextId } = await runtime.execute('p/Draw')
    const { eventId } = await runtime.send('any')
    return { ...(await runtime.context(contextId)).output, eventId }
  }
  const [one, same, other] = [await drawn(), await drawn(1), await drawn(2)]
  expect(one).toEqual(same)
  expect(one).not.toEqual(other)
})

describe('coverage', () => {
  test('names what was taken, and what never was', async () => {
    const states = [
      {
        name: 'Open',
        waiting: true,
        transitions: [
          { event: 'close', to: 'Closed' },
          { event: '$else', to: 'Open' },
          { wait: 'duration:60', to: 'Late' },
        ],
      },
      { name: 'Closed' },
      { name: 'Late' },
    ]
    const runtime = await open({ ...FILES, 'p/Door.flux': { states } })
    const { contextId } = await runtime.execute('p/Door')
    await runtime.send('knock', { contextId })
    await runtime.advance('1m')
    expect(runtime.coverage()).toEqual({
      'p/Door': {
        states: { taken: ['Open', 'Late'], never: ['Closed'] },
        transitions: { taken: ['Open → Open ($else)', 'Open → Late (wait)'], never: ['Open → Closed (close)'] },
      },
      'shop/Pay': {
        states: { taken: [], never: ['Charge', 'Paid', 'Failed'] },
        transitions: { taken: [], never: ['Charge → Paid', 'Charge → Failed ($exception)'] },
      },
    })
  })

  test('knows a transition by exception from another one between the same states', async () => {
    const transitions = [{ to: 'End' }, { event: '$exception', to: 'End' }]
    const runtime = await open({
      'p/bank.mjs': BANK,
      'p/Two.flux': {
        states: [{ name: 'A', action: call('charge', { inputs: [], outputs: [] }), transitions }, { name: 'End' }],
      },
    })
    runtime.fake('bank.charge', [new Error('no')])
    await runtime.execute('p/Two')
    expect(runtime.coverage()['p/Two']?.transitions).toEqual({ taken: ['A → End ($exception)'], never: ['A → End'] })
  })
})

test('calls may be made at once', async () => {
  const runtime = await open(FILES)
  const amounts = Array.from({ length: 20 }, (_, amount) => amount)
  const started = await Promise.all(amounts.map((amount) => runtime.execute('shop/Pay', { amount })))
  expect(new Set(started.map(({ contextId }) => contextId)).size).toBe(20)
  expect(runtime.calls('bank.charge')).toHaveLength(20)
})

test('moves are told in their order', async () => {
  const runtime = await open(FILES)
  await runtime.execute('shop/Pay', { amount: 1 })
  const at = runtime.now()
  expect(runtime.moves()).toEqual([
    { service: 'shop/Pay', from: null, event: null, to: 'Charge', at },
    { service: 'shop/Pay', from: 'Charge', event: null, to: 'Paid', at },
  ])
})

test('faults of services tell file, line and column', async () => {
  const folder = await folderOf({ 'p/A.flux': '{\n  "states": [{ "name": "a", "transitions": [{ "to": "b" }] }]\n}' })
  await expect(createTestRuntime({ actors: folder })).rejects.toThrow(
    `the services have faults:\n${folder}/p/A.flux:2:53 #/states/0/transitions/0/to: there is no state "b"; there is a`,
  )
})

interface Services {
  readonly 'shop/Pay': {
    readonly input: { readonly amount: number }
    readonly output: { readonly result: unknown }
    readonly events: { readonly paid: { readonly by: string }; readonly ping: { readonly note?: string } }
  }
}

test('calls are typed by the services', async () => {
  const runtime = await createTestRuntime<Services>({ actors: await folderOf(FILES) })
  try {
    const { contextId } = await runtime.execute('shop/Pay', { amount: 1 }, { tags: ['t'] })
    expect((await runtime.context<'shop/Pay'>(contextId)).output.result).toEqual({ id: 'real-1' })
    const never = async () => {
      // @ts-expect-error there is no such service
      await runtime.execute('shop/Pya', { amount: 1 })
      // @ts-expect-error an input is missing
      await runtime.execute('shop/Pay', {})
      // @ts-expect-error an input of the event is missing
      await runtime.send('paid', { contextId })
      // @ts-expect-error there is no such event
      await runtime.send('piad', { contextId })
      await runtime.send('paid', { contextId, input: { by: 'Ada' } })
      await runtime.send('ping')
      await runtime.service('shop/Pay').execute({ amount: 1 })
    }
    expect(never).toBeTypeOf('function')
    await expect(runtime.service('shop/Pay').execute({ amount: 2 })).resolves.toMatchObject({ started: true })
  } finally {
    await runtime.close()
  }
})
