// runtime: one turn's unit of work: the context it is about, and the relatives that must become true in the same commit.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ActionError } from '../definitions/machine.ts'
import { WorkBudget } from '../definitions/work-budget.ts'
import type { ByteBudget } from '../model/byte-budget.ts'
import { SYSTEM } from '../model/caller.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import type { Failure } from '../model/failure.ts'
import { getOwn } from '../model/json.ts'
import { LOG_LIMIT, type ContextRecord, type Move } from '../model/record.ts'
import type { Log } from '../ports/log.ts'
import type { Store, StoredContext, Write } from '../ports/store.ts'
import { seedOf, type Birth } from './birth.ts'
import type { FailedAttempt } from './attempts.ts'
import { movesOf, writeOf } from './codec.ts'
import { begin, decide } from './decide.ts'
import type { Decision, Input, Surroundings } from './decision.ts'
import type { Ids } from './ids.ts'
import { noRoom, type Loads } from './loads.ts'
import { machineContext, type Step } from './position.ts'
import type { Recent } from './recent.ts'
import { inheritedOf } from './redact/redactor.ts'

/** Ancestors that a context can have. */
const MAX_DEPTH = 32

/** A context within the work: as it was, and as it is to be. */
export interface Entry {
  /** null: it is created here. */
  readonly before: ContextRecord | null
  readonly flux: CompiledFlux
  /** The texts of `before`. */
  readonly texts: StoredContext['parts']
  record: ContextRecord
  readonly log: Move[]
  step: Step | null
  /** Parents to tell of an end. */
  readonly pokes: Set<ContextId>
  /** Attempts that failed. */
  readonly failures: FailedAttempt[]
}

export interface WorkParts {
  readonly store: Store
  readonly log: Log
  readonly catalog: Catalog
  readonly ids: Ids
  readonly recent: Recent
  readonly loads: Loads
  /** For contexts that are parsed to be decided on: who finds no room waits. */
  readonly turns: ByteBudget
  /** Characters of JSON that a context may have. */
  readonly maxRecord: number
  /** Makes sure that the store has the definition. */
  readonly pin: (flux: CompiledFlux) => Promise<void>
  readonly surroundings: (budget: WorkBudget) => Surroundings & { readonly trail: null }
}

export type Verdict = { readonly kind: 'next' } | Exclude<Decision, { kind: 'next' } | { kind: 'needsLog' }>

export class Work {
  readonly entries = new Map<ContextId, Entry>()
  readonly #parts: WorkParts
  readonly #given: Surroundings
  /** Of one letter, relatives that it starts or ends included. */
  readonly #budget = new WorkBudget()
  readonly #maxRecord: number
  /** Gives back the room of what was loaded. */
  #release: (() => void) | null = null
  /** See `Loads`. */
  readonly era: number

  /** `ends`: it ends what has grown too large already, and so isn't held to the bound. */
  constructor(parts: WorkParts, { ends = false }: { readonly ends?: boolean } = {}) {
    this.#parts = parts
    this.#maxRecord = ends ? Infinity : parts.maxRecord
    this.era = parts.loads.era
    this.#given = parts.surroundings(this.#budget)
  }

  get now(): number {
    return this.#given.now
  }

  /** The context, as this work has it so far or as the store has it. */
  async find(id: ContextId): Promise<Entry | null> {
    const known = this.entries.get(id)
    if (known) return known
    const { recent } = this.#parts
    const found = recent.get(id, this.era) ?? await this.#load(id)
    if (!found) return null
    const { record, flux, texts } = found
    const entry: Entry = { before: record, flux, texts, record, log: [], step: null, pokes: new Set(), failures: [] }
    this.entries.set(id, entry)
    return entry
  }

  async #load(id: ContextId): Promise<Pick<Entry, 'record' | 'flux' | 'texts'> | null> {
    const { loads, turns } = this.#parts
    // Relatives don't wait: two turns that each have one and want another would wait for ever.
    const opened = this.#release ? await loads.open(id, null) : await loads.openLater(id, turns)
    if (!opened || !('record' in opened)) return null
    this.#release ??= opened.release === noRoom ? null : opened.release
    return opened
  }

  /** Nothing of it is needed any more. */
  release(): void {
    this.#release?.()
    this.#release = null
  }

  /** Tells a context something. */
  tell(entry: Entry, input: Input): Promise<Verdict> {
    this.#budget.spent = 0
    return this.#tell(entry, input)
  }

  async #tell(entry: Entry, input: Input): Promise<Verdict> {
    const heard = input.type === 'WAKE' ? await this.#childAnswer(entry) ?? input : input
    const { spent } = this.#budget
    let decision = decide(entry.flux, entry.record, heard, this.#given)
    if (decision.kind === 'needsLog') {
      this.#budget.spent = spent
      const moves = entry.before ? await movesOf(entry.before, this.#parts) : []
      decision = decide(entry.flux, entry.record, heard, { ...this.#given, trail: [...moves, ...entry.log].slice(-LOG_LIMIT) })
      if (decision.kind === 'needsLog') throw new Error('a decision asks for a log that it has')
    }
    if (decision.kind === 'next') {
      await this.#apply(entry, decision)
      return { kind: 'next' }
    }
    return decision
  }

  /** Creates a context. */
  async create(birth: Birth): Promise<{ entry: Entry } | { failure: Failure }> {
    const { flux } = birth
    const born = seedOf(birth, this.#given)
    if ('failure' in born) return born
    const [id] = await Promise.all([this.#parts.ids.take(birth.parent?.id ?? null), this.#parts.pin(flux)])
    const seed: ContextRecord = { id, ...born.seed }
    const decision = begin(flux, seed, this.#given)
    if (decision.kind !== 'next') throw new Error(`the first turn of '${flux.fluxName}' came to nothing: ${decision.kind}`)
    const entry: Entry = { before: null, flux, texts: {}, record: seed, log: [], step: null, pokes: new Set(), failures: [] }
    this.entries.set(id, entry)
    await this.#apply(entry, decision)
    return { entry }
  }

  /**
   * What to commit; the version of each record is raised.
   * @throws RecordTooLarge
   */
  writes(): Write[] {
    const writes: Write[] = []
    for (const entry of this.entries.values()) {
      const { before, texts, record, flux, log, pokes } = entry
      if (before === record) continue
      const answersPoke = record.child === null || record.child !== before?.child
      const written = writeOf({ before, texts, next: record, flux, log, pokes: [...pokes], answersPoke, maxRecord: this.#maxRecord })
      writes.push(written.write)
      entry.record = written.record
    }
    return writes
  }

  async #apply(entry: Entry, decision: Decision & { kind: 'next' }): Promise<void> {
    entry.record = decision.record
    entry.log.push(...decision.log)
    if (decision.step) entry.step = decision.step
    if (decision.failure) entry.failures.push(decision.failure)
    if (decision.orphan !== null) await this.#dismiss(decision.orphan)
    if (decision.child) await this.#bear(entry, decision.child)
    const { status, parent } = entry.record
    if (isFinished(status) && parent) entry.pokes.add(parent.id)
  }

  /** Starts a child; one that can't be started is a failed action of its parent. */
  async #bear(entry: Entry, { name, input }: { name: string; input: ContextRecord['input'] }): Promise<void> {
    const { record } = entry
    const { epoch, attempt } = machineContext(record)
    const error = await this.#born(entry, name, input, epoch)
    if (typeof error === 'number') entry.record = { ...entry.record, child: error }
    else await this.#tell(entry, { type: 'FAIL', epoch, attempt, error, unborn: true })
  }

  async #born({ record, flux: parentFlux }: Entry, name: string, input: ContextRecord['input'], epoch: number): Promise<ContextId | ActionError> {
    const { id, package: own, parent } = record
    const depth = (parent?.depth ?? 0) + 1
    if (depth > MAX_DEPTH) return failed('InvocationTooDeep', `services invoke one another more than ${MAX_DEPTH} deep`)
    const flux = this.#parts.catalog.resolve(own, name)
    if (flux === undefined) return failed('ServiceNotFound', `there is no service '${name}'`)
    if (flux === 'ambiguous') return failed('ServiceNotFound', `several packages have a service '${name}'`)
    const inherited = inheritedOf(record, parentFlux)
    const child = await this.create({ flux, input, untyped: false, unknown: 'refuse', tags: [], trigger: null, parent: { id, epoch, depth }, inherited })
    return 'failure' in child ? failed('InvalidInput', `'${name}' can't be started: ${child.failure.detail}`) : child.entry.record.id
  }

  /** Ends a child that nobody waits for any more, in the commit that left it, and so its own child too. */
  async #dismiss(id: ContextId): Promise<void> {
    const child = await this.find(id)
    if (!child || isFinished(child.record.status)) return
    await this.#tell(child, { type: 'TERMINATE', caller: SYSTEM })
    child.pokes.clear()
  }

  /** The end of the child that this context waits for, if it has come. */
  async #childAnswer({ record }: Entry): Promise<Input | null> {
    if (record.child === null) return null
    const child = await this.find(record.child)
    const { epoch, attempt } = machineContext(record)
    if (!child) return { type: 'FAIL', epoch, attempt, error: failed('ServiceNotFound', `context ${record.child} is gone`) }
    const { status, output, error, fluxName } = child.record
    if (status === 'COMPLETED') return { type: 'DONE', epoch, attempt, result: Object.fromEntries([...child.flux.output.properties.keys()].map((name) => [name, getOwn(output, name) ?? null])) }
    if (status === 'TERMINATED') return { type: 'FAIL', epoch, attempt, error: failed('ServiceTerminated', `'${fluxName}' (context ${record.child}) was terminated`) }
    if (status === 'FAILED') return { type: 'FAIL', epoch, attempt, error: { ...failed('ServiceFailed', error?.message ?? 'failed'), realException: { contextId: record.child, ...error } } }
    return null
  }
}

const failed = (type: string, message: string): ActionError => ({ message, type, className: type, realException: null })
