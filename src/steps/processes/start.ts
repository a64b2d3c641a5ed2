// steps: starts a process of Node in which something of a service runs, and what such a process does first.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

export interface ProcessOptions {
  /** URL of the module without its extension. */
  readonly module: URL
  /** Flags of Node. */
  readonly flags: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Its working directory; that of this process if left out. */
  readonly cwd?: string
  /** Whether it may write to the server's output. */
  readonly output: boolean
}

/**
 * It speaks over a channel, which doesn't keep this process alive once unreferenced. @throws Error when the system
 * refuses, if it doesn't tell so later
 */
export function startProcess({ module, flags, env, cwd, output }: ProcessOptions): ChildProcess {
  const isBuilt = import.meta.url.endsWith('.js')
  const file = `${fileURLToPath(module)}.${isBuilt ? 'js' : 'ts'}`
  // Unbuilt, Node can't read it by itself.
  const command = isBuilt
    ? [file]
    : [join(dirname(createRequire(import.meta.url).resolve('jiti')), 'jiti-cli.mjs'), file]
  const own = output ? 'inherit' : 'ignore'
  const stdio: StdioOptions = ['ignore', own, own, 'ipc']
  return spawn(process.execPath, [...flags, ...command, String(process.pid)], {
    ...(cwd !== undefined && { cwd }),
    env,
    stdio,
    serialization: 'advanced',
    detached: true, // What a terminal sends to its whole group is the server's business, which may still want an answer.
  })
}

/** In a thread, for what runs may never let go of the process's own. */
const GUARD = `
  const { workerData: { server, maxMemory } } = require('node:worker_threads')
  setInterval(() => { if (process.ppid !== server || process.memoryUsage.rss() > maxMemory) process.kill(process.pid, 'SIGKILL') }, 250)
`

/**
 * For the process that was started: it ends with its server, and when it holds more bytes of memory than it may,
 * whatever runs in it.
 */
export function guardProcess({ maxMemory = Infinity }: { readonly maxMemory?: number } = {}): void {
  // Who stops all processes of a service, as systemd does, means the server, which may still want an answer.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  new Worker(GUARD, { eval: true, execArgv: [], workerData: { server: Number(process.argv[2]), maxMemory } }).unref()
}
