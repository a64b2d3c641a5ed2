// The life of real server processes in a few short tests, which are part of `npm test`. The other files of this folder
// go into each of them.
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterEach, expect, inject, test, vi } from 'vitest'
import { call, cleanUp, launch, placeFor, startServer, type ServerOptions } from '../support/server.ts'
import { Client } from './client.ts'
import { SERVICES } from './services.ts'

vi.setConfig({ testTimeout: 60_000 })
afterEach(cleanUp)

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
  const files = { file: join(place.folder, 'steps'), gate: join(place.folder, 'gate') }
  const steps = async () => (await readFile(files.file, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return {
    options,
    files,
    steps,
    start: (more: Partial<ServerOptions> = {}) => startServer({ ...options, ...more }),
    stepsRun: (count: number) => vi.waitFor(async () => expect(await steps()).toHaveLength(count), 20_000),
  }
}

const hasEnded = (client: Client, id: number) => client.wait(id, 'status=COMPLETED&status=FAILED&timeout=30')

test('SIGTERM ends a server with 0 when its step has finished, and the next one has all contexts', async () => {
  const { start, files, stepsRun, steps } = await open('embedded')
  const server = await start()
  const client = new Client(server)
  const [waiter, holder] = [await client.start('Waiter'), await client.start('Holder', files)]
  await stepsRun(1)
  const ended = server.kill('SIGTERM')
  await writeFile(files.gate, '')
  expect(await ended).toMatchObject({ code: 0, signal: null })

  const next = new Client(await start())
  expect(await next.context(holder)).toMatchObject({ status: 'COMPLETED' })
  expect(await steps()).toHaveLength(1)
  expect(await next.event('go', waiter)).toMatchObject({ transitions: [{ contextId: waiter, state: 'second' }] })
})

test('a second server on the same data is refused in one line', async () => {
  const { start, options } = await open('embedded')
  await start()
  const { code, output } = await launch(options).ended
  expect([code, output.trimEnd()]).toEqual([1, expect.stringMatching(/^actorflux: .+$/)])
})

test.each(['embedded', 'Redis'] as const)(
  'after kill -9, the next server on the %s store has what was answered, and goes on',
  async (kind) => {
    const { start, files, stepsRun, steps } = await open(kind)
    const server = await start()
    const other = kind === 'Redis' ? await start() : null
    const client = new Client(server)
    const waiter = await client.start('Waiter')
    await client.event('go', waiter)
    const parent = await client.start('Parent')
    const timer = await client.start('Delayed', { due: Date.now() + 1000 })
    const holder = await client.start('Holder', files)
    await stepsRun(1)
    await server.kill('SIGKILL')

    const next = new Client(other ?? (await start()))
    expect(await next.event('go', waiter)).toMatchObject({ transitions: [{ contextId: waiter, state: 'done' }] })
    const [child] = await next.list({ fluxName: 'Child' })
    await next.event('say', child?.id, { word: 'still here' })
    await stepsRun(2)
    await writeFile(files.gate, '')
    for (const id of [parent, timer, holder]) expect(await hasEnded(next, id)).toMatchObject({ status: 'COMPLETED' })
    expect(new Set(await steps()).size).toBe(1)
  },
)

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

test('a data file that was cut in half is refused in one line', async () => {
  const { start, options } = await open('embedded')
  const server = await start()
  for (let nr = 0; nr < 20; nr += 1) await new Client(server).start('Waiter')
  await server.kill('SIGTERM')
  const file = join(options.data, 'default.mdb')
  await truncate(file, (await stat(file)).size / 2)
  expect(await launch(options).ended).toMatchObject({
    code: 1,
    signal: null,
    output: expect.stringMatching(/^actorflux: [^\n]*default\.mdb [^\n]*\n$/),
  })
})

test('a server that is started paused reads, and changes nothing until it is told to go on', async () => {
  const { start } = await open('embedded')
  const first = await start()
  const timer = await new Client(first).start('Delayed', { due: Date.now() + 500 })
  await first.kill('SIGTERM')

  const server = await start({ words: ['--paused'] })
  const client = new Client(server)
  expect(await client.context(timer)).toMatchObject({ status: 'WAITING_UNTIL' })
  await expect(client.start('Waiter')).rejects.toThrow(/gave 503/)
  expect(await call(`${server.url}/flux-api/server/resume`, 'POST')).toMatchObject({ status: 200 })
  expect(await hasEnded(client, timer)).toMatchObject({ status: 'COMPLETED' })
})
