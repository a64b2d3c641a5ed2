// engine: steps, the actions that leave the process: so many at once, each with a time limit and a signal. What comes
// back is a message like any other.
import { DefinitionError } from '../../definitions/definition-error.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { FluxApi } from '../../api/flux-api.ts'
import type { ContextId } from '../../model/context.ts'
import type { Json } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { StepRunner } from '../../ports/step-runner.ts'
import type { Input } from '../interpreter/decision.ts'
import { errorOf } from '../interpreter/exception.ts'
import { fluxArgumentOf } from '../calls/flux-argument.ts'
import { LIGHT_BYTES, noRoom, weightOf, type ContextLoader } from '../context-loader.ts'
import { isOf, jobKindOf, type CommittedContext, type Job, type Kind, type Ready, type StepResult } from './job.ts'
import { namesText, READ_AGAIN_MS } from './script-names.ts'
import type { Step } from '../record/position.ts'
import { isUnreadable } from '../record/unreadable.ts'

export interface StepsParts {
  readonly runner: StepRunner
  readonly clock: Clock
  readonly log: Log
  readonly loader: ContextLoader
  /** For what functions that run are given. */
  readonly budget: ByteBudget
  /** For what scripts are given, which is let go as soon as they have it. */
  readonly turns: ByteBudget
  /** Functions at once; the others wait their turn. Of scripts the runner itself says how many. */
  readonly concurrency: number
  /** The same of functions that run in processes of their own. */
  readonly isolated: number
  /** The calls that a function of that package may make. */
  readonly apiOf: (packageName: string) => FluxApi
  /** Brings an answer home, however long that takes. */
  readonly answer: (id: ContextId, input: Input) => Promise<unknown>
}

/** Functions of one kind: so many at once. */
interface Lane {
  readonly waiting: Job[]
  readonly slots: number
  /** By functions that run, or are about to. */
  taken: number
}

export class Steps {
  readonly #parts: StepsParts
  readonly #lanes: { readonly [kind in Exclude<Kind, 'script'>]: Lane }
  /** By context: it has one step at a time. */
  readonly #jobs = new Map<ContextId, Job>()
  #running = 0
  #stopped = false
  #onIdle: (() => void) | null = null

  constructor(parts: StepsParts) {
    this.#parts = parts
    this.#lanes = {
      code: { waiting: [], slots: parts.concurrency, taken: 0 },
      isolated: { waiting: [], slots: parts.isolated, taken: 0 },
    }
  }

  /** Whether a function that is started now begins at once, in this process. */
  get hasRoom(): boolean {
    return this.#hasRoom(this.#lanes.code)
  }

  #hasRoom({ waiting, slots, taken }: Lane): boolean {
    return taken < slots && waiting.length === 0 && !this.#stopped
  }

  /** One that runs already isn't started twice. `atHand` saves a read if it begins at once; who waits forgets it. */
  start(step: Step, flux: CompiledFlux, atHand: CommittedContext | null): void {
    if (this.has(step)) return
    const job: Job = {
      step,
      flux,
      kind: jobKindOf(step, flux),
      controller: null,
      release: null,
      startedAt: null,
      onBegun: null,
    }
    this.#jobs.set(step.id, job)
    if (this.#stopped) return
    if (job.kind === 'script') return this.#follow(job, this.#script(job))
    const lane = this.#lanes[job.kind]
    const ready = atHand && this.#hasRoom(lane) ? this.#ready(atHand) : null
    if (!ready) {
      lane.waiting.push(job)
      this.#next(lane)
      return
    }
    lane.taken += 1
    this.#run(job, lane, ready)
  }

  /**
   * Resolves when the function has begun, or never will. Scripts aren't waited for: a slow one has places of its own.
   */
  begun({ id }: Step): Promise<void> {
    const job = this.#jobs.get(id)
    if (!job || job.controller || this.#stopped) return Promise.resolve()
    return new Promise((resolve) => {
      job.onBegun = resolve
    })
  }

  /** When it began here, epoch milliseconds; null: it waits here for a free slot; undefined: it isn't here. */
  startedAt(step: Step): number | null | undefined {
    return this.has(step) ? this.#jobs.get(step.id)?.startedAt : undefined
  }

  /** Aborts the step of a context that has ended, or needs it no more. */
  abort(id: ContextId, reason = 'the context has ended'): void {
    const job = this.#jobs.get(id)
    if (!job) return
    this.#jobs.delete(id)
    job.onBegun?.()
    job.controller?.abort(new DOMException(reason, 'AbortError'))
  }

  /** Starts nothing more, and waits at most `grace` milliseconds for what runs. */
  async stop(grace: number): Promise<void> {
    this.#stopped = true
    for (const { waiting } of Object.values(this.#lanes)) waiting.length = 0
    for (const { onBegun } of this.#jobs.values()) onBegun?.()
    if (this.#running === 0 || grace <= 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
      this.#parts.clock.after(grace, resolve)
    })
  }

  /** The step of that context that runs here, or waits to. */
  of(id: ContextId): Step | undefined {
    return this.#jobs.get(id)?.step
  }

  /** The contexts of all of them. */
  contexts(): ContextId[] {
    return [...this.#jobs.keys()]
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
    for (const { controller, onBegun } of jobs) {
      onBegun?.()
      controller?.abort(new DOMException(reason, 'AbortError'))
    }
    return jobs.map(({ step }) => step.id)
  }

  #next(lane: Lane): void {
    while (lane.taken < lane.slots) {
      const job = lane.waiting.shift()
      if (!job) return
      if (!this.#isWanted(job)) job.release?.()
      else {
        lane.taken += 1
        void this.#begin(job, lane)
      }
    }
  }

  #isWanted(job: Job): boolean {
    return this.#jobs.get(job.step.id) === job && !this.#stopped
  }

  /** Reads what it is given, and runs it; or else gives its slot back, to come again when there is room. */
  async #begin(job: Job, lane: Lane): Promise<void> {
    const { loader, budget, log, clock } = this.#parts
    try {
      const found = this.#cache(job) ?? (await loader.open(job.step.id, job.release ? null : budget))
      if (found && 'weight' in found) void this.#waitForRoom(job, lane, found.weight)
      else if (found && this.#isWanted(job) && isOf(job, found.record))
        return this.#run(job, lane, { record: found.record, release: job.release ?? found.release })
      else this.#giveUp(job, found)
    } catch (error) {
      if (isUnreadable(error, log)) this.#giveUp(job, null)
      else {
        log.error('a step could not be read; it will be tried again', { contextId: job.step.id, error })
        clock.after(READ_AGAIN_MS, () => this.#again(job, lane))
      }
    }
    lane.taken -= 1
    this.#next(lane)
  }

  async #waitForRoom(job: Job, lane: Lane, weight: number): Promise<void> {
    // Others needn't wait for that, who may be small.
    job.onBegun?.()
    job.release = await this.#parts.budget.wait(weight)
    this.#again(job, lane)
  }

  #again(job: Job, lane: Lane): void {
    lane.waiting.unshift(job)
    this.#next(lane)
  }

  /** Another server has moved it on, or it is given back when this one stops. */
  #giveUp(job: Job, found: Ready | null): void {
    found?.release()
    job.release?.()
    if (this.#isWanted(job)) this.abort(job.step.id)
  }

  /** What is in memory is light. */
  #cache(job: Job): Ready | null {
    const record = this.#parts.loader.cache(job.step.id)
    return record && isOf(job, record) ? { record, release: noRoom } : null
  }

  /** Null when there is no room for it. */
  #ready({ record, texts }: CommittedContext): Ready | null {
    const weight = weightOf(texts)
    const release = weight <= LIGHT_BYTES ? noRoom : this.#parts.budget.tryTake(weight)
    return release && { record, release }
  }

  #run(job: Job, lane: Lane, { record, release }: Ready): void {
    this.#follow(
      job,
      this.#call(job, record).finally(() => {
        release()
        lane.taken -= 1
        this.#next(lane)
      }),
    )
  }

  /** Brings home what comes of it. */
  #follow(job: Job, outcome: Promise<Json>): void {
    this.#running += 1
    const failed = (error: unknown): StepResult => ({
      type: 'FAIL',
      error: errorOf(error, this.#parts.runner.stackOf(error, job.flux.package)),
    })
    void this.#end(job, outcome.then((result): StepResult => ({ type: 'DONE', result })).catch(failed))
  }

  async #end(job: Job, outcome: Promise<StepResult>): Promise<void> {
    const { id, epoch, attempt, owner } = job.step
    const input = await outcome
    this.#running -= 1
    // An aborted step has nobody to answer: its context has ended, or another server will run it again.
    if (this.#jobs.get(id) === job) await this.#parts.answer(id, { ...input, epoch, attempt, owner })
    // Still known until the answer is home, so that a server that stops meanwhile gives it back.
    if (this.#jobs.get(id) === job) this.#jobs.delete(id)
    if (this.#running === 0) this.#onIdle?.()
  }

  #begins(job: Job): AbortController {
    job.controller ??= new AbortController()
    job.startedAt = this.#parts.clock.now()
    job.onBegun?.()
    return job.controller
  }

  async #call(job: Job, record: ContextRecord): Promise<Json> {
    const { flux, step } = job
    const controller = this.#begins(job)
    const { signal } = controller
    const action = flux.states[step.state]?.action
    if (!action?.code || action.timeoutMs === null) throw noAction(job)
    const { clock, runner, log, apiOf } = this.#parts
    const {
      code: { className, methodName, isolate },
      timeoutMs: timeout,
    } = action
    const name = { package: record.package, className, methodName }
    const argument = fluxArgumentOf({ step, flux, record, signal, log, api: apiOf(record.package) })
    const args = record.args ?? {}
    if (isolate) return runner.runIsolated({ ...name, args, flux: argument, timeout })
    const callOff = clock.after(timeout, () =>
      controller.abort(new DOMException(`no result within ${timeout / 1000} s`, 'TimeoutError')),
    )
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
    try {
      return await Promise.race([runner.run({ ...name, args: structuredClone(args), flux: argument }), aborted])
    } finally {
      callOff()
    }
  }

  /** The sandbox holds it to its time, which begins when it gets a process: others may be before it. */
  #script(job: Job): Promise<Json> {
    const { flux, step } = job
    const action = flux.states[step.state]?.action
    if (action?.script == null || action.timeoutMs === null) return Promise.reject(noAction(job))
    job.controller = new AbortController()
    const { script, timeoutMs: timeout } = action
    const names = () => {
      this.#begins(job)
      return namesText(this.#parts, job, () => this.#isWanted(job))
    }
    return this.#parts.runner.runScript({ script, names, timeout, signal: job.controller.signal })
  }
}

/** The definition isn't what it was when the step began. */
const noAction = ({ flux, step }: Job): Error =>
  new DefinitionError(flux.states[step.state]?.fault ?? 'the action of the state is another one now')
