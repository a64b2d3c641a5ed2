// engine/cluster: leases steps of dead servers, and ready steps, to this server. A fenced commit does this before any data of
// the context is parsed, because that data may have killed the other server.
import { isFinished } from '../../model/context.ts'
import { UNOWNED, type ContextRecord } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { StepKind } from '../../ports/steps.ts'
import type { AbandonedLease, StoredContext, Write } from '../../ports/store.ts'
import type { Deps } from '../contexts/deps.ts'
import { logFailures } from '../interpreter/attempts.ts'
import { decodeRecord, decodeHead } from '../record/decode.ts'
import { headWrite } from '../record/encode.ts'
import type { Admission, Slot } from '../turn/admission.ts'
import type { Commits, MoveMessages } from '../turn/commit.ts'
import type { Decision } from '../interpreter/decision.ts'
import { decide } from '../interpreter/decide.ts'
import { blockOf, lossOf } from '../interpreter/leases.ts'
import type { EndWebhooks } from '../on-end/end-webhooks.ts'
import { endRowsWithoutTurn, answerRowsAfter } from '../turn/answer.ts'
import { endWithoutTurn } from '../turn/pending-events.ts'
import { weightOf, type ContextLoader, type ContextCache } from '../contexts/context-loader.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import type { Redelivery, Timers } from './redelivery.ts'
import type { Step } from '../interpreter/position.ts'
import type { Steps } from '../steps/steps.ts'
import type { TurnEnv } from '../turn/message.ts'

export interface RecoveryParts extends Pick<Deps, 'store' | 'log'> {
  readonly loader: ContextLoader
  readonly cache: ContextCache
  readonly commits: Commits
  readonly moves: MoveMessages
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly admission: Admission
  readonly steps: Steps
  readonly timers: Timers
  readonly ends: Pick<EndWebhooks, 'onOwed'>
  readonly env: () => TurnEnv
}

/** Why a step could not be leased: no slot of that kind is free, or there is not enough memory for its data. */
export interface StepShortage {
  readonly kind: StepKind
  /** Bytes of memory needed; null: a slot is missing. */
  readonly weight: number | null
}

type Next = Decision & { readonly kind: 'next' }

/** A context before its step is leased. */
interface Found {
  readonly stored: StoredContext
  /** Without data, unless it is cached. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly isInMemory: boolean
}

export class Recovery {
  readonly #parts: RecoveryParts
  readonly #underWay = new Set<Promise<unknown>>()
  #stopped = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Stops taking over steps. Resolves when takeovers in progress have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.allSettled(this.#underWay)
  }

  /**
   * Leases the step to this server, and starts it in the given slot, or in one that it takes itself. If a dead server
   * was running the step, the takeover is counted. Resolves with null if that is done or no longer necessary. The slot
   * is released unless the step starts.
   * @throws FluxError `unavailable`
   */
  async takeOver(lease: AbandonedLease, given: Slot | null): Promise<StepShortage | null> {
    const taking = this.#takeOver(lease, given)
    this.#underWay.add(taking)
    try {
      return await taking
    } finally {
      this.#underWay.delete(taking)
    }
  }

  async #takeOver(lease: AbandonedLease, given: Slot | null): Promise<StepShortage | null> {
    let slot = given
    try {
      const { store, commits, mailboxes, admission, env } = this.#parts
      const { id, owner } = lease
      // The note of that server's watchdog, if its event loop was blocked.
      const standstill = owner === UNOWNED ? null : await store.standstill({ owner })
      for (let lost = 0; !this.#stopped; lost += 1) {
        const found = await this.#find(lease)
        if (!found) return null
        const { record, flux, stored } = found
        const blocked = standstill && record.lease?.owner === owner ? blockOf(record, standstill) : null
        if (blocked) {
          await mailboxes.post(id, blocked)
          return null
        }
        const isUncounted = standstill?.isCertain ?? false
        const turnEnv = env()
        const decided = decide(flux, record, { type: 'TAKE_OVER', owner, isUncounted }, { ...turnEnv, history: null })
        if (decided.kind !== 'next') {
          if (!found.isInMemory) {
            // An earlier try may have claimed it, with an unknown outcome: it is released unless it runs.
            if (record.lease?.owner === env().owner) void this.#parts.redelivery.reconcile(id)
            return null
          }
          // The cached record may be outdated.
          this.#parts.cache.delete(id)
          continue
        }
        const { decision, rows } = this.#ended(found, decided, turnEnv)
        if (decision.step) {
          const kind = admission.kindOf(flux, decision.step.state)
          if (slot?.kind !== kind) {
            slot?.release()
            slot = admission.take(kind)
          }
          if (!slot) return { kind, weight: null }
          if (!slot.fits(stored.parts)) return { kind, weight: weightOf(stored.parts) }
        }
        const write = this.#writeOf(found, decision)
        if (!(await commits.write([write], { rows, lost })).ok) {
          this.#parts.cache.delete(id)
          continue
        }
        if (this.#publish(found, decision, write, slot)) slot = null
        return null
      }
      return null
    } finally {
      slot?.release()
    }
  }

  /** Reads the context, unless it is a ready step whose context is cached. */
  async #find({ id, owner }: AbandonedLease): Promise<Found | null> {
    const { loader, cache } = this.#parts
    const known = owner === UNOWNED ? cache.get(id, loader.incarnation) : undefined
    if (known) {
      const { record, flux, texts } = known
      return { stored: storedOf(record, texts), record, flux, isInMemory: true }
    }
    const stored = await loader.read(id)
    if (!stored) return null
    const record = decodeHead(stored)
    return { stored, record, flux: await loader.flux(stored, record), isInMemory: false }
  }

  /** Where the context ends, it keeps no events, has its answer, and may owe a webhook. */
  #ended(
    { stored: { parts }, record: before, flux }: Found,
    decision: Next,
    turn: TurnEnv,
  ): { readonly decision: Next; readonly rows?: readonly RowWrite[] } {
    if (!isFinished(decision.record.status)) return { decision }
    const { record, rows } = endWithoutTurn({ before, parts, record: decision.record }, turn)
    const answers = answerRowsAfter({ before, record, flux }, turn.partitions)
    const owed = endRowsWithoutTurn({ parts, record, flux }, turn)
    return { decision: { ...decision, record }, rows: [...rows, ...answers, ...owed] }
  }

  #writeOf({ stored, record: before, flux }: Found, { record }: Next): Write {
    const notifies = isFinished(record.status) && before.parent ? [before.parent.id] : []
    return headWrite(stored, record, flux, notifies)
  }

  /** Performs the effects of the commit. Returns whether the step was started. */
  #publish({ record: before, flux, isInMemory }: Found, decision: Next, write: Write, slot: Slot | null): boolean {
    const { cache, loader, moves, redelivery } = this.#parts
    const { context } = write
    const record = { ...decision.record, version: context.version }
    if (isInMemory) cache.put({ record, flux }, context.parts, loader.incarnation)
    else cache.delete(record.id)
    moves.onCommitted({ before, record, flux, history: [], cause: null }, !isInMemory)
    if (isFinished(record.status)) {
      this.#end(before, record, flux)
      return false
    }
    const loss = lossOf(record)
    if (loss) void redelivery.deliver(record.id, loss)
    if (loss || !decision.step || !slot) return false
    this.#start(decision.step, flux, slot, isInMemory ? record : context)
    return true
  }

  #start(step: Step, flux: CompiledFlux, slot: Slot, context: ContextRecord | StoredContext): void {
    const isScript = slot.kind === 'script' || slot.kind === 'slowScript'
    this.#parts.steps.start(step, flux, slot, isScript ? null : 'parts' in context ? decodeRecord(context) : context)
  }

  #end(before: ContextRecord, record: ContextRecord, flux: CompiledFlux): void {
    const { log, steps, timers, ends } = this.#parts
    logFailures(log, { before, record, flux, failures: [] })
    steps.abort(record.id)
    if (flux.onEnd) ends.onOwed(flux)
    if (record.parent) timers.notifyParent(record.parent.id)
  }
}

/** The stored form of a cached record, without the fields that `headWrite` sets. */
function storedOf(record: ContextRecord, parts: StoredContext['parts']): StoredContext {
  const { id, version, due, endedAt } = record
  const [owner, parent] = [record.lease?.owner ?? null, record.parent?.id ?? null]
  return { id, version, indexKeys: [], due, owner, endedAt, parent, parts }
}
