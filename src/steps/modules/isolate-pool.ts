// steps: the pool of processes for isolated functions. A function that does not return within its time limit is ended by
// killing its process. Unlike scripts, functions have effects: one that has begun is not repeated. Its `flux` argument
// forwards calls to the server, which performs them here.
import { METHODS } from '../../api/calls.ts'
import { FluxError } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import type { StepFlux, IsolatedCall, PackageFolder } from '../../ports/steps.ts'
import { MAX_START_MS, ProcessPool, type Job, type Place } from '../processes/process-pool.ts'
import { describeThrown, rethrown } from '../processes/remote-error.ts'
import type { FromIsolate, IsolateOptions, ToIsolate } from './isolate-process.ts'

/** Time in which an aborted function may end. If it does, its process is reused (except after a timeout). */
const GRACE_MS = 500

interface Isolated {
  readonly call: IsolatedCall
  readonly sent: ToIsolate
  readonly received: FromIsolate
}

type IsolatePlace = Place<Isolated>

export class IsolatePool extends ProcessPool<Isolated> {
  readonly #options: IsolateOptions
  #packages: readonly PackageFolder[] = []

  /** `places`: maximum number of processes. */
  constructor({ places, ...options }: IsolateOptions & { readonly places: number }) {
    super(places)
    this.#options = options
  }

  /** Sets the packages. Running functions continue with the modules that they began with. */
  mount(packages: readonly PackageFolder[]) {
    this.#packages = packages
    for (const place of this.places) {
      place.isLast = true
      if (place.job === null) this.drop(place)
    }
  }

  /** @throws what the function threw; ResultTooLarge; TimeoutError; the abort reason of `flux.signal` */
  async run(call: IsolatedCall): Promise<Json> {
    return JSON.parse(await this.enqueue(call, call.flux.signal))
  }

  /** The flags of Node's inspector are omitted, because its port is in use by this process. */
  protected override options() {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'))
    return {
      module: new URL('./isolate-process', import.meta.url),
      flags: import.meta.url.endsWith('.js') ? flags : [],
      env: process.env,
      output: true,
    }
  }

  protected override begin(place: IsolatePlace, { call }: Job<Isolated>) {
    const { args, flux, ...name } = call
    const { contextId, fluxName, stateName, stepKey, attempt, rawBody, traceparent } = flux
    place.runs += 1
    place.limit(MAX_START_MS, () => this.onEnd(place, 'its module did not load in time'))
    place.send({
      kind: 'run',
      run: place.runs,
      name,
      args: JSON.stringify(args),
      facts: { contextId, fluxName, stateName, stepKey, attempt, rawBody, traceparent },
      ...this.#options,
      packages: this.#packages,
      methods: Object.keys(METHODS),
    })
  }

  protected override onMessage(place: IsolatePlace, message: FromIsolate) {
    const { job } = place
    switch (message.kind) {
      case 'begun':
        if (job?.mayRepeat !== true) return
        job.mayRepeat = false
        place.limit(job.call.timeout, () =>
          this.abort(job, new DOMException(`no result within ${job.call.timeout / 1000} s`, 'TimeoutError')),
        )
        return
      case 'log':
        fluxOf(place, message.run)?.log[message.level](message.message, message.fields)
        return
      case 'call':
        void answerOf(message, fluxOf(place, message.run)).then((answer) => place.send(answer))
        return
      case 'done':
        if ('json' in message) job?.resolve(message.json)
        else job?.reject(rethrown(message.thrown))
        return this.free(place)
    }
  }

  protected override onAbort(place: IsolatePlace, reason: unknown) {
    const { name, message } = reason instanceof Error ? reason : new DOMException('called off', 'AbortError')
    if (name === 'TimeoutError') place.isLast = true
    place.send({ kind: 'abort', name, message })
    place.limit(GRACE_MS, () => {
      this.drop(place)
      this.schedule()
    })
  }

  protected override brokenOff(how: string) {
    return Object.assign(new Error(`the process of the function ended: ${how}`), { name: 'ProcessEnded' })
  }
}

/**
 * The `flux` argument for a message of the place's current run, which is valid until the function ends, even if it was
 * aborted; null if an ended function left something running that sent it: the redactor and the package of the current
 * run are those of another step.
 */
const fluxOf = ({ job, runs }: IsolatePlace, run: number): StepFlux | null =>
  job !== null && run === runs ? job.call.flux : null

/** Performs a call of an isolated function. Never rejects. */
async function answerOf(
  { call, method, request }: FromIsolate & { kind: 'call' },
  flux: StepFlux | null,
): Promise<ToIsolate> {
  try {
    if (!flux) throw new Error('the function has ended: it can make no more calls')
    const answer: unknown = await Reflect.apply(Reflect.get(flux, method), flux, [JSON.parse(request)])
    return { kind: 'answer', call, json: JSON.stringify(answer ?? null) }
  } catch (error) {
    return {
      kind: 'answer',
      call,
      ...(error instanceof FluxError ? { failure: error.failure } : { thrown: describeThrown(error) }),
    }
  }
}
