// Secrets that functions get: over both stores, no value is ever stored, shown or logged.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { verify } from '../../src/steps/builtin/webhooks.ts'
import { folderOf, END } from '../definitions/catalog-files.ts'
import { held } from '../support/held.ts'
import { openLive, type Live } from './live.ts'
import { listening } from '../support/listening.ts'

const VALUE = 'v4lue-of-a-secret'
const SIGNING = Buffer.from('what webhooks are signed with').toString('base64')
const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const out = { from: ['$result'], to: ['out'] }

const call = (methodName: string, inputs: unknown[], more: object = {}) => ({
  input: [{ name: 'url' }],
  output: [{ name: 'out', type: 'any' }],
  states: [
    {
      name: 'call',
      action: { type: 'invokeCode', className: 'fns', methodName, inputs, outputs: [out], ...more },
      transitions: [{ to: 'end' }],
    },
    { name: 'end' },
  ],
})
const given = [set('$secrets.KEY', 'key'), set('{ text: `Bearer ${$secrets.KEY}!`, list: [key] }', 'more')]

const SERVICES = {
  'p/fns.mjs': `
    export const echo = (args) => ({ args, [args.key]: args.key.length, json: JSON.stringify(args) })
    export const isolated = echo
    export function fail(args, flux) {
      const error = new Error('no ' + args.key)
      throw Object.assign(error, { name: 'Bad' + args.key, headers: { Authorization: args.more.text, x: [args.key] } })
    }
    export const long = (args) => { throw new Error('x'.repeat(9995) + args.key) }
    export const log = ({ key }, flux) => { flux.log.info('the key is ' + key, { deep: [{ key, text: 'x'.repeat(8187) + key }] }) }
    export const changed = async ({ key, file }, flux) => {
      if (flux.attempt === 1) throw new Error('first')
      return key.length
    }
  `,
  'p/Echo.flux': call('echo', given),
  'p/Isolated.flux': call('isolated', given, { isolate: true }),
  'p/Fail.flux': call('fail', given),
  'p/Long.flux': call('long', given),
  'p/Log.flux': call('log', given),
  'p/Changed.flux': call('changed', given, { retry: { maxAttempts: 2, delay: 6 } }),
  'p/Send.flux': {
    ...call('', [
      { from: ['url'], to: ['url'] },
      { from: ['$secrets', 'HOOK'], to: ['secret'] },
      set('{ n: 1 }', 'body'),
    ]),
    onEnd: { url: '${url}/ended', secret: '$secrets.HOOK' },
  },
  'p/Request.flux': call('', [{ from: ['url'], to: ['url'] }, set('`Bearer ${$secrets.KEY}`', 'headers', 'X-Proof')]),
}
const request = SERVICES['p/Request.flux'].states[0]?.action
if (request) Object.assign(request, { className: 'Http', methodName: 'request' })
const send = SERVICES['p/Send.flux'].states[0]?.action
if (send) Object.assign(send, { className: 'Webhooks', methodName: 'send' })

let live: Live
let folder: string

const STORES = ['embedded', 'Redis'] as const

async function open(store: (typeof STORES)[number], more: { readonly [variable: string]: string } = {}) {
  folder = await folderOf({})
  const namespace = `secrets-${process.pid}-${Date.now()}`
  const env = {
    ACTORFLUX_SECRET_KEY: VALUE,
    ACTORFLUX_SECRET_HOOK: `whsec_${SIGNING}`,
    ACTORFLUX_ALLOW_PRIVATE_ADDRESSES: 'true',
    ACTORFLUX_DATA: join(folder, 'data'),
    ...more,
  }
  const redis = { ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: namespace }
  live = await openLive({ ...env, ...(store === 'Redis' && redis) }, SERVICES)
  return { namespace }
}

/** Starts the service, and gives the context once it has ended. */
async function ended(fluxName: string, input: object = {}): Promise<{ text: string; json: unknown }> {
  const { json } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName, input } })
  const { contextId } = Object(json)
  const statuses = 'status=COMPLETED&status=FAILED&timeout=30'
  const { text, json: context } = await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&${statuses}`)
  return { text, json: context }
}

/** Everything that the store has, as text. */
async function stored(store: (typeof STORES)[number], namespace: string): Promise<string> {
  if (store === 'embedded') {
    const files = await readdir(join(folder, 'data'))
    return (await Promise.all(files.map((file) => readFile(join(folder, 'data', file), 'latin1')))).join('\n')
  }
  const redis = new Redis(inject('redisUrl'))
  onTestFinished(() => redis.disconnect())
  const keys = await redis.keys(`*${namespace}*`)
  expect(keys.length).toBeGreaterThan(0)
  const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
  const strings = await Promise.all(keys.map((key) => redis.get(key).catch(() => '')))
  const hashes = await Promise.all(keys.map((key) => redis.hgetall(key).catch(() => ({}))))
  return [...dumps.map((dump) => dump?.toString('latin1')), ...strings, JSON.stringify(hashes)].join('\n')
}

describe.each(STORES)('a secret, on the %s store', (store) => {
  test('is given to functions, and hidden wherever it comes back', async () => {
    const { namespace } = await open(store)
    const shown: string[] = []
    for (const name of ['Echo', 'Isolated', 'Fail', 'Long', 'Log']) shown.push((await ended(name)).text)
    const [echo = '', isolated = '', fail = '', long = ''] = shown
    for (const text of [echo, isolated]) {
      expect(text).toContain('Bearer [redacted]!')
      expect(text).toContain(String(VALUE.length))
    }
    expect(fail).toContain('no [redacted]')
    expect(long).toContain(`${'x'.repeat(100)}[reda"`)
    const all = [...shown, JSON.stringify(live.lines), await stored(store, namespace)]
    expect(all[5]).toContain('the key is [redacted]')
    for (const text of all) {
      expect(text).not.toContain(VALUE)
      expect(text).not.toContain(VALUE.slice(0, 8))
    }
    // What was searched has what was stored.
    expect(all[6]).toContain('$secrets.KEY')
    for (const name of ['Echo', 'Fail']) {
      const { text } = await live.call('GET', `/flux-api/definition?package=p&fluxName=${name}`)
      expect(text).not.toContain(VALUE)
    }
  })

  test('is sent by Http.request', async () => {
    let received: IncomingHttpHeaders = {}
    const server = createServer((incoming, answer) => {
      received = incoming.headers
      if (incoming.url === '/text') answer.setHeader('content-type', 'text/plain')
      answer.end(`you sent ${String(received['x-proof'])}`)
    })
    const url = `http://127.0.0.1:${await listening(server)}`
    await open(store)
    const { text } = await ended('Request', { url: `${url}/text` })
    expect(received['x-proof']).toBe(`Bearer ${VALUE}`)
    expect(text).toContain('you sent Bearer [redacted]')
    // Without a type, the body is base64.
    const { text: encoded } = await ended('Request', { url: `${url}/` })
    expect(encoded).toContain('[redacted]')
    expect(encoded).not.toContain(Buffer.from(VALUE).toString('base64').slice(0, 12))
  })

  test('signs webhooks, of a step and of the end of the context, and is nowhere else', async () => {
    const came: { readonly path: string; readonly rawBody: Buffer; readonly headers: IncomingHttpHeaders }[] = []
    const both = held<void>()
    const server = createServer((incoming, answer) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => {
        came.push({ path: incoming.url ?? '', rawBody: Buffer.concat(chunks), headers: incoming.headers })
        // It says what it knows, and does not accept what comes first: so it is told why it comes again.
        answer.writeHead(came.length === 2 ? 500 : 200, { 'content-type': 'text/plain' }).end(`whsec_${SIGNING}`)
        if (came.length === 2) both.release()
      })
    })
    const url = `http://127.0.0.1:${await listening(server)}`
    const { namespace } = await open(store)
    const { text } = await ended('Send', { url })
    await both.promise
    expect(came.map(({ path }) => path)).toEqual(['/', '/ended'])
    for (const { headers, rawBody } of came) {
      const list = Object.entries(headers).map(([name, value]) => ({ name, value: String(value) }))
      expect(verify({ headers: list, secrets: SIGNING }, { rawBody })).toMatchObject({ valid: true })
    }
    await expect.poll(() => JSON.stringify(live.lines)).toContain('the receiver answered 500')
    const definition = await live.call('GET', '/flux-api/definition?package=p&fluxName=Send')
    const data = await stored(store, namespace)
    for (const shown of [text, definition.text, JSON.stringify(live.lines), data]) {
      expect(shown).not.toContain(SIGNING)
      expect(shown).not.toContain(SIGNING.slice(0, 16))
    }
    // The webhook is still owed: what is stored of it names the secret.
    expect(data).toContain('context.completed')
    expect(data).toContain('"secret":"HOOK"')
  })
})

test('is the one of its time at each attempt', async () => {
  const file = join(await folderOf({ key: 'short-value' }), 'key')
  await open('embedded', { ACTORFLUX_SECRET_KEY: '', ACTORFLUX_SECRET_KEY_FILE: file })
  const context = ended('Changed')
  await expect
    .poll(() => live.lines.some(({ message }) => message === 'an attempt failed'), { timeout: 20_000 })
    .toBe(true)
  await writeFile(file, 'a much longer value\n')
  expect(JSON.stringify((await context).json)).toContain(String('a much longer value'.length))
}, 40_000)

const hook = (secret: string) => ({
  ...END,
  webhooks: [{ urlPath: '/h', httpMethods: ['POST'], verify: { scheme: 'github', secrets: [secret] } }],
})

test('a service that names a missing secret stays as it was', async () => {
  await open('embedded')
  await live.reload({ 'p/Hook.flux': hook('$secrets.KEY') })
  await live.reload({ 'p/Hook.flux': hook('$secrets.NONE') })
  expect((await live.call('GET', '/flux-api/definition?package=p&fluxName=Hook')).text).toContain('$secrets.KEY')
})
