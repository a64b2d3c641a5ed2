// engine: delivers messages that have no sender who would repeat them: results of steps, wake-ups, and what follows
// from a commit whose outcome is unknown. The number of tries is bounded.
import type { CompiledFlux } from '../definitions/flux.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import { UNOWNED, type ContextRecord } from '../model/record.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Input } from './interpreter/decision.ts'
import { lossOf } from './steps/leases.ts'
import type { Mailboxes } from './mailboxes.ts'
import type { MessageOutcome } from './message.ts'
import { stepOf } from './record/position.ts'
import { Undecidable } from './turn.ts'
import type { Steps } from './steps/steps.ts'
import { isUnreadable } from './record/unreadable.ts'

/** Pauses between tries: doubled each time, up to the second. */
const PAUSE_MS = { first: 100, most: 5_000 }
/**
 * Tries of a message after which the context is ended with that reason: five that can't be decided, which is a fault of
 * ours and stays one; a hundred, some eight minutes, that end in an error of the store whose meaning isn't known.
 */
const MAX_COST = 100
const COST = { undecidable: 20, store: 1 }

export interface RedeliveryParts {
  readonly mailboxes: Pick<Mailboxes, 'post'>
  /** Late, since steps in turn deliver their results with this. */
  readonly steps: () => Pick<Steps, 'has' | 'abort'>
  /** Whether the step of that context is being claimed at present. */
  readonly isClaimed: (id: ContextId) => boolean
  /** The step of that context is ready. */
  readonly onReady: (record: ContextRecord, flux: CompiledFlux) => void
  readonly alarm: AlarmClock
  readonly clock: Clock
  readonly log: Log
  /** Of this server, as it is now. */
  readonly owner: () => string
  readonly ended: AbortSignal
  /** A context has ended, and another server may run a step of it. */
  readonly onEnd: (id: ContextId) => void
}

export class Redelivery {
  readonly #parts: RedeliveryParts
  readonly #unknown = new Set<ContextId>()

  constructor(parts: RedeliveryParts) {
    this.#parts = parts
  }

  /**
   * Delivers a message, however long the store is out of reach. What fails for another reason is tried a few times, and
   * then ends the context. Gives null when it can't be delivered.
   */
  async deliver(id: ContextId, input: Input): Promise<MessageOutcome | null> {
    const { mailboxes, clock, log, ended } = this.#parts
    let faults = 0
    for (let pause = PAUSE_MS.first; !ended.aborted; pause = Math.min(pause * 2, PAUSE_MS.most)) {
      try {
        return await mailboxes.post(id, faults < MAX_COST ? input : undeliverable(input))
      } catch (error) {
        if (isUnreadable(error, log)) return null
        const refused = error instanceof FluxError && error.failure.kind !== 'unavailable'
        if (refused && error.failure.kind === 'notFound') return null
        if (error instanceof Undecidable) faults += COST.undecidable
        else if (!(error instanceof FluxError)) faults += COST.store
        log.error('a context could not be carried on', { contextId: id, input: input.type, error })
        if (refused || faults > MAX_COST) return null
        await new Promise<void>((resolve) => {
          clock.after(pause, resolve)
        })
      }
    }
    return null
  }

  /** Finds out what became of a commit whose outcome is unknown, and sees to what follows from it. */
  async reconcile(id: ContextId): Promise<void> {
    const { steps, alarm, owner, onEnd, onReady } = this.#parts
    if (this.#unknown.has(id)) return
    this.#unknown.add(id)
    const outcome = await this.deliver(id, { type: 'WAKE' })
    this.#unknown.delete(id)
    if (!outcome) return
    const { record, flux } = outcome
    if (isFinished(record.status)) {
      steps().abort(id)
      onEnd(id)
    } else if (record.lease?.owner === owner()) this.#giveBack(record)
    else if (record.lease?.owner === UNOWNED) onReady(record, flux)
    if (record.due !== null) alarm.set(record.due)
  }

  /** A step that is leased to this server and doesn't run has no slot: it is given back, to be claimed again. */
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

/** What a step answered ends nothing but the visit of the state that asked for it. */
const undeliverable = (input: Input): Input => {
  const { type } = input
  const className = 'UndeliverableMessage'
  const message = `the server could not process a message of type ${type}, however often it tried; the reason is in its log`
  const error = { message, type: className, className, realException: null }
  if (input.type !== 'DONE' && input.type !== 'FAIL') return { type: 'OUTGROWN', error }
  const { epoch, attempt, owner } = input
  return { type: 'OUTGROWN', error, answer: { epoch, attempt, ...(owner !== undefined && { owner }) } }
}
