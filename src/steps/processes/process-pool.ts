// steps: a pool of processes, each of which runs one job at a time, so that code of a service neither blocks nor ends
// the server. Processes are used, because ending a thread during WebAssembly, or one that runs out of memory, may end
// the server (nodejs/node#56312, #47224).
//
// 1. A job waits until fewer jobs than the pool has places run. It gets an idle process, or a new one if none is idle.
//    Slow jobs have as many places of their own.
// 2. The first message of a process says that it is ready. Then the pool begins the job (`begin`).
// 3. When the job has ended, the process becomes idle (`free`). An idle process is ended after a while.
// 4. If a process ends unexpectedly, its job waits for another one, unless the job may not be repeated. A job fails
//    after several such ends.
// 5. If a job is aborted, its result is no longer waited for; the kind of pool decides what becomes of its process.
import { messageOf } from '../../model/error-message.ts'
import { PooledProcess, type ProcessOptions } from './pooled-process.ts'

/** Maximum time for the start of a process. */
export const MAX_START_MS = 60_000
/** Pause after a failed start of a process. */
const RESTART_MS = 500
/** Time after which an idle process is ended. */
const IDLE_MS = 60_000
/**
 * A job fails after this many processes ended unexpectedly, for example because memory ran out in the process or on the
 * machine.
 */
const MAX_BREAKS = 4

/** The types of a pool: what its jobs are, and the messages to and from its processes. */
export interface Work {
  readonly call: unknown
  readonly sent: object
  readonly received: unknown
}

export interface Job<W extends Work> {
  readonly call: W['call']
  /** Whether another process may run it: it has had no effects, and its result is needed. */
  mayRepeat: boolean
  /** Number of times that its process ended unexpectedly. */
  breaks: number
  /** Whether it runs for long. */
  isSlow: boolean
  /** Takes the JSON text of its result. */
  readonly resolve: (json: string) => void
  readonly reject: (error: unknown) => void
}

/** A process of the pool. */
export class Place<W extends Work> extends PooledProcess<W['sent'], W['received']> {
  /** null: the process is idle. A process is started for a job. */
  job: Job<W> | null = null
  isReady = false
  /** Number of the job that it runs, for a pool that counts them. */
  runs = 0
  /** Whether it is ended after its job. */
  isLast = false
}

export abstract class ProcessPool<W extends Work> {
  /** Number of places. */
  readonly #most: number
  /** Number of idle processes that are not ended. */
  readonly #kept: number
  protected readonly places = new Set<Place<W>>()
  /** In order of arrival. */
  readonly #waiting = new Set<Job<W>>()
  #isPaused = false

  constructor(most: number, kept = 0) {
    this.#most = most
    this.#kept = kept
  }

  /** How the next process is started. */
  protected abstract options(): ProcessOptions
  /** Sends the job to its process, and sets its time limit. */
  protected abstract begin(place: Place<W>, job: Job<W>): void
  protected abstract onMessage(place: Place<W>, message: W['received']): void
  /** Called after the job of the place was aborted. */
  protected abstract onAbort(place: Place<W>, reason: unknown): void
  /** The error of a job whose process ended. */
  protected abstract brokenOff(how: string): Error

  /**
   * Resolves with the JSON text of the result of a job. `signal`: that of this job alone.
   * @throws what `reject` of the job gets; the abort reason of the signal
   */
  protected enqueue(call: W['call'], signal?: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const job: Job<W> = { call, mayRepeat: true, breaks: 0, isSlow: false, resolve, reject }
      signal?.addEventListener('abort', () => this.abort(job, signal.reason))
      this.#waiting.add(job)
      this.schedule()
    })
  }

  /** Ends all processes, and rejects their jobs. */
  close() {
    const reason = new DOMException('the server stops', 'AbortError')
    for (const job of this.#waiting) job.reject(reason)
    this.#waiting.clear()
    for (const place of this.places) {
      place.job?.reject(reason)
      this.drop(place)
    }
  }

  /** Ends a job whose result is no longer waited for. */
  protected abort(job: Job<W>, reason: unknown) {
    job.reject(reason)
    job.mayRepeat = false
    this.#waiting.delete(job)
    for (const place of this.places) if (place.job === job) this.onAbort(place, reason)
    this.schedule()
  }

  /** Assigns after the present task, so that no job gets a process that the next of many aborts would kill. */
  protected schedule() {
    queueMicrotask(() => this.#assign())
  }

  #assign() {
    for (const job of this.#waiting) {
      if (this.isFull(job.isSlow)) continue
      const free = [...this.places].find((place) => place.job === null)
      if (!free && this.#isPaused) return
      this.#waiting.delete(job)
      if (free) {
        free.job = job
        this.begin(free, job)
      } else this.#start(job)
    }
  }

  /** Whether all places for slow jobs, or all others, are taken. */
  protected isFull(isSlow: boolean) {
    return [...this.places].filter(({ job }) => job?.isSlow === isSlow).length >= this.#most
  }

  /** Ends the process of a job, which begins anew in another when there is a place. */
  protected restart(place: Place<W>, job: Job<W>) {
    this.drop(place)
    this.#waiting.add(job)
    this.schedule()
  }

  #start(job: Job<W>) {
    try {
      const place: Place<W> = new Place<W>(this.options(), {
        onMessage: (message) => this.#onMessage(place, message),
        onEnd: (how) => this.onEnd(place, how),
      })
      place.job = job
      place.limit(MAX_START_MS, () => this.onEnd(place, 'it did not start in time'))
      this.places.add(place)
    } catch (error) {
      this.#onBreak(job, messageOf(error), false)
    }
  }

  #onMessage(place: Place<W>, message: W['received']) {
    if (!this.places.has(place)) return
    if (place.isReady) return this.onMessage(place, message)
    place.isReady = true
    if (place.job?.mayRepeat === true) this.begin(place, place.job)
    else this.free(place)
  }

  /** Marks the process as idle. */
  protected free(place: Place<W>) {
    place.job = null
    if (place.isLast) this.drop(place)
    else
      place.rest(IDLE_MS, () => {
        if (this.places.size > this.#kept) this.drop(place)
      })
    this.schedule()
  }

  /** Handles the unexpected end of a process. */
  protected onEnd(place: Place<W>, how: string) {
    if (!this.places.has(place)) return
    const { job, isReady } = place
    this.drop(place)
    if (job) this.#onBreak(job, how, isReady)
  }

  /** A failed start is counted against the job only if no other process is ready. */
  #onBreak(job: Job<W>, how: string, wasReady: boolean) {
    if (!wasReady && !this.#isPaused) {
      this.#isPaused = true
      setTimeout(() => {
        this.#isPaused = false
        this.schedule()
      }, RESTART_MS)
    }
    if (wasReady || ![...this.places].some(({ isReady }) => isReady)) job.breaks += 1
    if (!job.mayRepeat || job.breaks >= MAX_BREAKS) job.reject(this.brokenOff(how))
    else this.#waiting.add(job)
    this.schedule()
  }

  /** Kills the process. */
  protected drop(place: Place<W>) {
    this.places.delete(place)
    place.job = null
    place.kill()
  }
}
