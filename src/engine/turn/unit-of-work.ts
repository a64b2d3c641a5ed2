// engine/turn: the changes of one turn: the context, and the relatives that must change in the same commit. It is
// synchronous; if data is missing, it throws `Lacking`.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { SYSTEM } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { MAX_LOG_ROWS, type Move } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import { begin, decide } from '../interpreter/decide.ts'
import type { Decision, DecisionEnv, Input } from '../interpreter/decision.ts'
import { nextPending } from '../interpreter/early.ts'
import { partitionOfKey } from '../record/context-key.ts'
import { writeOf } from '../record/encode.ts'
import { readied } from './admission.ts'
import { answerRowsAfter, endRowsOf } from './answer.ts'
import { NO_ROWS, noteCause, noteSignals, startsHere, TrackedContext, type Applied, type TurnEnv } from './message.ts'
import { endPending, pendingRowsOf, settle, takeNext } from './pending-events.ts'
import { childResultOf, goOnWith, makeRoom, requireUnused, retryEnvOf, startChild } from './relatives.ts'
import { initialRecordOf, startedBy, type StartRequest } from './start-request.ts'
import { Lacking, type KnownContexts } from './turn-data.ts'

/** Steps that a message costs in addition to the work of its decision. */
const STEPS_A_MESSAGE = 1_000

export class UnitOfWork {
  readonly contexts = new Map<ContextId, TrackedContext>()
  /** Of the context that is started here; undefined: not known yet. */
  startKey: string | null | undefined
  /** The context that is ended so that the one that is started here can have its key. */
  replaced: ContextId | null = null
  readonly atHand: KnownContexts
  readonly env: TurnEnv & DecisionEnv
  /** The work budget of one message, including the relatives that it starts or ends. */
  readonly #budget = new WorkBudget()
  #steps = 0

  constructor(atHand: KnownContexts, env: TurnEnv) {
    this.atHand = atHand
    this.env = { ...env, history: null, budget: this.#budget }
  }

  /** Steps of work so far. */
  get steps(): number {
    return this.#steps + this.#budget.spent
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

  /** Applies a message to a context. @throws Lacking */
  apply(context: TrackedContext, input: Input): Applied {
    this.#steps += this.#budget.spent + STEPS_A_MESSAGE
    this.#budget.spent = 0
    return this.#apply(context, input)
  }

  #apply(context: TrackedContext, input: Input, given: DecisionEnv = this.env): Applied {
    const { spent } = this.#budget
    const message = input.type === 'WAKE' ? (this.#childResult(context) ?? input) : input
    let [flux, env] = [context.flux, given]
    if (message.type === 'RETRY') ({ flux, env } = retryEnvOf(context, message, this, given))
    const decision = decide(flux, context.record, message, env)
    if (decision.kind === 'needsHistory') {
      this.#budget.spent = spent
      return this.#apply(context, input, { ...given, history: historyOf(context, flux, this.atHand) })
    }
    if (decision.kind === 'refused' || decision.kind === 'noop') return decision
    noteCause(context, message)
    const { now } = this.env
    switch (decision.kind) {
      case 'next':
        if (message.type === 'RETRY') goOnWith(context, flux, this)
        this.#take(context, noteSignals(context, message, decision, now))
        return NEXT
      case 'kept':
        context.record = decision.record
        return { kind: 'kept', expiresAt: decision.event.expiresAt }
      case 'withdrawn':
        context.record = decision.record
        for (const event of decision.events) settle(context, event, { became: 'withdrawn', at: now })
        return WITHDRAWN
    }
  }

  /** @throws Lacking */
  takeNext(context: TrackedContext): boolean {
    return takeNext(context, this.env.now, (input) => this.apply(context, input))
  }

  /** The rows of early events, first answers and owed webhooks, for the commit of the writes. */
  rows(): readonly RowWrite[] {
    const { env } = this
    let rows = NO_ROWS
    for (const context of this.contexts.values()) {
      const ofEnd = endRowsOf(context, env)
      for (const more of [pendingRowsOf(context, env), ofEnd, answerRowsAfter(context, env.partitions)])
        if (more.length > 0) rows = [...rows, ...more]
    }
    return rows
  }

  /** Creates a context. @throws Lacking; FluxError when it can't be started */
  create(request: StartRequest): TrackedContext {
    const { flux, existing, parent } = request
    const { atHand, env } = this
    const { address, recordOf } = initialRecordOf(request, env, (found) => {
      if (parent === null) this.startKey = found?.key ?? null
      if (found && existing === 'use') requireUnused(found, flux, this)
    })
    if (address) this.replaced = makeRoom(address, request, this)
    const partition = address ? partitionOfKey(address, env.partitions) : request.partition % env.partitions
    const id = atHand.newId(partition)
    // The id is fetched before anything else, so that contexts are numbered in the order of their requests.
    if (id === undefined) throw new Lacking({ kind: 'id', partition })
    if (!atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
    const record = recordOf(id)
    const decision = begin(flux, record, env)
    if (decision.kind !== 'next')
      throw new Error(`the first turn of '${flux.fluxName}' had no effect: ${decision.kind}`)
    const context = new TrackedContext(null, { record, flux, texts: NO_TEXTS })
    context.cause = startedBy(request)
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
    if (step && startsHere(step, context.record)) {
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
    context.record = decision.record
    for (const move of decision.log) context.history.push(move)
    if (decision.step) context.step = decision.step
    if (decision.failure) context.failures.push(decision.failure)
    if (decision.abandonedChild !== null) this.#cancelChild(decision.abandonedChild)
    if (decision.child) this.#spawnChild(context, decision.child)
    const { status, parent } = context.record
    if (isFinished(status) && parent) context.parents = [parent.id]
    if (isFinished(status)) endPending(context, this.env.now)
  }

  /** Starts a child in the same commit. If it cannot be started, the parent's action fails. */
  #spawnChild(context: TrackedContext, wanted: NonNullable<Next['child']>): void {
    const { epoch, attempt } = context.record.position
    const child = startChild(context, wanted, this)
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

  /** The message that the child has ended; null: there is no child, or it has not ended. @throws Lacking */
  #childResult({ record }: TrackedContext): Input | null {
    return record.child === null ? null : childResultOf(record, this.find(record.child))
  }
}

type Next = Decision & { kind: 'next' }

const [NEXT, WITHDRAWN] = [{ kind: 'next' } as const, { kind: 'withdrawn' } as const]
const NO_TEXTS = {}

/**
 * The newest moves of a context, with those of the turn, for the trace of an exception. `flux`: the definition by which
 * the moves are to be read, which a retry may replace. @throws Lacking
 */
function historyOf(
  { before, history, flux: present }: Pick<TrackedContext, 'before' | 'history' | 'flux'>,
  flux: CompiledFlux,
  atHand: Pick<KnownContexts, 'history'>,
): readonly Move[] {
  if (!before) return history.slice(-MAX_LOG_ROWS)
  const earlier = before.moves === before.tail.length ? before.tail : atHand.history(before.id)
  if (!earlier) throw new Lacking({ kind: 'history', id: before.id })
  const indexOf = (index: number): number => flux.stateIndex.get(present.states[index]?.name ?? '') ?? -1
  const read = flux === present ? earlier : earlier.map((move) => ({ ...move, to: indexOf(move.to) }))
  return [...read, ...history].slice(-MAX_LOG_ROWS)
}
