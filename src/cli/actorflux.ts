#!/usr/bin/env node
// cli: the program.
import { run } from './run.ts'
import { isStopping } from './stop.ts'
import { processWorld } from './world.ts'

let isDone = false

// When a module of a service ends the process, the exit code must not be that of success.
process.once('exit', (code) => {
  if (isDone || isStopping() || code !== 0) return
  console.error(`actorflux: the process was ended by code that it ran, ${callerOfExit()}`)
  process.exitCode = 1
})

function callerOfExit(): string {
  const trace = { stack: '' }
  Error.captureStackTrace(trace, process.exit)
  return trace.stack.split('\n')[1]?.trim() ?? 'from an unknown place'
}

const code = await run(process.argv.slice(2), processWorld())
isDone = true
// Exits explicitly: a module of a service may keep the event loop alive.
process.exit(code)
