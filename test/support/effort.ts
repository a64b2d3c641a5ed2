// How much tests try, and what it costs.

const ROUNDS = 3
/** What takes less needs no further round. */
const LITTLE_MS = 20

/**
 * Milliseconds of processor time of this process that the work takes: the least of up to three rounds. What else the
 * machine does does not count, and a collection of garbage, which falls into any round, only in all of them.
 */
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

/** How often a random test tries: as usual, or less often where `FUZZ_RUNS` is small, so often for each hundred of it. */
export const runs = (usual: number, perHundred: number): number =>
  Math.min(usual, Math.ceil((Number(process.env['FUZZ_RUNS'] ?? Infinity) * perHundred) / 100))

/** Of the cases of a test, which are stores or numbers of partitions, those that this run tries: the core the first. */
export const storesOf = <const Case>(all: readonly Case[]): readonly Case[] =>
  process.env['STORES'] === 'first' ? all.slice(0, 1) : all
