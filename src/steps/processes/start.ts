// steps: starts a Node process that runs code of a service, and initializes such a process.
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
  /** Its working directory; default: that of this process. */
  readonly cwd?: string
  /** Whether it may write to the stdout and stderr of the server. */
  readonly output: boolean
}

/**
 * Starts a process with an IPC channel. @throws Error if the system refuses at once; later errors are events of the
 * process
 */
export function startProcess({ module, flags, env, cwd, output }: ProcessOptions): ChildProcess {
  const isBuilt = import.meta.url.endsWith('.js')
  const file = `${fileURLToPath(module)}.${isBuilt ? 'js' : 'ts'}`
  // In a source checkout, Node cannot load the TypeScript module without jiti.
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
    detached: true, // A signal of the terminal to its process group is for the server, which may still wait for a result.
  })
}

/** Runs in a thread, because code of a service may block the main thread. */
const GUARD = `
  const { workerData: { server, maxMemory } } = require('node:worker_threads')
  setInterval(() => { if (process.ppid !== server || process.memoryUsage.rss() > maxMemory) process.kill(process.pid, 'SIGKILL') }, 250)
`

/**
 * Called in the started process: ends it when its server ends, or when it uses more than `maxMemory` bytes, even if its
 * main thread is blocked.
 */
export function guardProcess({ maxMemory = Infinity }: { readonly maxMemory?: number } = {}): void {
  // A signal to all processes of a service, as systemd sends it, is for the server, which may still wait for a result.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  new Worker(GUARD, { eval: true, execArgv: [], workerData: { server: Number(process.argv[2]), maxMemory } }).unref()
}
