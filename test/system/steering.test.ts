// Servers that are started paused, and contexts that are paused or retried while servers are killed by `kill -9`: as
// processes, on the embedded store and on Redis.
import { randomUUID } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { NO_TERMINAL } from '../cli/world.ts'
import { run } from '../../src/cli/run.ts'
import { cleanUp, placeFor, startServer, type Server, type ServerOptions } from '../support/server.ts'

const WORK = `
import { appendFileSync, existsSync } from 'node:fs'
export async function work(args, flux) {
  appendFileSync(args.file, flux.stepKey + ' ' + flux.attempt + '\\n')
  while (existsSync(args.file + '.hold')) await new Promise((resolve) => setTimeout(resolve, 10))
  if (existsSync(args.file + '.fail')) throw new Error('on purpose')
  return {}
}
`
const work = {
  type: 'invokeCode',
  className: 'Fn',
  methodName: 'work',
  inputs: [{ from: ['file'], to: ['file'] }],
}
const SERVICES = {
  'p/Fn.ts': WORK,
  'p/Work.flux': {
    input: [{ name: 'file' }],
    states: [
      { name: 'one', action: work, transitions: [{ to: 'two' }] },
      { name: 'two', action: work },
    ],
  },
  'p/Short.flux': {
    output: [{ name: 'seen', type: 'integer', defaultValue: 0 }],
    states: [
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [{ type: 'set', expression: 'seen + 1', evaluate: true, to: ['seen'] }] },
        transitions: [
          { to: 'w', event: 'go' },
          { to: 'end', wait: 'duration:1' },
        ],
      },
      { name: 'end' },
    ],
  },
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
    states: [{ name: 'end' }],
  },
}

type Answer = { readonly status: number; readonly body: { readonly [name: string]: unknown } }

const at =
  (server: Server) =>
  async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return { status: response.status, body: JSON.parse((await response.text()) || '{}') }
  }

const contextOf = async (server: Server, id: unknown) =>
  (await at(server)('GET', `/flux-api/context?contextId=${id}`)).body
const start = async (server: Server, fluxName: string, input: object = {}) =>
  (await at(server)('POST', '/flux-api/p/execute', { fluxName, input })).body['contextId']

const lines = async (file: string): Promise<string[]> => {
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')
}

afterEach(cleanUp)

describe.each(['embedded', 'Redis'] as const)('on the %s store', (kind) => {
  const open = async () => {
    const place = await placeFor(SERVICES)
    const shared = { ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `steering-${randomUUID()}` }
    const env = { ACTORFLUX_RECOVERY: '2s', ...(kind === 'Redis' && shared) }
    const options: ServerOptions = { program: inject('program'), ...place, env }
    return { options, file: join(place.folder, 'calls') }
  }

  test('a server that is started paused reads, and changes nothing until it is told to go on', async () => {
    const { options, file } = await open()
    const first = await startServer(options)
    const [short, step] = [await start(first, 'Short'), await start(first, 'Work', { file })]
    await writeFile(`${file}.hold`, '')
    await expect.poll(() => lines(file)).not.toHaveLength(0)
    await first.kill('SIGKILL')
    const calls = (await lines(file)).length
    const paused = await startServer({ ...options, words: ['--paused'] })
    const call = at(paused)
    expect(await call('GET', '/readyz')).toEqual({ status: 200, body: { status: 'ready', paused: true } })
    await sleep(3000)
    expect(await contextOf(paused, short)).toMatchObject({ currentState: 'w', status: 'WAITING_UNTIL' })
    expect(await lines(file)).toHaveLength(calls)
    expect((await fetch(`${paused.url}/inspector`)).status).toBe(200)
    for (const [method, path, body] of [
      ['POST', '/flux-api/p/execute', { fluxName: 'Short' }],
      ['POST', '/flux-api/event', { event: 'go', contextId: short }],
      ['POST', '/flux-api/event', undefined],
      ['DELETE', `/flux-api/terminate?contextId=${short}`, undefined],
      ['POST', `/flux-api/context/pause?contextId=${short}`, undefined],
      ['POST', `/flux-api/context/retry?contextId=${short}`, undefined],
      ['POST', `/flux-api/context/tag?contextId=${short}&tag=x`, undefined],
      ['POST', '/api/hook', {}],
    ] as const)
      expect(await call(method, path, body), `${method} ${path}`).toMatchObject({
        status: 503,
        body: { type: 'urn:actorflux:problem:paused' },
      })
    const ended = { status: 200, body: { message: 'the server goes on' } }
    expect(paused.output()).toContain('actorflux server resume')
    const told: string[] = []
    const tell = (line: string) => void told.push(line)
    expect(
      await run(['server', 'resume', '--url', paused.url], { ...NO_TERMINAL, env: {}, out: tell, err: tell }),
    ).toBe(0)
    expect(told).toEqual([ended.body.message])
    expect(await call('POST', '/flux-api/server/resume')).toEqual(ended)
    expect(await call('GET', '/readyz')).toEqual({ status: 200, body: { status: 'ready' } })
    await expect.poll(() => contextOf(paused, short), { timeout: 20_000 }).toMatchObject({ status: 'COMPLETED' })
    await rm(`${file}.hold`)
    await expect.poll(() => contextOf(paused, step), { timeout: 20_000 }).toMatchObject({ status: 'COMPLETED' })
    expect((await call('POST', '/api/hook', {})).status).not.toBe(503)
  })

  test('a server that is paused stops in order', async () => {
    const { options } = await open()
    const paused = await startServer({ ...options, words: ['--paused'] })
    expect(await paused.kill('SIGTERM')).toMatchObject({ code: 0 })
  })

  test('a context that is paused stays so after kill -9, with its events, and its step waits', async () => {
    const { options, file } = await open()
    let server = await startServer(options)
    await writeFile(`${file}.hold`, '')
    const [short, step] = [await start(server, 'Short'), await start(server, 'Work', { file })]
    await expect.poll(() => lines(file)).not.toHaveLength(0)
    for (const id of [short, step]) await at(server)('POST', `/flux-api/context/pause?contextId=${id}`)
    for (let nr = 0; nr < 3; nr += 1)
      expect(await at(server)('POST', '/flux-api/event', { event: 'go', contextId: short })).toMatchObject({
        status: 200,
        body: { transitions: [], pending: [{ contextId: short, expiresAt: null }] },
      })
    await server.kill('SIGKILL')
    server = await startServer(options)
    const calls = (await lines(file)).length
    await sleep(4000)
    expect(await contextOf(server, short)).toMatchObject({ currentState: 'w', paused: true })
    expect(await contextOf(server, step)).toMatchObject({ paused: true, status: 'RUNNING' })
    expect(await lines(file)).toHaveLength(calls)
    await rm(`${file}.hold`)
    for (const id of [short, step]) await at(server)('POST', `/flux-api/context/resume?contextId=${id}`)
    await expect.poll(() => contextOf(server, step), { timeout: 20_000 }).toMatchObject({ status: 'COMPLETED' })
    await expect.poll(() => contextOf(server, short), { timeout: 20_000 }).toMatchObject({ status: 'COMPLETED' })
    expect(JSON.stringify((await contextOf(server, short))['output'])).toContain('"value":3')
  })

  test('a retry that was answered is there after kill -9, and has its effect once', async () => {
    const { options, file } = await open()
    await writeFile(`${file}.fail`, '')
    let server = await startServer(options)
    const id = await start(server, 'Work', { file })
    await expect.poll(() => contextOf(server, id)).toMatchObject({ status: 'FAILED' })
    await rm(`${file}.fail`)
    await writeFile(`${file}.hold`, '')
    const path = `/flux-api/context/retry?contextId=${id}`
    const answers = await Promise.all([1, 2, 3].map(() => at(server)('POST', path)))
    expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBeGreaterThan(0)
    await server.kill('SIGKILL')
    await rm(`${file}.hold`)
    server = await startServer(options)
    await expect.poll(() => contextOf(server, id), { timeout: 20_000 }).toMatchObject({ status: 'COMPLETED' })
    const history = (await contextOf(server, id))['executionHistory']
    expect(JSON.stringify(history).match(/\$retry/g)).toHaveLength(1)
    const keys = (await lines(file)).map((line) => line.split(' ')[0])
    expect(new Set(keys).size).toBe(2)
  })
})

test('two servers on Redis: one pauses what the other runs, and both retry at once', async () => {
  const place = await placeFor(SERVICES)
  const env = { ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `steering-${randomUUID()}` }
  const options: ServerOptions = { program: inject('program'), ...place, env }
  const [one, two] = await Promise.all([startServer(options), startServer(options)])
  const file = join(place.folder, 'calls')
  await writeFile(`${file}.hold`, '')
  const id = await start(one, 'Work', { file })
  await expect.poll(() => lines(file)).toHaveLength(1)
  expect(await at(two)('POST', `/flux-api/context/pause?contextId=${id}`)).toMatchObject({ status: 200 })
  await rm(`${file}.hold`)
  await expect.poll(() => contextOf(two, id)).toMatchObject({ currentState: 'two', paused: true })
  expect(await lines(file)).toHaveLength(1)
  await writeFile(`${file}.fail`, '')
  await at(one)('POST', `/flux-api/context/resume?contextId=${id}`)
  await expect.poll(() => contextOf(two, id)).toMatchObject({ status: 'FAILED' })
  await rm(`${file}.fail`)
  const path = `/flux-api/context/retry?contextId=${id}`
  const answers = await Promise.all([one, two, one, two].map((server) => at(server)('POST', path)))
  for (const { status } of answers) expect([200, 409]).toContain(status)
  expect(answers.some(({ status }) => status === 200)).toBe(true)
  await expect.poll(() => contextOf(one, id)).toMatchObject({ status: 'COMPLETED' })
  expect(await lines(file)).toHaveLength(3)
  expect(JSON.stringify((await contextOf(two, id))['executionHistory']).match(/\$retry/g)).toHaveLength(1)
})
