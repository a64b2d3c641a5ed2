// engine/webhooks: a request has its effect once under its keys, which the effect writes in its commit, as all calls
// under a key do. A repeat is noticed by the guard of that commit, or before it is refused, and has the first answer.
import { FluxError } from '../../model/failure.ts'
import type { AnswerRow } from '../../model/record.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { inProgress } from '../idempotency/key-claim.ts'
import { findKept, type KeptRow } from '../idempotency/kept-row.ts'
import { DedupeTurns } from './dedupe-turns.ts'
import { FirstAnswers, FirstUnderWay, type FirstAnswersParts, type Settled } from './first-answers.ts'
import { HeldRequests, type HeldRequestsParts, type Hold } from './held-requests.ts'
import { WebhookKeeping, type Committed, type TriedKey } from './keeping.ts'
import type { WebhookKeys } from './webhook-keys.ts'

export interface OnceParts extends HeldRequestsParts, Omit<FirstAnswersParts, 'held'> {
  readonly idempotency: Idempotency
}

/** What a request is for, under the keys that it may be the first to have; null: it has none. */
export type WebhookEffect = (keeping: WebhookKeeping | null) => Promise<Committed>

/** Of a request. */
interface Tried {
  readonly dedupe: TriedKey | null
  readonly idempotency: TriedKey | null
  /** Milliseconds for which it may wait for an answer. */
  readonly timeout: number
}

/** Milliseconds between looks for a first delivery that another server has under way, and for how many it is looked. */
const LOOK_AGAIN_MS = 250
const PATIENCE_MS = 10_000

export class Once {
  readonly #parts: OnceParts
  readonly #turns = new DedupeTurns()
  readonly #held: HeldRequests
  readonly #first: FirstAnswers

  constructor(parts: OnceParts) {
    this.#parts = parts
    this.#held = new HeldRequests(parts)
    this.#first = new FirstAnswers({ ...parts, held: this.#held })
  }

  /**
   * Runs the effect, unless a request under one of the keys had it before: then gives the answer to that. Resolves when
   * the effect is committed; nothing of it is kept in memory from then on.
   * @param timeout milliseconds for which a repeat may wait for the first answer
   * @throws FluxError `idempotencyMismatch`, `idempotencyInProgress`, `overloaded` when as many keys are kept as may
   * be; whatever the effect throws, if there is no earlier answer
   */
  async run(keys: WebhookKeys, timeout: number, effect: WebhookEffect): Promise<Settled> {
    const { dedupe, idempotency, remark } = keys
    if (dedupe === null && idempotency === null)
      return { isDeduped: false, replayed: false, ...(await effect(null)), remark }
    if (dedupe === null) return { ...(await this.#attempt(keys, timeout, effect)), remark }
    const until = this.#parts.clock.now() + PATIENCE_MS
    for (;;) {
      const entered = this.#turns.enter(dedupe.key)
      if (entered !== null && (await entered) === 'done') {
        const earlier = await this.#afterTurn(dedupe)
        if (earlier) return earlier
        continue
      }
      let isDone = false
      try {
        const settled = await this.#patiently(until, () => this.#attempt(keys, timeout, effect))
        isDone = settled.isDeduped
        return settled
      } catch (error) {
        // None of those who wait would fare better: they needn't find out one after the other.
        isDone = error instanceof FluxError && error.failure.kind === 'unavailable'
        throw error
      } finally {
        this.#turns.leave(dedupe.key, isDone)
      }
    }
  }

  /** The answer to the one before; null: it is gone, or is not there yet. */
  async #afterTurn({ key }: AnswerRow): Promise<Settled | null> {
    const row = await findKept(this.#parts.store, key)
    try {
      return row && (await this.#first.ofDedupe(row))
    } catch (error) {
      if (error instanceof FirstUnderWay) return null
      throw error
    }
  }

  /** Looks again for a while, where another server has the first delivery under way. */
  async #patiently(until: number, attempt: () => Promise<Settled>): Promise<Settled> {
    const { clock } = this.#parts
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof FirstUnderWay)) throw error
        if (clock.now() >= until) throw inProgress()
        await new Promise<void>((resolve) => {
          clock.after(LOOK_AGAIN_MS, resolve)
        })
      }
    }
  }

  async #attempt(keys: WebhookKeys, timeout: number, effect: WebhookEffect): Promise<Settled> {
    const { clock, idempotency } = this.#parts
    const held = { server: this.#held.server, until: clock.now() + timeout }
    const keyed = (row: AnswerRow | null, isForAny: boolean): TriedKey | null =>
      row && {
        ...row,
        tried: idempotency.tryOf({ ...row, kept: row.keepMs, isForAny }, isForAny ? {} : { held }),
      }
    const tried: Tried = { dedupe: keyed(keys.dedupe, true), idempotency: keyed(keys.idempotency, false), timeout }
    let hold: Hold | null = null
    try {
      hold = keys.idempotency && this.#held.hold(keys.idempotency)
      return released(await this.#commit(tried, effect), hold)
    } catch (error) {
      try {
        const earlier = await this.#earlierInstead(error, tried, hold)
        if (earlier === null) throw error
        return released(earlier, hold)
      } catch (refusal) {
        hold?.release()
        throw refusal
      }
    }
  }

  async #commit(tried: Tried, effect: WebhookEffect): Promise<Settled> {
    const { idempotency, store } = this.#parts
    const [first, ...others] = [tried.dedupe, tried.idempotency].flatMap((key) => key ?? [])
    if (first === undefined) throw new Error('there is a key')
    for (const _ of [first, ...others]) if (idempotency.isFull()) await idempotency.requireRoom()
    const { replayed = false, ...committed } = await effect(new WebhookKeeping([first, ...others]))
    const settled = { ...committed, replayed, remark: null, isDeduped: tried.dedupe !== null }
    if (!isFiltered(committed)) return settled
    const [ofDedupe, other] = await Promise.all(
      [tried.dedupe, tried.idempotency].map((key) => key && findKept(store, key.key)),
    )
    if (ofDedupe) return this.#ofDedupe(ofDedupe, tried)
    return other ? this.#ofOther(other, tried) : { ...settled, isDeduped: false }
  }

  /** What was answered before, instead of the error; null: nothing was. */
  async #earlierInstead(error: unknown, tried: Tried, hold: Hold | null): Promise<Settled | null> {
    const { dedupe, idempotency } = tried
    const ofDedupe = dedupe && (await this.#keptInstead(error, dedupe))
    if (ofDedupe) {
      await idempotency?.tried.release()
      return this.#ofDedupe(ofDedupe, tried)
    }
    // Without a hold, it is known that the request is refused because of its other key.
    if (idempotency && hold === null) return null
    const other = idempotency && (await idempotency.tried.keptInstead(error))
    if (other) {
      const met = await dedupe?.tried.release()
      return met ? this.#ofDedupe(met, tried) : this.#ofOther(other, tried)
    }
    if (dedupe && isInProgress(error)) throw new FirstUnderWay()
    return null
  }

  #ofDedupe(row: KeptRow, { dedupe, timeout }: Tried): Promise<Settled> {
    return this.#first.ofDedupe(row, dedupe?.tried.isOwn(row) === true ? timeout : null)
  }

  async #ofOther(row: KeptRow, { idempotency, timeout }: Tried): Promise<Settled> {
    if (idempotency === null) throw new Error('there is a key')
    return this.#first.ofIdempotency(row, { ...idempotency, timeout })
  }

  async #keptInstead(error: unknown, { tried }: TriedKey): Promise<KeptRow | null> {
    try {
      return await tried.keptInstead(error)
    } catch (refusal) {
      throw isInProgress(refusal) ? new FirstUnderWay() : refusal
    }
  }
}

const isInProgress = (error: unknown): boolean =>
  error instanceof FluxError && error.failure.kind === 'idempotencyInProgress'

const isFiltered = ({ answer }: Committed): boolean => 'kind' in answer && answer.kind === 'filtered'

/** The request is held until it is answered. */
function released(settled: Settled, hold: Hold | null): Settled {
  const { answer, contextId } = settled
  if (hold === null) return settled
  hold.contextId = contextId
  if (!('kind' in answer)) return { ...settled, answer: answer.finally(hold.release) }
  hold.release()
  return settled
}
