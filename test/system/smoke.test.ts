// The life of real server processes in a few short tests, which are part of `npm test`. The other files of this folder
// go into each of them.
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { call, cleanUp, launch, placeFor, startServer, type Server, type ServerOptions } from '../support/server.ts'
import { Client } from './client.ts'
import { SERVICES } from './services.ts'

vi.setConfig({ testTimeout: 60_000 })
afterAll(cleanUp)

const LOOP = {
  'crash/fn.ts': 'export function loop() { for (;;); }',
  'crash/Loop.flux': {
    states: [{ name: 'act', action: { type: 'invokeCode', className: 'fn', methodName: 'loop' } }],
  },
}

async function open(kind: 'embedded' | 'Redis', env: { readonly [variable: string]: string } = {}) {
  const place = await placeFor({ ...SERVICES, ...LOOP })
  const shared = {
    ACTORFLUX_REDIS_URL: inject('redisUrl'),
    ACTORFLUX_NAMESPACE: basename(place.folder),
    ACTORFLUX_RECOVERY: '2s',
  }
  const options: ServerOptions = {
    program: inject('program'),
    ...place,
    env: { ...(kind === 'Redis' && shared), ...env },
  }
  return {
    options,
    start: (more: Partial<ServerOptions> = {}) => startServer({ ...options, ...more }),
    /** A step that notes its runs in a file, and waits until a gate is there. */
    step(name: string) {
      const input = { file: join(place.folder, name), gate: join(place.folder, `${name}-gate`) }
      const runs = async () => (await readFile(input.file, 'utf8').catch(() => '')).split('\n').filter(Boolean)
      return {
        input,
        runs,
        hasRun: (count: number) => vi.waitFor(async () => expect(await runs()).toHaveLength(count), 20_000),
        letGo: () => writeFile(input.gate, ''),
      }
    },
  }
}

type Opened = Awaited<ReturnType<typeof open>>

const hasEnded = (client: Client, id: number) => client.wait(id, 'status=COMPLETED&status=FAILED&timeout=30')

/** Kills the server; gives the next one, or the other one. */
async function killed({ start, step }: Opened, server: Server, other: Server | null): Promise<Server> {
  const client = new Client(server)
  const waiter = await client.start('Waiter')
  await client.event('go', waiter)
  const parent = await client.start('Parent')
  const timer = await client.start('Delayed', { due: Date.now() + 1000 })
  const { input, runs, hasRun, letGo } = step('cut-off')
  const holder = await client.start('Holder', input)
  await hasRun(1)
  await server.kill('SIGKILL')

  const heir = other ?? (await start())
  const next = new Client(heir)
  expect(await next.event('go', waiter)).toMatchObject({ transitions: [{ contextId: waiter, state: 'done' }] })
  const [child] = await next.list({ fluxName: 'Child' })
  await next.event('say', child?.id, { word: 'still here' })
  await hasRun(2)
  await letGo()
  for (const id of [parent, timer, holder]) expect(await hasEnded(next, id)).toMatchObject({ status: 'COMPLETED' })
  expect(new Set(await runs()).size).toBe(1)
  return heir
}

// Each test goes on where the one before it has ended.
describe('on one data folder', () => {
  let opened: Opened
  let server: Server
  beforeAll(async () => {
    opened = await open('embedded')
    server = await opened.start()
  })

  test('a second server on the same data is refused in one line', async () => {
    const { code, output } = await launch(opened.options).ended
    expect([code, output.trimEnd()]).toEqual([1, expect.stringMatching(/^actorflux: .+$/)])
  })

  test('SIGTERM ends a server with 0 when its step has finished; the next one is paused until it is told to go on', async () => {
    const first = new Client(server)
    const { input, runs, hasRun, letGo } = opened.step('finished')
    const [waiter, holder] = [await first.start('Waiter'), await first.start('Holder', input)]
    const timer = await first.start('Delayed', { due: Date.now() + 500 })
    await hasRun(1)
    const ended = server.kill('SIGTERM')
    await letGo()
    expect(await ended).toMatchObject({ code: 0, signal: null })

    server = await opened.start({ words: ['--paused'] })
    const client = new Client(server)
    expect(await client.context(holder)).toMatchObject({ status: 'COMPLETED' })
    expect(await runs()).toHaveLength(1)
    expect(await client.context(timer)).toMatchObject({ status: 'WAITING_UNTIL' })
    await expect(client.start('Waiter')).rejects.toThrow(/gave 503/)
    expect(await call(`${server.url}/flux-api/server/resume`, 'POST')).toMatchObject({ status: 200 })
    expect(await hasEnded(client, timer)).toMatchObject({ status: 'COMPLETED' })
    expect(await client.event('go', waiter)).toMatchObject({ transitions: [{ contextId: waiter, state: 'second' }] })
  })

  test('after kill -9, the next server has what was answered, and goes on', async () => {
    server = await killed(opened, server, null)
  })

  test('a data file that was cut in half is refused in one line', async () => {
    for (let nr = 0; nr < 20; nr += 1) await new Client(server).start('Waiter')
    await server.kill('SIGTERM')
    const file = join(opened.options.data, 'default.mdb')
    await truncate(file, (await stat(file)).size / 2)
    expect(await launch(opened.options).ended).toMatchObject({
      code: 1,
      signal: null,
      output: expect.stringMatching(/^actorflux: [^\n]*default\.mdb [^\n]*\n$/),
    })
  })
})

test('on Redis, after kill -9 another server has what was answered, and goes on', async () => {
  const opened = await open('Redis')
  await killed(opened, await opened.start(), await opened.start())
})

test('a function that never returns ends its server with 70, and fails its own context alone', async () => {
  const { start } = await open('embedded', { ACTORFLUX_WATCHDOG: '1s', ACTORFLUX_WATCHDOG_KILL: '2s' })
  const server = await start()
  const waiter = await new Client(server).start('Waiter')
  const loop = await new Client(server).start('Loop')
  expect(await server.ended).toMatchObject({ code: 70 })

  const next = new Client(await start())
  expect(await hasEnded(next, loop)).toMatchObject({ status: 'FAILED', error: { type: 'EventLoopBlocked' } })
  expect(await next.context(waiter)).toMatchObject({ status: 'WAITING' })
})
