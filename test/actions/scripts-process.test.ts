// What becomes of the processes that scripts run in when something ends from outside.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { stepRunner } from '../../src/actions/runner.ts'
import { quiet } from './flux.ts'

const JITI = join(createRequire(import.meta.url).resolve('jiti/package.json'), '../lib/jiti-cli.mjs')
const BUSY = 'const start = Date.now(); while (Date.now() - start < 1000); return "done"'
const runner = stepRunner({ log: quiet })
const run = (script: string) => runner.runScript({ script, names: {}, signal: new AbortController().signal, timeout: 20_000 })

/** Of the processes that a process has started, those of scripts. */
async function sandboxesOf(parent: number | undefined): Promise<number[]> {
  const lines = process.platform === 'linux' ? await fromProc() : (await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='])).stdout.split('\n')
  return lines.filter((line) => line.includes('sandbox-process')).map((line) => line.trim().split(/\s+/).map(Number)).filter(([, of]) => of === parent).map(([pid = 0]) => pid)
}

/** Not each machine has a `ps`. */
async function fromProc(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(pids.map(async (pid) => {
    const [stat, args] = await Promise.all(['stat', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')))
    return `${pid} ${stat?.split(') ')[1]?.split(' ')[1] ?? ''} ${args?.replaceAll('\0', ' ') ?? ''}`
  }))
}

const isThere = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a server that is killed leaves no script behind, not even one that nothing interrupts', async () => {
  const server = spawn(process.execPath, [JITI, join(import.meta.dirname, 'scripts-child.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(server.stdout, 'data')
  const sandboxes = await sandboxesOf(server.pid)
  expect(sandboxes).toHaveLength(1)
  await new Promise((resolve) => { setTimeout(resolve, 300) })
  server.kill('SIGKILL')
  await once(server, 'exit')
  await vi.waitFor(() => expect(sandboxes.filter(isThere)).toEqual([]), { timeout: 10_000 })
})

test('a signal to all processes leaves the script running that the server still waits for', async () => {
  expect(await run('return 1')).toBe(1)
  const done = run(BUSY)
  expect(await sandboxesOf(process.pid)).toHaveLength(1)
  for (const pid of await sandboxesOf(process.pid)) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(pid, signal)
  expect(await done).toBe('done')
})

test('a process that is killed takes its script with it, and no other', async () => {
  expect(await run('return 1')).toBe(1)
  const [sandbox = 0] = await sandboxesOf(process.pid)
  const broken = run(BUSY)
  const other = run('return 2')
  process.kill(sandbox, 'SIGKILL')
  await expect(broken).rejects.toThrow('the process of the script broke off')
  expect(await other).toBe(2)
  expect(await run('return 3')).toBe(3)
})
