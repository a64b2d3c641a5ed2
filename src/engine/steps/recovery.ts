// engine: makes steps that nobody runs this server's: those of servers that are gone, and those that are ready. It
// happens in a fenced commit, made before any of the context's data is parsed, since that may be what the other server
// died of.
import { isFinished } from '../../model/context.ts'
import { UNOWNED, type ContextRecord } from '../../model/record.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { StepKind } from '../../ports/step-slots.ts'
import type { Log } from '../../ports/log.ts'
import type { AbandonedLease, Store, StoredContext, Write } from '../../ports/store.ts'
import { logFailures } from './attempts.ts'
import { decodeRecord, decodeHead } from '../record/decode.ts'
import { headWrite } from '../record/encode.ts'
import type { Admission, Slot } from './admission.ts'
import type { Commits } from '../commit.ts'
import type { Decision } from '../interpreter/decision.ts'
import { decide } from '../interpreter/decide.ts'
import { blockOf, lossOf } from './leases.ts'
import { weightOf, type ContextLoader } from '../context-loader.ts'
import type { Mailboxes } from '../mailboxes.ts'
import type { ContextCache } from '../context-cache.ts'
import type { Redelivery } from '../redelivery.ts'
import type { Step } from '../record/position.ts'
import type { Steps } from './steps.ts'
import type { Timers } from '../timers.ts'
import type { TurnEnv } from '../unit-of-work.ts'

export interface RecoveryParts {
  readonly store: Store
  readonly log: Log
  readonly loader: ContextLoader
  readonly cache: ContextCache
  readonly commits: Commits
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly admission: Admission
  readonly steps: Steps
  readonly timers: Timers
  readonly env: () => TurnEnv
}

/** Why a step could not be taken: no slot of that kind is free, or there is no memory for its data. */
export interface StepShortage {
  readonly kind: StepKind
  /** Bytes of memory; null: it is a slot that lacks. */
  readonly weight: number | null
}

type Next = Decision & { readonly kind: 'next' }

/** A context as it is before it is taken. */
interface Found {
  readonly stored: StoredContext
  /** Without data, unless it is in memory. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly isInMemory: boolean
}

export class Recovery {
  readonly #parts: RecoveryParts
  #stopped = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Takes nothing over any more. */
  stop(): void {
    this.#stopped = true
  }

  /**
   * Makes the step this server's, and starts it in the given slot, or in one that it takes itself. A step that another
   * server was running counts as lost once more. Null when that is done, or nothing is to be done any more. The slot is
   * given back unless the step starts.
   * @throws FluxError `unavailable`
   */
  async takeOver(lease: AbandonedLease, given: Slot | null): Promise<StepShortage | null> {
    let slot = given
    try {
      const { store, commits, mailboxes, admission, env } = this.#parts
      const { id, owner } = lease
      // What that server wrote down if it ended because its event loop stood still.
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
        const decision = decide(flux, record, { type: 'TAKE_OVER', owner, isUncounted }, { ...env(), history: null })
        if (decision.kind !== 'next') {
          if (!found.isInMemory) return null
          // What is in memory may be old.
          this.#parts.cache.delete(id)
          continue
        }
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
        if (!(await commits.write([write], lost)).ok) {
          this.#parts.cache.delete(id)
          continue
        }
        if (this.#carryOn(found, decision, write, slot)) slot = null
        return null
      }
      return null
    } finally {
      slot?.release()
    }
  }

  /** What this server itself has lately committed needn't be read. */
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

  #writeOf({ stored, record: before, flux }: Found, { record }: Next): Write {
    const notifies = isFinished(record.status) && before.parent ? [before.parent.id] : []
    return headWrite(stored, record, flux, notifies)
  }

  /** True when its step was started. */
  #carryOn({ record: before, flux, isInMemory }: Found, decision: Next, write: Write, slot: Slot | null): boolean {
    const { cache, loader, redelivery } = this.#parts
    const { context } = write
    const record = { ...decision.record, version: context.version }
    if (isInMemory) cache.put({ record, flux }, context.parts, loader.incarnation)
    else cache.delete(record.id)
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
    // A script reads what it needs when it gets a process.
    if (isScript) slot.releaseRoom()
    this.#parts.steps.start(step, flux, slot, isScript ? null : 'parts' in context ? decodeRecord(context) : context)
  }

  #end(before: ContextRecord, record: ContextRecord, flux: CompiledFlux): void {
    const { log, steps, timers } = this.#parts
    logFailures(log, { before, record, flux, failures: [] })
    steps.abort(record.id)
    if (record.parent) timers.notifyParent(record.parent.id)
  }
}

/** As the store has it, but for what `headWrite` sets. */
function storedOf(record: ContextRecord, parts: StoredContext['parts']): StoredContext {
  const { id, version, due, endedAt } = record
  const [owner, parent] = [record.lease?.owner ?? null, record.parent?.id ?? null]
  return { id, version, indexKeys: [], due, owner, endedAt, parent, parts }
}
