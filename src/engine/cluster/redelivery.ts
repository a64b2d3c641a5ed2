// engine/cluster: delivers messages that no sender would repeat: results of steps, wake-ups, and the reconciliation after a
// commit with an unknown outcome. The number of tries is bounded, except while the store is unavailable. Wakes contexts
// that are due: the store knows which ones; the alarm clock only determines when it is queried.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { type ContextId, type ContextRecord, isFinished, UNOWNED } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import type { Input } from '../interpreter/decision.ts'
import { lossOf } from '../interpreter/decide.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import type { MessageOutcome } from '../turn/message.ts'
import { stepOf } from '../interpreter/position.ts'
import { Undecidable } from '../turn/turn.ts'
import type { Steps } from '../steps/steps.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { pause } from '../../ports/periodic.ts'
import type { Servers } from './servers.ts'

/** Pauses between tries: the first one, doubled each time up to `most`. */
const PAUSE_MS = { first: 100, most: 5_000 }
/**
 * The sum of costs at which the context is ended with the reason. It allows five tries that cannot be decided, which is
 * a bug of this program and is not transient, or a hundred tries (about eight minutes) with an unclassified error of
 * the store.
 */
const MAX_COST = 100
const COST = { undecidable: 20, store: 1 }

export interface RedeliveryParts extends Pick<Deps, 'clock' | 'log'>, Pick<EngineParts, 'alarm'> {
  readonly mailboxes: Pick<Mailboxes, 'post'>
  /** A function, because `Steps` is created later: it delivers its results with this. */
  readonly steps: () => Pick<Steps, 'has' | 'abort'>
  /** Whether this server is claiming the step of that context. */
  readonly isClaimed: (id: ContextId) => boolean
  /** The step of that context is ready. */
  readonly onReady: (record: ContextRecord, flux: CompiledFlux) => void
  readonly servers: Pick<Servers, 'own'>
  readonly ended: AbortSignal
  /** A context has ended, and another server may run a step of it. */
  readonly onEnd: (id: ContextId) => void
}

export class Redelivery {
  readonly #parts: RedeliveryParts
  readonly #reconciling = new Set<ContextId>()

  constructor(parts: RedeliveryParts) {
    this.#parts = parts
  }

  /**
   * Delivers a message. While the store is unavailable, it is tried without limit. After a limited number of other
   * errors, the context is ended. Resolves with null if the message cannot be delivered.
   */
  async deliver(id: ContextId, input: Input): Promise<MessageOutcome | null> {
    const { mailboxes, clock, log, ended } = this.#parts
    let cost = 0
    for (let pauseMs = PAUSE_MS.first; !ended.aborted; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most)) {
      try {
        return await mailboxes.post(id, cost < MAX_COST ? input : undeliverable(input))
      } catch (error) {
        if (isUnreadable(error, log)) return null
        const kind = error instanceof FluxError ? error.failure.kind : null
        if (kind === 'notFound') return null
        if (kind === null) cost += error instanceof Undecidable ? COST.undecidable : COST.store
        log.error('a context could not be carried on', { contextId: id, input: input.type, error })
        if ((kind !== null && kind !== 'unavailable') || cost > MAX_COST) return null
        await pause(clock, pauseMs)
      }
    }
    return null
  }

  /** Finds out the outcome of an unknown commit, and performs its effects. */
  async reconcile(id: ContextId): Promise<void> {
    const { steps, alarm, servers, onEnd, onReady } = this.#parts
    if (this.#reconciling.has(id)) return
    this.#reconciling.add(id)
    const outcome = await this.deliver(id, { type: 'WAKE' })
    this.#reconciling.delete(id)
    if (!outcome) return
    const { record, flux } = outcome
    if (isFinished(record.status)) {
      steps().abort(id)
      onEnd(id)
    } else if (record.lease?.owner === servers.own) this.#giveBack(record)
    else if (record.lease?.owner === UNOWNED) onReady(record, flux)
    if (record.due !== null) alarm.set(record.due)
  }

  /** Releases a step that is leased to this server but does not run, so that it can be claimed again. */
  #giveBack(record: ContextRecord): void {
    const { steps, isClaimed } = this.#parts
    const loss = lossOf(record)
    const step = stepOf(record)
    if (loss) void this.deliver(record.id, loss)
    else if (step && !steps().has(step) && !isClaimed(record.id)) {
      const { epoch, attempt } = step
      void this.deliver(record.id, { type: 'RELEASE', step: { epoch, attempt } })
    }
  }
}

/**
 * The message that ends a context because `input` could not be delivered. For the result of a step it ends the context
 * only if the context is still at that step.
 */
const undeliverable = (input: Input): Input => {
  const { type } = input
  const className = 'UndeliverableMessage'
  const message = `the server could not process a message of type ${type}, however often it tried; the reason is in its log`
  const error = { message, type: className, className, realException: null }
  if (input.type !== 'DONE' && input.type !== 'FAIL') return { type: 'OUTGROWN', error }
  const { epoch, attempt, owner } = input
  return { type: 'OUTGROWN', error, answer: { epoch, attempt, ...(owner !== undefined && { owner }) } }
}

/**
 * Maximum number of due contexts in one claim, and the milliseconds for which a claim hides them from other servers.
 */
const CLAIM = { limit: 256, hideForMs: 10_000 }

/**
 * The function that wakes all contexts that are due now. It resolves with the time at which to query the store again,
 * epoch milliseconds, or null. The last wake-ups may still be in progress then.
 */
export function wakeUpsOf({
  store,
  clock,
  log,
  mailboxes,
  redelivery,
}: Deps & { readonly mailboxes: Pick<Mailboxes, 'post'>; readonly redelivery: Pick<Redelivery, 'deliver'> }) {
  /** Contexts whose wake-up is in progress. */
  const waking = new Set<ContextId>()
  let onRoom: (() => void) | null = null
  const wake = async (id: ContextId) => {
    // Its claim has expired, but its wake-up is still in progress.
    if (waking.has(id)) return
    waking.add(id)
    try {
      await mailboxes.post(id, { type: 'WAKE' })
    } catch (error) {
      // Its place is for others while its partition is away: the store gives it again when its claim has expired.
      const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
      if (isAway) log.error('a context could not be woken', { contextId: id, error })
      else await redelivery.deliver(id, { type: 'WAKE' })
    }
    waking.delete(id)
    if (waking.size <= CLAIM.limit / 2) onRoom?.()
  }
  return async (): Promise<number | null> => {
    for (;;) {
      // A few slow wake-ups do not delay the others.
      if (waking.size > CLAIM.limit / 2)
        await new Promise<void>((resolve) => {
          onRoom = resolve
        })
      const limit = CLAIM.limit - waking.size
      const { ids, next } = await store.claimDue({ now: clock.now(), limit, hideFor: CLAIM.hideForMs })
      if (ids.length === 0) return next
      for (const id of ids) void wake(id)
    }
  }
}
