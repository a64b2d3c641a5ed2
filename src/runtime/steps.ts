// runtime: steps, the actions that leave the process: so many at once, each with a time limit and a signal. What comes back is a letter like any other.
import type { CompiledAction, CompiledFlux } from '../definitions/flux.ts'
import type { FluxApi } from '../model/calls.ts'
import type { ContextId } from '../model/context.ts'
import { isObject, tryJson, type Json, type JsonObject } from '../model/json.ts'
import type { ContextRecord } from '../model/record.ts'
import { stepKeyOf } from '../model/standstill.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Flux, StepRunner } from '../ports/step-runner.ts'
import type { Input, Step } from './decide.ts'
import { errorOf } from './exception.ts'
import { hiderOf } from './redact.ts'

export interface StepsParts {
  readonly runner: StepRunner
  readonly clock: Clock
  readonly log: Log
  /** Functions at once; the others wait their turn. Of scripts and isolated functions the runner itself says how many. */
  readonly concurrency: number
  /** The calls that a function of that package may make. */
  readonly apiOf: (packageName: string) => FluxApi
  /** Brings an answer home, however long that takes. */
  readonly answer: (id: ContextId, input: Input) => Promise<unknown>
}

interface Job {
  readonly step: Step
  readonly flux: CompiledFlux
  readonly record: ContextRecord
  readonly controller: AbortController
}

export class Steps {
  readonly #parts: StepsParts
  readonly #waiting: Job[] = []
  /** By context: it has one step at a time. */
  readonly #jobs = new Map<ContextId, Job>()
  #running = 0
  /** Those of them that are functions. */
  #functions = 0
  #stopped = false
  #onIdle: (() => void) | null = null

  constructor(parts: StepsParts) {
    this.#parts = parts
  }

  /** One that runs already isn't started twice. */
  start(step: Step, flux: CompiledFlux, record: ContextRecord): void {
    if (this.has(step)) return
    const job = { step, flux, record, controller: new AbortController() }
    this.#jobs.set(step.id, job)
    if (this.#stopped) return
    if (isElsewhere(job)) void this.#run(job)
    else {
      this.#waiting.push(job)
      this.#next()
    }
  }

  /** Aborts the step of a context that has ended. */
  abort(id: ContextId): void {
    this.#jobs.get(id)?.controller.abort(new DOMException('the context has ended', 'AbortError'))
    this.#jobs.delete(id)
  }

  /** Starts nothing more, and waits at most `grace` milliseconds for what runs. */
  async stop(grace: number): Promise<void> {
    this.#stopped = true
    this.#waiting.length = 0
    if (this.#running === 0 || grace <= 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
      this.#parts.clock.after(grace, resolve)
    })
  }

  /** Whether it runs here, or waits to. */
  has({ id, epoch, attempt, owner }: Step): boolean {
    const step = this.#jobs.get(id)?.step
    return step?.epoch === epoch && step.attempt === attempt && step.owner === owner
  }

  /** Whether any step of that context runs here, or its answer is on the way. */
  isBusy(id: ContextId): boolean {
    return this.#jobs.has(id)
  }

  /** Aborts what is left: it will run again, with the same step key. Gives its contexts. */
  abandon(reason: string): ContextId[] {
    const jobs = [...this.#jobs.values()]
    this.#jobs.clear()
    for (const { controller } of jobs) controller.abort(new DOMException(reason, 'AbortError'))
    return jobs.map(({ step }) => step.id)
  }

  #next(): void {
    while (this.#functions < this.#parts.concurrency) {
      const job = this.#waiting.shift()
      if (!job) return
      if (!job.controller.signal.aborted) void this.#run(job)
    }
  }

  async #run(job: Job): Promise<void> {
    const { step: { id, epoch, attempt, owner } } = job
    const functions = isElsewhere(job) ? 0 : 1
    this.#running += 1
    this.#functions += functions
    const input = await this.#outcome(job)
    this.#running -= 1
    this.#functions -= functions
    this.#next()
    // An aborted step has nobody to answer: its context has ended, or another server will run it again.
    if (this.#jobs.get(id) === job) await this.#parts.answer(id, { ...input, epoch, attempt, owner })
    // Still known until the answer is home, so that a server that stops meanwhile gives it back.
    if (this.#jobs.get(id) === job) this.#jobs.delete(id)
    if (this.#running === 0) this.#onIdle?.()
  }

  async #outcome(job: Job): Promise<{ type: 'DONE'; result: Json } | { type: 'FAIL'; error: ReturnType<typeof errorOf> }> {
    try {
      return { type: 'DONE', result: await this.#call(job) }
    } catch (error) {
      return { type: 'FAIL', error: errorOf(error) }
    }
  }

  async #call(job: Job): Promise<Json> {
    const { flux, step, record, controller } = job
    const action = flux.states[step.state]?.action
    if (action?.kind !== 'code' && action?.kind !== 'script') throw new Error('the state has no step')
    const { clock, runner } = this.#parts
    const { signal } = controller
    if (action.kind === 'script') return this.#script(action, job)
    const { className, methodName, timeout } = action
    const name = { package: record.package, className, methodName }
    if (action.isolate) return runner.runIsolated({ ...name, args: step.args, flux: this.#fluxOf(job), timeout })
    const callOff = clock.after(timeout, () => controller.abort(new DOMException(`no result within ${timeout / 1000} s`, 'TimeoutError')))
    const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    try {
      return await Promise.race([runner.run({ ...name, args: structuredClone(step.args), flux: this.#fluxOf(job) }), aborted])
    } finally {
      callOff()
    }
  }

  /** The sandbox holds it to its time, which begins when it gets a process: others may be before it. */
  #script({ script, timeout }: CompiledAction & { kind: 'script' }, { step, controller: { signal } }: Job): Promise<Json> {
    return this.#parts.runner.runScript({ script, names: step.args, timeout, signal })
  }

  #fluxOf({ flux, step, record, controller }: Job): Flux {
    const { log } = this.#parts
    const body = record.raw?.['body']
    const facts = { contextId: step.id, fluxName: record.fluxName, stateName: flux.states[step.state]?.name ?? '' }
    const { text, object } = hiderOf(record)
    const tell = (level: keyof Log) => (message: unknown, fields?: object) => log[level](text(wordsOf(message)), { ...object(plain(fields)), ...facts })
    return {
      ...this.#parts.apiOf(record.package),
      ...facts,
      stepKey: stepKeyOf(step.id, step.epoch),
      attempt: step.attempt,
      rawBody: record.request === null ? null : Buffer.from(typeof body === 'string' ? body : '', 'base64'),
      signal: controller.signal,
      log: { trace: tell('trace'), debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') },
    }
  }
}

/** Whether it runs in another process: the runner itself says how many at once, and holds it to its time. */
function isElsewhere({ flux, step }: Job): boolean {
  const action = flux.states[step.state]?.action
  return action?.kind === 'script' || (action?.kind === 'code' && action.isolate)
}

/** What a function logs may be anything, whatever the types say. */
const wordsOf = (message: unknown): string => typeof message === 'string' ? message : message instanceof Error ? message.message : JSON.stringify(tryJson(message))

function plain(fields: object | undefined): JsonObject {
  const data = tryJson(fields ?? {})
  return isObject(data) ? data : {}
}
