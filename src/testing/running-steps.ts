// testing: functions and scripts that run as they are: the simulated clock stands still until they have ended.
import type { UnderWay } from './idle.ts'

/** Real time after which a test does not wait any longer for a function, milliseconds. */
const MAX_RUN_MS = 30_000

export class RunningSteps {
  readonly #names: string[] = []
  /** To be called when one has ended. */
  readonly #listeners = new Set<() => void>()

  /** Runs it as one that is waited for. `name`: for people. */
  async during<T>(name: string, run: () => Promise<T>): Promise<T> {
    this.#names.push(name)
    try {
      return await run()
    } finally {
      this.#remove(name)
    }
  }

  /** Runs a part of that one for which the clock may have to move on. */
  async outside<T>(name: string, run: () => Promise<T>): Promise<T> {
    this.#remove(name)
    try {
      return await run()
    } finally {
      this.#names.push(name)
    }
  }

  /** The end of the next one; null: none runs. It rejects when none ends. */
  readonly underWay: UnderWay = () => {
    if (this.#names.length === 0) return null
    return new Promise<void>((resolve, reject) => {
      const late = `${this.#names.join(', ')}: no result within ${MAX_RUN_MS / 1000} s of real time; fake it instead`
      const timer = setTimeout(() => reject(new Error(late)), MAX_RUN_MS)
      this.#listeners.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #remove(name: string) {
    this.#names.splice(this.#names.indexOf(name), 1)
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
