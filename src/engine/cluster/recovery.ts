// engine/cluster: leases steps of dead servers, and ready steps, to this server. A fenced commit does this before any data of
// the context is parsed, because that data may have killed the other server.
import { isFinished, type StepKind, UNOWNED } from '../../model/context.ts'
import type { AbandonedLease, Store } from '../../ports/store.ts'
import { weightOf, type ContextLoader } from '../contexts/context-loader.ts'
import { blockOf, decide, lossOf } from '../interpreter/decide.ts'
import { stepKindOf } from '../interpreter/position.ts'
import { decodeHead } from '../record/decode.ts'
import { headWrite } from '../record/encode.ts'
import type { Admission, Slot } from '../turn/admission.ts'
import type { Commits } from '../turn/commit.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { TrackedContext, type TurnEnv } from '../turn/message.ts'
import { endedUnread } from '../turn/pending-events.ts'
import { rowsOf } from '../turn/unit-of-work.ts'
import type { Redelivery } from './redelivery.ts'

export interface RecoveryParts {
  readonly store: Store
  readonly loader: ContextLoader
  readonly commits: Commits
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly admission: Admission
  readonly env: () => TurnEnv
}

/** Why a step could not be leased: no slot of that kind is free, or there is not enough memory for its data. */
export interface StepShortage {
  readonly kind: StepKind
  /** Bytes of memory needed; null: a slot is missing. */
  readonly weight: number | null
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
  takeOver(lease: AbandonedLease, given: Slot | null): Promise<StepShortage | null> {
    const taking = this.#takeOver(lease, given)
    this.#underWay.add(taking)
    return taking.finally(() => this.#underWay.delete(taking))
  }

  async #takeOver({ id, owner }: AbandonedLease, given: Slot | null): Promise<StepShortage | null> {
    const { store, commits, loader, mailboxes, admission, redelivery, env } = this.#parts
    let slot = given
    try {
      // The note of that server's watchdog, if its event loop was blocked.
      const standstill = owner === UNOWNED ? null : await store.standstill({ owner })
      for (let lost = 0; !this.#stopped; lost += 1) {
        const { incarnation } = loader
        const stored = await loader.read(id)
        if (!stored) return null
        const before = decodeHead(stored)
        const flux = await loader.flux(stored, before)
        const blocked = standstill && before.lease?.owner === owner ? blockOf(before, standstill) : null
        if (blocked) {
          await mailboxes.post(id, blocked)
          return null
        }
        const isUncounted = standstill?.isCertain ?? false
        const turn = env()
        const decision = decide(flux, before, { type: 'TAKE_OVER', owner, isUncounted }, turn)
        if (decision.kind !== 'next') {
          // An earlier try may have claimed it, with an unknown outcome: it is released unless it runs.
          if (before.lease?.owner === turn.owner) void redelivery.reconcile(id)
          return null
        }
        const { step, record } = decision
        const known = { record, flux, texts: stored.parts }
        if (step) {
          const kind = stepKindOf(flux, step.state)
          if (slot?.kind !== kind) {
            slot?.release()
            slot = admission.take(kind)
          }
          if (!slot) return { kind, weight: null }
          if (!slot.fits(known.texts)) return { kind, weight: weightOf(known.texts) }
        }
        const hasEnded = isFinished(record.status)
        const context = hasEnded ? endedUnread(before, known, turn.now) : new TrackedContext(before, known)
        const parents = hasEnded && record.parent ? [record.parent.id] : []
        Object.assign(context, { isUnread: true, step, slot: step && slot, parents })
        const write = headWrite(stored, context.record, flux, parents)
        const work = { contexts: new Map([[id, context]]), env: turn, releaseSlots() {} }
        const rows = rowsOf(context, turn)
        if (!(await commits.commit(work, [write], { rows, lost, incarnation })).ok) continue
        // The step has begun.
        if (!context.isUnread) slot = null
        const loss = lossOf(context.record)
        if (loss) void redelivery.deliver(id, loss)
        return null
      }
      return null
    } finally {
      slot?.release()
    }
  }
}
