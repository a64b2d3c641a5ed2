// engine: what one turn makes of a context, and of the relatives that must change in the same commit. It awaits
// nothing: what is not at hand is thrown as a need.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ActionError } from '../model/action-error.ts'
import { WorkBudget } from '../definitions/work-budget.ts'
import { SYSTEM } from '../model/caller.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import type { Failure } from '../model/failure.ts'
import { getOwn } from '../model/json/value.ts'
import { LOG_LIMIT, type ContextRecord, type Move } from '../model/record.ts'
import type { StoredContext, Write } from '../ports/store.ts'
import type { FailedAttempt } from './steps/attempts.ts'
import { initialRecordOf, type StartRequest } from './start-request.ts'
import { writeOf } from './record/codec.ts'
import { begin, decide } from './interpreter/decide.ts'
import type { Decision, Input, DecisionEnv } from './interpreter/decision.ts'
import type { Step } from './record/position.ts'
import { readied, type Slot } from './steps/admission.ts'
import { inheritedOf } from './redact/redactor.ts'

/** Ancestors that a context can have. */
const MAX_DEPTH = 32

/** A context as it was read, or lately committed. */
export interface KnownContext {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
}

/** A context within the unit of work: as it was, and as it is to be. */
export interface TrackedContext {
  /** null: it is created here. */
  readonly before: ContextRecord | null
  readonly flux: CompiledFlux
  /** The texts of `before`. */
  readonly texts: StoredContext['parts']
  record: ContextRecord
  readonly history: Move[]
  step: Step | null
  /** In which that step starts, once it is committed. */
  slot: Slot | null
  /** Parents to notify of an end. */
  readonly parents: Set<ContextId>
  /** Attempts that failed. */
  readonly failures: FailedAttempt[]
}

/** What a turn lacks to be decided. */
export type Need =
  | { readonly kind: 'context' | 'history'; readonly id: ContextId }
  | { readonly kind: 'id'; readonly partition: number }
  /** The store must have it before a commit names it. */
  | { readonly kind: 'definition'; readonly flux: CompiledFlux }

/** Thrown, and no error: it is always caught, and says nothing of a place in the code. */
export class Lacking {
  readonly need: Need
  constructor(need: Need) {
    this.need = need
  }
}

/** What is at hand without waiting. `undefined` stands for what isn't. */
export interface KnownContexts {
  /** null: there is no such context. */
  context(id: ContextId): KnownContext | null | undefined
  history(id: ContextId): readonly Move[] | undefined
  newId(partition: number): ContextId | undefined
  isPinned(flux: CompiledFlux): boolean
  /** The service of that name, as a service of that package sees it. */
  service(packageName: string, fluxName: string): CompiledFlux | undefined | 'ambiguous'
  readonly partitions: number
}

export type TurnEnv = Omit<DecisionEnv, 'history' | 'budget'> & {
  /** Characters of JSON that a context may have. */
  readonly maxRecord: number
  /** Takes a slot for the step that begins in that state; null: none is free. */
  readonly admit: (flux: CompiledFlux, state: number) => Slot | null
}

/** What a message came to. */
export type Applied = { readonly kind: 'next' } | Exclude<Decision, { kind: 'next' } | { kind: 'needsHistory' }>

export class UnitOfWork {
  readonly contexts = new Map<ContextId, TrackedContext>()
  readonly #atHand: KnownContexts
  readonly #env: DecisionEnv
  readonly #admit: TurnEnv['admit']
  readonly #maxRecord: number
  /** Of one message, relatives that it starts or ends included. */
  readonly #budget = new WorkBudget()

  constructor(atHand: KnownContexts, env: TurnEnv) {
    this.#atHand = atHand
    this.#maxRecord = env.maxRecord
    const { now, random, uuid, owner, tagLimits } = env
    this.#admit = env.admit
    this.#env = { now, random, uuid, owner, tagLimits, history: null, budget: this.#budget }
  }

  /** Steps of work that the last message took. */
  get spent(): number {
    return this.#budget.spent
  }

  /** The context, as this unit of work has it so far; null: there is none. @throws Lacking */
  find(id: ContextId): TrackedContext | null {
    const tracked = this.contexts.get(id)
    if (tracked) return tracked
    const known = this.#atHand.context(id)
    if (known === undefined) throw new Lacking({ kind: 'context', id })
    if (known === null) return null
    const { record, flux, texts } = known
    const context: TrackedContext = {
      before: record,
      flux,
      texts,
      record,
      history: [],
      step: null,
      slot: null,
      parents: new Set(),
      failures: [],
    }
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
    let decision = decide(context.flux, context.record, message, this.#env)
    if (decision.kind === 'needsHistory') {
      this.#budget.spent = spent
      decision = decide(context.flux, context.record, message, { ...this.#env, history: this.#historyOf(context) })
      if (decision.kind === 'needsHistory') throw new Error('a decision asks for a history that it has')
    }
    if (decision.kind !== 'next') return decision
    this.#take(context, decision)
    return NEXT
  }

  /** Creates a context. @throws Lacking */
  create(request: StartRequest): { readonly context: TrackedContext } | { readonly failure: Failure } {
    const { flux } = request
    const initial = initialRecordOf(request, this.#env)
    if ('failure' in initial) return initial
    const partition = request.partition % this.#atHand.partitions
    const id = this.#atHand.newId(partition)
    // Before all else that is to be waited for: contexts are numbered in the order in which they are asked for.
    if (id === undefined) throw new Lacking({ kind: 'id', partition })
    if (!this.#atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
    const record = initial.recordOf(id)
    const decision = begin(flux, record, this.#env)
    if (decision.kind !== 'next')
      throw new Error(`the first turn of '${flux.fluxName}' came to nothing: ${decision.kind}`)
    const context: TrackedContext = {
      before: null,
      flux,
      texts: NO_TEXTS,
      record,
      history: [],
      step: null,
      slot: null,
      parents: new Set(),
      failures: [],
    }
    this.contexts.set(id, context)
    this.#take(context, decision)
    return { context }
  }

  /**
   * What to commit; the version of each record is raised. Steps that begin have taken slots (`releaseSlots`), or else
   * are ready.
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

  /** Gives back the slots of steps that have not been started. */
  releaseSlots(): void {
    for (const { slot } of this.contexts.values()) slot?.release()
  }

  #write(context: TrackedContext): Write {
    const { before, texts, flux, history, parents, step } = context
    if (step && startsHere(step, context.record)) {
      context.slot = this.#admit(flux, step.state)
      if (!context.slot) context.record = readied(context.record)
    }
    const { record, slot } = context
    const answersNotification = record.child === null || record.child !== before?.child
    const change = { before, texts, flux, log: history, notifies: [...parents], answersNotification }
    const maxRecord = this.#maxRecord
    let written = writeOf({ ...change, next: record, maxRecord })
    if (slot && !slot.fits(written.write.context.parts)) {
      slot.release()
      context.slot = null
      written = writeOf({ ...change, next: readied(record), maxRecord })
    }
    context.record = written.record
    return written.write
  }

  #take(context: TrackedContext, decision: Decision & { kind: 'next' }): void {
    context.record = decision.record
    for (const move of decision.log) context.history.push(move)
    if (decision.step) context.step = decision.step
    if (decision.failure) context.failures.push(decision.failure)
    if (decision.abandonedChild !== null) this.#cancelChild(decision.abandonedChild)
    if (decision.child) this.#spawnChild(context, decision.child)
    const { status, parent } = context.record
    if (isFinished(status) && parent) context.parents.add(parent.id)
  }

  #historyOf({ before, history }: TrackedContext): readonly Move[] {
    if (!before) return history.slice(-LOG_LIMIT)
    const earlier = before.moves === before.tail.length ? before.tail : this.#atHand.history(before.id)
    if (!earlier) throw new Lacking({ kind: 'history', id: before.id })
    return [...earlier, ...history].slice(-LOG_LIMIT)
  }

  /** Starts a child; one that can't be started is a failed action of its parent. */
  #spawnChild(context: TrackedContext, { name, input }: { name: string; input: ContextRecord['input'] }): void {
    const { epoch, attempt } = context.record.position
    const child = this.#tryToSpawn(context, name, input, epoch)
    if (typeof child === 'number') context.record = { ...context.record, child }
    else this.#apply(context, { type: 'FAIL', epoch, attempt, error: child, isUnspawned: true })
  }

  #tryToSpawn(
    { record, flux: parentFlux }: TrackedContext,
    name: string,
    input: ContextRecord['input'],
    epoch: number,
  ): ContextId | ActionError {
    const { id, package: own, parent } = record
    const depth = (parent?.depth ?? 0) + 1
    if (depth > MAX_DEPTH)
      return errorOf('InvocationTooDeep', `services invoke one another more than ${MAX_DEPTH} deep`)
    const flux = this.#atHand.service(own, name)
    if (flux === undefined) return errorOf('ServiceNotFound', `there is no service '${name}'`)
    if (flux === 'ambiguous') return errorOf('ServiceNotFound', `several packages have a service '${name}'`)
    const inherited = inheritedOf(record, parentFlux)
    const child = this.create({
      flux,
      input,
      untyped: false,
      unknown: 'refuse',
      tags: [],
      trigger: null,
      parent: { id, epoch, depth },
      inherited,
      partition: id,
    })
    return 'failure' in child
      ? errorOf('InvalidInput', `'${name}' can't be started: ${child.failure.detail}`)
      : child.context.record.id
  }

  /** Ends a child that nobody waits for any more, in the commit that left it, and so its own child too. */
  #cancelChild(id: ContextId): void {
    const child = this.find(id)
    if (!child || isFinished(child.record.status)) return
    this.#apply(child, { type: 'TERMINATE', caller: SYSTEM })
    child.parents.clear()
  }

  /** The end of the child that this context waits for, if it has come. */
  #childResult({ record }: TrackedContext): Input | null {
    if (record.child === null) return null
    const child = this.find(record.child)
    const { epoch, attempt } = record.position
    const fail = (error: ActionError): Input => ({ type: 'FAIL', epoch, attempt, error })
    if (!child) return fail(errorOf('ServiceNotFound', `context ${record.child} is gone`))
    const { status, output, error, fluxName } = child.record
    switch (status) {
      case 'COMPLETED': {
        const names = [...child.flux.output.properties.keys()]
        return {
          type: 'DONE',
          epoch,
          attempt,
          result: Object.fromEntries(names.map((name) => [name, getOwn(output, name) ?? null])),
        }
      }
      case 'TERMINATED':
        return fail(errorOf('ServiceTerminated', `'${fluxName}' (context ${record.child}) was terminated`))
      case 'FAILED': {
        const realException = { contextId: record.child, ...error }
        return fail({ ...errorOf('ServiceFailed', error?.message ?? 'failed'), realException })
      }
      default:
        return null
    }
  }
}

/** A later message of the same turn may have ended what an earlier one began. */
function startsHere({ epoch, attempt, owner }: Step, { lease, position }: ContextRecord): boolean {
  return lease?.owner === owner && position.epoch === epoch && position.attempt === attempt
}

const NEXT = { kind: 'next' } as const
const NO_TEXTS = {}

const errorOf = (type: string, message: string): ActionError => ({
  message,
  type,
  className: type,
  realException: null,
})
