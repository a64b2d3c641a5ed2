// recorded: random calls against a world. Most are such as clients make; some are wrong on purpose.
import type { Json, JsonObject } from '../../src/model/json/value.ts'
import { inputFor } from './properties.ts'
import { object, type Random } from './random.ts'
import type { Call } from './server.ts'
import { EVENTS, TAGS } from './services.ts'
import type { World } from './world.ts'

export type Step =
  { readonly kind: 'call'; readonly call: Call } | { readonly kind: 'advance'; readonly milliseconds: number }

interface Given {
  readonly random: Random
  readonly world: World
  /** The highest id that was seen so far; 0: none. */
  readonly highest: number
  /** Contexts that wait. */
  readonly waiting: readonly {
    readonly id: number
    readonly package: string
    readonly fluxName: string
    readonly currentState: string
  }[]
}

const JSON_TYPE = { 'content-type': 'application/json' }
const STATUSES = ['RUNNING', 'WAITING', 'WAITING_UNTIL', 'COMPLETED', 'FAILED', 'TERMINATED'] as const

const post = (path: string, body: Json): Call => ({
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body: JSON.stringify(body),
})
const get = (path: string): Call => ({ method: 'GET', path })

const MAKERS: readonly { readonly weight: number; readonly make: (given: Given) => Call }[] = [
  { weight: 24, make: execute },
  { weight: 20, make: eventById },
  { weight: 10, make: broadcast },
  { weight: 16, make: view },
  { weight: 5, make: stateView },
  { weight: 8, make: list },
  { weight: 5, make: tags },
  { weight: 3, make: terminate },
  { weight: 3, make: definition },
  { weight: 5, make: bad },
  { weight: 3, make: hook },
]
const TOTAL = MAKERS.reduce((sum, { weight }) => sum + weight, 0)

export function randomStep(given: Given): Step {
  const { random } = given
  if (given.highest > 0 && random.chance(0.14))
    return { kind: 'advance', milliseconds: random.pick([1000, 2000, 3000, 5000, 10_000, 30_000]) }
  let at = random.next() * TOTAL
  const maker = given.highest === 0 ? undefined : MAKERS.find(({ weight }) => (at -= weight) < 0)
  const call = (maker?.make ?? execute)(given)
  return { kind: 'call', call: random.chance(0.07) ? inXml(random, call) : call }
}

function execute({ random, world }: Given): Call {
  const service = random.pick(world.services)
  const body = object({
    fluxName: service.fluxName,
    input: random.chance(0.95) ? inputFor(random, service.input) : undefined,
    tags: !service.hasChildren && random.chance(0.25) ? random.some(TAGS, 0.5) : undefined,
    startState: random.chance(0.06) ? (random.chance(0.9) ? random.pick(service.states).name : 'no such') : undefined,
  })
  return post(`/flux-api/${service.package}/execute`, body)
}

/** Later contexts are more likely to be alive. */
function someId({ random, highest }: Given): number {
  if (random.chance(0.02)) return highest + 100
  return random.chance(0.6) ? Math.max(1, highest - random.between(0, 5)) : random.between(1, Math.max(1, highest))
}

function eventBody({ random, world }: Given, more: { readonly tags?: string[] }): JsonObject {
  const heard = world.services.flatMap(({ states }) => states.flatMap(({ input }) => input))
  const input = random.chance(0.7) ? inputFor(random, random.some(heard, 0.6)) : undefined
  return object({
    event: random.chance(0.05) ? random.pick(['goo', 'nobody', '$else', '$exception', '']) : random.pick(EVENTS),
    input,
    ...more,
  })
}

function eventById(given: Given): Call {
  const { random, world, waiting } = given
  const context = waiting.length > 0 && random.chance(0.7) ? random.pick(waiting) : null
  const service = world.services.find((one) => one.package === context?.package && one.fluxName === context.fluxName)
  const state = service?.states.find(({ name }) => name === context?.currentState)
  if (context && state && state.events.length > 0)
    return post(
      `/flux-api/event?contextId=${context.id}`,
      object({
        event: random.pick(state.events),
        input: random.chance(0.9) ? inputFor(random, state.input) : undefined,
      }),
    )
  return post(`/flux-api/event?contextId=${someId(given)}`, eventBody(given, {}))
}

function broadcast(given: Given): Call {
  const { random } = given
  const one = random.pick([...TAGS, `only-${someId(given)}`, `t-"x"`])
  const tags = random.chance(0.6) ? (random.chance(0.3) ? [one, ...TAGS.slice(0, 1)] : [one]) : undefined
  return post('/flux-api/event', eventBody(given, tags ? { tags } : {}))
}

function view(given: Given): Call {
  return get(`/flux-api/context?contextId=${someId(given)}${given.random.chance(0.15) ? '&snapshot=false' : ''}`)
}

function stateView(given: Given): Call {
  const { random, world } = given
  const name = random.chance(0.9) ? random.pick(random.pick(world.services).states).name : 'no such'
  return get(`/flux-api/context/state?contextId=${someId(given)}&stateName=${encodeURIComponent(name)}`)
}

function list(given: Given): Call {
  const { random, world } = given
  const query = new URLSearchParams({ limit: String(random.between(1, 4)) })
  if (random.chance(0.4)) query.set('status', random.pick(STATUSES))
  if (random.chance(0.3)) query.set('fluxName', random.pick(world.services).fluxName)
  if (random.chance(0.15)) query.set('currentState', random.pick(random.pick(world.services).states).name)
  if (random.chance(0.1)) query.set('startState', random.pick(random.pick(world.services).states).name)
  if (random.chance(0.2)) query.append('tag', random.pick([...TAGS, `only-${someId(given)}`]))
  const part = random.next()
  if (part < 0.3) query.set('after', String(someId(given)))
  else if (part < 0.5) query.set('page', String(random.between(0, 2)))
  return get(`/flux-api/contexts?${query.toString()}`)
}

function tags(given: Given): Call {
  const { random } = given
  const query = random.chance(0.1)
    ? 'tag='
    : random.chance(0.2)
      ? 'tag=green,red&tag=blue'
      : `tag=${encodeURIComponent(random.pick([...TAGS, 'green']))}`
  return {
    method: random.pick(['PUT', 'POST', 'DELETE']),
    path: `/flux-api/context/tag?contextId=${someId(given)}&${query}`,
  }
}

function terminate(given: Given): Call {
  return { method: 'DELETE', path: `/flux-api/terminate?contextId=${someId(given)}` }
}

function definition(given: Given): Call {
  const { random, world } = given
  const name = random.chance(0.8) ? random.pick(world.services).fluxName : 'NoSuch'
  return get(`/flux-api/definition?${random.chance(0.5) ? `contextId=${someId(given)}` : `fluxName=${name}`}`)
}

function hook({ random }: Given): Call {
  const secret = { ...JSON_TYPE, 'x-api-key': 'secret-1', cookie: 'sid=secret-2' }
  const body = JSON.stringify(random.pick<Json>([{ a: 'b' }, [1], { a: 5 }]))
  return random.pick<Call>([
    get('/api/hook/Ada?times=4'),
    get('/api/hook/%C3%BC?times=250&other=1'),
    get('/api/hook/Ada?times=x'),
    { method: 'POST', path: '/api/hook/Ada?times=3', headers: secret, body },
    { method: 'POST', path: '/api/waits', headers: secret, body },
    { method: 'POST', path: '/api/waits', headers: { 'content-type': 'text/plain' }, body: 'text' },
    get('/api/waits'),
    get('/api/nothing'),
    { method: 'POST', path: '/api/waits', headers: JSON_TYPE, body: '{"a":' },
  ])
}

function bad(given: Given): Call {
  const { random, world } = given
  const id = someId(given)
  const { fluxName } = random.pick(world.services)
  return random.pick<Call>([
    get('/flux-api/context?contextId=abc'),
    get('/flux-api/context?contextId=0'),
    get(`/flux-api/context?contextId=${id}&nosuch=1`),
    get('/flux-api/context'),
    get('/flux-api/nosuch'),
    get('/flux-api/contexts?limit=0'),
    get('/flux-api/contexts?limit=-1'),
    get('/flux-api/contexts?page=x'),
    get('/flux-api/contexts?status=waiting'),
    get(`/flux-api/contexts?tag=${'x'.repeat(300)}`),
    post('/flux-api/nosuch/execute', { fluxName }),
    post('/flux-api/p/execute', { fluxName: `${fluxName}x` }),
    post('/flux-api/p/execute', {}),
    post('/flux-api/p/execute', { fluxName, inputs: {} }),
    post('/flux-api/p/execute', [1]),
    post('/flux-api/p/execute', { fluxName, tags: ['a,b', ''] }),
    post('/flux-api/p/execute', { fluxName, input: 'text' }),
    post('/flux-api/event', { event: 5 }),
    post('/flux-api/event', { event: 'go', tag: ['red'] }),
    { ...post('/flux-api/event', ''), body: '{"event":' },
    { ...post('/flux-api/event', ''), body: '' },
    { ...post('/flux-api/event', { event: 'go' }), headers: { 'content-type': 'text/csv' } },
    { ...get(`/flux-api/context?contextId=${id}`), headers: { accept: 'image/png' } },
    { method: 'PATCH', path: '/flux-api/event' },
    { ...get('/flux-api/contexts'), headers: { authorization: 'Bearer af_nobody' } },
    { method: 'DELETE', path: '/flux-api/terminate?contextId=1.5' },
    { method: 'PUT', path: `/flux-api/context/tag?contextId=${id}` },
  ])
}

/** The same call in XML, as far as it is one. */
function inXml(random: Random, { method, path, headers, body }: Call): Call {
  if (body === undefined || headers?.['content-type'] !== 'application/json' || random.chance(0.4))
    return { method, path, headers: { ...headers, accept: 'application/xml' }, ...(body !== undefined && { body }) }
  let value: Json
  try {
    value = JSON.parse(body)
  } catch {
    value = null
  }
  return {
    method,
    path,
    headers: { 'content-type': 'application/xml', accept: random.pick(['application/xml', 'application/json']) },
    body: element('request', value),
  }
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\n', '&#10;')

/** Without types, as most people write it by hand. */
function element(name: string, value: Json): string {
  const open = /^[A-Za-z_][\w.-]*$/.test(name)
    ? ([name, name] as const)
    : ([`entry name="${escaped(name)}"`, 'entry'] as const)
  const content = Array.isArray(value)
    ? value.map((item) => element('item', item)).join('')
    : value !== null && typeof value === 'object'
      ? Object.entries(value)
          .map(([key, item]) => element(key, item))
          .join('')
      : escaped(String(value ?? ''))
  return `<${open[0]}>${content}</${open[1]}>`
}
