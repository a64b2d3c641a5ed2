// What becomes of the processes that scripts run in when something ends from outside.
import { setTimeout as sleep } from 'node:timers/promises'
import { execFile, spawn } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import { createRequire } from 'node:module'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { stepRunner } from '../../src/steps/runner.ts'
import { createRuntime } from '../../src/main.ts'
import { silent } from '../support/silent.ts'

vi.mock('node:child_process', async (original) => {
  const real = await original<typeof import('node:child_process')>()
  return { ...real, spawn: vi.fn(real.spawn) }
})

const JITI = join(createRequire(import.meta.url).resolve('jiti/package.json'), '../lib/jiti-cli.mjs')
const BUSY = 'const start = Date.now(); while (Date.now() - start < 1000); return "done"'
const runner = stepRunner({ log: silent })
const run = (script: string) =>
  runner.runScript({ script, names: async () => '{}', signal: new AbortController().signal, timeout: 20_000 })

/** Of the processes that a process has started, those of scripts. */
async function sandboxesOf(parent: number | undefined): Promise<number[]> {
  if (process.platform === 'linux') return fromProc(parent)
  const lines = (await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='])).stdout.split('\n')
  return lines
    .filter((line) => line.includes('sandbox-process'))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, of]) => of === parent)
    .map(([pid = 0]) => pid)
}

const read = (path: string) => readFile(`/proc/${path}`, 'utf8').catch(() => '')

/** Not each machine has a `ps`. The kernel lists the children of each thread: all processes need not be looked at. */
async function fromProc(parent = process.pid): Promise<number[]> {
  const threads = await readdir(`/proc/${parent}/task`).catch(() => [])
  const lists = await Promise.all(threads.map((thread) => read(`${parent}/task/${thread}/children`)))
  const children = lists.flatMap((list) => list.split(' ').filter(Boolean))
  const commands = await Promise.all(children.map((pid) => read(`${pid}/cmdline`)))
  return children.filter((_, index) => commands[index]?.includes('sandbox-process')).map(Number)
}

const isThere = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a server that is killed leaves no script behind, not even one that nothing interrupts', async () => {
  const server = spawn(process.execPath, [JITI, join(import.meta.dirname, 'scripts-child.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(server.stdout, 'data')
  const sandboxes = await sandboxesOf(server.pid)
  expect(sandboxes).toHaveLength(1)
  await sleep(300)
  server.kill('SIGKILL')
  await once(server, 'exit')
  await vi.waitFor(() => expect(sandboxes.filter(isThere)).toEqual([]), { timeout: 10_000 })
})

test('a signal to all processes leaves the script running that the server still waits for', async () => {
  expect(await run('return 1')).toBe(1)
  const done = run(BUSY)
  expect(await sandboxesOf(process.pid)).toHaveLength(1)
  for (const pid of await sandboxesOf(process.pid))
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(pid, signal)
  expect(await done).toBe('done')
})

test('a script whose process is killed begins again, and no other hears of it', async () => {
  expect(await run('return 1')).toBe(1)
  const [sandbox = 0] = await sandboxesOf(process.pid)
  const done = run(BUSY)
  const other = run('return 2')
  process.kill(sandbox, 'SIGKILL')
  expect(await other).toBe(2)
  expect(await done).toBe('done')
})

test('a script whose processes are all killed fails, and the next one runs', async () => {
  const killing = setInterval(async () => {
    for (const pid of await sandboxesOf(process.pid)) if (isThere(pid)) process.kill(pid, 'SIGKILL')
  }, 50)
  await expect(run('for (;;);')).rejects.toMatchObject({
    name: 'InternalError',
    message: 'the process of the script broke off',
  })
  clearInterval(killing)
  expect(await run('return 3')).toBe(3)
})

test('a system that refuses a process is asked again', async () => {
  runner.close()
  vi.mocked(spawn).mockImplementationOnce(() => {
    throw new Error('spawn ENOMEM')
  })
  expect(await run('return 1')).toBe(1)
})

test('of many that are called off together none gets a process', async () => {
  const places = Math.max(2, Math.min(4, availableParallelism() - 1))
  const controller = new AbortController()
  // The steps of a server have a signal each.
  setMaxListeners(200, controller.signal)
  const endless = Array.from({ length: 200 }, () =>
    runner
      .runScript({ script: 'for (;;);', names: async () => '{}', signal: controller.signal, timeout: 20_000 })
      .catch((error: unknown) => error),
  )
  // Slow ones have twice as many processes as there are places.
  await vi.waitFor(async () => expect(await sandboxesOf(process.pid)).toHaveLength(2 * places), 20_000)
  const before = vi.mocked(spawn).mock.calls.length
  controller.abort(new Error('called off'))
  expect(new Set((await Promise.all(endless)).map(String))).toEqual(new Set(['Error: called off']))
  expect(vi.mocked(spawn).mock.calls.length).toBe(before)
})

test.skipIf(process.platform !== 'linux')(
  'forty scripts that take all they can get leave the machine its memory',
  async () => {
    let most = 0
    const watching = setInterval(async () => {
      for (const pid of await sandboxesOf(process.pid)) {
        const [, pages = 0] = (await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')).split(' ').map(Number)
        most = Math.max(most, pages * 4096)
      }
    }, 50)
    const takesAll = 'const a = []; for (;;) a.push(new Array(10000).fill(1))'
    const ends = await Promise.all(
      Array.from({ length: 40 }, () => run(takesAll).catch((error: unknown) => String(error))),
    )
    clearInterval(watching)
    expect(new Set(ends)).toEqual(new Set(['InternalError: out of memory']))
    expect((await sandboxesOf(process.pid)).length).toBeLessThanOrEqual(8)
    // Unbounded, each took more than a gigabyte within seconds.
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(400 * 1024 * 1024)
  },
  180_000,
)

const busy = (milliseconds: number, nr: number) =>
  run(`/* ${nr} */ const start = Date.now(); while (Date.now() - start < ${milliseconds}); return 1`)

test('as many scripts as there are places run at once, and those that are slow have places of their own', async () => {
  const places = Math.max(2, Math.min(4, availableParallelism() - 1))
  runner.close()
  await vi.waitFor(async () => expect(await sandboxesOf(process.pid)).toEqual([]), 10_000)
  let most = 0
  const counting = setInterval(async () => {
    most = Math.max(most, (await sandboxesOf(process.pid)).length)
  }, 20)
  await Promise.all(Array.from({ length: 4 * places }, (_, nr) => busy(100, nr)))
  expect(most).toBe(places)
  await Promise.all(Array.from({ length: 3 * places }, (_, nr) => busy(1200, nr)))
  clearInterval(counting)
  expect(most).toBeGreaterThan(places)
  expect(most).toBeLessThanOrEqual(2 * places)
})

test('a runner that is closed leaves no process', async () => {
  expect(await run('return 1')).toBe(1)
  runner.close()
  await vi.waitFor(async () => expect(await sandboxesOf(process.pid)).toEqual([]), 10_000)
})

test('a runtime that can not open its store leaves no process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-scripts-'))
  await mkdir(join(folder, 'actors', 'p'), { recursive: true })
  await writeFile(
    join(folder, 'actors', 'p', 'S.flux'),
    JSON.stringify({ states: [{ name: 's', action: { type: 'script', script: 'return 1' } }] }),
  )
  const options = { actors: [join(folder, 'actors')], data: join(folder, 'data'), log: silent }
  const runtime = await createRuntime(options)
  const before = await sandboxesOf(process.pid)
  await expect(createRuntime(options)).rejects.toThrow('in use by another server')
  await vi.waitFor(async () => expect(await sandboxesOf(process.pid)).toEqual(before))
  await runtime.close()
  await vi.waitFor(async () => expect(await sandboxesOf(process.pid)).toEqual([]))
  await rm(folder, { recursive: true })
})

test('dates are in the time zone of the server', async () => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  expect(await run('return [new Date(0).getHours(), new Date(1970, 0, 1).toJSON()]')).toEqual([
    9,
    '1969-12-31T15:00:00.000Z',
  ])
  vi.unstubAllEnvs()
  runner.close()
})
