// steps: the processes that isolated functions run in, one function at a time in each. A function that doesn't return
// within its time ends with its process.
import type { ChildProcess } from 'node:child_process'
import { FluxError } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import type { Flux, IsolatedCall, PackageFolder } from '../../ports/step-runner.ts'
import type { FromIsolate, ToIsolate } from './isolate-process.ts'
import { describeThrown, rethrown } from '../processes/remote-error.ts'
import { startProcess } from '../processes/start.ts'

/** Milliseconds that a process may take to start, and a module to load. */
const LONGEST_START_MS = 60_000
/**
 * Milliseconds that a function that is called off has to end by itself, to clear up or to let its process be used
 * again.
 */
const GRACE_MS = 500
/**
 * Milliseconds, the last of each limit, for hearing an answer that is already there when this process was itself held
 * up.
 */
const HEARING_MS = 100
/** Milliseconds for which a process stays without work. */
const IDLE_MS = 60_000
/** Processes that may break off before a function has begun, until it has failed. */
const MAX_BREAKS = 3

interface Job extends IsolatedCall {
  breaks: number
  settle(result: Promise<Json>): void
}

interface Place {
  readonly process: ChildProcess
  /** null: it is free, or what runs there is called off. */
  job: Job | null
  /**
   * Number of the function that it was given last, and what that may call until it has ended, also when it is called
   * off.
   */
  run: number
  flux: Flux | null
  isReady: boolean
  hasBegun: boolean
  /** Ends when what runs there has ended. */
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

  /** Sets the packages. What runs goes on with the modules that it began with. */
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
      const abort = () => this.#callOff(job, signal.reason)
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
      this.#next()
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

  #next(): void {
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
    let started: ChildProcess
    try {
      const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'))
      started = startProcess({
        module: new URL('./isolate-process', import.meta.url),
        flags: import.meta.url.endsWith('.js') ? flags : [],
        env: process.env,
        output: true,
      })
    } catch (error) {
      job.settle(Promise.reject(error))
      return
    }
    const place: Place = {
      process: started,
      job,
      run: 0,
      flux: null,
      isReady: false,
      hasBegun: false,
      isLast: false,
      isFree: false,
    }
    this.#places.add(place)
    started
      .on('message', (message: FromIsolate) => this.#onMessage(place, message))
      .on('error', () => this.#break(place, 'it could not be started'))
      .on('exit', (code, signal) => this.#break(place, signal ?? `code ${code}`))
    started.channel?.unref()
    this.#limit(place, LONGEST_START_MS, () => this.#break(place, 'it did not start in time'))
    this.#say(place, { kind: 'open', packages: this.#packages, allowPrivate: this.#options.allowPrivate })
  }

  #give(place: Place, job: Job): void {
    const { args, flux, package: owner, className, methodName } = job
    const { contextId, fluxName, stateName, stepKey, attempt, rawBody } = flux
    const run = ++this.#runs
    Object.assign(place, { job, run, flux, isFree: false, hasBegun: false })
    place.process.ref()
    this.#limit(place, LONGEST_START_MS, () => this.#break(place, 'its module did not load in time'))
    this.#say(place, {
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
          this.#limit(place, job.timeout, () =>
            this.#callOff(job, new DOMException(`no result within ${job.timeout / 1000} s`, 'TimeoutError')),
          )
        return
      case 'log':
        this.#fluxOf(place, message)?.log[message.level](message.message, message.fields)
        return
      case 'call':
        void this.#call(place, message)
        return
      case 'done':
      case 'failed':
        this.#free(place)
        job?.settle(
          message.kind === 'done'
            ? Promise.resolve(message.json).then(parse)
            : Promise.reject(rethrown(message.thrown)),
        )
        this.#next()
    }
  }

  /**
   * Null when what it asks for was left running by a function that has ended: what the log hides, and where services
   * are sought, is the next one's by now.
   */
  #fluxOf({ run, flux }: Place, asked: FromIsolate & { kind: 'log' | 'call' }): Flux | null {
    return asked.run === run ? flux : null
  }

  /** What a function asks of the server. */
  async #call(place: Place, message: FromIsolate & { kind: 'call' }): Promise<void> {
    const { call, method, request } = message
    try {
      const flux = this.#fluxOf(place, message)
      if (!flux) throw new Error('the function has ended: it can make no more calls')
      const answer: unknown = await Reflect.apply(flux[method], flux, [JSON.parse(request)])
      this.#say(place, { kind: 'answer', call, json: JSON.stringify(answer ?? null) })
    } catch (error) {
      this.#say(place, {
        kind: 'refusal',
        call,
        failure: error instanceof FluxError ? error.failure : null,
        thrown: describeThrown(error),
      })
    }
  }

  /** Its time is over, or nobody waits for it any more. */
  #callOff(job: Job, reason: unknown): void {
    const index = this.#waiting.indexOf(job)
    if (index >= 0) this.#waiting.splice(index, 1)
    const place = [...this.#places].find((one) => one.job === job)
    job.settle(Promise.reject(reason))
    if (!place) return
    place.job = null
    const { name, message } = reason instanceof Error ? reason : new DOMException('called off', 'AbortError')
    if (name === 'TimeoutError') place.isLast = true
    this.#say(place, { kind: 'abort', name, message })
    this.#limit(place, GRACE_MS, () => {
      this.#drop(place)
      this.#next()
    })
  }

  #free(place: Place): void {
    if (place.isLast) return this.#drop(place)
    Object.assign(place, { job: null, flux: null, isFree: true })
    place.process.unref()
    this.#limit(place, IDLE_MS, () => this.#drop(place))
    place.timer?.unref()
  }

  #break(place: Place, how: string): void {
    if (!this.#places.has(place)) return
    const { job, hasBegun } = place
    this.#drop(place)
    if (job && !hasBegun && (job.breaks += 1) < MAX_BREAKS) this.#waiting.unshift(job)
    else
      job?.settle(
        Promise.reject(Object.assign(new Error(`the process of the function ended: ${how}`), { name: 'ProcessEnded' })),
      )
    this.#next()
  }

  #drop(place: Place): void {
    this.#places.delete(place)
    clearTimeout(place.timer)
    place.process.kill('SIGKILL')
    place.process.unref()
  }

  #limit(place: Place, milliseconds: number, then: () => void): void {
    clearTimeout(place.timer)
    place.timer = setTimeout(
      () => {
        place.timer = setTimeout(then, Math.min(HEARING_MS, milliseconds))
      },
      Math.max(0, milliseconds - HEARING_MS),
    )
  }

  /** One that can't hear any more is about to tell that it has ended. */
  #say(place: Place, message: ToIsolate): void {
    if (place.process.connected) place.process.send(message, () => {})
  }
}

const closed = () => Promise.reject(new DOMException('the server stops', 'AbortError'))

const parse = (json: string): Json => JSON.parse(json)
