// engine/turn: the changes of one turn: the context, and the relatives that must change in the same commit. It is
// synchronous; if data is missing, it throws `Lacking`.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { SYSTEM } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { MAX_LOG_ROWS, type Move } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import { initialRecordOf, startedBy, type StartRequest, keyInUse } from './start-request.ts'
import { partitionOfKey } from '../record/context-key.ts'
import { writeOf } from '../record/encode.ts'
import { nextPending } from '../interpreter/early.ts'
import { holderOf, makeRoom, childRequestOf, childResultOf, notStarted, goOnWith, retryEnvOf } from './relatives.ts'
import { begin, decide } from '../interpreter/decide.ts'
import type { Decision, Input, DecisionEnv } from '../interpreter/decision.ts'
import { isAt } from '../interpreter/position.ts'
import { readied, type Slot } from './admission.ts'
import { Lacking, type KnownContexts } from './turn-data.ts'
import { endRowsOf, withAnswerRows } from './answer.ts'
import { pendingRowsOf, endPending, settle, takeNext } from './pending-events.ts'
import { noteCause, noteSignals, trackedContext, type Applied, type TrackedContext } from './message.ts'

export type TurnEnv = Omit<DecisionEnv, 'history' | 'budget'> & {
  /** Characters of JSON that a context may have. */
  readonly maxRecord: number
  /** Milliseconds for which receipts are kept. */
  readonly receiptsMs: number
  /** Takes a slot for the step of that state; null: none is free. */
  readonly admit: (flux: CompiledFlux, state: number) => Slot | null
}

export class UnitOfWork {
  readonly contexts = new Map<ContextId, TrackedContext>()
  /** Of the context that is started here; undefined: not known yet. */
  startKey: string | null | undefined
  /** The context that is ended so that the one that is started here can have its key. */
  replaced: ContextId | null = null
  readonly #atHand: KnownContexts
  readonly #env: DecisionEnv
  readonly #admit: TurnEnv['admit']
  readonly #maxRecord: number
  readonly #receiptsMs: number
  /** The work budget of one message, including the relatives that it starts or ends. */
  readonly #budget = new WorkBudget()
  readonly #parts

  constructor(atHand: KnownContexts, env: TurnEnv) {
    this.#atHand = atHand
    this.#maxRecord = env.maxRecord
    this.#receiptsMs = env.receiptsMs
    this.#admit = env.admit
    const { now, random, uuid, owner, tagLimits } = env
    this.#env = { now, random, uuid, owner, tagLimits, history: null, budget: this.#budget }
    this.#parts = { work: this, atHand, env: this.#env }
  }

  /** Steps of work that the last message took. */
  get spent(): number {
    return this.#budget.spent
  }

  /** The context, with the changes made so far; null: it does not exist. @throws Lacking */
  find(id: ContextId): TrackedContext | null {
    const tracked = this.contexts.get(id)
    if (tracked) return tracked
    const known = this.#atHand.context(id)
    if (known === undefined) throw new Lacking({ kind: 'context', id })
    if (known === null) return null
    const context = trackedContext(known.record, known.flux, known.texts, known.record)
    this.contexts.set(id, context)
    return context
  }

  /** Applies a message to a context. @throws Lacking */
  apply(context: TrackedContext, input: Input): Applied {
    this.#budget.spent = 0
    return this.#apply(context, input)
  }

  #apply(context: TrackedContext, input: Input): Applied {
    const message = input.type === 'WAKE' ? (this.#childResult(context) ?? input) : input
    const { spent } = this.#budget
    const facts = message.type === 'RETRY' ? retryEnvOf(context, message, this.#parts) : null
    const flux = facts?.flux ?? context.flux
    const env = facts?.env ?? this.#env
    let decision = decide(flux, context.record, message, env)
    if (decision.kind === 'needsHistory') {
      this.#budget.spent = spent
      decision = decide(flux, context.record, message, { ...env, history: historyOf(context, flux, this.#atHand) })
      if (decision.kind === 'needsHistory') throw new Error('a decision asks for a history that it has')
    }
    if (decision.kind !== 'refused' && decision.kind !== 'noop') noteCause(context, message)
    switch (decision.kind) {
      case 'next':
        if (message.type === 'RETRY') goOnWith(context, flux, this)
        this.#take(context, noteSignals(context, message, decision, this.#env.now))
        return NEXT
      case 'kept':
        context.record = decision.record
        return { kind: 'kept', expiresAt: decision.event.expiresAt }
      case 'withdrawn':
        context.record = decision.record
        for (const event of decision.events) settle(context, event, { became: 'withdrawn', at: this.#env.now })
        return WITHDRAWN
      default:
        return decision
    }
  }

  /** @throws Lacking */
  takeNext(context: TrackedContext): boolean {
    return takeNext(context, this.#env.now, (input) => this.apply(context, input))
  }

  /** The rows of early events, first answers and owed webhooks, for the commit of the writes. */
  rows(): readonly RowWrite[] {
    const { partitions } = this.#atHand
    const env = { partitions, receiptsMs: this.#receiptsMs, turn: this.#env }
    const [pending, owed] = [pendingRowsOf(this.contexts, env), endRowsOf(this.contexts, env)]
    return withAnswerRows(owed.length === 0 ? pending : [...pending, ...owed], this.contexts, partitions)
  }

  /** Creates a context. @throws Lacking */
  create(request: StartRequest): { readonly context: TrackedContext } | { readonly failure: Failure } {
    const { flux } = request
    const initial = initialRecordOf(request, this.#env)
    const { key = null } = initial
    if (request.parent === null) this.startKey = initial.key
    const address = key === null ? null : { package: flux.package, fluxName: flux.fluxName, key }
    if (address && request.existing === 'use') {
      const by = holderOf(address, flux, this.#atHand)
      if (by !== null) return { failure: keyInUse(address, by) }
    }
    if ('failure' in initial) return initial
    const room = address && makeRoom(address, request, this, this.#atHand)
    if (room && 'failure' in room) return room
    this.replaced = room?.replaced ?? null
    const { partitions } = this.#atHand
    const partition = address ? partitionOfKey(address, partitions) : request.partition % partitions
    const id = this.#atHand.newId(partition)
    // The id is fetched before anything else, so that contexts are numbered in the order of their requests.
    if (id === undefined) throw new Lacking({ kind: 'id', partition })
    if (!this.#atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
    const record = initial.recordOf(id)
    const decision = begin(flux, record, this.#env)
    if (decision.kind !== 'next')
      throw new Error(`the first turn of '${flux.fluxName}' had no effect: ${decision.kind}`)
    const context = trackedContext(null, flux, NO_TEXTS, record)
    context.cause = startedBy(request)
    this.contexts.set(id, context)
    this.#take(context, decision)
    return { context }
  }

  /**
   * The writes to commit. Increments the version of each record. Steps that begin take slots, which `releaseSlots`
   * gives back, or become ready.
   * @throws RecordTooLarge
   */
  writes(): Write[] {
    const writes: Write[] = []
    try {
      for (const context of this.contexts.values())
        if (context.before !== context.record) writes.push(this.#write(context))
    } catch (error) {
      this.releaseSlots()
      throw error
    }
    return writes
  }

  /** Releases the slots of steps that were not started. */
  releaseSlots(): void {
    for (const { slot } of this.contexts.values()) slot?.release()
  }

  #write(context: TrackedContext): Write {
    const { before, texts, flux, history: log, parents: notifies, step } = context
    // A later message of the same turn may have ended what an earlier one began.
    if (step && isAt(step, context.record)) {
      context.slot = context.record.isPaused ? null : this.#admit(flux, step.state)
      if (!context.slot) context.record = readied(context.record)
    }
    const { record, slot } = context
    const answersNotification = record.child === null || record.child !== before?.child || context.isNotified === true
    const maxRecord = this.#maxRecord
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
    return { ...written.write, context: { ...written.write.context, due: this.#env.now } }
  }

  #take(context: TrackedContext, decision: Decision & { kind: 'next' }): void {
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
    if (isFinished(status)) endPending(context, this.#env.now)
  }

  /** Starts a child in the same commit. If it cannot be started, the parent's action fails. */
  #spawnChild(context: TrackedContext, wanted: { readonly name: string; readonly input: JsonObject }): void {
    const { epoch, attempt } = context.record.position
    const child = this.#tryToSpawn(context, wanted)
    if (typeof child === 'number') context.record = { ...context.record, child }
    else this.#apply(context, { type: 'FAIL', epoch, attempt, error: child, isUnspawned: true })
  }

  #tryToSpawn(
    context: TrackedContext,
    wanted: { readonly name: string; readonly input: JsonObject },
  ): ContextId | ActionError {
    const request = childRequestOf(context, wanted, this.#atHand)
    if (!('flux' in request)) return request
    const child = this.create(request)
    return 'failure' in child ? notStarted(wanted.name, child.failure.detail) : child.context.record.id
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
