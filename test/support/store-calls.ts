// Calls of stores that are on disk, or in Redis: a test waits for those under way.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/ports/store.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import type { UnderWay } from '../../src/testing/idle.ts'

/** A call of a store that takes longer is held back by a test, milliseconds. */
const HELD_AFTER_MS = 250

export class StoreCalls {
  readonly #calls = new Set<{ readonly since: number }>()

  /** The next look, while a call is under way that no test holds back. */
  readonly underWay: UnderWay = () => {
    const before = performance.now() - HELD_AFTER_MS
    for (const { since } of this.#calls) if (since > before) return sleep(1)
    return null
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
