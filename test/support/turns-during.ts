// Counts the turns of the event loop in which others could work while something is made.

/** Resolves with their number when it is settled. */
export async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let count = 0
  let timer = setImmediate(function turn() {
    count += 1
    timer = setImmediate(turn)
  })
  await Promise.allSettled([work])
  clearImmediate(timer)
  return count
}
