// engine/cluster: leases steps of dead servers, and ready steps, to this server. A fenced commit does this before any data of
// the context is parsed, because that data may have killed the other server.
import { type ContextRecord, isFinished, UNOWNED } from '../../model/context.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { MoveFeed } from '../../ports/feeds.ts'
import type { StepKind } from '../../ports/steps.ts'
import type { AbandonedLease, Write } from '../../ports/store.ts'
import type { Deps } from '../contexts/deps.ts'
import { logFailures } from '../interpreter/attempts.ts'
import { decodeRecord, decodeHead } from '../record/decode.ts'
import { headWrite } from '../record/encode.ts'
import type { Admission, Slot } from '../turn/admission.ts'
import { publishMove, type Commits } from '../turn/commit.ts'
import type { Decision } from '../interpreter/decision.ts'
import { decide } from '../interpreter/decide.ts'
import { blockOf, lossOf } from '../interpreter/leases.ts'
import type { EndWebhooks } from '../on-end/end-webhooks.ts'
import { endRowsWithoutTurn, answerRowsAfter } from '../turn/answer.ts'
import { endWithoutTurn } from '../turn/pending-events.ts'
import { weightOf, type ContextCache, type ContextLoader, type KnownContext } from '../contexts/context-loader.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import type { Redelivery } from './redelivery.ts'
import type { Steps } from '../steps/steps.ts'
import type { TurnEnv } from '../turn/message.ts'

export interface RecoveryParts extends Pick<Deps, 'store' | 'log'> {
  readonly loader: ContextLoader
  readonly cache: ContextCache
  readonly commits: Commits
  readonly moves?: MoveFeed | undefined
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly admission: Admission
  readonly steps: Steps
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

  async #takeOver(lease: AbandonedLease, given: Slot | null): Promise<StepShortage | null> {
    let slot = given
    try {
      const { store, commits, loader, mailboxes, admission, redelivery, env } = this.#parts
      const { id, owner } = lease
      // The note of that server's watchdog, if its event loop was blocked.
      const standstill = owner === UNOWNED ? null : await store.standstill({ owner })
      for (let lost = 0; !this.#stopped; lost += 1) {
        const stored = await loader.read(id)
        if (!stored) return null
        const record = decodeHead(stored)
        const found = { record, flux: await loader.flux(stored, record), texts: stored.parts }
        const { flux, texts } = found
        const blocked = standstill && record.lease?.owner === owner ? blockOf(record, standstill) : null
        if (blocked) {
          await mailboxes.post(id, blocked)
          return null
        }
        const isUncounted = standstill?.isCertain ?? false
        const turn = env()
        const decisionEnv = { ...turn, budget: new WorkBudget(), past: { historyOf: () => [] } }
        const decision = decide(flux, record, { type: 'TAKE_OVER', owner, isUncounted }, decisionEnv)
        if (decision.kind !== 'next') {
          // An earlier try may have claimed it, with an unknown outcome: it is released unless it runs.
          if (record.lease?.owner === turn.owner) void redelivery.reconcile(id)
          return null
        }
        if (decision.step) {
          const kind = admission.kindOf(flux, decision.step.state)
          if (slot?.kind !== kind) {
            slot?.release()
            slot = admission.take(kind)
          }
          if (!slot) return { kind, weight: null }
          if (!slot.fits(texts)) return { kind, weight: weightOf(texts) }
        }
        const { record: next, rows } = this.#written(found, decision, turn)
        const notifies = isFinished(next.status) && record.parent ? [record.parent.id] : []
        const write = headWrite({ version: record.version, parts: texts }, next, flux, notifies)
        if (!(await commits.write([write], { rows, lost })).ok) continue
        if (this.#publish(found, { ...decision, record: next }, write, slot)) slot = null
        return null
      }
      return null
    } finally {
      slot?.release()
    }
  }

  /** What is written. Where the context ends, it keeps no events, has its answer, and may owe a webhook. */
  #written({ texts: parts, record: before, flux }: KnownContext, { record }: Next, turn: TurnEnv) {
    if (!isFinished(record.status)) return { record, rows: [] }
    const ended = endWithoutTurn({ before, parts, record }, turn)
    const answers = answerRowsAfter({ before, record: ended.record, flux }, turn.partitions)
    const owed = endRowsWithoutTurn({ parts, record: ended.record, flux }, turn)
    return { record: ended.record, rows: [...ended.rows, ...answers, ...owed] }
  }

  /** Performs the effects of the commit. Returns whether the step was started. */
  #publish({ record: before, flux }: KnownContext, decision: Next, write: Write, slot: Slot | null): boolean {
    const { cache, moves, redelivery, steps } = this.#parts
    const { context } = write
    const { step } = decision
    const isStarted = step !== null && slot !== null
    const record = isStarted ? decodeRecord(context) : { ...decision.record, version: context.version }
    cache.delete(record.id)
    publishMove(moves, { before, record, flux, history: [], cause: null }, !isStarted)
    if (isFinished(record.status)) this.#end(before, record, flux)
    const loss = lossOf(record)
    if (loss) void redelivery.deliver(record.id, loss)
    if (isStarted) steps.start(step, flux, slot, record)
    return isStarted
  }

  #end(before: ContextRecord, record: ContextRecord, flux: CompiledFlux): void {
    const { log, steps, redelivery, ends } = this.#parts
    logFailures(log, { before, record, flux, failures: [] })
    steps.abort(record.id)
    if (flux.onEnd) ends.onOwed(flux)
    if (record.parent) void redelivery.deliver(record.parent.id, { type: 'WAKE' })
  }
}
