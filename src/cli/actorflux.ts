#!/usr/bin/env node
// cli: the program.
import { run } from './run.ts'

const code = await run(process.argv.slice(2), {
  env: process.env,
  out: (line) => console.log(line),
  err: (line) => console.error(line),
})
// Not left to the event loop: a user's module may hold it open.
process.exit(code)
