// steps: the pool of processes for isolated functions. Each runs one function at a time. A function that does not
// return within its time limit is ended by killing its process.
//
// - Isolated functions run in processes (`steps/modules/isolate-pool.ts`, `isolate-process.ts`), which start and end
//   like those of scripts (`steps/processes/start.ts`). Unlike scripts they have effects, so the pool does not restart
//   a function whose process died.
import { METHODS } from '../../api/calls.ts'
import type { Json } from '../../model/json/value.ts'
import type { StepFlux, IsolatedCall, PackageFolder } from '../../ports/steps.ts'
import { PooledProcess } from '../processes/pooled-process.ts'
import { rethrown } from '../processes/remote-error.ts'
import { answerCall } from './isolate-calls.ts'
import type { FromIsolate, ToIsolate } from './isolate-process.ts'

/** Maximum time for the start of a process, and for loading a module. */
const MAX_START_MS = 60_000
/** Time in which an aborted function may end. If it does, its process is reused (except after a timeout). */
const GRACE_MS = 500
/** Time after which an idle process is ended. */
const IDLE_MS = 60_000
/** A function fails after this many processes ended unexpectedly before it began. */
const MAX_BREAKS = 3

interface Job extends IsolatedCall {
  breaks: number
  settle(result: Promise<Json>): void
}

interface Place {
  readonly process: PooledProcess<ToIsolate, FromIsolate>
  /** null: the process is idle, or its function was aborted. */
  job: Job | null
  /**
   * Number of the last run in this process, and the `flux` argument of its function, which is valid until the function
   * ends, even if it was aborted.
   */
  run: number
  flux: StepFlux | null
  isReady: boolean
  hasBegun: boolean
  /** Whether the process is ended after its current function. */
  isLast: boolean
  isFree: boolean
  timer?: NodeJS.Timeout
}

export interface IsolatePoolOptions {
  /** Maximum number of processes. */
  readonly places: number
  readonly allowPrivate: boolean
  /** Maximum size of a result, in bytes of JSON. */
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

  /** Sets the packages. Running functions continue with the modules that they began with. */
  mount(packages: readonly PackageFolder[]): void {
    this.#packages = packages
    for (const place of this.#places) {
      if (place.isFree) this.#drop(place)
      else place.isLast = true
    }
  }

  /** @throws what the function threw; ResultTooLarge; TimeoutError; the abort reason of `flux.signal` */
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

  /** Ends all processes, and rejects their functions. */
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
      const { allowPrivate } = this.#options
      place.process.send({ kind: 'open', packages: this.#packages, allowPrivate, methods: Object.keys(METHODS) })
    } catch (error) {
      job.settle(Promise.reject(error))
    }
  }

  #give(place: Place, job: Job): void {
    const { args, flux, package: owner, className, methodName } = job
    const { contextId, fluxName, stateName, stepKey, attempt, rawBody, traceparent } = flux
    const run = ++this.#runs
    Object.assign(place, { job, run, flux, isFree: false, hasBegun: false })
    place.process.use()
    place.process.limit(MAX_START_MS, () => this.#onEnd(place, 'its module did not load in time'))
    place.process.send({
      kind: 'run',
      run,
      name: { package: owner, className, methodName },
      args: JSON.stringify(args),
      facts: { contextId, fluxName, stateName, stepKey, attempt, rawBody, traceparent },
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
    }
  }

  /**
   * The `flux` argument for a message of the current run; null if an ended function left something running that sent
   * it: the redactor and the package of the current run are those of another step.
   */
  #fluxOf({ run, flux }: Place, asked: FromIsolate & { kind: 'log' | 'call' }): StepFlux | null {
    return asked.run === run ? flux : null
  }

  /** Aborts a function after a timeout, or because its result is no longer needed. */
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
    if (place.isLast) this.#drop(place)
    else {
      Object.assign(place, { job: null, flux: null, isFree: true })
      place.process.rest(IDLE_MS, () => this.#drop(place))
    }
    this.#assign()
  }

  /** Handles the unexpected end of a process. A function that had not begun is tried again. */
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

/** The flags of Node's inspector are omitted, because its port is in use by this process. */
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
