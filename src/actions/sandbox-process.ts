// actions: the process that scripts run in, one at a time. It says when it is ready for the next one, and never outlives its server.
import { Worker } from 'node:worker_threads'
import { Sandbox, type Outcome, type Script } from './sandbox.ts'

export type ToProcess = Script
/** The first has no outcome. `took`: milliseconds that the script took. */
export interface FromProcess { readonly outcome?: Outcome; readonly took?: number }

/** What Node and QuickJS can't need, bounded as they are: should a bound fail, the process ends before the machine's memory does. */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024

/** Looks after a server that is gone, and after memory; in a thread, for a script may never let go of this one. */
const WATCH = `
  const { workerData: { server, maxMemory } } = require('node:worker_threads')
  setInterval(() => { if (process.ppid !== server || process.memoryUsage.rss() > maxMemory) process.kill(process.pid, 'SIGKILL') }, 250)
`

// Who stops all processes of a service, as systemd does, means the server, which may still want an answer.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit())
new Worker(WATCH, { eval: true, workerData: { server: Number(process.argv[2]), maxMemory: MAX_MEMORY_BYTES } }).unref()

const sandbox = new Sandbox()
await sandbox.open()
const say = (message: FromProcess) => process.send?.(message)

async function run(script: ToProcess): Promise<void> {
  await sandbox.open()
  const began = performance.now()
  const outcome = sandbox.run(script)
  say({ outcome, took: performance.now() - began })
  await sandbox.open()
}

process.on('message', (script: ToProcess) => void run(script))
say({})
