// engine/turn: the changes of one turn: the context, and the relatives that must change in the same commit. It is
// synchronous; if data is missing, it throws `Lacking`.
import { SYSTEM } from '../../model/caller.ts'
import { type ContextId, MAX_LOG_ROWS, type Move, type PendingEvent, isFinished } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import type { Failure } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import { begin, decide } from '../interpreter/decide.ts'
import type { Decision, DecisionEnv, Input } from '../interpreter/decision.ts'
import { nextPending, unexpired, without } from '../interpreter/early.ts'
import { isAt } from '../interpreter/position.ts'
import { partitionOfKey } from '../record/index-keys.ts'
import { writeOf } from '../record/encode.ts'
import { readied } from './admission.ts'
import { answerRowsAfter, endRowsOf } from './answer.ts'
import { NO_ROWS, noteCause, noteSignals, standOf, TrackedContext, type Applied, type TurnEnv } from './message.ts'
import { endPending, pendingRowsOf, settle } from './pending-events.ts'
import { childResultOf, goOnWith, makeRoom, requireUnused, retryEnvOf, startChild } from './relatives.ts'
import { initialRecordOf, type StartRequest } from './start-request.ts'
import { Lacking, type KnownContexts } from './turn-data.ts'

/** Steps that a message costs in addition to the work of its decision. */
const STEPS_A_MESSAGE = 1_000

export class UnitOfWork {
  readonly contexts = new Map<ContextId, TrackedContext>()
  /** The key of the context that is started here; undefined: not known yet. */
  startKey: string | null | undefined
  /** The context that is ended so that the one that is started here can have its key. */
  replaced: ContextId | null = null
  readonly atHand: KnownContexts
  /** Its budget is that of one message, including the relatives that it starts or ends. */
  readonly env: TurnEnv
  #steps = 0

  constructor(atHand: KnownContexts, env: TurnEnv) {
    this.atHand = atHand
    this.env = env
    env.past = this
  }

  /** Steps of work so far. */
  get steps(): number {
    return this.#steps + this.env.budget.spent
  }

  /** The context, with the changes made so far; null: it does not exist. @throws Lacking */
  find(id: ContextId): TrackedContext | null {
    const tracked = this.contexts.get(id)
    if (tracked) return tracked
    const known = this.atHand.context(id)
    if (known === undefined) throw new Lacking({ kind: 'context', id })
    if (known === null) return null
    const context = new TrackedContext(known.record, known)
    this.contexts.set(id, context)
    return context
  }

  /** The newest moves of a context, with those of the turn, for the trace of an exception. @throws Lacking */
  historyOf(id: ContextId): readonly Move[] {
    const { before, history } = this.contexts.get(id) ?? {}
    if (!before) return (history ?? []).slice(-MAX_LOG_ROWS)
    const earlier = this.atHand.history(id)
    if (!earlier) throw new Lacking({ kind: 'history', id })
    return [...earlier, ...(history ?? [])].slice(-MAX_LOG_ROWS)
  }

  /** Applies a message to a context. @throws Lacking */
  apply(context: TrackedContext, input: Input): Applied {
    const { budget } = this.env
    this.#steps += budget.spent + STEPS_A_MESSAGE
    budget.spent = 0
    return this.#apply(context, input)
  }

  #apply(context: TrackedContext, input: Input): Applied {
    const { child } = context.record
    const result = input.type === 'WAKE' && child !== null ? childResultOf(context.record, this.find(child)) : null
    const message = result ?? input
    let { flux } = context
    let env: DecisionEnv = this.env
    if (message.type === 'RETRY') ({ flux, env } = retryEnvOf(context, message, this, env))
    const decision = decide(flux, context.record, message, env)
    if (decision.kind === 'refused' || decision.kind === 'noop') return decision
    noteCause(context, message)
    const { now } = this.env
    switch (decision.kind) {
      case 'next':
        if (message.type === 'RETRY') goOnWith(context, flux, this)
        this.#take(context, noteSignals(context, message, decision, now))
        return { kind: 'next' }
      case 'kept':
        context.record = decision.record
        return { kind: 'kept', expiresAt: decision.event.expiresAt }
      case 'withdrawn':
        context.record = decision.record
        for (const event of decision.events) settle(context, event, { became: 'withdrawn', at: now })
        return { kind: 'withdrawn' }
    }
  }

  /**
   * Takes the oldest event that the context keeps and waits for now, as if it had come now; one whose time is over is
   * only removed. Returns false if there is none. @throws Lacking
   */
  takeNext(context: TrackedContext): boolean {
    const event = nextPending(context.flux, context.record)
    if (!event) return false
    const { now } = this.env
    const { record: before } = context
    context.record = without(before, [event], now)
    if (!unexpired([event], now).length) return true
    // A wait that ends in the turn in which it began is no pause.
    context.record = { ...context.record, paused: context.before?.paused }
    const failure = this.#tryToTake(context, event)
    if (failure) {
      context.record = { ...context.record, paused: before.paused }
      settle(context, event, { became: 'expired', at: now, reason: failure.detail }, failure)
    } else settle(context, event, { became: 'moved', ...standOf(context), at: now })
    return true
  }

  /** Why the context can't take it; null: it has taken it. The rights of its sender were checked when it came. */
  #tryToTake(context: TrackedContext, { event: name, eventId, input, untyped }: PendingEvent): Failure | null {
    const { record } = context
    try {
      const applied = this.apply(context, { type: 'EVENT', name, eventId, input, untyped, tags: null, caller: SYSTEM })
      return applied.kind === 'refused' ? applied.failure : null
    } catch (error) {
      if (error instanceof Lacking || context.record !== record) throw error
      return { kind: 'internal', detail: `the server could not process it: ${messageOf(error)}` }
    }
  }

  /** The rows of early events, first answers and webhooks at the end, for the commit of the writes. */
  rows(): readonly RowWrite[] {
    const { env } = this
    let rows = NO_ROWS
    for (const context of this.contexts.values()) {
      const more = rowsOf(context, env)
      if (more.length > 0) rows = [...rows, ...more]
    }
    return rows
  }

  /**
   * Creates a context. `partition`: where it is stored, unless it has a key, which then determines the partition.
   * @throws Lacking; FluxError when it can't be started
   */
  create(request: StartRequest, partition: number): TrackedContext {
    const { flux, existing, parent, event, trigger, triggerId } = request
    const { atHand, env } = this
    const { address, checked } = initialRecordOf(request, env)
    if (parent === undefined) this.startKey = address?.key ?? null
    if (address && existing === 'use') requireUnused(address, flux, this)
    const recordOf = checked()
    if (address) this.replaced = makeRoom(address, request, this)
    const at = address ? partitionOfKey(address, env.partitions) : partition % env.partitions
    const id = atHand.newId(at)
    // The id is fetched before anything else, so that contexts are numbered in the order of their requests.
    if (id === undefined) throw new Lacking({ kind: 'id', partition: at })
    if (!atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
    const record = recordOf(id)
    const decision = begin(flux, record, env)
    if (decision.kind !== 'next')
      throw new Error(`the first turn of '${flux.fluxName}' had no effect: ${decision.kind}`)
    const context = new TrackedContext(null, { record, flux, texts: {} })
    const eventId = triggerId ?? event?.eventId ?? null
    context.cause = { type: 'START', event: trigger ?? event?.event ?? null, eventId }
    this.contexts.set(id, context)
    this.#take(context, decision)
    return context
  }

  /**
   * The writes to commit. Increments the version of each record. Steps that begin take slots, which `releaseSlots`
   * gives back, or become ready.
   * @throws RecordTooLarge
   */
  writes(): Write[] {
    const changed = [...this.contexts.values()].filter(({ before, record }) => before !== record)
    try {
      return changed.map((context) => this.#write(context))
    } catch (error) {
      this.releaseSlots()
      throw error
    }
  }

  /** Releases the slots of steps that were not started. */
  releaseSlots(): void {
    for (const { slot } of this.contexts.values()) slot?.release()
  }

  #write(context: TrackedContext): Write {
    const { before, texts, flux, history: log, parents: notifies, step } = context
    // A later message of the same turn may have ended what an earlier one began.
    if (step && isAt(step, context.record)) {
      context.slot = context.record.isPaused ? null : this.env.admit(flux, step.state)
      if (!context.slot) context.record = readied(context.record)
    }
    const { record, slot } = context
    const answersNotification = record.child === null || record.child !== before?.child || context.isNotified
    const { maxRecord, now } = this.env
    const change = { before, texts, next: record, flux, log, notifies, answersNotification, maxRecord }
    let written = writeOf(change)
    if (slot && !slot.fits(written.write.context.parts)) {
      slot.release()
      context.slot = null
      written = writeOf({ ...change, next: readied(record) })
    }
    context.record = written.record
    // The work of the turn was spent before all events were taken: a wake-up goes on. The record says when the context
    // itself is due.
    if (nextPending(flux, record) === null) return written.write
    return { ...written.write, context: { ...written.write.context, due: now } }
  }

  #take(context: TrackedContext, decision: Next): void {
    const { child } = context.record
    context.record = decision.record
    for (const move of decision.log) context.history.push(move)
    if (decision.step) context.step = decision.step
    if (decision.failure) context.failures.push(decision.failure)
    // It no longer waits for that child.
    if (child !== null && child !== decision.record.child) this.#cancelChild(child)
    if (decision.child) this.#spawnChild(context, decision.child)
    const { status, parent } = context.record
    if (isFinished(status) && parent) context.parents = [parent.id]
    if (isFinished(status)) endPending(context, this.env.now)
  }

  /** Starts a child in the same commit. If it cannot be started, the parent's action fails. */
  #spawnChild(context: TrackedContext, wanted: NonNullable<Next['child']>): void {
    const { epoch, attempt } = context.record.position
    const child = startChild(context.record, wanted, this)
    if (typeof child === 'number') context.record = { ...context.record, child }
    else this.#apply(context, { type: 'FAIL', epoch, attempt, error: child, isUnspawned: true })
  }

  /** Ends a child, and its own child, in the same commit in which the parent stops waiting for it. */
  #cancelChild(id: ContextId): void {
    const child = this.find(id)
    if (!child || isFinished(child.record.status)) return
    this.#apply(child, { type: 'TERMINATE', caller: SYSTEM })
    child.parents = []
  }
}

type Next = Decision & { kind: 'next' }

/**
 * The rows of the early events, the first answer and the webhook at the end of a context, for the commit that writes
 * it.
 */
export function rowsOf(context: TrackedContext, env: TurnEnv): readonly RowWrite[] {
  const [pending, ends] = [pendingRowsOf(context, env), endRowsOf(context, env)]
  const answers = answerRowsAfter(context, env.partitions)
  return pending.length + ends.length + answers.length === 0 ? NO_ROWS : [...pending, ...ends, ...answers]
}
