// testing: says when nothing in this process goes on by itself. Tests wait for that, and not for a time.

/** What ends soon, and goes on with something then: reads and writes of files and sockets. */
const UNDER_WAY = /^(?:FSReq|GetAddrInfo|TCPConnect|PipeConnect|Write|Shutdown)/

/** Turns of the event loop after which something goes on for ever. */
const MAX_TURNS = 200_000

/** What is under way elsewhere: a promise that is settled when some of it has ended; null: nothing is. */
export type UnderWay = () => Promise<unknown> | null

/** Turns of the event loop that are queued here: several may wait at the same time, and none for another one. */
let ownTurns = 0

const turn = () =>
  new Promise<void>((resolve) => {
    ownTurns += 1
    setImmediate(() => {
      ownTurns -= 1
      resolve()
    })
  })

function isTurning() {
  const active = process.getActiveResourcesInfo()
  return active.filter((name) => name === 'Immediate').length > ownTurns || active.some((name) => UNDER_WAY.test(name))
}

/**
 * Resolves when no turn of the event loop is queued, no file is read, and nothing is under way elsewhere: each promise
 * that could be resolved is. Timers are not waited for.
 * @throws Error when something goes on for ever; what `underWay` rejects with
 */
export async function idle(underWay: UnderWay = () => null): Promise<void> {
  for (let turns = 0; turns < MAX_TURNS; turns += 1) {
    await turn()
    if (isTurning()) continue
    const change = underWay()
    if (change === null) return
    await change
  }
  throw new Error(`something goes on for ever: ${process.getActiveResourcesInfo().join(', ')}`)
}
