// Tells when nothing in this process goes on by itself. Tests wait for that, and not for a time.
import type { Store } from '../../src/ports/store.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'

/** What ends soon, and goes on with something then: turns of the event loop, reads and writes of files and sockets. */
const UNDER_WAY = /^(?:Immediate|FSReq|GetAddrInfo|TCPConnect|PipeConnect|Write|Shutdown)/

/** A call of a store that takes longer is held back by a test, milliseconds. */
const HELD_AFTER_MS = 250
/** Turns of the event loop after which something goes on for ever. */
const MAX_TURNS = 200_000

/** Counts calls of stores that are under way elsewhere: on disk, or in Redis. */
export class StoreCalls {
  readonly #calls = new Set<{ readonly since: number }>()

  /** Whether one is under way that no test holds back. */
  get isBusy(): boolean {
    const before = performance.now() - HELD_AFTER_MS
    for (const { since } of this.#calls) if (since > before) return true
    return false
  }

  /** The store, watched. What is in memory needs no watch: it is under way only in turns of the event loop. */
  readonly watch = (store: Store): Store =>
    store instanceof MemoryStore
      ? store
      : new Proxy(store, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name, target)
            return typeof value === 'function'
              ? (...given: unknown[]) => this.#noted(value.apply(target, given))
              : value
          },
        })

  #noted(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer
    const call = { since: performance.now() }
    this.#calls.add(call)
    const end = () => this.#calls.delete(call)
    answer.then(end, end)
    return answer
  }
}

const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

/** Gives others the processor. */
const pause = () =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, 1)
  })

const isTurning = () => process.getActiveResourcesInfo().some((name) => UNDER_WAY.test(name))

/**
 * Resolves when no turn of the event loop is queued, no file is read, and `isBusy` says no: each promise that could be
 * resolved is. Timers, and functions and processes of steps, are not waited for.
 * @throws Error when something goes on for ever
 */
export async function idle(isBusy: () => boolean = () => false): Promise<void> {
  for (let turns = 0; turns < MAX_TURNS; turns += 1) {
    await turn()
    if (isTurning()) continue
    if (!isBusy()) return
    await pause()
  }
  throw new Error(`something goes on for ever: ${process.getActiveResourcesInfo().join(', ')}`)
}
