// engine/turn: commits decisions to the store, and performs their effects only after the commit: it starts steps, sets
// alarms, notifies parents and callers, and publishes moves, if they have readers.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { actionError, type ActionError } from '../../model/action-error.ts'
import { type ContextId, type ContextRecord, isFinished, UNOWNED } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Signals, StepOutcome, TurnSpan } from '../../ports/signals.ts'
import type { CommitOutcome, CommitRequest, StaleOutcome, StoredContext, Write } from '../../ports/store.ts'
import { decodeRecord } from '../record/decode.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { isAt, maxAttemptsOf, stepOf, type Step } from '../interpreter/position.ts'
import { messageStart } from '../interpreter/transit.ts'
import type { Slot } from './admission.ts'
import { hasAnswer } from './answer.ts'
import type { ContextCache } from '../contexts/context-loader.ts'
import type { EngineParts } from '../contexts/deps.ts'
import { logSettled } from './pending-events.ts'
import type { TrackedContext, MoveCause } from './message.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { MOVE_KINDS, type MoveFacts, type MoveMessage } from '../../api/streams.ts'
import { REDACTED } from '../../model/secret-names.ts'
import type { CommittedMove, MoveFeed } from '../../ports/feeds.ts'
import { redactorOf } from '../redact/redactor.ts'

/** What is committed: the contexts of a turn, or one that is decided by its head. */
type Work = Pick<UnitOfWork, 'contexts' | 'env' | 'releaseSlots'>

export interface CommitsParts extends Pick<EngineParts, 'store' | 'alarm' | 'log'> {
  readonly cache: ContextCache
  readonly signals: Signals
  /** Starts a step on this server. */
  readonly onStep: (step: Step, slot: Slot, context: TrackedContext) => void
  /** The step of that context is ready. */
  readonly onReady: (context: TrackedContext) => void
  readonly onEnd: (id: ContextId, flux: CompiledFlux) => void
  /**
   * Other servers look at that context: one may run a step of it that is no longer needed, or have the caller of its
   * webhook, which has paused or ended.
   */
  readonly onOthers: (id: ContextId) => void
  /** A relative of that context has ended. */
  readonly onParent: (id: ContextId) => void
  /** A context was committed. */
  readonly onCommitted: (context: TrackedContext) => void
  /** It is unknown whether a commit to that context was done. */
  readonly onUnknownOutcome: (id: ContextId) => void
  /** One of the contexts may have come to wait, and there are events in its partition that are held until then. */
  readonly onLookups: (writes: readonly Write[]) => void
}

interface CommitOptions extends Pick<CommitRequest, 'rows' | 'lost'> {
  readonly incarnation: number
  /** The turn that commits; left out, or null: it is not traced. */
  readonly span?: TurnSpan | null
}

export class Commits {
  readonly #parts: CommitsParts

  constructor(parts: CommitsParts) {
    this.#parts = parts
  }

  /**
   * Commits, and performs the effects. Writes nothing if another server was faster. If the outcome is unknown,
   * reconciliation of the contexts is started. @throws FluxError `unavailable`
   */
  commit(work: Work, writes: readonly Write[], options: CommitOptions): Promise<CommitOutcome> {
    return writes.length > 0 ? this.#commit(work, writes, options) : this.#confirm(work, options)
  }

  #commit(
    work: Work,
    writes: readonly Write[],
    { rows, lost, incarnation, span }: CommitOptions,
  ): Promise<CommitOutcome> {
    const { store, signals } = this.#parts
    const [began, ended] = [performance.now(), span?.commit()]
    // Not an async function: each await would create two more promises for each event.
    return store.commit({ writes, rows, lost }).then(
      (outcome) => {
        signals.commit(performance.now() - began)
        ended?.(outcome.ok)
        if (outcome.ok) {
          this.#publish(work, writes, incarnation)
          if (outcome.lookups || isResumed(work)) this.#parts.onLookups(writes)
        } else {
          work.releaseSlots()
          if ('stale' in outcome) {
            signals.conflict()
            this.#forget(work, outcome, incarnation)
          }
        }
        return outcome
      },
      (error: unknown) => {
        ended?.(false)
        work.releaseSlots()
        return this.#failed(writes, error)
      },
    )
  }

  /** A turn without writes must have been decided on the versions that the store has. Only its rows are committed. */
  async #confirm(work: Work, options: CommitOptions): Promise<CommitOutcome> {
    const { store, cache } = this.#parts
    for (const [id, { record }] of work.contexts) {
      if ((await store.version({ id })) === record.version) continue
      cache.delete(id)
      return { ok: false, stale: id }
    }
    return options.rows ? this.#commit(work, [], options) : { ok: true }
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

  /** Deletes the contexts from the cache, and caches the current one if the store returned it. */
  #forget({ contexts }: Work, { stale, current }: StaleOutcome, incarnation: number): void {
    const { cache } = this.#parts
    for (const id of contexts.keys()) cache.delete(id)
    const context = contexts.get(stale)
    // A replacement for a damaged definition may have been made for the earlier record.
    if (!current || !context || context.isUnread || context.flux.faults.length > 0) return
    const record = decodeRecord(current)
    // It may have been retried with another definition.
    if (record.definition !== context.flux.hash) return
    cache.put({ record, flux: context.flux }, current.parts, incarnation)
  }

  #publish({ contexts, env }: Work, writes: readonly Write[], incarnation: number): void {
    const { cache, log } = this.#parts
    for (const { context: stored } of writes) {
      const context = contexts.get(stored.id)
      if (!context) continue
      if (context.isUnread) {
        cache.delete(stored.id)
        context.record = { ...context.record, version: stored.version }
      } else cache.put(context, stored.parts, incarnation)
      try {
        if (context.isUnread && context.slot) {
          // The step of another server: its data, which may have ended that server, is read when the lease is stored.
          context.record = decodeRecord(stored)
          context.isUnread = false
        }
        this.#follow(context, stored, env.owner)
      } catch (error) {
        // The commit is done, and so is what follows from it for the other contexts.
        if (!isUnreadable(error, log)) log.error('an effect of a commit failed', { contextId: stored.id, error })
      }
    }
  }

  /** Performs the effects of the commit of one context. */
  #follow(context: TrackedContext, { id, due }: StoredContext, owner: string): void {
    const { alarm, log, signals, onStep, onReady, onEnd, onOthers, onParent, onCommitted } = this.#parts
    if (due !== null) alarm.set(due)
    const { step, slot, record, flux, parents } = context
    if (isFinished(record.status)) onEnd(id, flux)
    else if (step && slot) onStep(step, slot, context)
    else if (record.lease?.owner === UNOWNED) onReady(context)
    if (endsStepElsewhere(context, owner) || answers(context)) onOthers(id)
    parents.forEach(onParent)
    onCommitted(context)
    countCommitted(signals, context)
    logFailures(log, context)
    logSettled(log, context)
  }
}

/** Whether a context was resumed, which may wait for events that it was not offered while it was paused. */
function isResumed({ contexts }: Work): boolean {
  for (const { before, record } of contexts.values()) if (before?.isPaused && !record.isPaused) return true
  return false
}

/**
 * Whether another server runs a step that this commit has ended. A server that has released its step no longer runs it.
 */
function endsStepElsewhere({ before, record }: TrackedContext, owner: string): boolean {
  const step = before && stepOf(before)
  return step !== null && step.owner !== owner && step.owner !== UNOWNED && !isAt(step, record)
}

/** Whether this commit is the first in which the context of a webhook has paused or ended. */
const answers = ({ before, record }: TrackedContext): boolean =>
  record.request !== null && before !== null && !hasAnswer(before) && hasAnswer(record)

/** Counts what the commit did to one of its contexts. */
function countCommitted(signals: Signals, { flux, history, done, failures, late, record }: TrackedContext): void {
  if (history.length > 0) signals.moves(flux, history)
  if (late !== null) signals.lateness(late)
  if (done.length + failures.length === 0) return
  // Functions and scripts alone: a child is a context of its own.
  const count = (state: number, outcome: StepOutcome) => {
    const { name = '', action } = flux.states[state] ?? {}
    if (action?.effect === 'step') signals.step(flux, name, outcome)
  }
  for (const state of done) count(state, 'ok')
  const isAgain = record.lastError !== undefined && !isFinished(record.status)
  for (const failure of failures) {
    const outcome = isAgain && failure === failures.at(-1) ? 'retried' : 'failed'
    count(failure.state, failure.error.type === 'TimeoutError' ? 'timeout' : outcome)
  }
}

/** Publishes the move, if there are readers. */
export function publishMove(feed: MoveFeed | undefined, context: TrackedContext): void {
  if (feed?.isActive) feed.publish(moveOf(context))
}

function moveOf(context: TrackedContext): CommittedMove {
  const { before, record, flux, fluxBefore = flux, history, cause, isUnread } = context
  const redactor = redactorOf(record, flux)
  const nameOf = (state: number): string => flux.states[state]?.name ?? ''
  const event = cause?.type === 'START' ? cause.event : cause?.type === 'EVENT' ? cause.name : null
  // Only the data shows whether its tags carry secrets.
  const tags = record.tags.map((tag) => (isUnread ? REDACTED : redactor.text(tag)))
  const message: MoveMessage = {
    contextId: record.id,
    package: record.package,
    fluxName: record.fluxName,
    version: record.version,
    at: record.updatedAt,
    kind: kindOf(cause, record),
    event: event === null ? null : redactor.text(event),
    eventId: cause && 'eventId' in cause ? cause.eventId : null,
    from: before === null ? null : (fluxBefore.states[before.state]?.name ?? ''),
    to: nameOf(record.state),
    entered: history.map(({ to }) => to),
    status: record.status,
    nextRun: record.due,
    tags,
    parent: record.parent?.id ?? null,
  }
  const facts: MoveFacts = {
    key: record.key,
    startState: nameOf(record.startState),
    errorType: record.error?.type ?? null,
    secured: flux.secured,
    ...(record.isPaused && { paused: true }),
    ...(tags.some((tag, place) => tag !== record.tags[place]) && { tags: record.tags }),
  }
  return { message, facts, previousAt: before?.updatedAt ?? null }
}

/** If a turn had several messages, `noteCause` has noted the one that counts. */
function kindOf(cause: MoveCause | null, { status }: ContextRecord): MoveMessage['kind'] {
  if (cause === null) return isFinished(status) ? 'end' : 'step'
  // The end of a child comes as a result without the owner of a lease.
  const isOfChild = (cause.type === 'DONE' || cause.type === 'FAIL') && cause.owner === undefined
  if (isOfChild || cause.type === 'OUTGROWN') return 'end'
  if (cause.type === 'WITHDRAW') return 'event'
  return MOVE_KINDS.find((kind) => kind === cause.type.toLowerCase()) ?? 'step'
}

/** The number of the attempt from which a failure is logged as a warning. */
const WARN_FROM = 3

/** Logs failed attempts, and the failure of the context. */
function logFailures(log: Log, { before, record, flux, failures }: TrackedContext): void {
  const hasFailed = record.status === 'FAILED' && before?.status !== 'FAILED'
  if (failures.length === 0 && !hasFailed) return
  const redactor = redactorOf(record, flux)
  const fields = (state: number, error: ActionError) => {
    const { type, message, stack } = redactor.error({ ...error, fluxStackTrace: [] })
    return {
      contextId: record.id,
      fluxName: record.fluxName,
      state: flux.states[state]?.name ?? '',
      reason: messageStart(`${type}: ${message}`),
      ...(stack !== undefined && { stack: messageStart(stack) }),
    }
  }
  for (const { state, attempt, error } of failures)
    log[attempt < WARN_FROM ? 'info' : 'warn']('an attempt failed', {
      ...fields(state, error),
      attempt,
      maxAttempts: maxAttemptsOf(flux, state),
    })
  if (hasFailed) log.warn('a context failed', fields(record.state, record.error ?? actionError('Error', '')))
}
