// steps: the process in which scripts run, one at a time. It reports when it is ready for the first one, and never
// outlives its server.
import { Sandbox, type ScriptOutcome, type Script } from './sandbox.ts'
import { guardProcess } from '../processes/start.ts'

export type ToProcess = Script
/** The first message has no outcome. `took`: milliseconds that the script took. */
export interface FromProcess {
  readonly outcome?: ScriptOutcome
  readonly took?: number
}

/**
 * More memory than Node and QuickJS need within their own limits. If one of these fails, the process is killed before
 * the machine runs out of memory.
 */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024

guardProcess({ maxMemory: MAX_MEMORY_BYTES })

const sandbox = new Sandbox()
await sandbox.open()
const post = (message: FromProcess) => process.send?.(message)

async function run(script: ToProcess): Promise<void> {
  await sandbox.open()
  const began = performance.now()
  const outcome = sandbox.run(script)
  post({ outcome, took: performance.now() - began })
  await sandbox.open()
}

process.on('message', (script: ToProcess) => void run(script))
post({})
