// A function that never lets go of the event loop: it is named, the process ends, and only its own step has failed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, inject, test, vi, type TestContext } from 'vitest'
import { startRedis } from '../support/redis.ts'
import { cleanUp, placeFor, startServer, type Place, type Server } from '../support/server.ts'
import { Client } from './client.ts'

const MODULE = `
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync } from 'node:fs'
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms) })
const cell = new Int32Array(new SharedArrayBuffer(4))
/** Holds the event loop up, and leaves the processor to others. */
function block(until = Infinity) { while (Date.now() < until) Atomics.wait(cell, 0, 0, 20) }
export function loop() { for (;;); }
export async function later() { await pause(50); await inner() }
async function inner() { await null; for (;;) Atomics.wait(cell, 0, 0, 20) }
export async function maybe({ hangs }) { await pause(100); if (hangs) block(); await pause(5000) }
export function stands() { block() }
export function regex() { return /^(a+)+$/.test('a'.repeat(60) + 'b') }
export function waits() { Atomics.wait(cell, 0, 0) }
export function system() { execFileSync('sleep', ['60']) }
export async function hold({ file, gate }, flux) { appendFileSync(file, flux.stepKey + ' ' + flux.attempt + '\\n'); while (!existsSync(gate)) await pause(20) }
export function brief() { block(Date.now() + 5000) }
setTimeout(() => {}, 0)
export function detach() { setTimeout(block, 50) }
`
const code = (methodName: string, more: object = {}) => ({ type: 'invokeCode', className: 'fn', methodName, ...more })
const input = (...names: string[]) => names.map((name) => ({ from: [name], to: [name] }))
const one = (action: object, properties: object[] = []) => ({ input: properties, states: [{ name: 'act', action }] })
const FILES = {
  'crash/fn.ts': MODULE,
  ...Object.fromEntries(
    ['loop', 'later', 'regex', 'waits', 'system', 'brief', 'detach', 'stands'].map((name) => [
      `crash/${name}.flux`,
      one(code(name)),
    ]),
  ),
  'crash/Maybe.flux': one(code('maybe', { inputs: input('hangs') }), [{ name: 'hangs', type: 'boolean' }]),
  'crash/Retry.flux': one(code('stands', { retry: { maxAttempts: 2, delay: 600 } })),
  'crash/Hold.flux': one(code('hold', { inputs: input('file', 'gate') }), [{ name: 'file' }, { name: 'gate' }]),
}

/** Milliseconds: other tests may have the machine. */
const PATIENCE_MS = 60_000
vi.setConfig({ testTimeout: 180_000 })

const ENV = { ACTORFLUX_WATCHDOG: '1s', ACTORFLUX_WATCHDOG_KILL: '4s' }

// The tests of this file wait more than they compute, so they run at once: each has a place of its own.
afterAll(cleanUp)

interface Scene extends Place {
  /** Starts a server of this place; it is gone with the test. */
  start(env?: { readonly [variable: string]: string }, node?: readonly string[]): Promise<Server>
}

async function setUp({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): Promise<Scene> {
  const place = await placeFor(FILES)
  const start = async (env = {}, node: readonly string[] = []) => {
    const server = await startServer({ program: inject('program'), ...place, env: { ...ENV, ...env }, node })
    onTestFinished(async () => {
      await server.kill('SIGKILL')
    })
    return server
  }
  return { ...place, start }
}

const lines = (server: { output(): string }) =>
  server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): { [field: string]: unknown } => JSON.parse(line))
/** The last one: on a busy machine the first may have been written before the stack was there. */
const named = (server: Server) => lines(server).findLast(({ msg }) => msg === 'the event loop stands still')
const begin = (client: Client, fluxName: string, values: object = {}) => client.start(fluxName, values)

/** Such a function is named with its stack, the process ends with 70, and its own context alone fails. */
async function expectNamed(context: TestContext, fluxName: string, stack: RegExp): Promise<void> {
  const place = await setUp(context)
  const first = await place.start()
  const client = new Client(first)
  const [file, gate] = [join(place.folder, 'steps'), join(place.folder, 'gate')]
  const other = await begin(client, 'Hold', { file, gate })
  const id = await begin(client, fluxName)
  const { code: exit } = await first.ended
  expect(exit).toBe(70)
  expect(named(first)).toMatchObject({
    level: 50,
    contextId: id,
    fluxName,
    state: 'act',
    className: 'fn',
    methodName: fluxName,
    stack: expect.stringMatching(stack),
  })

  const next = new Client(await place.start())
  await vi.waitFor(
    async () =>
      expect(await next.context(id)).toMatchObject({
        status: 'FAILED',
        error: { type: 'EventLoopBlocked', className: 'EventLoopBlocked' },
      }),
    PATIENCE_MS,
  )
  expect(await next.context(other)).toMatchObject({ status: 'RUNNING' })
  await vi.waitFor(async () => expect(await readFile(file, 'utf8')).toBe(`${other}-1 1\n${other}-1 1\n`), PATIENCE_MS)
}

describe.concurrent('a function that does not return', () => {
  test.for<[fluxName: string, stack: RegExp]>([
    ['later', /^at inner \(fn\.ts:\d+:\d+\)/],
    ['waits', /^at waits/],
  ])(
    '%s: is named with its stack, ends the process with 70, and fails its own context alone',
    ([fluxName, stack], context) => expectNamed(context, fluxName, stack),
  )

  test('within a call that nothing interrupts: is named without a stack, and ends all the same', async (context) => {
    const place = await setUp(context)
    const first = await place.start()
    const id = await begin(new Client(first), 'system')
    await first.ended
    expect(named(first)).toMatchObject({
      contextId: id,
      methodName: 'system',
      reason: expect.stringContaining('interrupted'),
    })
    const next = new Client(await place.start())
    await vi.waitFor(
      async () =>
        expect(await next.context(id)).toMatchObject({ status: 'FAILED', error: { type: 'EventLoopBlocked' } }),
      PATIENCE_MS,
    )
  })

  test('of several contexts in the same function the guilty one is found', async (context) => {
    const place = await setUp(context)
    const first = await place.start()
    const client = new Client(first)
    const innocent = await Promise.all([1, 2, 3].map(() => begin(client, 'Maybe', { hangs: false })))
    const id = await begin(client, 'Maybe', { hangs: true })
    innocent.push(...(await Promise.all([1, 2, 3].map(() => begin(client, 'Maybe', { hangs: false }).catch(() => id)))))
    expect((await first.ended).code).toBe(70)
    expect(named(first)).toMatchObject({ contextId: id })
    const next = new Client(await place.start())
    await vi.waitFor(
      async () =>
        expect(await next.context(id)).toMatchObject({ status: 'FAILED', error: { type: 'EventLoopBlocked' } }),
      PATIENCE_MS,
    )
    for (const one of innocent)
      if (one !== id) expect(await next.context(one)).toMatchObject({ status: expect.not.stringMatching('FAILED') })
  })

  test('is tried again as its retry says, by attempts', async (context) => {
    const place = await setUp(context)
    const first = await place.start()
    const id = await begin(new Client(first), 'Retry')
    await first.ended
    const next = new Client(await place.start())
    await vi.waitFor(
      async () => expect(await next.context(id)).toMatchObject({ nextRun: expect.any(Number) }),
      PATIENCE_MS,
    )
  })

  test('has failed also when somebody else ends the server first, once it is named', async (context) => {
    const place = await setUp(context)
    const first = await place.start({ ACTORFLUX_WATCHDOG_KILL: '0' })
    const id = await begin(new Client(first), 'stands')
    await vi.waitFor(() => expect(named(first)).toBeDefined(), PATIENCE_MS)
    await first.kill('SIGKILL')
    const next = new Client(await place.start())
    await vi.waitFor(
      async () =>
        expect(await next.context(id)).toMatchObject({ status: 'FAILED', error: { type: 'EventLoopBlocked' } }),
      PATIENCE_MS,
    )
  })

  test('and that no step waits for any more is named as that, and fails none', async (context) => {
    const place = await setUp(context)
    const first = await place.start()
    await begin(new Client(first), 'detach')
    expect((await first.ended).code).toBe(70)
    expect(named(first)).toMatchObject({ reason: expect.any(String) })
  })
})

test.concurrent(
  'on Redis, the server that takes over learns of it: one attempt has failed, and the others run again uncounted',
  async (context) => {
    const redis = await startRedis()
    try {
      const place = await setUp(context)
      const env = { ACTORFLUX_REDIS_URL: redis.url, ACTORFLUX_RECOVERY: '3s', ACTORFLUX_WATCHDOG_KILL: '100s' }
      const first = await place.start(env)
      const [file, gate] = [join(place.folder, 'steps'), join(place.folder, 'gate')]
      const client = new Client(first)
      const other = await begin(client, 'Hold', { file, gate })
      const id = await begin(client, 'later')
      const second = await place.start(env)
      const next = new Client(second)
      await vi.waitFor(
        async () =>
          expect(await next.context(id)).toMatchObject({ status: 'FAILED', error: { type: 'EventLoopBlocked' } }),
        PATIENCE_MS,
      )
      await vi.waitFor(async () => expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(3), PATIENCE_MS)
      expect(await next.context(other)).toMatchObject({ status: 'RUNNING' })
      expect([named(second), second.isRunning()]).toEqual([undefined, true])
      // It still stands there, and has not been ended.
      expect([named(first), first.isRunning()]).toEqual([expect.objectContaining({ contextId: id }), true])
    } finally {
      await redis.close()
    }
  },
)

test.concurrent('dev starts itself again, and ends when it is told to', async (context) => {
  const place = await setUp(context)
  const own = {
    ACTORFLUX_HOST: '127.0.0.1',
    ACTORFLUX_PORT: '0',
    ACTORFLUX_ACTORS: place.actors.join(':'),
    ACTORFLUX_DATA: place.data,
  }
  const dev = spawn(process.execPath, [inject('program'), 'dev'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...ENV, ...own },
  })
  try {
    let output = ''
    for (const stream of [dev.stdout, dev.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    const serving = (times: number) =>
      vi.waitFor(() => {
        const urls = [...output.matchAll(/^listening\s+(http\S+)$/gm)].map(([, url = '']) => url)
        expect(urls).toHaveLength(times)
        return { url: urls.at(-1) ?? '' }
      }, PATIENCE_MS)
    const id = await begin(new Client(await serving(1)), 'later')
    const next = new Client(await serving(2))
    await vi.waitFor(
      async () =>
        expect(await next.context(id)).toMatchObject({ status: 'FAILED', error: { type: 'EventLoopBlocked' } }),
      PATIENCE_MS,
    )
    dev.kill('SIGTERM')
    expect(await once(dev, 'exit')).toEqual([0, null])
  } finally {
    dev.kill('SIGKILL')
  }
})

describe.concurrent('what is no such function', () => {
  test('a function that holds the server up for a while is named, and nothing comes of it', async (context) => {
    const place = await setUp(context)
    const server = await place.start({ ACTORFLUX_WATCHDOG_KILL: '60s' })
    const client = new Client(server)
    const id = await begin(client, 'brief')
    await vi.waitFor(async () => expect(await client.context(id)).toMatchObject({ status: 'COMPLETED' }), PATIENCE_MS)
    expect(named(server)).toMatchObject({ contextId: id })
    await vi.waitFor(() => expect(existsSync(join(place.data, 'default.standstill.json'))).toBe(false), PATIENCE_MS)
  })

  test('a process that is stopped and goes on', async (context) => {
    const place = await setUp(context)
    const server = await place.start()
    process.kill(server.pid, 'SIGSTOP')
    await sleep(3000)
    process.kill(server.pid, 'SIGCONT')
    await sleep(1500)
    expect(server.isRunning()).toBe(true)
    expect(named(server)).toBeUndefined()
  })

  test('a server with a debugger', async (context) => {
    const place = await setUp(context)
    const server = await place.start({}, ['--inspect=127.0.0.1:0'])
    await begin(new Client(server), 'stands')
    await sleep(7000)
    expect(server.isRunning()).toBe(true)
    expect(named(server)).toBeUndefined()
  })
})

// One after the other, and beside none of the others.
describe('a function that computes and does not return', () => {
  test.for<[fluxName: string, stack: RegExp]>([
    ['loop', /^at loop \(fn\.ts:\d+:\d+\)/],
    ['regex', /^at regex/],
  ])(
    '%s: is named with its stack, ends the process with 70, and fails its own context alone',
    ([fluxName, stack], context) => expectNamed(context, fluxName, stack),
  )
})
