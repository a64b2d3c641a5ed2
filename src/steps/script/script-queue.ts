// steps: the scripts that wait for a process. Slow scripts have a queue of their own, so that the others never wait
// behind them. Both queues are in order of arrival.
import type { ScriptJob } from './execution.ts'

/** Maximum number of slow scripts that are remembered. The oldest is removed first. */
const MAX_SLOW_SCRIPTS = 1000

/** The maximum number of running scripts of each kind, and the current numbers. */
export interface Load {
  readonly most: number
  readonly slow: number
  readonly others: number
}

export class ScriptQueue {
  readonly #waiting: ScriptJob[] = []
  readonly #slow: ScriptJob[] = []
  /** Texts of scripts whose last run was slow. */
  readonly #slowScripts = new Set<string>()

  add(job: ScriptJob): void {
    if (this.isSlow(job)) this.addSlow(job)
    else this.#waiting.push(job)
  }

  /** Adds a job to the queue of slow scripts. */
  addSlow(job: ScriptJob): void {
    job.isSlow = true
    this.#slow.push(job)
    job.onSlow?.()
  }

  /** Adds a job at the front of the queue. */
  addFirst(job: ScriptJob): void {
    this.#waiting.unshift(job)
  }

  remove(job: ScriptJob): void {
    for (const waiting of [this.#waiting, this.#slow]) {
      const index = waiting.indexOf(job)
      if (index >= 0) waiting.splice(index, 1)
    }
  }

  /** Removes and returns all jobs. */
  removeAll(): ScriptJob[] {
    return [...this.#waiting.splice(0), ...this.#slow.splice(0)]
  }

  /** Removes and returns the next job that may run; undefined: none. */
  next({ most, slow, others }: Load): ScriptJob | undefined {
    if (slow < most && this.#slow.length > 0) return this.#slow.shift()
    if (others >= most) return undefined
    for (;;) {
      const job = this.#waiting.shift()
      if (job === undefined || slow < most || !this.isSlow(job)) return job
      this.addSlow(job)
    }
  }

  /** Whether the last run of the script was slow. */
  isKnownSlow(script: string): boolean {
    return this.#slowScripts.has(script)
  }

  isSlow({ isSlow, names, script }: ScriptJob): boolean {
    return isSlow || (names !== null && this.#slowScripts.has(script))
  }

  /** Records whether the script was slow. A script that was only parsed is not recorded. */
  remember({ script, names }: ScriptJob, isSlow: boolean): void {
    if (names === null) return
    this.#slowScripts.delete(script)
    if (!isSlow) return
    this.#slowScripts.add(script)
    const [oldest] = this.#slowScripts
    if (oldest !== undefined && this.#slowScripts.size > MAX_SLOW_SCRIPTS) this.#slowScripts.delete(oldest)
  }
}
