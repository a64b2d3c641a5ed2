// actions: the thread that scripts run in, one at a time. It says when it is ready for the next one.
import { parentPort } from 'node:worker_threads'
import { Sandbox, type Outcome, type Script } from './sandbox.ts'

export type ToThread = Script
/** The first has no outcome. */
export interface FromThread { readonly outcome?: Outcome }

const sandbox = new Sandbox()
await sandbox.open()
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const say = (message: FromThread) => parentPort?.postMessage(message)

async function run(script: ToThread): Promise<void> {
  await sandbox.open()
  say({ outcome: sandbox.run(script) })
  await sandbox.open()
}

parentPort?.on('message', (script: ToThread) => void run(script))
say({})
