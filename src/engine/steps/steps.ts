// engine/steps: the steps that run on this server. Each has a slot and a lease. The result is posted to the context as
// a message.
import { DefinitionError } from '../../definitions/definition-error.ts'
import type { CompiledAction, CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { FluxApi } from '../../api/calls.ts'
import type { ContextId, ContextRecord } from '../../model/context.ts'
import { copyOf, type Json, type JsonObject } from '../../model/json/value.ts'
import { atEachLevel, loggedFields, loggedText, type Log } from '../../ports/log.ts'
import { argumentsWithSecrets } from '../../model/secret-reference.ts'
import { HIDES_NOTHING, type SecretRedactor } from '../../model/secret-redactor.ts'
import type { FunctionCall, StepFlux, StepRunner } from '../../ports/steps.ts'
import type { Signals, StepSpan } from '../../ports/signals.ts'
import type { Input } from '../interpreter/decision.ts'
import { errorOf } from '../interpreter/exception.ts'
import type { ContextLoader } from '../contexts/context-loader.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import { storeIdOf } from '../contexts/ids.ts'
import type { Slot } from '../turn/admission.ts'
import { missingOutputs } from './missing-outputs.ts'
import { decodeHead } from '../record/decode.ts'
import { redactorOf } from '../redact/redactor.ts'
import { isAt, stepKeyIn, type Step } from '../interpreter/position.ts'
import { scopeOf } from '../interpreter/scope.ts'
import { isUnreadable } from '../record/unreadable.ts'

export interface StepsParts extends Deps, Pick<EngineParts, 'runner' | 'slots' | 'secrets' | 'traces'> {
  readonly signals: Signals
  readonly loader: ContextLoader
  /** Memory budget for the data of scripts, charged until the script has received its names. */
  readonly turns: ByteBudget
  /** The calls for functions of a package. */
  readonly apiOf: (context: Pick<ContextRecord, 'id' | 'package'>, traceparent: string | undefined) => FluxApi
  /** Delivers a result, with retries (`Redelivery.deliver`). */
  readonly answer: (id: ContextId, input: Input) => Promise<unknown>
}

export class Steps {
  readonly #parts: StepsParts
  /** By context, which has one step at a time. */
  readonly #jobs = new Map<ContextId, Job>()
  /** Actions whose missing outputs were logged. */
  readonly #incomplete = new WeakSet<CompiledAction>()
  #running = 0
  #stopped = false
  #onIdle: (() => void) | null = null

  constructor(parts: StepsParts) {
    this.#parts = parts
  }

  /**
   * Runs a step that is leased to this server, and releases its slot when it has ended. A step that already runs is not
   * started again. A script reads its data when it gets a process: until then it holds neither `record` nor memory for
   * it. `parent`: the trace that leads to it without a wait.
   */
  start(step: Step, flux: CompiledFlux, slot: Slot, record: ContextRecord, parent?: string): void {
    if (this.has(step)) return slot.release()
    const isScript = slot.kind === 'script'
    if (isScript) slot.releaseRoom()
    const { id: contextId, state, attempt } = step
    const span = this.#parts.traces?.step({
      contextId,
      service: `${flux.package}/${flux.fluxName}`,
      state: flux.states[state]?.name ?? '',
      attempt,
      parent,
      sender: record.traceparent,
    })
    const job: Job = { step, flux, slot, controller: new AbortController(), startedAt: null, span }
    this.#jobs.set(contextId, job)
    // The job stays known, so that the engine releases the lease when it closes (`abandon`).
    if (this.#stopped) return slot.release()
    this.#running += 1
    void this.#execute(job, isScript ? null : record)
  }

  get #redactor(): SecretRedactor {
    return this.#parts.secrets?.redactor() ?? HIDES_NOTHING
  }

  /** When the step began, epoch milliseconds; null: it waits for a process; undefined: it is not on this server. */
  startedAt(step: Step): number | null | undefined {
    return this.has(step) ? this.#jobs.get(step.id)?.startedAt : undefined
  }

  /** Aborts the step of a context that has ended, or no longer needs the step. */
  abort(id: ContextId, reason = 'the context has ended'): void {
    const job = this.#jobs.get(id)
    if (!job) return
    this.#jobs.delete(id)
    job.controller.abort(new DOMException(reason, 'AbortError'))
  }

  /**
   * Aborts the step of that context here, unless the stored context is at that step. Messages between servers are hints
   * that another one has ended or continued it: the stored record decides.
   */
  async check(id: ContextId): Promise<void> {
    const { loader, log } = this.#parts
    const step = this.#jobs.get(id)?.step
    if (!step) return
    try {
      const stored = await loader.read(id)
      // In the meantime, this server itself may have started the next step.
      if ((stored && isAt(step, decodeHead(stored))) || !this.has(step)) return
      this.abort(id, 'another server has ended the context or moved it on')
    } catch (error) {
      // The heartbeat checks again. An unreadable record is logged when a turn needs it.
      log.debug('the context of a running step could not be read', { contextId: id, error })
    }
  }

  /** Starts no more steps, and waits at most `grace` milliseconds for running ones. */
  async stop(grace: number): Promise<void> {
    this.#stopped = true
    this.#parts.slots.close()
    if (this.#running === 0 || grace <= 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
      this.#parts.clock.after(grace, resolve)
    })
  }

  /** The contexts of all steps on this server. */
  contexts(): ContextId[] {
    return [...this.#jobs.keys()]
  }

  /** Whether that step is on this server. */
  has({ id, epoch, attempt, owner }: Step): boolean {
    const step = this.#jobs.get(id)?.step
    return step?.epoch === epoch && step.attempt === attempt && step.owner === owner
  }

  /** Aborts all steps, which will run again with the same step key. Returns their contexts. */
  abandon(reason: string): ContextId[] {
    const ids = this.contexts()
    for (const id of ids) this.abort(id, reason)
    return ids
  }

  async #execute(job: Job, record: ContextRecord | null): Promise<void> {
    const { step, span, flux } = job
    const { id, epoch, attempt, owner } = step
    const { signals, runner, answer } = this.#parts
    const began = performance.now()
    signals.stepBegan()
    const run = () => this.#run(job, record)
    // No secret that the step was given is in the result, or in the error, as it is stored.
    const input = await (span ? span.run(run) : run())
      .then((result) => ({ type: 'DONE' as const, result: this.#redactor.json(result) }))
      .catch((thrown: unknown) => {
        const redactor = this.#redactor
        const error = redactor.error(errorOf(thrown, runner.stackOf(thrown, flux.package), redactor))
        return { type: 'FAIL' as const, error }
      })
    signals.stepEnded(performance.now() - began)
    span?.end(input.type === 'FAIL' ? input.error.type : null)
    job.slot.release()
    this.#running -= 1
    // The result of an aborted step is discarded: its context has ended, or another server will run the step again.
    if (this.#jobs.get(id) === job)
      await answer(id, { ...input, epoch, attempt, owner, traceparent: span?.traceparent })
    // Kept until the result is delivered, so that a server that stops before that releases the step.
    if (this.#jobs.get(id) === job) this.#jobs.delete(id)
    if (this.#running === 0) this.#onIdle?.()
  }

  async #run(job: Job, record: ContextRecord | null): Promise<Json> {
    const { flux, step, controller } = job
    const { runner, clock } = this.#parts
    const action = flux.states[step.state]?.action
    const timeout = action?.timeoutMs ?? null
    if (!action || timeout === null) throw noAction(job)
    if (action.script != null) {
      const names = () => {
        job.startedAt = clock.now()
        return this.#namesText(job)
      }
      return runner.runScript({ script: action.script, names, timeout, signal: controller.signal })
    }
    if (!action.code || !record) throw noAction(job)
    job.startedAt = clock.now()
    const { className, methodName, isolate } = action.code
    const name = { package: record.package, className, methodName }
    const call = { ...name, args: record.args ?? {}, flux: this.#argumentOf(job, record) }
    const hasSecrets = action.secrets.length > 0
    const result = await runFunction(this.#parts, { call, hasSecrets, isolate, timeout, controller })
    this.#warnOfMissing(job, action, record, result)
    return result
  }

  /** The second argument of a function: facts about its context, the calls, and a log. */
  #argumentOf({ step, flux, span, controller: { signal } }: Job, record: ContextRecord): StepFlux {
    const { store, log, apiOf } = this.#parts
    const traceparent = span?.traceparent ?? record.traceparent
    const api = apiOf(record, traceparent)
    const body = record.raw?.['body']
    const facts = { contextId: step.id, fluxName: record.fluxName, stateName: flux.states[step.state]?.name ?? '' }
    const stepKey = stepKeyIn(record)
    return {
      ...api,
      waitFor: (request, options) => api.waitFor(request, { signal, ...options }),
      ...facts,
      stepKey,
      messageId: async () => `msg_${await storeIdOf(store)}_${stepKey}`,
      attempt: step.attempt,
      traceparent,
      rawBody: record.request === null ? null : Buffer.from(typeof body === 'string' ? body : '', 'base64'),
      signal,
      log: functionLogOf(log, record, flux, facts),
    }
  }

  /**
   * The JSON text of the names, made when the script begins, and not kept.
   * @throws DOMException `AbortError` when the context is no longer at that step, or cannot be read
   */
  async #namesText(job: Job): Promise<string> {
    const { flux, step } = job
    const { loader, turns, log } = this.#parts
    const known = loader.cache(step.id)
    if (known && isAt(step, known)) return JSON.stringify(scopeOf(flux, known).names())
    try {
      const opened = await loader.open(step.id, turns)
      try {
        if (opened && isAt(step, opened.record)) return JSON.stringify(scopeOf(flux, opened.record).names())
      } finally {
        opened?.release()
      }
    } catch (error) {
      if (!isUnreadable(error, log)) {
        log.error('a step could not be read; it is released', { contextId: step.id, error })
        this.#release(job, 'its context could not be read')
      }
    }
    throw new DOMException('the context has moved on', 'AbortError')
  }

  /** Warns, once for an action, of outputs that its lines read and its function did not give. */
  #warnOfMissing({ flux, step }: Job, action: CompiledAction, record: ContextRecord, result: Json): void {
    if (this.#incomplete.has(action)) return
    const missing = missingOutputs(flux, record, result)
    if (missing === null) return
    this.#incomplete.add(action)
    const state = flux.states[step.state]?.name
    this.#parts.log.warn(missing, { contextId: step.id, fluxName: flux.fluxName, state })
  }

  /**
   * Releases the step of a script, unless it is not wanted any more. It starts again later, which is safe because
   * scripts have no effects.
   */
  #release(job: Job, reason: string): void {
    const { id, epoch, attempt } = job.step
    if (this.#jobs.get(id) !== job) return
    this.abort(id, reason)
    void this.#parts.answer(id, { type: 'RELEASE', step: { epoch, attempt } })
  }
}

/**
 * Runs a function, in this process or in one of its own, for at most `timeout` milliseconds. Secrets are put into its
 * arguments at each attempt; a missing one fails the attempt.
 */
export async function runFunction(
  {
    runner,
    clock,
    secrets,
  }: Pick<EngineParts, 'clock' | 'secrets'> & { runner: Pick<StepRunner, 'run' | 'runIsolated'> },
  step: {
    readonly call: FunctionCall
    readonly hasSecrets: boolean
    readonly isolate: boolean
    readonly timeout: number
    readonly controller: AbortController
  },
): Promise<Json> {
  const { call, timeout, controller } = step
  const { signal } = controller
  // A copy of the arguments, with the present values of secrets.
  const args = step.hasSecrets
    ? argumentsWithSecrets(call.args, (name) => secrets?.get(name) ?? null)
    : copyOf(call.args)
  if (step.isolate && runner.runIsolated) return runner.runIsolated({ ...call, args, timeout })
  const cancelTimer = clock.after(timeout, () =>
    controller.abort(new DOMException(`no result within ${timeout / 1000} s`, 'TimeoutError')),
  )
  // After the timeout or an abort, the function is no longer waited for, even if it ignores its signal.
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
  try {
    return await Promise.race([runner.run({ ...call, args }), aborted])
  } finally {
    cancelTimer()
  }
}

/** The error of a step whose definition has changed or is damaged. */
const noAction = ({ flux, step }: Job): Error =>
  new DefinitionError(flux.states[step.state]?.fault ?? 'the action of the state is another one now')

/** A step that runs, or whose result is being delivered to its context. */
interface Job {
  readonly step: Step
  readonly flux: CompiledFlux
  readonly slot: Slot
  readonly controller: AbortController
  /** Epoch milliseconds; null: a script that waits for a process. */
  startedAt: number | null
  /** Left out: steps are not traced. */
  readonly span: StepSpan | undefined
}

/** The log of a function: it redacts what views redact. `facts`: fields of each line, which name the context. */
function functionLogOf(log: Log, record: ContextRecord, flux: CompiledFlux, facts: object): Log {
  let redactor: SecretRedactor | undefined
  return atEachLevel((level) => (message: unknown, fields?: object) => {
    redactor ??= redactorOf(record, flux).logged
    const data = loggedFields(redactor.json(loggedFields(fields)))
    log[level](redactor.text(loggedText(message)), { ...besideOwn(data), ...facts })
  })
}

/** Fields that each line of the log has itself. */
const OWN_FIELDS = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'contextId', 'fluxName', 'stateName'])

/** A field with the name of one of the line's own gets an underscore after its name. */
const besideOwn = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [OWN_FIELDS.has(name) ? `${name}_` : name, value]))
