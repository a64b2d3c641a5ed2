// What views and logs hide: secrets of a webhook's request, wherever a text is one or contains one, and values of
// properties that are declared sensitive.
import { request as send } from 'node:http'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openLive, type Live } from './live.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const from = (path: string[], ...to: string[]) => ({ from: path, to })
const hook = (urlPath: string) => ({ webhooks: [{ urlPath, httpMethods: ['GET', 'POST'] }] })
const outs = (...names: string[]) => names.map((name) => ({ name, type: 'any' }))
const map = (...lines: object[]) => ({ type: 'map', lines })
const service = (path: string, lines: readonly (object & { readonly to: string[] })[], more: object = {}) => ({
  ...hook(path),
  output: outs(...new Set(lines.map(({ to: [name = ''] }) => name))),
  states: [{ name: 'end', action: map(...lines) }],
  ...more,
})

const KEY = '$request.headers["x-api-key"]'
/** What lines may do with a header. */
const CARRYING = [
  from(['$request', 'headers', 'x-api-key'], 'mapped'),
  set(KEY, 'set'),
  set('`Bearer ${' + KEY + '}`', 'template'),
  set(`"k=" + ${KEY} + ";"`, 'sum'),
  set(`${KEY} ?? "none"`, 'choice'),
  set(`true ? ${KEY} : "none"`, 'conditional'),
  set(`{ deep: [{ key: ${KEY} }] }`, 'object'),
  set(`json({ key: ${KEY} })`, 'json'),
  set('$request.headers.find(h => h.name == "x-api-key").value', 'found'),
  set('$request.headers.map(h => `${h.name}: ${h.value}`).join(" | ")', 'joined'),
  from(['$request', 'headers'], 'headers'),
  from(['$request'], 'request'),
  set('json($request)', 'text'),
  set('{ inner: $request }', 'wrapped'),
  set('json({ inner: json($request.headers) })', 'nested'),
  from(['request', 'headers', 'x-api-key'], 'again'),
  set('request.headers["x-api-key"] + "!"', 'oncemore'),
  set('parseJson(json($request)).headers', 'parsed'),
]
const COOKIES = [
  set('$request.cookies["c"]', 'set'),
  from(['$request', 'cookies', 'c'], 'mapped'),
  set('`<${$request.cookies["c"]}>`', 'template'),
  set('json([$request.cookies["c"]])', 'json'),
  set('$request.cookies.map(c => c.value)', 'all'),
  from(['$request', 'cookies'], 'cookies'),
  set('$request.headers["cookie"].split(";")[0].split("=")[1]', 'sent'),
]

const CARD = {
  name: 'card',
  type: 'model',
  gloopProperties: [{ name: 'holder' }, { name: 'number', sensitive: true }],
}

const SERVICES = {
  'w/Card.model': CARD,
  'w/Carrying.flux': service('/carrying', CARRYING),
  'w/Cookies.flux': service('/cookies', COOKIES),
  'w/Token.flux': service(
    '/token/{hookToken}',
    [
      set('$request.headers.authorization.split(" ")[1]', 'bearer'),
      from(['$request', 'parameters', 'access_token'], 'parameter'),
      from(['$request', 'uri'], 'uri'),
      set('$request.uri.split("?")[1]', 'query'),
      from(['$request', 'parameters'], 'parameters'),
      set('$request.parameters.hookToken', 'path'),
      from(['X-Api-Key'], 'input'),
    ],
    { input: [{ name: 'X-Api-Key' }], tags: ['t-${$request.headers["x-api-key"]}'] },
  ),
  'w/Own.flux': service(
    '/own',
    [
      from(['$request', 'body'], 'body'),
      set('$request.body.note', 'note'),
      set('`${$request.method} ${$request.body.note}`', 'text'),
      from(['kind'], 'kind'),
      from(['$request'], 'request'),
      set('["shop", "true", "abcdef", "gloopProperties"]', 'words'),
      set('$request.cookies["a"] == "gloopProperties"', 'isSame'),
      set('$request.cookies["a"].length', 'size'),
      set('$request.cookies.some(c => c.value == "shop")', 'some'),
      set('$request.cookies["a"] == "x" ? "shop" : "abcdef"', 'tested'),
    ],
    { input: [{ name: 'kind' }] },
  ),
  'w/fns.mjs': `
    export const echo = ({ key }) => ({ key, text: 'key ' + key + ' it is', ok: true })
    export const pay = ({ card: { number } }, { log }) => {
      log.warn('pays with ' + number)
      throw Object.assign(new Error('no ' + number), { number })
    }
    export const tell = ({ key, request }, { log }) => {
      log.warn('the key is ' + key, { key, nested: { text: JSON.stringify({ key }) } })
      log.warn('asked ' + JSON.stringify(request), { request })
      throw Object.assign(new Error('no good key ' + key), { detail: { key }, message2: 'plain' })
    }`,
  'w/Steps.flux': {
    ...hook('/steps'),
    output: outs('key', 'text', 'ok', 'event'),
    states: [
      {
        name: 'echo',
        input: [],
        action: {
          type: 'invokeCode',
          className: 'fns',
          methodName: 'echo',
          inputs: [set(KEY, 'key')],
          outputs: [from(['key'], 'key'), from(['text'], 'text'), from(['ok'], 'ok'), set(KEY, '$fluxEvent')],
        },
        transitions: [
          { event: '$else', to: 'hold', lines: [set(KEY, 'held'), set(`[${KEY}]`, 'list'), set('"plain"', 'plain')] },
        ],
      },
      {
        name: 'hold',
        input: outs('held', 'list', 'plain'),
        output: outs('kept'),
        action: map(set('`kept ${held}`', 'kept')),
        transitions: [{ to: 'child', lines: [] }],
      },
      {
        name: 'child',
        action: {
          type: 'invokeFlux',
          name: 'Kid',
          inputs: [set(KEY, 'handed'), set('"shop"', 'word'), set(`{ key: ${KEY} }`, 'more')],
          outputs: [from(['back'], 'text')],
        },
        transitions: [{ to: 'fail' }],
      },
      {
        name: 'fail',
        action: {
          type: 'invokeCode',
          className: 'fns',
          methodName: 'tell',
          inputs: [set(KEY, 'key'), from(['$request'], 'request')],
          outputs: [],
        },
      },
    ],
  },
  'w/Kid.flux': {
    input: outs('handed', 'word', 'more'),
    output: outs('back', 'word', 'inner'),
    states: [
      {
        name: 'end',
        action: map(set('`back ${handed}`', 'back'), from(['word'], 'word'), set('more.key.substring(0, 3)', 'inner')),
      },
    ],
  },
  'w/Thrown.flux': {
    ...hook('/thrown'),
    states: [
      {
        name: 'act',
        action: {
          type: 'invokeCode',
          className: 'Errors',
          methodName: 'throwException',
          inputs: [set('`bad ${$request.headers["x-api-key"]}`', 'message')],
          outputs: [],
        },
      },
    ],
  },
  'w/Sensitive.flux': {
    input: [
      { name: 'pin', type: 'integer', sensitive: true },
      { name: 'password', sensitive: true },
      { name: 'open' },
      CARD,
      { name: 'cards', type: 'model', array: true, reference: 'Card' },
    ],
    output: [
      { name: 'list', type: 'any', sensitive: true },
      { name: 'size', type: 'integer' },
      { name: 'absent', sensitive: true },
    ],
    states: [
      {
        name: 'begin',
        action: map(set('[password, pin]', 'list'), set('password.length', 'size')),
        transitions: [{ to: 'act', lines: [from(['card'], 'card')] }],
      },
      {
        name: 'act',
        input: [CARD],
        action: {
          type: 'invokeCode',
          className: 'fns',
          methodName: 'pay',
          inputs: [from(['card'], 'card')],
          outputs: [],
        },
      },
    ],
  },
  'w/BadLine.flux': {
    ...hook('/bad-line'),
    output: outs('n'),
    states: [{ name: 'act', action: map(set('parseJson($request.headers["x-api-key"])', 'n')) }],
  },
  'w/BadValue.flux': {
    ...hook('/bad-value'),
    output: [{ name: 'n', type: 'integer' }],
    states: [{ name: 'act', action: map(from(['$request', 'headers', 'x-api-key'], 'n')) }],
  },
  'w/BadWait.flux': {
    ...hook('/bad-wait'),
    states: [
      { name: 'act', transitions: [{ to: 'end', wait: 'duration:${$request.headers["x-api-key"]}' }] },
      { name: 'end' },
    ],
  },
}

let live: Live
beforeAll(async () => {
  live = await openLive({}, SERVICES)
})
afterAll(() => live.close())

interface Context {
  readonly id: number
  readonly tags: string[]
  readonly error: { readonly message: string } | null
  readonly output: Model
  readonly input: Model
  readonly stateContexts: object[]
}
interface Model {
  readonly gloopProperties: readonly { readonly name: string; readonly value: unknown }[]
}

/** Headers are sent as they are written. */
function call(path: string, headers: readonly string[], body?: object): Promise<number> {
  const url = new URL(`${live.url}/api${path}`)
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const all = [
      'Host',
      url.host,
      ...headers,
      ...(text === undefined
        ? []
        : ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(text))]),
    ]
    send(url, { method: text === undefined ? 'GET' : 'POST', headers: all, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end(text)
  })
}

/** The newest context of a service, in every form in which it is shown. */
async function shown(
  fluxName: string,
  stateName = 'end',
): Promise<{ text: string; context: Context; outputs: { [name: string]: unknown } }> {
  const list = (['COMPLETED', 'FAILED'] as const).map(
    async (status) =>
      (await live.call('GET', `/flux-api/contexts?fluxName=${fluxName}&status=${status}`)).json as Context[],
  )
  const [context] = (await Promise.all(list)).flat().sort((one, other) => other.id - one.id)
  if (!context) throw new Error(`there is no context of ${fluxName}`)
  const id = context.id
  const paths = [
    `context?contextId=${id}&snapshot=true`,
    `context/state?contextId=${id}&stateName=${stateName}`,
    `contexts?fluxName=${fluxName}&status=COMPLETED`,
    `contexts?fluxName=${fluxName}&status=FAILED`,
  ]
  const texts = await Promise.all(
    paths.flatMap((path) =>
      ['application/json', 'application/xml'].map(
        async (accept) => (await live.call('GET', `/flux-api/${path}`, { accept })).text,
      ),
    ),
  )
  return {
    text: texts.join('\n'),
    context,
    outputs: values(context.output),
  }
}
const valueOf = ({ input }: Context, name: string) =>
  input.gloopProperties.find((property) => property.name === name)?.value

describe('what lines carried of a secret header', () => {
  test.each([['qzvwkjxq-4711'], ['qzvwkjxq'], ['a'.repeat(3000) + 'qzv']])('is hidden: %.40s', async (secret) => {
    expect(await call('/carrying', ['x-api-key', secret])).toBe(200)
    const { text, outputs } = await shown('Carrying')
    expect(text.replaceAll('[redacted]', '')).not.toMatch(/qzv|aaaaa/)
    expect(outputs).toMatchObject({
      mapped: '[redacted]',
      set: '[redacted]',
      choice: '[redacted]',
      object: { deep: [{ key: '[redacted]' }] },
      again: '[redacted]',
      found: '[redacted]',
    })
  })

  test('leaves what is around it', async () => {
    expect(await call('/carrying', ['x-api-key', 'qzvwkjxq', 'X-Plain', 'qzvwkjx is a word of mine'])).toBe(200)
    const { outputs, context } = await shown('Carrying')
    expect(outputs).toMatchObject({
      template: 'Bearer [redacted]',
      sum: 'k=[redacted];',
      json: '{"key":"[redacted]"}',
      oncemore: '[redacted]!',
    })
    const request = valueOf(context, '$request') as { headers: { name: string; value: string }[] }
    expect(request.headers).toEqual(
      expect.arrayContaining([
        { name: 'X-Plain', value: 'qzvwkjx is a word of mine' },
        { name: 'x-api-key', value: '[redacted]' },
      ]),
    )
    expect(outputs['request']).toEqual(request)
    expect(outputs['wrapped']).toEqual({ inner: request })
  })

  test('is shown if it is short, save in $request itself', async () => {
    expect(await call('/carrying', ['x-api-key', 'qzvwkjx'])).toBe(200)
    const { outputs, context } = await shown('Carrying')
    expect(outputs).toMatchObject({ mapped: 'qzvwkjx', template: 'Bearer qzvwkjx' })
    expect(valueOf(context, '$request')).toMatchObject({
      headers: expect.arrayContaining([{ name: 'x-api-key', value: '[redacted]' }]) as object[],
    })
  })

  test('is hidden in arguments, results, states, transitions, events, children, errors and the log', async () => {
    expect(await call('/steps', ['x-api-key', 'qzvwkjxq'])).toBe(500)
    const { text, context, outputs } = await shown('Steps', 'hold')
    expect(text).not.toContain('qzv')
    expect(outputs).toMatchObject({ key: '[redacted]', text: 'back [redacted]', ok: true })
    expect(JSON.stringify(context.stateContexts)).toContain('{"name":"kept","type":"any","value":"kept [redacted]"}')
    expect(JSON.stringify(context.stateContexts)).toContain(
      '"values":{"held":"[redacted]","list":["[redacted]"],"plain":"plain"}',
    )
    expect(context.error).toMatchObject({
      message: 'no good key [redacted]',
      realException: { detail: { key: '[redacted]' }, message2: 'plain' },
    })
    const kid = await shown('Kid')
    expect(kid.text).not.toContain('qzvwkjxq')
    // A part that was cut out is the service's own data.
    expect(kid.outputs).toEqual({ back: 'back [redacted]', word: 'shop', inner: 'qzv' })
    const logged = JSON.stringify(live.lines)
    expect(logged).not.toContain('qzvwkjxq')
    expect(logged).toContain('the key is [redacted]')
  })

  test.each([
    ['/thrown', 'Thrown', 'qzvwkjxq', 'bad [redacted]'],
    ['/bad-line', 'BadLine', 'qzvwkjxq-1-2-3', "the text '[redacted]' is no JSON"],
    ['/bad-line', 'BadLine', 'qzvwkjxq'.repeat(20), 'a text of 160 characters is no JSON'],
    ['/bad-value', 'BadValue', 'qzvwkjxq', "and is the text '[redacted]'"],
    ['/bad-value', 'BadValue', 'qzvwkjxq'.repeat(20), 'and is a text of 160 characters'],
    ['/bad-wait', 'BadWait', 'qzvwkjxq', "the text '[redacted]' is no number of seconds"],
  ])('is hidden in the error of %s', async (path, fluxName, secret, message) => {
    expect(await call(path, ['x-api-key', secret])).toBe(500)
    const { text, context } = await shown(fluxName, 'act')
    expect(text.replaceAll('[redacted]', '')).not.toMatch(/qzv/)
    expect(context.error?.message).toContain(message)
  })
})

describe('credentials, parameters and cookies', () => {
  test('are hidden, credentials also without their scheme', async () => {
    const path = '/token/qzvpath-1?access_token=qzvquery-1&page=2&Signature=qzvsignature'
    const own = ['X-Api-Key', 'qzvinput-1', 'Stripe-Signature', 't=1,v1=qzvstripe']
    expect(await call(path, ['Authorization', 'Bearer qzvwkjxq-12', ...own])).toBe(200)
    const { text, outputs, context } = await shown('Token')
    expect(text.replaceAll('[redacted]', '')).not.toMatch(/qzv/)
    expect(outputs).toMatchObject({
      bearer: '[redacted]',
      parameter: '[redacted]',
      uri: '/api/token/[redacted]?access_token=[redacted]&page=2&Signature=[redacted]',
      input: '[redacted]',
      path: '[redacted]',
      parameters: { access_token: '[redacted]', page: '2', Signature: '[redacted]', hookToken: '[redacted]' },
    })
    expect(context.tags).toEqual(['t-[redacted]'])
    expect(valueOf(context, 'X-Api-Key')).toBe('[redacted]')
  })

  test.each([['qzvwkjxq'], ['%71zvwkj%2Fw%20x'], ['"qzvwkjxq"']])(
    'a cookie %s is hidden with its escapes and without',
    async (value) => {
      expect(await call('/cookies', ['Cookie', `c=${value}; other=dark`])).toBe(200)
      const { text, outputs } = await shown('Cookies')
      expect(text.replaceAll('[redacted]', '')).not.toMatch(/qzv|71zv/)
      expect(outputs).toMatchObject({
        set: '[redacted]',
        mapped: '[redacted]',
        template: '<[redacted]>',
        sent: expect.stringMatching(/^"?\[redacted\]"?$/) as string,
        cookies: [
          { name: 'c', value: '[redacted]' },
          { name: 'other', value: 'dark' },
        ],
      })
    },
  )
})

describe('what is no secret', () => {
  const own = {
    gloopProperties: 'method',
    method: 'gloopProperties',
    note: 'shop',
    list: ['true', 'abcdef', { name: 'a', value: 'gloopProperties' }],
    headers: 'x',
  }
  const hidden = {
    ...own,
    method: '[redacted]',
    list: ['true', 'abcdef', { name: 'a', value: '[redacted]' }],
  }

  test('is left alone, even if it equals one: names of the view, keys, numbers, short texts', async () => {
    const cookie = 'a=gloopProperties; b=method; c=shop; d=true; e=abcdef; f=name; g=value; h=COMPLETED; i=Own'
    expect(await call('/own?kind=abcdef', ['Cookie', cookie], own)).toBe(200)
    const { outputs, context } = await shown('Own')
    expect(outputs).toMatchObject({
      body: hidden,
      note: 'shop',
      text: 'POST shop',
      kind: 'abcdef',
      words: ['shop', 'true', 'abcdef', '[redacted]'],
      isSame: true,
      size: 15,
      some: true,
      tested: 'abcdef',
    })
    expect(valueOf(context, '$request')).toMatchObject({
      method: 'POST',
      uri: '/api/own?kind=abcdef',
      body: hidden,
      parameters: { kind: 'abcdef' },
    })
    expect(valueOf(context, 'kind')).toBe('abcdef')
    expect(context).toMatchObject({ fluxName: 'Own', status: 'COMPLETED', output: { name: 'output', type: 'model' } })
  })
})

const values = (model: Model) => Object.fromEntries(model.gloopProperties.map(({ name, value }) => [name, value]))

describe('a sensitive property', () => {
  const input = {
    pin: 12345678,
    password: 'hunter22-of-mine',
    open: 'hunter22-of-mine',
    card: { holder: 'Ada', number: '4111 1111 1111 1111' },
    cards: [{ number: '42' }, { holder: 'Bob', number: null }],
  }
  const card = { holder: 'Ada', number: '[redacted]' }

  test('is hidden where it is declared, in errors and in the log, and the workflow sees it', async () => {
    const { status } = await live.call('POST', '/flux-api/w/execute', { body: { fluxName: 'Sensitive', input } })
    expect(status).toBe(200)
    const { context, text } = await vi.waitFor(() => shown('Sensitive', 'act'), 10_000)
    expect(values(context.input)).toEqual({
      pin: '[redacted]',
      password: '[redacted]',
      // Elsewhere the same value is shown.
      open: 'hunter22-of-mine',
      card,
      cards: [{ number: '[redacted]' }, { holder: 'Bob', number: null }],
    })
    expect(values(context.output)).toEqual({ list: '[redacted]', size: 16, absent: null })
    expect(JSON.stringify(context.stateContexts)).toContain('"values":{"card":{"holder":"Ada","number":"[redacted]"}}')
    expect(context.error).toMatchObject({
      message: 'no [redacted]',
      realException: { number: '[redacted]' },
    })
    expect(text).not.toMatch(/4111 1111|12345678/)
    expect(text).toContain('<pin>[redacted]</pin>')
    const { json: list } = await live.call('GET', '/flux-api/contexts?fluxName=Sensitive&status=FAILED&view=summary')
    expect(list).toMatchObject([{ error: { message: 'no [redacted]' } }])
    const logged = JSON.stringify(live.lines)
    expect(logged).toContain('pays with [redacted]')
    expect(logged).not.toMatch(/4111 1111|hunter22/)
  })
})
