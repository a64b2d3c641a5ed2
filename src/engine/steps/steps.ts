// engine: the steps that run in this server. Each has a slot and a lease; what comes back is a message like any other.
import { DefinitionError } from '../../definitions/definition-error.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { FluxApi } from '../../api/flux-api.ts'
import type { ContextId } from '../../model/context.ts'
import type { Json } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { StepDispatcher, StepRunner } from '../../ports/step-runner.ts'
import type { StepSlots } from '../../ports/step-slots.ts'
import type { Input } from '../interpreter/decision.ts'
import { errorOf } from '../interpreter/exception.ts'
import { fluxArgumentOf } from '../calls/flux-argument.ts'
import type { ContextLoader } from '../context-loader.ts'
import type { Slot } from './admission.ts'
import type { Job, StepResult } from './job.ts'
import { namesText } from './script-names.ts'
import type { Step } from '../record/position.ts'

export interface StepsParts {
  readonly dispatcher: StepDispatcher
  readonly runner: Pick<StepRunner, 'stackOf'>
  readonly slots: Pick<StepSlots, 'close'>
  readonly clock: Clock
  readonly log: Log
  readonly loader: ContextLoader
  /** For what scripts are given, which is let go as soon as they have it. */
  readonly turns: ByteBudget
  /** The calls that a function of that package may make. */
  readonly apiOf: (context: Pick<ContextRecord, 'id' | 'package'>) => FluxApi
  /** Delivers an answer, however long that takes. */
  readonly answer: (id: ContextId, input: Input) => Promise<unknown>
}

export class Steps {
  readonly #parts: StepsParts
  /** By context: it has one step at a time. */
  readonly #jobs = new Map<ContextId, Job>()
  #running = 0
  #stopped = false
  #onIdle: (() => void) | null = null

  constructor(parts: StepsParts) {
    this.#parts = parts
  }

  /**
   * Runs a step that is leased to this server, and gives its slot back when it has ended. One that runs already isn't
   * started twice. `record` is of no use to a script, which reads what it needs when it gets a process.
   */
  start(step: Step, flux: CompiledFlux, slot: Slot, record: ContextRecord | null): void {
    if (this.has(step)) return slot.release()
    const job: Job = { step, flux, slot, controller: new AbortController(), startedAt: null }
    this.#jobs.set(step.id, job)
    // It is given back at the end.
    if (this.#stopped) return slot.release()
    this.#running += 1
    const failed = (error: unknown): StepResult => ({
      type: 'FAIL',
      error: errorOf(error, this.#parts.runner.stackOf(error, flux.package)),
    })
    void this.#end(
      job,
      this.#run(job, record)
        .then((result): StepResult => ({ type: 'DONE', result }))
        .catch(failed),
    )
  }

  /** When it began here, epoch milliseconds; null: it waits here for a process; undefined: it isn't here. */
  startedAt(step: Step): number | null | undefined {
    return this.has(step) ? this.#jobs.get(step.id)?.startedAt : undefined
  }

  /** Aborts the step of a context that has ended, or needs it no more. */
  abort(id: ContextId, reason = 'the context has ended'): void {
    const job = this.#jobs.get(id)
    if (!job) return
    this.#jobs.delete(id)
    job.controller.abort(new DOMException(reason, 'AbortError'))
  }

  /** Starts nothing more, and waits at most `grace` milliseconds for what runs. */
  async stop(grace: number): Promise<void> {
    this.#stopped = true
    this.#parts.slots.close()
    if (this.#running === 0 || grace <= 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
      this.#parts.clock.after(grace, resolve)
    })
  }

  /** The step of that context that runs here. */
  of(id: ContextId): Step | undefined {
    return this.#jobs.get(id)?.step
  }

  /** The contexts of all of them. */
  contexts(): ContextId[] {
    return [...this.#jobs.keys()]
  }

  /** Whether it runs here. */
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
    const ids = this.contexts()
    for (const id of ids) this.abort(id, reason)
    return ids
  }

  async #end(job: Job, outcome: Promise<StepResult>): Promise<void> {
    const { id, epoch, attempt, owner } = job.step
    const input = await outcome
    job.slot.release()
    this.#running -= 1
    // An aborted step has nobody to answer: its context has ended, or another server will run it again.
    if (this.#jobs.get(id) === job) await this.#parts.answer(id, { ...input, epoch, attempt, owner })
    // Still known until the answer is home, so that a server that stops meanwhile gives it back.
    if (this.#jobs.get(id) === job) this.#jobs.delete(id)
    if (this.#running === 0) this.#onIdle?.()
  }

  async #run(job: Job, record: ContextRecord | null): Promise<Json> {
    const { flux, step, controller } = job
    const { dispatcher, log, apiOf, clock } = this.#parts
    const action = flux.states[step.state]?.action
    const timeoutMs = action?.timeoutMs ?? null
    if (!action || timeoutMs === null) throw noAction(job)
    if (action.script != null) {
      const names = () => {
        job.startedAt = clock.now()
        return namesText(this.#parts, job, () => this.#isWanted(job))
      }
      const onSlow = () => this.#setAside(job)
      return dispatcher.run({ script: action.script, names, timeoutMs, controller, onSlow })
    }
    if (!action.code || !record) throw noAction(job)
    job.startedAt = clock.now()
    const { className, methodName, isolate } = action.code
    const name = { package: record.package, className, methodName }
    const { signal } = controller
    const argument = fluxArgumentOf({ step, flux, record, signal, log, api: apiOf(record) })
    return dispatcher.run({ name, args: record.args ?? {}, flux: argument, isolate, timeoutMs, controller })
  }

  #isWanted(job: Job): boolean {
    return this.#jobs.get(job.step.id) === job && !this.#stopped
  }

  /**
   * A script that turns out to be slow takes a slot of the slow ones, so that others go on. If none is free it is given
   * back, to start again when there is one: scripts have no effects.
   */
  #setAside(job: Job): void {
    const { id, epoch, attempt } = job.step
    if (job.slot.move('slowScript') || !this.#isWanted(job)) return
    this.abort(id, 'too many slow scripts run')
    void this.#parts.answer(id, { type: 'RELEASE', step: { epoch, attempt } })
  }
}

/** The definition isn't what it was when the step began. */
const noAction = ({ flux, step }: Job): Error =>
  new DefinitionError(flux.states[step.state]?.fault ?? 'the action of the state is another one now')
