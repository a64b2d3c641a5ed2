// steps: the processes that isolated functions run in, one function at a time in each. A function that does not return
// within its time ends with its process.
import type { Json } from '../../model/json/value.ts'
import type { Flux, IsolatedCall, PackageFolder } from '../../ports/step-runner.ts'
import { PooledProcess } from '../processes/pooled-process.ts'
import { rethrown } from '../processes/remote-error.ts'
import { answerCall } from './isolate-calls.ts'
import type { FromIsolate, ToIsolate } from './isolate-process.ts'

/** Time that a process may take to start, and a module to load. */
const MAX_START_MS = 60_000
/** Time that a function has to end after it was aborted. If it does, its process is used again. */
const GRACE_MS = 500
/** Time for which a process stays without work. */
const IDLE_MS = 60_000
/** A function fails when so many processes ended unexpectedly before it began. */
const MAX_BREAKS = 3

interface Job extends IsolatedCall {
  breaks: number
  settle(result: Promise<Json>): void
}

interface Place {
  readonly process: PooledProcess<ToIsolate, FromIsolate>
  /** null: it is free, or what runs there was aborted. */
  job: Job | null
  /** Number of the function that it was given last, and what that may call until it has ended, also when aborted. */
  run: number
  flux: Flux | null
  isReady: boolean
  hasBegun: boolean
  /** It is not used again after what runs there now. */
  isLast: boolean
  isFree: boolean
  timer?: NodeJS.Timeout
}

export interface IsolatePoolOptions {
  /** Processes at once. */
  readonly places: number
  readonly allowPrivate: boolean
  /** Bytes that a result may have as JSON. */
  readonly maxResult: number
}

export class IsolatePool {
  readonly #options: IsolatePoolOptions
  readonly #places = new Set<Place>()
  readonly #waiting: Job[] = []
  #runs = 0
  #packages: readonly PackageFolder[] = []

  constructor(options: IsolatePoolOptions) {
    this.#options = options
  }

  /** Sets the packages. What runs continues with the modules that it began with. */
  mount(packages: readonly PackageFolder[]): void {
    this.#packages = packages
    for (const place of this.#places) {
      if (place.isFree) this.#drop(place)
      else place.isLast = true
    }
  }

  /** @throws what the function threw; ResultTooLarge; TimeoutError; whatever `flux.signal` was aborted with */
  async run(call: IsolatedCall): Promise<Json> {
    const { signal } = call.flux
    signal.throwIfAborted()
    return new Promise<Json>((resolve) => {
      const abort = () => this.#abort(job, signal.reason)
      const job: Job = {
        ...call,
        breaks: 0,
        settle(result) {
          signal.removeEventListener('abort', abort)
          resolve(result)
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.push(job)
      this.#assign()
    })
  }

  /** Ends all processes, and what runs in them. */
  close(): void {
    for (const { settle } of this.#waiting.splice(0)) settle(closed())
    for (const place of this.#places) {
      const { job } = place
      this.#drop(place)
      job?.settle(closed())
    }
  }

  #assign(): void {
    for (;;) {
      const free = [...this.#places].find(({ isFree }) => isFree)
      if (!free && this.#places.size >= this.#options.places) return
      const job = this.#waiting.shift()
      if (!job) return
      if (free) this.#give(free, job)
      else this.#start(job)
    }
  }

  #start(job: Job): void {
    try {
      const place: Place = {
        process: new PooledProcess(processOptions(), {
          onMessage: (message: FromIsolate) => this.#onMessage(place, message),
          onEnd: (how) => this.#onEnd(place, how),
        }),
        job,
        run: 0,
        flux: null,
        isReady: false,
        hasBegun: false,
        isLast: false,
        isFree: false,
      }
      this.#places.add(place)
      place.process.limit(MAX_START_MS, () => this.#onEnd(place, 'it did not start in time'))
      place.process.send({ kind: 'open', packages: this.#packages, allowPrivate: this.#options.allowPrivate })
    } catch (error) {
      job.settle(Promise.reject(error))
    }
  }

  #give(place: Place, job: Job): void {
    const { args, flux, package: owner, className, methodName } = job
    const { contextId, fluxName, stateName, stepKey, attempt, rawBody } = flux
    const run = ++this.#runs
    Object.assign(place, { job, run, flux, isFree: false, hasBegun: false })
    place.process.use()
    place.process.limit(MAX_START_MS, () => this.#onEnd(place, 'its module did not load in time'))
    place.process.send({
      kind: 'run',
      run,
      name: { package: owner, className, methodName },
      args: JSON.stringify(args),
      facts: { contextId, fluxName, stateName, stepKey, attempt, rawBody },
      maxResult: this.#options.maxResult,
    })
  }

  #onMessage(place: Place, message: FromIsolate): void {
    if (!this.#places.has(place)) return
    const { job } = place
    switch (message.kind) {
      case 'ready':
        place.isReady = true
        if (job) this.#give(place, job)
        else this.#free(place)
        return
      case 'begun':
        place.hasBegun = true
        if (job)
          place.process.limit(job.timeout, () =>
            this.#abort(job, new DOMException(`no result within ${job.timeout / 1000} s`, 'TimeoutError')),
          )
        return
      case 'log':
        this.#fluxOf(place, message)?.log[message.level](message.message, message.fields)
        return
      case 'call':
        void answerCall(message, this.#fluxOf(place, message)).then((answer) => place.process.send(answer))
        return
      case 'done':
      case 'failed':
        this.#free(place)
        job?.settle(
          message.kind === 'done'
            ? Promise.resolve(message.json).then(parse)
            : Promise.reject(rethrown(message.thrown)),
        )
        this.#assign()
    }
  }

  /**
   * Null when the request comes from a function that has ended but left something running: its log is no longer
   * redacted for it, and its package is no longer the current one.
   */
  #fluxOf({ run, flux }: Place, asked: FromIsolate & { kind: 'log' | 'call' }): Flux | null {
    return asked.run === run ? flux : null
  }

  /** For a function whose time is over, or for which nobody waits any more. */
  #abort(job: Job, reason: unknown): void {
    const index = this.#waiting.indexOf(job)
    if (index >= 0) this.#waiting.splice(index, 1)
    const place = [...this.#places].find((one) => one.job === job)
    job.settle(Promise.reject(reason))
    if (!place) return
    place.job = null
    const { name, message } = reason instanceof Error ? reason : new DOMException('called off', 'AbortError')
    if (name === 'TimeoutError') place.isLast = true
    place.process.send({ kind: 'abort', name, message })
    place.process.limit(GRACE_MS, () => {
      this.#drop(place)
      this.#assign()
    })
  }

  #free(place: Place): void {
    if (place.isLast) return this.#drop(place)
    Object.assign(place, { job: null, flux: null, isFree: true })
    place.process.rest(IDLE_MS, () => this.#drop(place))
  }

  /** Its process ended unexpectedly. A function that had not begun is tried again. */
  #onEnd(place: Place, how: string): void {
    if (!this.#places.has(place)) return
    const { job, hasBegun } = place
    this.#drop(place)
    if (job && !hasBegun && (job.breaks += 1) < MAX_BREAKS) this.#waiting.unshift(job)
    else
      job?.settle(
        Promise.reject(Object.assign(new Error(`the process of the function ended: ${how}`), { name: 'ProcessEnded' })),
      )
    this.#assign()
  }

  #drop(place: Place): void {
    this.#places.delete(place)
    place.process.kill()
  }
}

/** Flags of Node's inspector are left out: its port is taken. */
function processOptions() {
  const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'))
  return {
    module: new URL('./isolate-process', import.meta.url),
    flags: import.meta.url.endsWith('.js') ? flags : [],
    env: process.env,
    output: true,
  }
}

const closed = () => Promise.reject(new DOMException('the server stops', 'AbortError'))

const parse = (json: string): Json => JSON.parse(json)
