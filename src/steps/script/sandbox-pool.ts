// steps: the pool of processes for scripts. A turn never waits for a script, and a script that cannot be interrupted is
// ended by killing its process. Threads are not used, because ending a thread during WebAssembly, or one that runs out
// of memory, may end the server (nodejs/node#56312, #47224).
//
// - Scripts run in processes (`sandbox-pool.ts`, `sandbox-process.ts`): some calls inside QuickJS never check its own
//   time limit, and a process can be ended. So can a thread, but a thread that is ended during WebAssembly, or runs
//   out of memory, may end the server. A script that takes more than a second, or did so the last time, has separate
//   processes. When those are all taken, it is ended and starts again there, because it has no effects. Steps that are
//   scripts have slots of their own, so that waiting scripts do not delay functions.
import { availableParallelism } from 'node:os'
import type { PooledProcess } from '../processes/pooled-process.ts'
import {
  BROKEN,
  CLOSED,
  lateOutcome,
  MAX_NAMES_CHARACTERS,
  TOO_LONG,
  type Execution,
  type ScriptJob,
} from './execution.ts'
import type { FromProcess, ToProcess } from './sandbox-process.ts'
import type { ScriptOutcome } from './sandbox.ts'
import { ScriptQueue } from './script-queue.ts'
import { startSandbox } from './start-sandbox.ts'

/** Time after which a script is classified as slow, for this run and the next. */
const SLOW_MS = 1000
/**
 * Time after the time limit at which the process is killed: some built-in functions of QuickJS cannot be interrupted.
 */
const GRACE_MS = 500
const MAX_START_MS = 60_000
/** Pause after a failed start of a process. */
const RESTART_MS = 500
/**
 * A script fails after this many processes ended unexpectedly, for example because memory ran out in the process or on
 * the machine.
 */
const MAX_BREAKS = 4
/** Time after which an idle process is ended. The last one is kept: starting a process takes 100 ms. */
const IDLE_MS = 60_000
/** Maximum number of processes for slow scripts, and the same number for all others. */
const MAX_PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))

/** A process. It is started for a job, and idle after the job. */
interface Place {
  readonly process: PooledProcess<ToProcess, FromProcess>
  job: ScriptJob | null
  isSlow: boolean
  isReady: boolean
}

export class SandboxPool {
  readonly #places = new Set<Place>()
  readonly #queue = new ScriptQueue()
  #isPaused = false
  #isScheduled = false

  /** Runs a script. Its time limit starts when it gets a process. @throws the abort reason of the signal */
  run(call: Execution, signal?: AbortSignal): Promise<ScriptOutcome> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#queue.remove(job)
        for (const place of this.#places) if (place.job === job) this.#drop(place)
        this.#schedule()
        reject(signal?.reason)
      }
      const settle = (outcome: ScriptOutcome) => {
        signal?.removeEventListener('abort', abort)
        resolve(outcome)
      }
      const job: ScriptJob = { ...call, isSlow: false, breaks: 0, settle, reject }
      signal?.addEventListener('abort', abort, { once: true })
      this.#queue.add(job)
      this.#schedule()
    })
  }

  isSlow(script: string): boolean {
    return this.#queue.isKnownSlow(script)
  }

  close(): void {
    for (const { settle } of this.#queue.removeAll()) settle(CLOSED)
    for (const place of this.#places) this.#end(place, CLOSED)
  }

  /** Assigns once per turn of the event loop, so that no job gets a process that the next of many aborts would kill. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#assign()
    })
  }

  #assign(): void {
    for (;;) {
      const free = [...this.#places].find(({ job }) => job === null)
      if (free === undefined && (this.#isPaused || this.#places.size >= 2 * MAX_PROCESSES)) return
      const slow = this.#slowPlaces()
      const busy = [...this.#places].filter(({ job }) => job !== null).length
      const job = this.#queue.next({ most: MAX_PROCESSES, slow, others: busy - slow })
      if (job === undefined) return
      if (free) this.#give(free, job)
      else this.#start(job)
    }
  }

  #slowPlaces(): number {
    return [...this.#places].filter(({ job, isSlow }) => job !== null && isSlow).length
  }

  #start(job: ScriptJob): void {
    try {
      const place: Place = {
        process: startSandbox({
          onMessage: (message) => this.#onMessage(place, message),
          onEnd: () => this.#onEnd(place),
        }),
        job,
        isSlow: this.#queue.isSlow(job),
        isReady: false,
      }
      this.#places.add(place)
      place.process.limit(MAX_START_MS, () => this.#onEnd(place))
    } catch {
      this.#pause()
      this.#retry(job, false)
    }
  }

  #onMessage(place: Place, { outcome, took = 0 }: FromProcess): void {
    const { job } = place
    if (job === null || !this.#places.has(place)) return
    if (outcome === undefined) {
      place.isReady = true
      this.#send(place, job)
      return
    }
    // An error that the script itself throws is in the JSON, even if its name is `TimeoutError`.
    this.#queue.remember(job, took > SLOW_MS || (!('json' in outcome) && outcome.name === 'TimeoutError'))
    this.#answer(place, job, outcome)
  }

  #give(place: Place, job: ScriptJob): void {
    place.job = job
    place.isSlow = this.#queue.isSlow(job)
    place.process.use()
    this.#send(place, job)
  }

  #send(place: Place, job: ScriptJob): void {
    const { names } = job
    if (typeof names !== 'function') return this.#post(place, job, names && JSON.stringify(names))
    // No limit applies while the names are fetched.
    place.process.unlimit()
    void this.#fetch(place, job, names)
  }

  async #fetch(place: Place, job: ScriptJob, names: () => Promise<string>): Promise<void> {
    try {
      const text = await names()
      if (place.job === job) this.#post(place, job, text)
    } catch (error) {
      if (place.job === job) this.#free(place)
      job.reject(error)
    }
  }

  #post(place: Place, job: ScriptJob, names: string | null): void {
    const { script, timeout, maxResult } = job
    if (names !== null && names.length > MAX_NAMES_CHARACTERS) return this.#answer(place, job, TOO_LONG)
    place.process.send({ script, names, timeout, maxResult })
    if (timeout > SLOW_MS) place.process.limit(SLOW_MS, () => this.#onSlow(place, job))
    else place.process.limit(timeout + GRACE_MS, () => this.#endLate(place, job))
  }

  /**
   * Continues a script as a slow one. If all processes for slow scripts are in use, it starts again later: a script has
   * no effects.
   */
  #onSlow(place: Place, job: ScriptJob): void {
    this.#queue.remember(job, true)
    if (place.isSlow || this.#slowPlaces() < MAX_PROCESSES) {
      place.isSlow = true
      place.process.limit(job.timeout - SLOW_MS + GRACE_MS, () => this.#endLate(place, job))
      job.onSlow?.()
    } else {
      this.#drop(place)
      this.#queue.addSlow(job)
    }
    this.#schedule()
  }

  #endLate(place: Place, job: ScriptJob): void {
    this.#queue.remember(job, true)
    this.#end(place, lateOutcome(job))
  }

  #answer(place: Place, job: ScriptJob, outcome: ScriptOutcome): void {
    this.#free(place)
    job.settle(outcome)
  }

  #free(place: Place): void {
    place.job = null
    place.process.rest(IDLE_MS, () => {
      if (this.#places.size > 1) this.#drop(place)
    })
    this.#schedule()
  }

  #end(place: Place, outcome: ScriptOutcome): void {
    const { job } = place
    this.#drop(place)
    job?.settle(outcome)
    this.#schedule()
  }

  /** Handles the unexpected end of a process. */
  #onEnd(place: Place): void {
    if (!this.#places.has(place)) return
    const { job, isReady } = place
    this.#drop(place)
    if (!isReady) this.#pause()
    if (job !== null) this.#retry(job, isReady)
    this.#schedule()
  }

  /**
   * Tries a script again, which is safe because scripts have no effects. A failed start is counted against the script
   * only if no other process is ready.
   */
  #retry(job: ScriptJob, hadBegun: boolean): void {
    if (hadBegun || ![...this.#places].some(({ isReady }) => isReady)) job.breaks += 1
    if (job.breaks < MAX_BREAKS) this.#queue.addFirst(job)
    else job.settle(BROKEN)
  }

  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    setTimeout(() => {
      this.#isPaused = false
      this.#assign()
    }, RESTART_MS)
  }

  #drop(place: Place): void {
    this.#places.delete(place)
    place.job = null
    place.process.kill()
  }
}
