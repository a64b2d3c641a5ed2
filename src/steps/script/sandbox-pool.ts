// steps: the processes that scripts run in. The turn never waits for a script, and one that can't be interrupted ends
// with its process. Threads would not do: ending one in the midst of WebAssembly, or one that runs out of memory, may
// take the server with it (nodejs/node#56312, #47224).
import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import type { JsonObject } from '../../model/json/value.ts'
import type { FromProcess, ToProcess } from './sandbox-process.ts'
import type { ScriptOutcome } from './sandbox.ts'
import { startProcess } from '../processes/start.ts'

/** Milliseconds after which a script counts as slow, this time and the next. */
const SLOW = 1000
/**
 * Milliseconds after which a process that doesn't answer is ended. Some built-in functions of QuickJS can't be
 * interrupted.
 */
const GRACE = 500
/**
 * Milliseconds, the last of each limit, for hearing an answer that is already there when this process was itself held
 * up.
 */
const HEARING = 100
/** Milliseconds that a process may take to start. */
const LONGEST_START = 60_000
/** Milliseconds until the next start after one that failed. */
const RESTART = 500
/**
 * Processes that may break off under a script, or before it, until it has failed. Memory may have run out, here or on
 * the machine.
 */
const MAX_BREAKS = 4
/** Characters of JSON text. */
const MAX_NAMES = 16 * 1024 * 1024
/** Milliseconds for which a process stays without work, save for the last one: a new one takes a tenth of a second. */
const IDLE = 60_000
/** Processes for slow scripts, and as many for all others, which so don't wait behind endless ones. */
const PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))
/** How many slow scripts are known; the one known longest is forgotten first. */
const MAX_SLOW = 1000

/**
 * Flags of Node: kilobytes for the stack, which QuickJS needs more of than Node gives, and megabytes for what it holds
 * beside QuickJS.
 */
const LIMITS = ['--stack-size=4000', '--max-old-space-size=128']

const BROKEN: ScriptOutcome = { name: 'InternalError', message: 'the process of the script broke off' }
const CLOSED: ScriptOutcome = { name: 'AbortError', message: 'the server stops' }
const TOO_LONG: ScriptOutcome = {
  name: 'RangeError',
  message: `what the script would see is longer than ${MAX_NAMES} characters`,
}

export interface Execution {
  readonly script: string
  /** Or a way to get their JSON text once there is a process for it; null: it is only parsed. */
  readonly names: JsonObject | (() => Promise<string>) | null
  /** Milliseconds. */
  readonly timeout: number
  /** Bytes that its result may have as JSON. */
  readonly maxResult: number
  /** Called when it is counted among the slow ones. */
  readonly onSlow?: (() => void) | undefined
}

interface Job extends Execution {
  isSlow: boolean
  /** How often its process broke off. */
  breaks: number
  settle(outcome: ScriptOutcome): void
  reject(error: unknown): void
}

/** From its start on it has a job, until it has answered the first one. */
interface Place {
  readonly process: ChildProcess
  job: Job | null
  isSlow: boolean
  isReady: boolean
  timer?: NodeJS.Timeout
}

export class SandboxPool {
  readonly #places = new Set<Place>()
  readonly #waiting: Job[] = []
  /** Slow ones that wait. */
  readonly #aside: Job[] = []
  /** Texts of scripts that took long the last time. */
  readonly #slow = new Set<string>()
  /** A start has failed: none for a while. */
  #isPaused = false
  #isDue = false

  /** Its time begins when it gets a process: others may be before it. @throws whatever the signal was aborted with */
  run(call: Execution, signal?: AbortSignal): Promise<ScriptOutcome> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        for (const waiting of [this.#waiting, this.#aside]) {
          const index = waiting.indexOf(job)
          if (index >= 0) waiting.splice(index, 1)
        }
        for (const place of this.#places) if (place.job === job) this.#drop(place)
        this.#soon()
        reject(signal?.reason)
      }
      const settle = (outcome: ScriptOutcome) => {
        signal?.removeEventListener('abort', abort)
        resolve(outcome)
      }
      const job: Job = { ...call, isSlow: false, breaks: 0, settle, reject }
      signal?.addEventListener('abort', abort, { once: true })
      if (this.#isSlowJob(job)) this.#setAside(job)
      else this.#waiting.push(job)
      this.#soon()
    })
  }

  /** Whether that script took long the last time. */
  isSlow(script: string): boolean {
    return this.#slow.has(script)
  }

  /** Ends all processes, and what runs in them. */
  close(): void {
    for (const { settle } of [...this.#waiting.splice(0), ...this.#aside.splice(0)]) settle(CLOSED)
    for (const place of this.#places) this.#end(place, CLOSED)
  }

  /**
   * Once for all that happens in this turn: of many that are called off none gets a process that the next to go would
   * take with it.
   */
  #soon(): void {
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      this.#next()
    })
  }

  /**
   * Gives what waits to processes that are free, and starts those that are missing: first come, first served, among the
   * slow and among the others.
   */
  #next(): void {
    for (;;) {
      const free = [...this.#places].find(({ job }) => job === null)
      if (free === undefined && (this.#isPaused || this.#places.size >= 2 * PROCESSES)) return
      const job = this.#take()
      if (job === undefined) return
      if (free) this.#give(free, job)
      else this.#start(job)
    }
  }

  #take(): Job | undefined {
    const busy = [...this.#places].filter(({ job }) => job !== null).length
    const slow = this.#slowPlaces()
    if (slow < PROCESSES && this.#aside.length > 0) return this.#aside.shift()
    if (busy - slow >= PROCESSES) return undefined
    for (;;) {
      const job = this.#waiting.shift()
      if (job === undefined || slow < PROCESSES || !this.#isSlowJob(job)) return job
      this.#setAside(job)
    }
  }

  #setAside(job: Job): void {
    job.isSlow = true
    this.#aside.push(job)
    job.onSlow?.()
  }

  #isSlowJob({ isSlow, names, script }: Job): boolean {
    return isSlow || (names !== null && this.#slow.has(script))
  }

  #slowPlaces(): number {
    return [...this.#places].filter(({ job, isSlow }) => job !== null && isSlow).length
  }

  #give(place: Place, job: Job): void {
    place.job = job
    place.isSlow = this.#isSlowJob(job)
    place.process.ref()
    this.#send(place, job)
  }

  #send(place: Place, job: Job): void {
    const { names } = job
    if (typeof names !== 'function') return this.#post(place, job, names && JSON.stringify(names))
    // Neither its start nor its idleness is timed meanwhile.
    clearTimeout(place.timer)
    void this.#fetch(place, job, names)
  }

  async #fetch(place: Place, job: Job, names: () => Promise<string>): Promise<void> {
    try {
      const text = await names()
      if (place.job === job) this.#post(place, job, text)
    } catch (error) {
      if (place.job === job) this.#free(place)
      job.reject(error)
    }
  }

  #post(place: Place, job: Job, names: string | null): void {
    const { script, timeout, maxResult } = job
    if (names !== null && names.length > MAX_NAMES) return this.#answer(place, job, TOO_LONG)
    const message: ToProcess = { script, names, timeout, maxResult }
    place.process.send(message)
    if (timeout > SLOW) this.#limit(place, SLOW, () => this.#moveAside(place, job))
    else this.#limit(place, timeout + GRACE, () => this.#endLate(place, job))
  }

  /** To the places for slow ones; if all of them are taken it begins again there, later: it has no effects. */
  #moveAside(place: Place, job: Job): void {
    this.#remember(job, true)
    if (place.isSlow || this.#slowPlaces() < PROCESSES) {
      place.isSlow = true
      this.#limit(place, job.timeout - SLOW + GRACE, () => this.#endLate(place, job))
      job.onSlow?.()
    } else {
      this.#drop(place)
      this.#setAside(job)
    }
    this.#soon()
  }

  #endLate(place: Place, job: Job): void {
    this.#remember(job, true)
    this.#end(place, lateOutcome(job))
  }

  #limit(place: Place, milliseconds: number, then: () => void): void {
    this.#after(place, milliseconds - HEARING, () => this.#after(place, HEARING, then))
  }

  #after(place: Place, milliseconds: number, then: () => void): void {
    clearTimeout(place.timer)
    place.timer = setTimeout(then, milliseconds)
  }

  #remember({ script, names }: Job, isSlow: boolean): void {
    if (names === null) return
    this.#slow.delete(script)
    if (!isSlow) return
    this.#slow.add(script)
    const [oldest] = this.#slow
    if (oldest !== undefined && this.#slow.size > MAX_SLOW) this.#slow.delete(oldest)
  }

  #start(job: Job): void {
    let started: ChildProcess
    try {
      started = startSandbox()
    } catch {
      this.#pause()
      this.#retry(job, false)
      return
    }
    const place: Place = { process: started, job, isSlow: this.#isSlowJob(job), isReady: false }
    this.#places.add(place)
    const broken = () => this.#break(place)
    started
      .on('message', (message: FromProcess) => this.#onMessage(place, message))
      .on('error', broken)
      .on('exit', broken)
    // Only its work keeps this process alive, see `ref`.
    started.channel?.unref()
    this.#after(place, LONGEST_START, broken)
  }

  #onMessage(place: Place, { outcome, took = 0 }: FromProcess): void {
    const { job } = place
    if (job === null || !this.#places.has(place)) return
    if (outcome === undefined) {
      place.isReady = true
      this.#send(place, job)
      return
    }
    // What a script itself throws is in the JSON, whatever its name.
    this.#remember(job, took > SLOW || (!('json' in outcome) && outcome.name === 'TimeoutError'))
    this.#answer(place, job, outcome)
  }

  #answer(place: Place, job: Job, outcome: ScriptOutcome): void {
    this.#free(place)
    job.settle(outcome)
  }

  #free(place: Place): void {
    place.job = null
    place.process.unref()
    this.#after(place, IDLE, () => {
      if (this.#places.size > 1) this.#drop(place)
    })
    place.timer?.unref()
    this.#soon()
  }

  #end(place: Place, outcome: ScriptOutcome): void {
    const { job } = place
    this.#drop(place)
    job?.settle(outcome)
    this.#soon()
  }

  #break(place: Place): void {
    if (!this.#places.has(place)) return
    const { job, isReady } = place
    this.#drop(place)
    if (!isReady) this.#pause()
    if (job !== null) this.#retry(job, isReady)
    this.#soon()
  }

  /**
   * A process that broke off says little about the script, which has no effects; one that did not start says nothing
   * while others live that it can wait for.
   */
  #retry(job: Job, hadBegun: boolean): void {
    if (hadBegun || ![...this.#places].some(({ isReady }) => isReady)) job.breaks += 1
    if (job.breaks < MAX_BREAKS) this.#waiting.unshift(job)
    else job.settle(BROKEN)
  }

  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    setTimeout(() => {
      this.#isPaused = false
      this.#next()
    }, RESTART)
  }

  #drop(place: Place): void {
    this.#places.delete(place)
    clearTimeout(place.timer)
    place.job = null
    place.process.kill('SIGKILL')
    place.process.unref()
  }
}

/**
 * Without the environment, save for the time zone of dates, or a way to the server's output. @throws Error when the
 * system refuses, if it doesn't tell so later
 */
function startSandbox(): ChildProcess {
  const { TZ } = process.env
  return startProcess({
    module: new URL('./sandbox-process', import.meta.url),
    flags: LIMITS,
    env: { ...(TZ !== undefined && { TZ }) },
    cwd: import.meta.dirname,
    output: false,
  })
}

const lateOutcome = ({ timeout }: Job): ScriptOutcome => ({
  name: 'TimeoutError',
  message: `the script computed for longer than ${timeout / 1000} s`,
})
