// The document against a public validator, and the real answers against the document, in both formats.
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { z } from 'zod'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import { decodeXml } from '../../src/http/formats/xml/decode.ts'
import { openLive, type Live, type Request } from './live.ts'

const xsd = xmlSchema()
const rng = await readFile(join(import.meta.dirname, 'problem.rng'), 'utf8')

interface Media {
  readonly schema: { readonly [key: string]: unknown }
  readonly example?: unknown
}
interface Operation {
  readonly operationId: string
  readonly parameters?: { name: string; in: string; required?: boolean; schema: object; description?: string }[]
  readonly requestBody?: { content: { [type: string]: Media } }
  readonly responses: { [status: string]: { $ref?: string; content: { [type: string]: Media }; headers?: object } }
}
interface Document {
  readonly openapi: string
  readonly servers: { url: string }[]
  readonly info: object
  readonly components: {
    schemas: { [name: string]: object }
    responses: { [name: string]: Operation['responses'][string] }
  }
  readonly paths: { [path: string]: { [method: string]: Operation } }
}

let live: Live
let document: Document
beforeAll(async () => {
  live = await openLive()
  document = (await live.call('GET', '/openapi.json')).json as Document
})
afterAll(() => live.close())

/** All operations, by id. */
const operations = () =>
  new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [operation.operationId, { path, method: method.toUpperCase(), operation }] as const,
      ),
    ),
  )

/** With a question mark where it may be left out. */
const parametersOf = (id: string) =>
  operations()
    .get(id)
    ?.operation.parameters?.map(({ name, in: place, required = false }) => `${place} ${name}${required ? '' : '?'}`)

/** What is told once for all stands under `components`. */
function responseOf(operation: Operation, status: number | string) {
  const response = operation.responses[status]
  return response?.$ref === undefined
    ? response
    : document.components.responses[response.$ref.replace('#/components/responses/', '')]
}

const headersOf = (id: string, status: number) => {
  const operation = operations().get(id)?.operation
  return Object.keys((operation && responseOf(operation, status)?.headers) ?? {})
}

const ajv = new Ajv2020({ strict: false })
/** As it is told, a field that isn't described may be there; here, each must be. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'additionalProperties' && JSON.stringify(value) === '{}' ? false : closed(value),
    ]),
  )
}
const COMPONENTS = 'https://actorflux.example/document'
/** What all schemas share is compiled once. */
const against = (schema: object, value: unknown) => {
  if (ajv.getSchema(COMPONENTS) === undefined)
    ajv.addSchema({ $id: COMPONENTS, components: closed(document.components) })
  const validate = ajv.compile(
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${COMPONENTS}#/components/`)),
  )
  return validate(value) ? null : validate.errors
}

/** Of many at once: to start it takes much longer than to look at a document. Empty if all are valid. */
async function xmllint(xml: string | readonly string[], extension: 'schema' | 'relaxng' = 'schema'): Promise<string> {
  const contents = [xml].flat()
  const { valid, rawOutput } = await validateXML({
    xml: contents.map((text, index) => ({ fileName: `answer-${index}.xml`, contents: text })),
    schema: extension === 'schema' ? xsd : rng,
    extension,
  })
  return valid ? '' : [rawOutput, ...contents].join('\n')
}

const start = async (fluxName: string, input: object = {}) =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName, input } })).json as { contextId: number })
    .contextId

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document) as never)
    expect(result.errors ?? []).toEqual([])
    expect(result.valid).toBe(true)
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  test('passes the rules that Redocly recommends', async () => {
    for (const actors of [undefined, resolve(import.meta.dirname, '../../actors')]) {
      const server = actors === undefined ? live : await openLive({ ACTORFLUX_ACTORS: actors })
      const { text } = await server.call('GET', '/openapi.json')
      if (server !== live) await server.close()
      const problems = await lintFromString({
        source: text,
        absoluteRef: join(import.meta.dirname, 'openapi.json'),
        config: await createConfig({ extends: ['recommended'] }),
      })
      // An example in XML is its text (OpenAPI 3.1, 4.8.19); Redocly holds the text against the schema of the data, and
      // only warns.
      const others = problems.filter(
        ({ ruleId, severity, location: [at] }) =>
          severity === 'error' ||
          ruleId !== 'no-invalid-media-type-examples' ||
          at?.pointer?.endsWith('xml/example') !== true,
      )
      expect(others.map(({ ruleId, message, location: [at] }) => `${ruleId} ${message} ${at?.pointer}`)).toEqual([])
    }
  })

  test('tells server and license, and each problem once', () => {
    expect(document).toMatchObject({ servers: [{ url: '.' }], info: { license: { name: 'MIT' } } })
    for (const { operation } of operations().values()) {
      for (const [status, response] of Object.entries(operation.responses))
        if (status !== '200' && status !== '202')
          expect(response).toEqual({ $ref: `#/components/responses/Problem${status}` })
    }
    expect(JSON.stringify(document.paths).length).toBeLessThan(6000 * operations().size)
  })

  test('leaves answers open to further fields, and bodies not', () => {
    expect(JSON.stringify(closed(document.components))).toContain('"additionalProperties":false')
    for (const [name, schema] of Object.entries(document.components.schemas))
      expect(JSON.stringify(schema), name).not.toContain('"additionalProperties":false')
    expect(operations().get('sendEvent')?.operation.requestBody?.content['application/json']?.schema).toMatchObject({
      additionalProperties: false,
      properties: { contextId: {} },
    })
  })

  test('names every call and no other', () => {
    expect(
      Object.entries(document.paths)
        .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
        .sort(),
    ).toEqual([
      'DELETE /flux-api/context/tag',
      'DELETE /flux-api/event',
      'DELETE /flux-api/events/pending',
      'DELETE /flux-api/operations',
      'DELETE /flux-api/terminate',
      'GET /flux-api/context',
      'GET /flux-api/context/events',
      'GET /flux-api/context/state',
      'GET /flux-api/context/wait',
      'GET /flux-api/contexts',
      'GET /flux-api/contexts/count',
      'GET /flux-api/definition',
      'GET /flux-api/event',
      'GET /flux-api/events/pending',
      'GET /flux-api/machine',
      'GET /flux-api/operations',
      'GET /flux-api/schema',
      'GET /flux-api/schema.xsd',
      'GET /flux-api/services',
      'GET /flux-api/stream',
      'GET /flux-api/webhooks',
      'GET /flux-api/webhooks/deliveries',
      'POST /flux-api/context/pause',
      'POST /flux-api/context/resume',
      'POST /flux-api/context/retry',
      'POST /flux-api/context/tag',
      'POST /flux-api/event',
      'POST /flux-api/events',
      'POST /flux-api/operations',
      'POST /flux-api/server/resume',
      'POST /flux-api/webhooks/deliveries/replay',
      'POST /flux-api/{package}/execute',
      'POST /flux-api/{package}/executes',
      'PUT /flux-api/context/tag',
    ])
  })

  test('has parameters as they are', () => {
    const address = ['query contextId?', 'query key?', 'query fluxName?', 'query package?']
    expect(parametersOf('execute')).toEqual([
      'path package',
      'query dryRun?',
      'header Idempotency-Key?',
      'header Prefer?',
    ])
    expect(parametersOf('sendEvent')).toEqual([
      ...address,
      'query dryRun?',
      'header Idempotency-Key?',
      'header If-Match?',
      'header Prefer?',
    ])
    expect(parametersOf('waitFor')).toEqual([
      ...address,
      ...['status', 'state', 'tag', 'timeout'].map((name) => `query ${name}?`),
    ])
    expect(parametersOf('getStateContext')).toEqual([...address, 'query stateName'])
    expect(parametersOf('listContexts')).toEqual(
      [...FILTERS, 'order', 'view', 'limit', 'page', 'after', 'before'].map((name) => `query ${name}?`),
    )
    expect(parametersOf('countContexts')).toEqual(['by', ...FILTERS].map((name) => `query ${name}?`))
  })

  test('describes every parameter, and has an example of a package', () => {
    for (const { operation } of operations().values())
      for (const { name, description = '' } of operation.parameters ?? [])
        expect(description, `${operation.operationId} ${name}`).not.toBe('')
    expect(operations().get('execute')?.operation.parameters?.[0]).toMatchObject({
      name: 'package',
      schema: { examples: ['examples'] },
    })
  })

  test('names the headers of answers', () => {
    const rate = ['RateLimit', 'RateLimit-Policy']
    expect(headersOf('listContexts', 200)).toEqual(['Link', ...rate])
    expect(headersOf('execute', 200)).toEqual(['Preference-Applied', 'Idempotency-Replayed', ...rate])
    expect(headersOf('getContext', 401)).toEqual(['WWW-Authenticate'])
    expect(headersOf('getContext', 503)).toEqual(['Retry-After'])
    expect(headersOf('sendEvent', 429)).toEqual(['Retry-After', ...rate])
    expect(headersOf('terminate', 409)).toEqual(['Retry-After'])
    expect(headersOf('getContext', 404)).toEqual([])
  })

  test('tells how XML has it', () => {
    expect(document.components.schemas).toMatchObject({
      Context: {
        xml: { name: 'context' },
        properties: {
          tags: { xml: { wrapped: true }, items: { xml: { name: 'item' } } },
          stateContexts: { xml: { wrapped: true }, items: { xml: { name: 'item' } } },
        },
      },
      Contexts: {
        xml: { name: 'contexts', wrapped: true },
        items: { $ref: '#/components/schemas/ListedContext', xml: { name: 'item' } },
      },
      EventResult: { xml: { name: 'response' } },
      Problem: {
        xml: { name: 'problem', namespace: 'urn:ietf:rfc:7807' },
        properties: { errors: { xml: { wrapped: true }, items: { xml: { name: 'i' } } } },
      },
    })
    const { schema } = operations().get('execute')?.operation.requestBody?.content['text/xml'] ?? { schema: {} }
    expect(schema).toMatchObject({
      xml: { name: 'request' },
      properties: {
        tags: {
          anyOf: [{ xml: { wrapped: true }, items: { type: 'string', xml: { name: 'item' } } }, { type: 'null' }],
        },
      },
    })
  })

  test('has examples that are valid, in every format', async () => {
    let examples = 0
    const documents = new Set<string>()
    const problemsInXml = new Set<string>()
    for (const { operation } of operations().values()) {
      if (operation.operationId === 'getSchema') continue
      const { 200: answer, 202: accepted, ...problems } = operation.responses
      for (const part of [operation.requestBody, answer, accepted]) {
        for (const [type, { schema, example }] of Object.entries(part?.content ?? {})) {
          examples += 1
          expect(
            against(
              schema,
              type.endsWith('xml') ? decodeXml(String(example), { maxDepth: 64, maxValues: 100_000 }) : example,
            ),
            `${operation.operationId} ${type}`,
          ).toBeNull()
        }
      }
      for (const [type, { example }] of Object.entries({ ...answer?.content, ...accepted?.content }))
        if (type.endsWith('xml')) documents.add(String(example))
      for (const status of Object.keys(problems))
        problemsInXml.add(String(responseOf(operation, status)?.content['application/problem+xml']?.example))
    }
    expect(examples).toBeGreaterThan(30)
    expect([documents.size, problemsInXml.size].every((size) => size >= 3)).toBe(true)
    expect(await xmllint([...documents])).toBe('')
    expect(await xmllint([...problemsInXml], 'relaxng')).toBe('')
  })

  test.each(['application/json', 'application/xml', 'text/xml'])(
    'has request examples that work, as %s',
    async (type) => {
      const bodyOf = (id: string) => {
        const example = operations().get(id)?.operation.requestBody?.content[type]?.example
        return { type, body: typeof example === 'string' ? example : JSON.stringify(example) }
      }
      const examples = await openLive({ ACTORFLUX_ACTORS: resolve(import.meta.dirname, '../../actors') })
      const started = await examples.call('POST', '/flux-api/examples/execute', bodyOf('execute'))
      const sent = await examples.call('POST', '/flux-api/event', bodyOf('sendEvent'))
      await examples.close()
      expect([started.status, sent.status]).toEqual([200, 200])
      expect(sent.json).toMatchObject({ transitions: [{ contextId: 1 }] })
    },
  )
})

/** Of lists and counts. */
const FILTERS =
  'fluxName key tag status currentState startState errorType parent paused startedAfter startedBefore updatedAfter updatedBefore endedAfter endedBefore dueBefore'.split(
    ' ',
  )

/** A right call of each operation: what comes after the path, and the body. */
async function calls(): Promise<{ readonly [id: string]: { query: string; request?: Request } }> {
  const id = await start('Waiter', { tag: 'x' })
  const doomed = await start('Waiter')
  await live.call('POST', '/flux-api/event', { body: { event: 'hold', input: { by: 'a' }, tags: ['x'] } })
  await live.call('POST', '/flux-api/event', { body: { event: 'alarm', eventId: 'known' } })
  await live.call('POST', '/flux-api/event', { body: { event: 'late', eventId: `late-${id}`, ttl: 60 } })
  const deliveryId = await delivered()
  // One each second: it is not done before it is stopped.
  await Promise.all(Array.from({ length: 40 }, () => start('Waiter', { tag: 'many' })))
  const slow = { filter: { tag: 'many' }, do: 'tag', with: { tags: ['y'] }, rate: 1 }
  const begun = await live.call('POST', '/flux-api/operations', { body: slow })
  const { operationId } = z.object({ operationId: z.string() }).parse(begun.json)
  return {
    execute: {
      query: '',
      request: { body: { fluxName: 'Typed', input: { thing: { 'a b': [1, null, {}], '\u0000': '\ud800' } } } },
    },
    sendEvent: { query: '', request: { body: { event: 'alarm' } } },
    getEvent: { query: '?eventId=known' },
    terminate: { query: `?contextId=${doomed}` },
    // In this order, after it was terminated.
    retry: { query: `?contextId=${doomed}` },
    pause: { query: `?contextId=${doomed}` },
    resume: { query: `?contextId=${doomed}` },
    listPending: { query: '?event=late' },
    withdraw: { query: `?eventId=late-${id}` },
    listContexts: { query: '' },
    countContexts: { query: '' },
    getContext: { query: `?contextId=${id}&snapshot=true` },
    getStateContext: { query: `?contextId=${id}&stateName=open` },
    getContextEvents: { query: `?contextId=${id}` },
    waitFor: { query: `?contextId=${id}&state=open&timeout=0` },
    addTags: { query: `?contextId=${id}&tag=y` },
    putTags: { query: `?contextId=${id}&tag=z` },
    removeTags: { query: `?contextId=${id}&tag=z` },
    getDefinition: { query: `?contextId=${id}&resolved=true` },
    getMachine: { query: `?contextId=${id}` },
    getServiceSchema: { query: '?fluxName=Typed' },
    listServices: { query: '' },
    getSchema: { query: '' },
    listWebhooks: { query: '' },
    listDeliveries: { query: '' },
    resumeServer: { query: '' },
    replayDelivery: { query: `?deliveryId=${deliveryId}` },
    startOperation: {
      query: '',
      request: { body: { filter: { tag: 'x' }, do: 'event', with: { event: 'alarm' }, dryRun: true } },
    },
    getOperations: { query: '' },
    stopOperation: { query: `?operationId=${operationId}` },
  }
}

/** The id of a delivery that can be sent again. */
async function delivered(): Promise<string> {
  await live.reload({
    'p/Hooked.flux': { webhooks: [{ urlPath: '/hooked', httpMethods: ['POST'] }], states: [{ name: 'end' }] },
  })
  const { status } = await live.call('POST', '/api/hooked?token=x', { body: { a: [1, null, { 'b c': '\u0000' }] } })
  expect(status).toBe(204)
  const list = () => live.call('GET', '/flux-api/webhooks/deliveries?outcome=accepted')
  await expect.poll(async () => (await list()).text).toContain('"status":204')
  const [{ deliveryId }] = z
    .tuple([z.object({ deliveryId: z.string() })])
    .rest(z.unknown())
    .parse((await list()).json)
  return deliveryId
}

describe('the page', () => {
  test('needs no other server, and lets nobody else run anything in it', async () => {
    const page = await live.call('GET', '/docs')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=UTF-8')
    const links = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)]
      .map(([, link = '']) => link)
      .filter((link) => !link.startsWith('data:'))
    expect(links).toEqual(['docs/swagger-ui.css', 'docs/swagger-ui-bundle.js', 'docs/start.js'])
    for (const link of links) {
      const { status, headers } = await live.call('GET', `/${link}`)
      expect([status, headers.get('content-type')]).toEqual([
        200,
        `${link.endsWith('.css') ? 'text/css' : 'text/javascript'}; charset=utf-8`,
      ])
      expect(headers.get('cache-control')).toMatch(/^(?:no-cache|max-age=\d+)$/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
    expect((await live.call('GET', '/docs/start.js')).text).toContain('"openapi.json"')
    expect([
      page.headers.get('cache-control'),
      (await live.call('GET', '/openapi.json')).headers.get('cache-control'),
    ]).toEqual(['no-cache', 'no-cache'])
    expect((await live.call('GET', '/docs/')).text).toBe(page.text)
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toMatch(/script-src 'self';/)
    expect(policy).toContain("frame-ancestors 'none'")
  })
})

describe.each([
  ['application/json', 'application/json'],
  ['application/xml', 'application/xml'],
  ['text/xml', 'text/xml; charset=utf-8'],
])('as %s', (accept, contentType) => {
  test('every operation answers as the document says, and XML as the XSD says', async () => {
    const right = await calls()
    expect([...Object.keys(right), 'sendEvents', 'executes', 'stopEvent', 'streamMoves'].sort()).toEqual(
      [...operations().keys()].sort(),
    )
    const documents: string[] = []
    for (const [id, { path, method, operation }] of operations()) {
      if (!(id in right)) continue
      const { query, request } = right[id] ?? { query: '' }
      const { status, headers, text } = await live.call(method, path.replace('{package}', 'p') + query, {
        ...request,
        accept,
      })
      expect(status, `${id} ${text}`).toBe(200)
      if (id === 'getSchema') continue
      expect(headers.get('content-type')).toBe(contentType)
      const { schema = {} } = operation.responses['200']?.content[accept] ?? {}
      const value =
        accept === 'application/json' ? JSON.parse(text) : decodeXml(text, { maxDepth: 64, maxValues: 100_000 })
      expect(against(schema, value), `${id} ${text}`).toBeNull()
      expect(Object.keys(schema)).not.toEqual([])
      if (accept !== 'application/json') documents.push(text)
    }
    if (accept !== 'application/json') expect(await xmllint(documents)).toBe('')
  })

  test('an event that is accepted, and its receipt, are answered as the document says', async () => {
    const { operation } = operations().get('sendEvent') ?? {}
    const { status, headers, text } = await live.call('POST', '/flux-api/event', {
      body: { event: 'alarm' },
      prefer: 'respond-async',
      accept,
    })
    expect([status, headers.get('content-type')]).toEqual([202, contentType])
    const valueOf = (answer: string) =>
      accept === 'application/json' ? JSON.parse(answer) : decodeXml(answer, { maxDepth: 64, maxValues: 100_000 })
    expect(against(operation?.responses['202']?.content[accept]?.schema ?? {}, valueOf(text)), text).toBeNull()
    const location = headers.get('location') ?? ''
    const receipt = await vi.waitFor(async () => {
      const answer = await live.call('GET', location, { accept })
      expect(valueOf(answer.text)).toMatchObject({ done: true, progress: { matched: 0 } })
      return answer
    })
    const schema = operations().get('getEvent')?.operation.responses['200']?.content[accept]?.schema ?? {}
    expect(against(schema, valueOf(receipt.text)), receipt.text).toBeNull()
    if (accept !== 'application/json') expect(await xmllint([text, receipt.text])).toBe('')
    const over = await live.call('DELETE', location, { accept })
    expect([over.status, (await live.call('DELETE', '/flux-api/event?eventId=unknown')).status]).toEqual([409, 404])
  })
})

test('every line of an answer to lines is as the document says', async () => {
  for (const [id, body] of [
    ['sendEvents', '{"event":"alarm"}\n{}\n{"event":"hold","contextId":99999}\n'],
    ['executes', '{"fluxName":"Open"}\n{"fluxName":"None"}\n'],
  ] as const) {
    const { path = '', operation } = operations().get(id) ?? {}
    const type = 'application/x-ndjson'
    const { text } = await live.call('POST', path.replace('{package}', 'p'), { body, type })
    const { schema = {} } = operation?.responses['200']?.content[type] ?? {}
    const lines = text.trim().split('\n')
    expect(lines).toHaveLength(body.split('\n').length)
    for (const line of lines) expect(against(schema, JSON.parse(line)), line).toBeNull()
  }
})

test('XML and JSON of one answer say the same', async () => {
  const id = await start('Typed', {
    thing: { 'a b': [1, null, {}, [], ''], item: 'x', '\u0000': '\ud800\\', html: '<b>&amp;</b>\r\n' },
    names: ['', ' '],
  })
  const failed = await start('Failing')
  const documents: string[] = []
  for (const path of [
    `context?contextId=${id}&snapshot=true`,
    `context?contextId=${failed}`,
    `definition?contextId=${id}`,
    'contexts',
    'contexts?status=FAILED',
    'contexts?tag=none',
    `context/state?contextId=${id}&stateName=wait`,
  ]) {
    const [json, xml] = [
      await live.call('GET', `/flux-api/${path}`),
      await live.call('GET', `/flux-api/${path}`, { accept: 'application/xml' }),
    ]
    expect(json.status).toBe(200)
    expect(decodeXml(xml.text, { maxDepth: 64, maxValues: 100_000 })).toEqual(json.json)
    documents.push(xml.text)
  }
  expect(await xmllint(documents)).toBe('')
})

test('an error that tells where it arose is valid, in JSON and in XML', async () => {
  const id = await start('Thrower')
  const shown = async (accept: string) => (await live.call('GET', `/flux-api/context?contextId=${id}`, { accept })).text
  let json = await shown('application/json')
  while (!json.includes('FAILED')) json = await shown('application/json')
  expect(JSON.parse(json)).toMatchObject({ error: { stack: 'Error: <no>\n    at throws (fns.mjs:1:34)' } })
  const xml = await shown('application/xml')
  expect(decodeXml(xml, { maxDepth: 64, maxValues: 1000 })).toEqual(JSON.parse(json))
  expect(await xmllint(xml)).toBe('')
})

test('the XSD is served, and refuses what is no answer', async () => {
  const { status, headers, text } = await live.call('GET', '/flux-api/schema.xsd')
  expect([status, headers.get('content-type'), text]).toEqual([200, 'application/xml', xsd])
  const { text: answer } = await live.call('GET', `/flux-api/context?contextId=${await start('Waiter')}`, {
    accept: 'application/xml',
  })
  expect(await xmllint(answer)).toBe('')
  for (const wrong of [answer.replaceAll('context>', 'other>'), answer.replace('<context>', '<context type="date">')]) {
    expect(wrong).not.toBe(answer)
    expect(await xmllint(wrong)).not.toBe('')
  }
})

describe('problems', () => {
  test.each<[number, string, string, Request]>([
    [400, 'POST', 'event', { body: '{' }],
    [400, 'POST', 'event', { body: { event: '$x' } }],
    [401, 'GET', 'contexts', { token: 'none' }],
    [401, 'POST', 'p/execute', { body: { fluxName: 'Secret' } }],
    [404, 'GET', 'context?contextId=999999', {}],
    [404, 'POST', 'p/execute', { body: { fluxName: 'no\u0000such\ud800<thing>' } }],
    [404, 'GET', 'nowhere/%20|%22', {}],
    [405, 'PATCH', 'event', {}],
    [409, 'GET', 'definition?fluxName=Waiter', {}],
    [413, 'POST', 'event', { body: 'x'.repeat(1024 * 1024 + 1) }],
    [415, 'POST', 'event', { body: 'x', type: 'text/plain' }],
    [422, 'POST', 'p/execute', { body: { fluxName: 'Typed', input: { count: 'x', order: {} } } }],
  ])('%i: %s %s %j', async (status, method, path, request) => {
    const json = await live.call(method, `/flux-api/${path}`, request)
    const xml = await live.call(method, `/flux-api/${path}`, { ...request, accept: 'application/xml' })
    expect([json.status, xml.status]).toEqual([status, status])
    expect(json.headers.get('content-type')).toBe('application/problem+json')
    expect(xml.headers.get('content-type')).toBe('application/problem+xml')
    expect(against({ $ref: '#/components/schemas/Problem' }, json.json)).toBeNull()
    expect(await xmllint(xml.text, 'relaxng')).toBe('')
    expect(xml.text).toContain(`<status>${status}</status>`)
  })

  test('that fit no format asked for are JSON', async () => {
    const { status, headers, json } = await live.call('GET', '/flux-api/contexts', { accept: 'text/plain' })
    expect([status, headers.get('content-type')]).toEqual([406, 'application/problem+json'])
    expect(json).toMatchObject({ status: 406 })
  })

  test('name each invalid field in XML as in JSON', async () => {
    const { text } = await live.call('POST', '/flux-api/p/execute', {
      body: { fluxName: 'Typed', input: { count: 'x', numbers: ['y'] } },
      accept: 'application/xml',
    })
    expect(text).toMatch(
      /<errors><i><pointer>\/input\/count<\/pointer><detail>.+<\/detail><\/i><i><pointer>\/input\/numbers\/0<\/pointer>/,
    )
  })
})
