// steps: the scripts that wait for a process: slow ones apart from the others, so that these never wait behind endless
// ones; each in the order in which they came.
import type { ScriptJob } from './execution.ts'

/** Slow scripts that are remembered. The one remembered longest is forgotten first. */
const MAX_SLOW_SCRIPTS = 1000

/** Of each of the two kinds, how many may run at once and how many do. */
export interface Load {
  readonly most: number
  readonly slow: number
  readonly others: number
}

export class ScriptQueue {
  readonly #waiting: ScriptJob[] = []
  readonly #slow: ScriptJob[] = []
  /** Texts of scripts that took long the last time. */
  readonly #slowScripts = new Set<string>()

  add(job: ScriptJob): void {
    if (this.isSlow(job)) this.addSlow(job)
    else this.#waiting.push(job)
  }

  /** Adds it as a slow one, whatever it was before. */
  addSlow(job: ScriptJob): void {
    job.isSlow = true
    this.#slow.push(job)
    job.onSlow?.()
  }

  /** Adds it before all others. */
  addFirst(job: ScriptJob): void {
    this.#waiting.unshift(job)
  }

  remove(job: ScriptJob): void {
    for (const waiting of [this.#waiting, this.#slow]) {
      const index = waiting.indexOf(job)
      if (index >= 0) waiting.splice(index, 1)
    }
  }

  /** Removes all. */
  removeAll(): ScriptJob[] {
    return [...this.#waiting.splice(0), ...this.#slow.splice(0)]
  }

  /** Removes the next one that may run. */
  next({ most, slow, others }: Load): ScriptJob | undefined {
    if (slow < most && this.#slow.length > 0) return this.#slow.shift()
    if (others >= most) return undefined
    for (;;) {
      const job = this.#waiting.shift()
      if (job === undefined || slow < most || !this.isSlow(job)) return job
      this.addSlow(job)
    }
  }

  /** Whether that script took long the last time. */
  isKnownSlow(script: string): boolean {
    return this.#slowScripts.has(script)
  }

  isSlow({ isSlow, names, script }: ScriptJob): boolean {
    return isSlow || (names !== null && this.#slowScripts.has(script))
  }

  /** Remembers whether the script took long. What was only parsed says nothing about that. */
  remember({ script, names }: ScriptJob, isSlow: boolean): void {
    if (names === null) return
    this.#slowScripts.delete(script)
    if (!isSlow) return
    this.#slowScripts.add(script)
    const [oldest] = this.#slowScripts
    if (oldest !== undefined && this.#slowScripts.size > MAX_SLOW_SCRIPTS) this.#slowScripts.delete(oldest)
  }
}
