// steps: the process that scripts run in, one at a time. It says when it is ready for the next one, and never
// outlives its server.
import { Sandbox, type ScriptOutcome, type Script } from './sandbox.ts'
import { guardProcess } from '../processes/start.ts'

export type ToProcess = Script
/** The first has no outcome. `took`: milliseconds that the script took. */
export interface FromProcess {
  readonly outcome?: ScriptOutcome
  readonly took?: number
}

/**
 * What Node and QuickJS can't need, bounded as they are: should a bound fail, the process ends before the machine's
 * memory does.
 */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024

guardProcess({ maxMemory: MAX_MEMORY_BYTES })

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
