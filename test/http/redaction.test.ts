// What views and logs hide of a webhook's request, and what they must leave alone: it counts where a value came from,
// not what it is equal to.
import { request as send } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
/** What lines may do with a header: each output carries it, or a part of it. */
const CARRYING = [
  from(['$request', 'headers', 'x-api-key'], 'mapped'),
  set(KEY, 'set'),
  set('`Bearer ${' + KEY + '}`', 'template'),
  set(`"k=" + ${KEY} + ";"`, 'sum'),
  set(`${KEY} ?? "none"`, 'choice'),
  set(`true ? ${KEY} : "none"`, 'conditional'),
  set(`{ deep: [{ key: ${KEY} }] }`, 'object'),
  set(`json({ key: ${KEY} })`, 'json'),
  set(`${KEY}.substring(1)`, 'piece'),
  set(`${KEY}.substring(0, 2)`, 'start'),
  set(`${KEY}.split("")`, 'letters'),
  set('$request.headers.find(h => h.name == "x-api-key").value', 'found'),
  set('$request.headers.map(h => `${h.name}: ${h.value}`).join(" | ")', 'joined'),
  from(['$request', 'headers'], 'headers'),
  from(['$request'], 'request'),
  set('json($request)', 'text'),
  set('{ inner: $request }', 'wrapped'),
  set('json({ inner: json($request.headers) })', 'nested'),
  from(['request', 'headers', 'x-api-key'], 'again'),
  set('request.headers["x-api-key"] + "!"', 'oncemore'),
  set(`${KEY}.toUpperCase()`, 'upper'),
  set('parseJson(json($request)).headers', 'parsed'),
]
const COOKIES = [
  set('$request.cookies["c"]', 'set'),
  from(['$request', 'cookies', 'c'], 'mapped'),
  set('`<${$request.cookies["c"]}>`', 'template'),
  set('json([$request.cookies["c"]])', 'json'),
  set('$request.cookies.map(c => c.value)', 'all'),
  from(['$request', 'cookies'], 'cookies'),
  set('$request.headers["cookie"].split("=")[1]', 'cut'),
]

const SERVICES = {
  'w/Carrying.flux': service('/carrying', CARRYING),
  'w/Cookies.flux': service('/cookies', COOKIES),
  'w/Token.flux': service(
    '/token/{hookToken}',
    [
      set('$request.headers.authorization.split(" ")[1]', 'bearer'),
      set('$request.headers.authorization.substring(7)', 'cut'),
      set(
        '$request.headers.authorization.startsWith("Basic") ? fromBase64($request.headers.authorization.substring(6)) : "none"',
        'basic',
      ),
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
  'w/Script.flux': {
    ...hook('/script'),
    output: outs('body', 'word', 'all'),
    states: [
      {
        name: 'act',
        action: {
          type: 'script',
          script: 'return { body: $request.body, word: "shop" }',
          outputs: [from(['body'], 'body'), from(['word'], 'word'), from(['$result'], 'all')],
        },
      },
    ],
  },
  'w/fns.mjs': `
    export const echo = ({ key }) => ({ key, text: 'key ' + key + ' it is', ok: true })
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
  'w/BadLine.flux': {
    ...hook('/bad-line'),
    output: outs('n'),
    states: [{ name: 'act', action: map(set('parseJson($request.headers["x-api-key"])', 'n')) }],
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
    outputs: Object.fromEntries(context.output.gloopProperties.map(({ name, value }) => [name, value])),
  }
}
const valueOf = ({ input }: Context, name: string) =>
  input.gloopProperties.find((property) => property.name === name)?.value

describe('what lines carried of a secret header', () => {
  test.each(['qzv', 'qzvwkj', 'qzvwkjxq-4711', 'with "quotes" \\ and more', 'a'.repeat(3000) + 'qzv'])(
    'is hidden, however long it is: %.40s',
    async (secret) => {
      expect(await call('/carrying', ['x-api-key', secret])).toBe(200)
      const { text, outputs } = await shown('Carrying')
      expect(text.replaceAll('[redacted]', '').toLowerCase()).not.toMatch(/qzv|quotes|aaaaa/)
      expect(outputs).toMatchObject({
        mapped: '[redacted]',
        set: '[redacted]',
        choice: '[redacted]',
        object: { deep: [{ key: '[redacted]' }] },
        again: '[redacted]',
        found: '[redacted]',
      })
      expect(outputs['piece']).toBe('[redacted]')
      expect(outputs['start']).toBe('[redacted]')
    },
  )

  test('leaves what is around it', async () => {
    expect(await call('/carrying', ['x-api-key', 'qzv', 'X-Plain', 'qzv is a word of mine'])).toBe(200)
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
        { name: 'X-Plain', value: 'qzv is a word of mine' },
        { name: 'x-api-key', value: '[redacted]' },
      ]),
    )
    expect(outputs['request']).toEqual(request)
    expect(outputs['wrapped']).toEqual({ inner: request })
  })

  test('is hidden in arguments, results, states, transitions, events, children, errors and the log', async () => {
    expect(await call('/steps', ['x-api-key', 'qzv'])).toBe(500)
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
    expect(kid.text).not.toContain('qzv')
    expect(kid.outputs).toEqual({ back: 'back [redacted]', word: 'shop', inner: '[redacted]' })
    const logged = JSON.stringify(live.lines)
    expect(logged).not.toContain('qzv')
    expect(logged).toContain('the key is [redacted]')
  })

  test.each([
    ['/thrown', 'Thrown', 'bad [redacted]'],
    ['/bad-line', 'BadLine', '[redacted]'],
  ])('is hidden in the error of %s', async (path, fluxName, message) => {
    expect(await call(path, ['x-api-key', 'qzvwk'])).toBe(500)
    const { text, context } = await shown(fluxName, 'act')
    expect(text.replaceAll('[redacted]', '')).not.toMatch(/qzv/)
    expect(context.error?.message).toContain(message)
  })
})

describe('credentials, parameters and cookies', () => {
  test.each([
    ['Bearer qzv12', 'qzv12'],
    ['Basic cXp2OnF6dnB3', 'qzvpw'],
  ])('of %s are hidden, cut out or not', async (header, cut) => {
    expect(
      await call('/token/qzvpath?access_token=qzvquery&page=2&Signature=qzvsig', [
        'Authorization',
        header,
        'X-Api-Key',
        'qzvinput',
        'Stripe-Signature',
        't=1,v1=qzvstripe',
      ]),
    ).toBe(200)
    const { text, outputs, context } = await shown('Token')
    expect(text.replaceAll('[redacted]', '')).not.toMatch(new RegExp(`qzv|cXp2|${cut}`))
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

  test.each([['qzv'], ['%71zv%2Fw%20x'], ['"qzvwkx"'], ['qzv"w'], ['qzv%22w%5Cx']])(
    'a cookie %s is hidden with its escapes and without',
    async (value) => {
      expect(await call('/cookies', ['Cookie', `c=${value}; other=dark`])).toBe(200)
      const { text, outputs } = await shown('Cookies')
      expect(text.replaceAll('[redacted]', '')).not.toMatch(/qzv|71zv/)
      expect(outputs).toMatchObject({
        set: '[redacted]',
        mapped: '[redacted]',
        template: '<[redacted]>',
        cookies: [
          { name: 'c', value: '[redacted]' },
          { name: 'other', value: '[redacted]' },
        ],
      })
    },
  )
})

describe('what only equals a secret', () => {
  const own = {
    gloopProperties: 'method',
    method: 'gloopProperties',
    note: 'shop',
    list: ['true', 'abcdef', { name: 'a', value: 'gloopProperties' }],
    headers: 'x',
  }

  test("is left alone: the names of the view, the sender's own body and parameters, what lines say themselves", async () => {
    const cookie = 'a=gloopProperties; b=method; c=shop; d=true; e=abcdef; f=name; g=value; h=COMPLETED; i=Own'
    expect(await call('/own?kind=abcdef', ['Cookie', cookie], own)).toBe(200)
    const { outputs, context } = await shown('Own')
    expect(outputs).toMatchObject({
      body: own,
      note: 'shop',
      text: 'POST shop',
      kind: 'abcdef',
      words: ['shop', 'true', 'abcdef', 'gloopProperties'],
      isSame: true,
      size: 15,
      some: true,
      tested: 'abcdef',
    })
    expect(valueOf(context, '$request')).toMatchObject({
      method: 'POST',
      uri: '/api/own?kind=abcdef',
      body: own,
      parameters: { kind: 'abcdef' },
    })
    expect(valueOf(context, 'kind')).toBe('abcdef')
    expect(outputs['request']).toEqual(valueOf(context, '$request'))
    expect(context).toMatchObject({ fluxName: 'Own', status: 'COMPLETED', output: { name: 'output', type: 'model' } })
  })

  test('is left alone in what scripts give', async () => {
    expect(await call('/script', ['Cookie', 'a=gloopProperties; c=shop'], own)).toBe(200)
    const { outputs } = await shown('Script', 'act')
    expect(outputs).toEqual({ body: own, word: 'shop', all: { body: own, word: 'shop' } })
  })
})
