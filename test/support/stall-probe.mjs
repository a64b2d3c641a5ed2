// Loaded into a server before it starts (`node --import`): writes a line whenever its event loop works for longer than the bound without looking at its timers.
// Processor time of the main thread counts, where the system tells it, and not the time that passes: a machine that is busy with something else holds up nobody here.
import { readFileSync } from 'node:fs'

const BOUND_MS = Number(process.env.STALL_BOUND_MS ?? 100)
const LOOK_EVERY_MS = 5

function workedMs() {
  try {
    // The first number is what the scheduler gave this thread, in nanoseconds.
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e3
  }
}

let before = workedMs()
setInterval(() => {
  const now = workedMs()
  if (now - before > BOUND_MS) console.error(`stall of ${(now - before).toFixed(0)} ms`)
  before = now
}, LOOK_EVERY_MS).unref()
