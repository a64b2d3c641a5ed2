// steps: the process in which scripts run, one at a time. It reports when it is ready for the first one, and never
// outlives its server.
import { guardProcess } from '../processes/pooled-process.ts'
import { Sandbox, type Script } from './sandbox.ts'

/**
 * More memory than Node and QuickJS need within their own limits. If one of these fails, the process is killed before
 * the machine runs out of memory.
 */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024

guardProcess(MAX_MEMORY_BYTES)

const sandbox = new Sandbox()
await sandbox.open()

async function run(script: Script) {
  await sandbox.open()
  process.send?.(sandbox.run(script))
  await sandbox.open()
}

process.on('message', (script: Script) => void run(script))
process.send?.('ready')
