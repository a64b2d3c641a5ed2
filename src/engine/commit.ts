// engine: makes what was decided true in the store, and only then lets the world hear of it: steps start, alarms are
// set, parents and callers are told.
import type { CompiledFlux } from '../definitions/flux.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import { UNOWNED, type ContextRecord } from '../model/record.ts'
import type { RowWrite } from '../model/rows.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Log } from '../ports/log.ts'
import type { CommitOutcome, StaleOutcome, Store, Write } from '../ports/store.ts'
import { logFailures } from './steps/attempts.ts'
import { decodeRecord } from './record/decode.ts'
import { isOf } from './steps/job.ts'
import { stepOf, type Step } from './record/position.ts'
import type { Slot } from './steps/admission.ts'
import type { ContextCache } from './context-cache.ts'
import type { TrackedContext, UnitOfWork } from './unit-of-work.ts'

/** Hears of each commit to one context, after it. */
export type CommitWatcher = (record: ContextRecord, flux: CompiledFlux) => void

export interface CommitsParts {
  readonly store: Store
  readonly cache: ContextCache
  readonly alarm: AlarmClock
  readonly log: Log
  /** Boot id of this server, as it is now. */
  readonly owner: () => string
  /** A step starts here. */
  readonly onStep: (step: Step, slot: Slot, context: TrackedContext) => void
  /** The step of that context is ready. */
  readonly onReady: (context: TrackedContext) => void
  readonly onEnd: (id: ContextId) => void
  /** Another server runs a step of that context, which is no more needed. */
  readonly onOthersStep: (id: ContextId) => void
  /** A relative of that context has ended. */
  readonly onParent: (id: ContextId) => void
  /** What a webhook's caller waits for has come, and he waits at another server, if he still does. */
  readonly onAnswer: (id: ContextId) => void
  /** A context was committed. */
  readonly onCommitted: (context: TrackedContext) => void
  /** What was to become of the context may have become true or not. */
  readonly onUnknownOutcome: (id: ContextId) => void
}

interface CommitOptions {
  /** Written in the same commit. */
  readonly rows?: readonly RowWrite[] | undefined
  /** How often another server was faster. */
  readonly lost: number
  readonly incarnation: number
}

export class Commits {
  readonly #parts: CommitsParts
  readonly #watchers = new Map<ContextId, CommitWatcher>()

  constructor(parts: CommitsParts) {
    this.#parts = parts
  }

  /** The watcher hears of all commits of this server to that context from now on. */
  watch(id: ContextId, watcher: CommitWatcher): void {
    this.#watchers.set(id, watcher)
  }

  /** Its watcher hears nothing more. */
  unwatch(id: ContextId): void {
    this.#watchers.delete(id)
  }

  /**
   * Commits, unless another server was faster. What is unknown afterwards is looked after. @throws FluxError
   * `unavailable`
   */
  commit(
    work: UnitOfWork,
    writes: readonly Write[],
    { rows, lost, incarnation }: CommitOptions,
  ): Promise<CommitOutcome> {
    // No async function: each await would be two promises more, for each event.
    return this.#parts.store.commit({ writes, rows, lost }).then(
      (outcome) => {
        if (outcome.ok) this.#publish(work, writes, incarnation)
        else {
          work.releaseSlots()
          if ('stale' in outcome) this.#forget(work, outcome, incarnation)
        }
        return outcome
      },
      (error: unknown) => {
        work.releaseSlots()
        return this.#failed(writes, error)
      },
    )
  }

  /** Commits without a word to anybody. @throws FluxError `unavailable` */
  write(writes: readonly Write[], lost: number): Promise<CommitOutcome> {
    return this.#parts.store.commit({ writes, lost }).catch((error: unknown) => this.#failed(writes, error))
  }

  /** Whether what came to nothing was decided on what the store has, and not on an old copy. */
  async isCurrent({ contexts }: UnitOfWork): Promise<boolean> {
    const { store, cache } = this.#parts
    for (const { record } of contexts.values()) {
      if ((await store.version({ id: record.id })) === record.version) continue
      cache.delete(record.id)
      return false
    }
    return true
  }

  /** Finds out what has become of a context, and sees to what follows from it. */
  reconcile(id: ContextId): void {
    this.#parts.onUnknownOutcome(id)
  }

  #failed(writes: readonly Write[], error: unknown): never {
    const { cache, onUnknownOutcome } = this.#parts
    const isUnknown = error instanceof FluxError && error.failure.kind === 'unavailable' && error.failure.inDoubt
    for (const {
      context: { id },
    } of writes) {
      cache.delete(id)
      if (isUnknown) onUnknownOutcome(id)
    }
    throw error
  }

  /** Nothing that was known counts; what the store has now is told where that costs nothing. */
  #forget({ contexts }: UnitOfWork, { stale, current }: StaleOutcome, incarnation: number): void {
    const { cache } = this.#parts
    for (const id of contexts.keys()) cache.delete(id)
    const context = contexts.get(stale)
    // What stands in for a broken definition may be made for the record as it was.
    if (!current || !context || context.flux.faults.length > 0) return
    cache.put({ record: decodeRecord(current), flux: context.flux }, current.parts, incarnation)
  }

  #publish({ contexts }: UnitOfWork, writes: readonly Write[], incarnation: number): void {
    const { cache, log, alarm, owner, onStep, onReady, onEnd, onOthersStep, onParent, onAnswer, onCommitted } =
      this.#parts
    for (const {
      context: { id, parts, due },
    } of writes) {
      const context = contexts.get(id)
      if (!context) continue
      cache.put(context, parts, incarnation)
      const { step, slot, record, flux } = context
      if (isFinished(record.status)) this.#follow(id, () => onEnd(id))
      else if (step && slot) this.#follow(id, () => onStep(step, slot, context))
      else if (record.lease?.owner === UNOWNED) this.#follow(id, () => onReady(context))
      if (endsStepElsewhere(context, owner())) this.#follow(id, () => onOthersStep(id))
      logFailures(log, context)
      if (due !== null) this.#follow(id, () => alarm.set(due))
      for (const parent of context.parents) this.#follow(id, () => onParent(parent))
      this.#follow(id, () => onCommitted(context))
      const watcher = this.#watchers.get(id)
      if (watcher) this.#follow(id, () => watcher(record, flux))
      else if (answers(context)) this.#follow(id, () => onAnswer(id))
    }
  }

  /** The commit stands: an error in one thing that follows from it is logged, and the others are done. */
  #follow(contextId: ContextId, effect: () => void): void {
    try {
      effect()
    } catch (error) {
      this.#parts.log.error('something that follows from a commit failed', { contextId, error })
    }
  }
}

/** Whether another server runs a step that this commit has ended. Who has given its step back runs it no more. */
function endsStepElsewhere({ before, record }: TrackedContext, owner: string): boolean {
  const step = before && stepOf(before)
  return step !== null && step.owner !== owner && step.owner !== UNOWNED && !isOf({ step }, record)
}

/** Whether this commit is the first in which the context of a webhook has paused or ended. */
const answers = ({ before, record }: TrackedContext): boolean =>
  record.request !== null &&
  before?.status === 'RUNNING' &&
  before.paused === undefined &&
  (record.paused !== undefined || record.status !== 'RUNNING')
