#!/usr/bin/env node
// cli: the program.
import { processIo } from './cli-io.ts'
import { EXIT } from './command.ts'
import { run } from './run.ts'
import { isStopping } from './stop.ts'

let isDone = false

// When a module of a service ends the process, the exit code must not be that of success.
process.once('exit', (code) => {
  if (isDone || isStopping() || code !== 0) return
  console.error(`actorflux: the process was ended by code that it ran, ${callerOfExit()}`)
  process.exitCode = 1
})

function callerOfExit() {
  const trace = { stack: '' }
  Error.captureStackTrace(trace, process.exit)
  return trace.stack.split('\n')[1]?.trim() ?? 'from an unknown place'
}

const io = processIo()
const code = await run(process.argv.slice(2), io)
// A server that was asked to stop ends in time, also when what reads its output is stuck.
const fault = isStopping() ? null : await io.flushed()
// A reader that has seen enough, such as `head`, closes its pipe.
const isLost = fault !== null && !('code' in fault && fault.code === 'EPIPE')
if (isLost) io.err(`actorflux: the output is not complete: ${fault.message}`)
isDone = true
// Exits explicitly: a module of a service may keep the event loop alive.
process.exit(isLost && code === EXIT.fine ? EXIT.failed : code)
