// engine/rehearsal: what calls would do to the contexts as they are, while nothing happens. The protocol:
//
// 1. The handler of the call is given mailboxes whose commits are not stored, and a store that only looks whether it
//    would refuse a commit. So it is the very turn that decides, and the answer is that of the call, faults included.
// 2. What such a commit would have written stays in memory: later turns of the rehearsal see it in place of what the
//    store has. New contexts have ids that no real one can have.
// 3. Then the rehearsal goes on, message by message, as the engine would: a parent hears of the end of its child, a step
//    whose outcome is assumed ends, and the earliest wake-up comes that is due at once, or up to the time assumed. So do
//    the children and parents of contexts, also those that were there before.
// 4. It ends where none of that is left, or when it has met a bound: of moves, of work, or of data.
import { actionError } from '../../model/action-error.ts'
import { MAX_SHOWN, type AssumedOutcome, type Assumptions } from '../../api/rehearsal.ts'
import { type ContextId, isFinished, MAX_LOG_ROWS, UNOWNED } from '../../model/context.ts'
import { getOwn } from '../../model/json/value.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { CommitRefusal, CommitRequest, Selection, SelectQuery, Store, Write } from '../../ports/store.ts'
import { NO_SIGNALS } from '../contexts/deps.ts'
import type { Parts } from '../core/core.ts'
import { drawnFrom } from '../idempotency/kept-answer.ts'
import type { Input } from '../interpreter/decision.ts'
import { isAt, stepOf, type StepAnswer } from '../interpreter/position.ts'
import { owedBy } from '../turn/answer.ts'
import type { Slot } from '../turn/admission.ts'
import type { Commits } from '../turn/commit.ts'
import { Mailboxes } from '../turn/mailboxes.ts'
import type { TrackedContext, TurnEnv } from '../turn/message.ts'
import { indexKeysOf } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextOf, hasChanged, MAX_ENTRIES, stepShown, type RehearsedContext } from './would.ts'

/** Moves of all contexts together. */
const MAX_MOVES = 10_000
/** Steps of work of all turns after the call, about 2 s. */
const MAX_STEPS = 60_000_000
/** Contexts, and their characters, that are remembered. */
const MAX_CONTEXTS = 1000
const MAX_CHARACTERS = 8 * 1024 * 1024
/** Characters of the data that all turns change. */
const MAX_WRITTEN = 64 * 1024 * 1024
/** Contexts that would be started, at most. */
const MAX_NEW = 2 ** 20

interface Next {
  readonly id: ContextId
  readonly input: Input
  /** Epoch milliseconds; null: at once. */
  readonly at: number | null
}

const SLOT: Slot = { kind: 'code', fits: () => true, addRoom() {}, releaseRoom() {}, release() {} }
const WAKE = { type: 'WAKE' } as const

export class Rehearsal {
  readonly mailboxes: Mailboxes
  readonly store: Store
  readonly contexts = new Map<ContextId, RehearsedContext>()
  readonly clock: Parts['clock']
  readonly #parts: Parts
  /** One commit at a time. */
  readonly #commits = new Turnstile(1)
  readonly #assume: Assumptions
  /** Parents that are to hear of the end of a child. */
  readonly #told: ContextId[] = []
  /** Relatives that were looked for. */
  readonly #met = new Set<ContextId>()
  #now: number
  /** Wake-ups are taken up to then. */
  readonly #until: number
  #moves = 0
  #steps = 0
  readonly #ids = new Set<ContextId>()
  #characters = 0
  #written = 0
  /** Characters of contexts that may be remembered. */
  #room = MAX_CHARACTERS
  #isGoingOn = false

  constructor(parts: Parts, assume: Assumptions) {
    const { store, clock, env } = parts
    this.#parts = parts
    this.#assume = assume
    this.#now = assume.now ?? clock.now()
    this.#until = assume.until ?? this.#now
    this.clock = { now: () => this.#now, after: (milliseconds, callback) => clock.after(milliseconds, callback) }
    this.store = overlaid(store, {
      commit: (request) => this.#commits.run(async () => (await this.#refusalOf(request)) ?? { ok: true }),
      log: async (query) => {
        const added = this.contexts.get(query.id)?.log ?? []
        return added.length > 0 ? [...(await store.log(query)), ...added].slice(-query.limit) : store.log(query)
      },
      selectIds: async (query) => {
        const page = await store.selectIds(query)
        const ids = page.ids.filter((id) => this.#fits(id, query))
        return { ...page, ids: query.limit === 1 ? this.#newestOf(ids, query) : ids }
      },
    })
    const random =
      assume.random === undefined ? null : drawnFrom({ seed: String(assume.random), now: 0 }, 'rehearsal')()
    const turnEnv = (): TurnEnv => {
      const drawn = random ? { random: random.random, uuid: random.uuid } : {}
      return { ...env(), ...drawn, now: this.#now, admit: () => SLOT }
    }
    this.mailboxes = new Mailboxes({
      ...parts,
      store: this.store,
      commits: { commit: (...given) => this.#commit(...given) },
      cache: { get: (id) => this.contexts.get(id)?.now },
      ids: {
        nextPartition: () => 0,
        tryTake: (partition) => this.#newId(partition),
        take: async (partition) => this.#newId(partition),
        drop() {},
      },
      pins: { has: () => true, pin: async () => {} },
      env: turnEnv,
      traces: null,
      signals: NO_SIGNALS,
      maxCalls: Infinity,
    })
  }

  /** Whether it is the id of a context that would be started. */
  isNew(id: number): boolean {
    return this.#ids.has(id)
  }

  /** Goes on to where nothing is left that would happen by itself, as far as outcomes and wake-ups are assumed. */
  async goOn(): Promise<void> {
    await this.mailboxes.idle()
    this.#isGoingOn = true
    this.#room += this.#characters
    for (let next = await this.#next(); next !== null; next = await this.#next()) {
      const context = this.contexts.get(next.id)
      if (this.#isSpent) {
        for (const each of this.contexts.values()) each.isStopped = this.#mayGoOn(each)
        return
      }
      this.#now = Math.max(this.#now, next.at ?? this.#now)
      const before = context?.now
      await this.mailboxes.post(next.id, next.input)
      await this.mailboxes.idle()
      if (context) context.isDone = context.now === before
    }
  }

  get #isSpent() {
    const isFull = this.contexts.size >= MAX_CONTEXTS || this.#characters >= this.#room
    return isFull || this.#moves >= MAX_MOVES || this.#steps >= MAX_STEPS || this.#written >= MAX_WRITTEN
  }

  /** Whether it would go on, if the rehearsal did. */
  #mayGoOn({ now: { record } }: RehearsedContext) {
    return record.status === 'RUNNING' || (record.due !== null && record.due <= this.#until)
  }

  /** What would happen next. */
  async #next(): Promise<Next | null> {
    const parent = this.#told.shift()
    if (parent !== undefined) return { id: parent, input: WAKE, at: null }
    await this.#addRelatives()
    let first: Next | null = null
    for (const [id, context] of this.contexts) {
      const { record } = context.now
      if (context.isDone || isFinished(record.status)) continue
      const { due, isPaused, lease } = record
      // A step that became ready while its context was paused.
      const isReady = lease?.owner === UNOWNED && !isPaused && hasChanged(context)
      const input: Input | null = isReady ? { type: 'TAKE_OVER', owner: UNOWNED } : this.#answerTo(context)
      if (input) return { id, input, at: null }
      if (!isPaused && due !== null && due <= this.#until && due < (first?.at ?? Infinity))
        first = { id, input: WAKE, at: due }
    }
    return first
  }

  /** Adds the relatives of contexts, as the store has them. One that can't be read is left out. */
  async #addRelatives(): Promise<void> {
    const { loader, log } = this.#parts
    // Those that are added have relatives, too.
    for (const { now } of this.contexts.values())
      for (const id of [now.record.child, now.record.parent?.id ?? null]) {
        if (id === null || this.contexts.has(id) || this.#met.has(id) || this.#isSpent) continue
        this.#met.add(id)
        const opened = await loader.open(id, null).catch((error: unknown) => {
          if (!isUnreadable(error, log)) throw error
          return null
        })
        if (!opened) continue
        const { record, flux, texts } = opened
        this.#characters += charactersOf(texts)
        this.contexts.set(id, contextOf({ record, flux }, { record, flux, texts }))
      }
  }

  /** The assumed end of what a context does; null: it does nothing, or none is assumed. */
  #answerTo(context: RehearsedContext): Input | null {
    const { now, acted, steps } = context
    const { record, flux } = now
    const step = stepOf(record)
    const { child, position } = record
    // The end of a child is not assumed for a parent that was only added.
    if (step === null ? child === null || !hasChanged(context) : step.owner === UNOWNED) return null
    const state = flux.states[record.state]?.name ?? ''
    const outcomes = getOwn(this.#assume.steps ?? {}, state)
    if (outcomes === undefined) return null
    const count = acted.get(state) ?? 0
    acted.set(state, count + 1)
    const outcome = outcomes[count] ?? outcomes.at(-1)
    if (outcome === undefined) return null
    const [last, of] = [steps.at(-1), child === null ? undefined : this.contexts.get(child)]
    if (step && last) last.assumed = true
    if (of) of.isAssumed = true
    return answerOf(outcome, { epoch: position.epoch, attempt: position.attempt, ...(step && { owner: step.owner }) })
  }

  #newId(partition: number): ContextId {
    const { partitions } = this.store
    const first = Math.floor(Number.MAX_SAFE_INTEGER / partitions) - 2 * MAX_NEW
    const id = (first + this.#ids.size) * partitions + partition
    this.#ids.add(id)
    return id
  }

  readonly #commit: Commits['commit'] = (work, writes, { rows }) =>
    this.#commits.run(async () => {
      for (const [id, { before }] of work.contexts) {
        const known = this.contexts.get(id)
        if (before && known && known.now.record.version !== before.version) return { ok: false, stale: id }
      }
      const refusal = await this.#refusalOf({ writes, rows })
      if (refusal) return refusal
      for (const write of writes) {
        const written = charactersOf(write.context.parts, write.changed)
        this.#written += written
        await breathe(written, 'acting')
        const tracked = work.contexts.get(write.context.id)
        if (tracked) this.#take(tracked, work.env, write)
      }
      this.#steps += 'steps' in work && typeof work.steps === 'number' ? work.steps : 0
      return { ok: true }
    })

  /** Why the store would refuse the commit, apart from other servers that are faster; null: it would not. */
  async #refusalOf({ writes, rows = [] }: CommitRequest): Promise<CommitRefusal | null> {
    for (const row of rows) {
      if (row.expects === undefined) continue
      const value = (await this.store.readRow(row))?.value ?? null
      if (value !== row.expects) return { ok: false, row: { space: row.space, key: row.key, value } }
    }
    for (const write of writes) {
      const { unique, context } = write
      if (unique === undefined) continue
      const by = await this.#holderOf(unique, context.id, writes)
      if (by !== null) return { ok: false, unique: { key: unique, by } }
    }
    return null
  }

  /** The context that has the unique key besides; null: none has, when those writes are done. */
  async #holderOf(key: string, own: ContextId, writes: readonly Write[]): Promise<ContextId | null> {
    const partition = own % this.store.partitions
    const { ids } = await this.store.selectIds({ any: [[key]], partition, order: 'desc', limit: 1 })
    const [id = own] = ids
    return id === own || writes.some(({ context }) => context.id === id) ? null : id
  }

  /** Who has a key: perhaps a context that has it only since the rehearsal began. */
  #newestOf(found: readonly ContextId[], query: SelectQuery): readonly ContextId[] {
    const own = [...this.contexts].flatMap(([id, { now }]) => {
      const isMeant = now.record.key !== null && id % this.store.partitions === query.partition
      return isMeant && this.#fits(id, query) ? [id] : []
    })
    return own.length > 0 ? [Math.max(...own, ...found)] : found
  }

  /** Whether a context that the store has found still fits, as it would be. */
  #fits(id: ContextId, { any }: Selection): boolean {
    const known = this.contexts.get(id)?.now
    if (!known) return true
    const keys = new Set(indexKeysOf(known.record, known.flux))
    return any.some((list) => list.every((key) => keys.has(key)))
  }

  /** What a commit would write, in place of what the store has. */
  #take(tracked: TrackedContext, env: TurnEnv, { context: { parts: texts }, log }: Write): void {
    const { record, flux, fluxBefore = flux, before, history, step, parents } = tracked
    const known = this.contexts.get(record.id)
    this.#moves += history.length
    this.#characters += charactersOf(texts) - (known ? charactersOf(known.now.texts) : 0)
    const now = { record, flux, texts }
    const context = known ?? contextOf(before && { record: before, flux: fluxBefore }, now)
    context.now = now
    context.isDone = false
    this.#characters += log.join('').length
    context.log.push(...log)
    context.log.splice(0, Math.max(0, context.log.length - MAX_LOG_ROWS))
    for (const { to } of history) context.entered.push(to)
    if (step && isAt(step, record) && (context.started += 1) <= MAX_ENTRIES) context.steps.push(stepShown(record, flux))
    context.onEnd ??= owedBy(tracked, env)?.url ?? null
    this.contexts.set(record.id, context)
    if (!this.#isGoingOn) this.#forgetOthers()
    if (this.contexts.has(record.id)) this.#told.push(...parents)
  }

  /** Of a call to many, the first contexts are remembered: those with the lowest ids. */
  #forgetOthers(): void {
    while (this.contexts.size > MAX_SHOWN || (this.#characters > MAX_CHARACTERS && this.contexts.size > 1)) {
      const last = Math.max(...this.contexts.keys())
      this.#characters -= charactersOf(this.contexts.get(last)?.now.texts ?? {})
      this.contexts.delete(last)
    }
  }
}

function answerOf(outcome: AssumedOutcome, step: StepAnswer): Input {
  if ('result' in outcome) return { type: 'DONE', result: outcome.result, ...step }
  const { type = 'Error', message = '' } = outcome.error
  return { type: 'FAIL', error: actionError(type, message), ...step }
}

/** A store of which some methods are others. */
const overlaid = (store: Store, others: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Object.hasOwn(others, name) ? Reflect.get(others, name) : Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
