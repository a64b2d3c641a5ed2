// The webhooks of the loaded services in the OpenAPI document.
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLive, tokenOf, type Live } from './live.ts'

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: { name: string; in: string; required: boolean; schema: object }[]
  readonly requestBody?: object
  readonly responses: object
}
interface Document {
  readonly paths: { [path: string]: { [method: string]: Operation } }
  readonly tags: { name: string }[]
}

const hooked = (more: object, ...webhooks: object[]) => ({ webhooks, states: [{ name: 'end' }], ...more })

const SERVICES = {
  'shop/Order.flux': hooked(
    {
      comment: 'Takes an order',
      input: [
        { name: 'customer', type: 'long' },
        { name: 'express', type: 'boolean', comments: 'In a hurry?' },
        { name: 'sku', array: true },
        { name: 'order', type: 'object' },
      ],
    },
    { urlPath: '/customers/{customer}/orders', httpMethods: ['POST', 'PUT'], name: 'Order something' },
  ),
  'shop/View.flux': hooked(
    {},
    { urlPath: '/customers/{who}/orders', httpMethods: ['GET', 'PROPFIND'] },
    { urlPath: '/look', httpMethods: ['GET'] },
  ),
  'shop/Odd.flux': hooked(
    {},
    { urlPath: '/{a}/{a}/{odd name}/caf\u00E9 {x}', httpMethods: ['GET'] },
    { urlPath: '/off', httpMethods: ['GET'], enabled: false },
    { urlPath: '/never?x', httpMethods: ['GET'] },
    { urlPath: '/only', httpMethods: ['PROPFIND'] },
  ),
  'shop/Door.flux': hooked(
    {},
    { urlPath: '/verified', httpMethods: ['POST'], verify: { scheme: 'github', secrets: ['$secrets.KEY'] } },
    { urlPath: '/accepted', httpMethods: ['POST'], answer: 'accepted' },
    { urlPath: '/sent', httpMethods: ['POST'], when: 'true', send: { event: "'e'" } },
  ),
}

const SECRETS = { ACTORFLUX_SECRET_KEY: 'the-key-of-github' }

let live: Live
beforeAll(async () => {
  live = await openLive(SECRETS, SERVICES)
})
afterAll(() => live.close())

const documentOf = async (server: Live, token?: string) =>
  (await server.call('GET', '/openapi.json', token === undefined ? {} : { token })).json as Document
const webhooksOf = ({ paths }: Document) =>
  Object.entries(paths)
    .flatMap(([path, methods]) =>
      path.startsWith('/api/') ? Object.keys(methods).map((method) => `${method} ${path}`) : [],
    )
    .sort()

test('they are paths, with parameters, whether or not two differ in names alone', async () => {
  const document = await documentOf(live)
  expect(webhooksOf(document)).toEqual(
    [
      'post /api/accepted',
      'post /api/sent',
      'post /api/verified',
      'get /api/customers/{customer}/orders',
      'get /api/look',
      'get /api/{a}/{segment2}/{segment3}/caf%C3%A9%20%7Bx%7D',
      'post /api/customers/{customer}/orders',
      'put /api/customers/{customer}/orders',
    ].sort(),
  )
  const { post, get } = document.paths['/api/customers/{customer}/orders'] ?? {}
  expect(post).toMatchObject({
    operationId: 'shop.Order.post',
    summary: 'Order something',
    description: 'Takes an order',
    tags: ['webhooks'],
    security: [],
  })
  expect(post?.parameters.map(({ in: place, name, required, schema }) => [place, name, required, schema])).toEqual([
    ['path', 'customer', true, { type: 'integer' }],
    ['query', 'express', false, { type: 'boolean' }],
    ['query', 'sku', false, { type: 'array', items: { type: 'string' } }],
  ])
  expect(post?.parameters[1]).toMatchObject({ description: 'The input, here or as a header of its name: In a hurry?' })
  expect(post).toHaveProperty('requestBody')
  expect(post?.responses).toMatchObject({
    200: {},
    202: {},
    204: {},
    504: { $ref: '#/components/responses/Problem504' },
  })
  expect(get).not.toHaveProperty('requestBody')
  expect(get?.parameters).toMatchObject([{ in: 'path', name: 'customer', description: 'The input who' }])
})

test('they tell how the endpoint answers', async () => {
  const { paths } = await documentOf(live)
  const statusesOf = (path: string) => Object.keys(paths[`/api${path}`]?.['post']?.responses ?? {})
  expect(statusesOf('/customers/{customer}/orders')).toEqual([
    '200',
    '202',
    '204',
    '400',
    '413',
    '415',
    '500',
    '503',
    '504',
  ])
  expect(statusesOf('/verified')).toEqual(['200', '202', '204', '400', '401', '413', '415', '500', '503', '504'])
  expect(statusesOf('/accepted')).toEqual(['202', '400', '413', '415', '500', '503'])
  expect(statusesOf('/sent')).toEqual(['200', '204', '400', '404', '409', '413', '415', '429', '500', '503'])
})

test('the document stays valid', async () => {
  const { text, json } = await live.call('GET', '/openapi.json')
  expect((await new Validator().validate(structuredClone(json) as never)).errors ?? []).toEqual([])
  const problems = await lintFromString({
    source: text,
    absoluteRef: '/openapi.json',
    config: await createConfig({ extends: ['recommended'] }),
  })
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
})

test('they follow the services', async () => {
  const changing = await openLive({}, { 'p/A.flux': hooked({}, { urlPath: '/one', httpMethods: ['GET'] }) })
  const before = await documentOf(changing)
  await changing.reload({ 'p/A.flux': hooked({}, { urlPath: '/two', httpMethods: ['GET'] }) })
  const after = await documentOf(changing)
  await changing.reload({ 'p/A.flux': { states: [{ name: 'end' }] } })
  const none = await documentOf(changing)
  await changing.close()
  expect([before, after, none].map(webhooksOf)).toEqual([['get /api/one'], ['get /api/two'], []])
  expect([before, none].map(({ tags }) => tags.map(({ name }) => name))).toEqual([
    ['flux-api', 'webhooks'],
    ['flux-api'],
  ])
})

test('where every call needs a token, they are told to who has one', async () => {
  const closed = await openLive({ ...SECRETS, ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, { reader: 'read' })
  const [anonymous, reader] = [await documentOf(closed), await documentOf(closed, tokenOf('reader'))]
  await closed.close()
  expect([webhooksOf(anonymous).length, webhooksOf(reader).length]).toEqual([0, 8])
})
