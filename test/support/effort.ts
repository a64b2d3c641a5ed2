// Processor time, for tests of work that must not grow faster than what it works on. What else the machine does does not
// count, and a collection of garbage, which falls into any round, only in all of them.

const ROUNDS = 3
/** What takes less needs no further round. */
const LITTLE_MS = 20

/** Milliseconds of processor time of this process that the work takes: the least of up to three rounds. */
export function effortOf(work: () => unknown): number {
  let least = Infinity
  for (let round = 0; round < ROUNDS && least > LITTLE_MS; round += 1) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}
