// engine/turn: commits decisions to the store, and performs their effects only after the commit: it starts steps, sets
// alarms, notifies parents and callers, and tells the feed of moves, for which nothing is made while it has no reader.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { UNOWNED, type ContextRecord } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { AlarmClock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Signals, StepOutcome, TurnSpan } from '../../ports/signals.ts'
import type { CommitOutcome, StaleOutcome, Store, Write } from '../../ports/store.ts'
import { logFailures } from '../interpreter/attempts.ts'
import { decodeRecord } from '../record/decode.ts'
import { isAt, stepOf, type Step } from '../interpreter/position.ts'
import type { Slot } from './admission.ts'
import type { ContextCache } from '../contexts/context-loader.ts'
import { logSettled } from './pending-events.ts'
import type { TrackedContext, MoveCause } from './message.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import type { CommittedMove, MoveFacts, MoveKind, MoveMessage } from '../../model/committed-move.ts'
import { REDACTED } from '../../model/secret-names.ts'
import type { MoveFeed } from '../../ports/feeds.ts'
import { redactorOf } from '../redact/redactor.ts'

export interface CommitsParts {
  readonly store: Store
  readonly cache: ContextCache
  readonly alarm: AlarmClock
  readonly log: Log
  readonly signals: Signals
  /** Boot id of this server, as it is now. */
  readonly owner: () => string
  /** Starts a step on this server. */
  readonly onStep: (step: Step, slot: Slot, context: TrackedContext) => void
  /** The step of that context is ready. */
  readonly onReady: (context: TrackedContext) => void
  readonly onEnd: (id: ContextId, flux: CompiledFlux) => void
  /** Another server runs a step of that context that is no longer needed. */
  readonly onOthersStep: (id: ContextId) => void
  /** A relative of that context has ended. */
  readonly onParent: (id: ContextId) => void
  /** A context that a webhook started has paused or ended. Its caller may be waiting at another server. */
  readonly onAnswer: (id: ContextId) => void
  /** Told of each context that was committed; left out: nobody can read of it. */
  readonly moves?: MoveMessages
  /** A context was committed. */
  readonly onCommitted: (context: TrackedContext) => void
  /** It is unknown whether a commit to that context was done. */
  readonly onUnknownOutcome: (id: ContextId) => void
  /** One of the contexts may have come to wait, and there are events in its partition that are held until then. */
  readonly onLookups: (writes: readonly Write[]) => void
}

interface CommitOptions {
  /** Written in the same commit. */
  readonly rows?: readonly RowWrite[] | undefined
  /** How often another server was faster. */
  readonly lost: number
  readonly incarnation: number
  /** The turn that commits; left out, or null: nobody traces it. */
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
  commit(
    work: UnitOfWork,
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

  /** Commits without effects. @throws FluxError `unavailable` */
  write(writes: readonly Write[], { rows, lost }: Pick<CommitOptions, 'rows' | 'lost'>): Promise<CommitOutcome> {
    return this.#parts.store.commit({ writes, rows, lost }).catch((error: unknown) => this.#failed(writes, error))
  }

  /**
   * Whether a turn without writes was decided on the versions that the store has. Deletes an outdated context from the
   * cache.
   */
  async isCurrent({ contexts }: UnitOfWork): Promise<boolean> {
    const { store, cache } = this.#parts
    for (const { record } of contexts.values()) {
      if ((await store.version({ id: record.id })) === record.version) continue
      cache.delete(record.id)
      return false
    }
    return true
  }

  /** Finds out the outcome of a commit to a context, and performs its effects. */
  reconcile(id: ContextId): void {
    this.#parts.moves?.onUnknownOutcome()
    this.#parts.onUnknownOutcome(id)
  }

  #failed(writes: readonly Write[], error: unknown): never {
    const { cache, onUnknownOutcome } = this.#parts
    const isUnknown = error instanceof FluxError && error.failure.kind === 'unavailable' && error.failure.inDoubt
    if (isUnknown) this.#parts.moves?.onUnknownOutcome()
    for (const {
      context: { id },
    } of writes) {
      cache.delete(id)
      if (isUnknown) onUnknownOutcome(id)
    }
    throw error
  }

  /** Deletes the contexts from the cache, and caches the current one if the store returned it. */
  #forget({ contexts }: UnitOfWork, { stale, current }: StaleOutcome, incarnation: number): void {
    const { cache } = this.#parts
    for (const id of contexts.keys()) cache.delete(id)
    const context = contexts.get(stale)
    // A replacement for a damaged definition may have been made for the earlier record.
    if (!current || !context || context.flux.faults.length > 0) return
    const record = decodeRecord(current)
    // It may have been retried with another definition.
    if (record.definition !== context.flux.hash) return
    cache.put({ record, flux: context.flux }, current.parts, incarnation)
  }

  #publish({ contexts }: UnitOfWork, writes: readonly Write[], incarnation: number): void {
    const { cache, log, signals, alarm, moves, owner, onStep, onReady, onEnd } = this.#parts
    const { onOthersStep, onParent, onAnswer, onCommitted } = this.#parts
    for (const {
      context: { id, parts, due },
    } of writes) {
      const context = contexts.get(id)
      if (!context) continue
      cache.put(context, parts, incarnation)
      countCommitted(signals, context)
      const { step, slot, record, flux } = context
      if (isFinished(record.status)) this.#follow(id, () => onEnd(id, flux))
      else if (step && slot) this.#follow(id, () => onStep(step, slot, context))
      else if (record.lease?.owner === UNOWNED) this.#follow(id, () => onReady(context))
      if (endsStepElsewhere(context, owner())) this.#follow(id, () => onOthersStep(id))
      logFailures(log, context)
      logSettled(log, context)
      if (due !== null) this.#follow(id, () => alarm.set(due))
      for (const parent of context.parents) this.#follow(id, () => onParent(parent))
      this.#follow(id, () => onCommitted(context))
      if (moves) this.#follow(id, () => moves.onCommitted(context))
      if (answers(context)) this.#follow(id, () => onAnswer(id))
    }
  }

  /** Runs one effect of a commit. An error is logged, and does not prevent the other effects: the commit is done. */
  #follow(contextId: ContextId, effect: () => void): void {
    try {
      effect()
    } catch (error) {
      this.#parts.log.error('an effect of a commit failed', { contextId, error })
    }
  }
}

/** Whether a context was resumed, which may wait for events that it was not offered while it was paused. */
function isResumed({ contexts }: UnitOfWork): boolean {
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
  record.request !== null &&
  before?.status === 'RUNNING' &&
  before.paused === undefined &&
  (record.paused !== undefined || record.status !== 'RUNNING')

/** Counts what the commit did to one of its contexts. */
function countCommitted(signals: Signals, context: TrackedContext): void {
  const { flux, history, done, failures, late } = context
  if (history.length > 0) signals.moves(flux, history.length)
  if (late !== null) signals.lateness(late)
  if (done.length > 0 || failures.length > 0) countSteps(signals, context)
}

/** Functions and scripts alone: a child is a context of its own. */
function countSteps(signals: Signals, { flux, done, failures, record }: TrackedContext): void {
  const count = (state: number, outcome: StepOutcome) => {
    const { name = '', action } = flux.states[state] ?? {}
    if (action?.effect === 'step') signals.step(flux, name, outcome)
  }
  for (const state of done) count(state, 'ok')
  const last = failures.at(-1)
  for (const failure of failures) {
    const isAgain = failure === last && record.lastError !== undefined && !isFinished(record.status)
    const outcome = failure.error.type === 'TimeoutError' ? 'timeout' : isAgain ? 'retried' : 'failed'
    count(failure.state, outcome)
  }
}

/** A context that was committed without a turn: of its record, only the head may have been read. */
interface HeadCommit {
  readonly before: ContextRecord
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  /** Whether its data was read, too. */
  readonly isInMemory: boolean
}

type Committed = Pick<TrackedContext, 'before' | 'record' | 'flux' | 'fluxBefore' | 'history' | 'cause'>

export class MoveMessages {
  readonly #feed: MoveFeed | null

  /** `feed`: null: nobody can read. */
  constructor(feed: MoveFeed | null) {
    this.#feed = feed
  }

  /** A turn was committed. */
  onCommitted(context: Committed): void {
    if (this.#feed?.isActive) this.#feed.publish(moveOf(context))
  }

  /** The lease of a step was committed, or the end of its context. */
  onHeadCommitted({ before, record, flux, isInMemory }: HeadCommit): void {
    if (!this.#feed?.isActive) return
    const move = moveOf({ before, record, flux, history: [], cause: null })
    const { message, facts } = move
    // Whether its tags carry secrets is told by data that was not read.
    this.#feed.publish(
      isInMemory || message.tags.length === 0
        ? move
        : {
            ...move,
            message: { ...message, tags: message.tags.map(() => REDACTED) },
            facts: { ...facts, tags: record.tags },
          },
    )
  }

  /** It is unknown whether something was committed. */
  onUnknownOutcome(): void {
    if (this.#feed?.isActive) this.#feed.miss()
  }
}

function moveOf({ before, record, flux, fluxBefore = flux, history, cause }: Committed): CommittedMove {
  const redactor = redactorOf(record, flux)
  const nameOf = (state: number): string => flux.states[state]?.name ?? ''
  const { kind, event, eventId } = causeOf(cause, record)
  const tags = record.tags.map((tag) => redactor.text(tag))
  const message: MoveMessage = {
    contextId: record.id,
    package: record.package,
    fluxName: record.fluxName,
    version: record.version,
    at: record.updatedAt,
    kind,
    event: event === null ? null : redactor.text(event),
    eventId,
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

/** Of several messages of a turn, the one that counts was noted: see `noteCause`. */
function causeOf(cause: MoveCause | null, { status }: ContextRecord): Pick<MoveMessage, 'kind' | 'event' | 'eventId'> {
  if (cause === null) return { kind: isFinished(status) ? 'end' : 'step', event: null, eventId: null }
  switch (cause.type) {
    case 'START':
      return { kind: 'start', event: cause.event, eventId: cause.eventId }
    case 'EVENT':
      return { kind: 'event', event: cause.name, eventId: cause.eventId }
    case 'WITHDRAW':
      return { kind: 'event', event: null, eventId: cause.eventId }
    default:
      return { kind: KINDS[kindNameOf(cause)], event: null, eventId: null }
  }
}

type Other = Exclude<MoveCause['type'], 'START' | 'EVENT' | 'WITHDRAW'> | 'CHILD'

const KINDS: { readonly [type in Other]: MoveKind } = {
  WAKE: 'wake',
  DONE: 'step',
  FAIL: 'step',
  CHILD: 'end',
  TAKE_OVER: 'step',
  RELEASE: 'step',
  OUTGROWN: 'end',
  TERMINATE: 'terminate',
  RETRY: 'retry',
  PAUSE: 'pause',
  RESUME: 'resume',
  TAG: 'tag',
}

/** The end of a child comes as a result without the owner of a lease. */
const kindNameOf = (cause: MoveCause & { readonly type: Exclude<Other, 'CHILD'> }): Other =>
  (cause.type === 'DONE' || cause.type === 'FAIL') && cause.owner === undefined ? 'CHILD' : cause.type
