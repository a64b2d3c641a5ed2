// engine/webhooks: a request has its effect once under its key, which the effect writes in its commit, as all calls under
// a key do. A repeat is noticed by the guard of that commit, or before it is refused, and has the first answer.
import { FluxError } from '../../model/failure.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { inProgress } from '../idempotency/kept-answer.ts'
import { FirstAnswers, FirstUnderWay, type FirstAnswersParts, type Settled } from './first-answers.ts'
import type { Committed, WebhookKeeping } from './keeping.ts'
import { KeyTurns } from './key-turns.ts'
import type { WebhookKey, WebhookKeys } from './webhook-keys.ts'

export interface OnceParts extends FirstAnswersParts {
  readonly idempotency: Idempotency
}

/** What a request is for, under the key that it may be the first to have; null: it has none. */
export type WebhookEffect = (keeping: WebhookKeeping | null) => Promise<Committed>

/** Milliseconds between looks for a first request that another server has under way, and for how many it is looked. */
const LOOK_AGAIN_MS = 250
const PATIENCE_MS = 10_000

export class Once {
  readonly #parts: OnceParts
  readonly #turns = new KeyTurns()
  readonly #first: FirstAnswers

  constructor(parts: OnceParts) {
    this.#parts = parts
    this.#first = new FirstAnswers(parts)
  }

  /**
   * Runs the effect, unless a request under the key had it before: then gives the answer to that. Resolves when the effect
   * is committed; nothing of it is kept in memory from then on.
   * @param timeout milliseconds for which a repeat may wait for the first answer
   * @throws FluxError `idempotencyMismatch`, `idempotencyInProgress`, `overloaded` when as many keys are kept as may
   * be; whatever the effect throws, if there is no earlier answer
   */
  async run({ key, remark }: WebhookKeys, timeout: number, effect: WebhookEffect): Promise<Settled> {
    if (key === null) return { isKept: false, replayed: false, ...(await effect(null)), remark }
    const name = key.place.key
    const until = this.#parts.clock.now() + PATIENCE_MS
    for (;;) {
      const entered = this.#turns.enter(name)
      if (entered !== null && (await entered) === 'done') {
        const earlier = await this.#afterTurn(key, timeout)
        if (earlier) return earlier
        continue
      }
      let isDone = false
      try {
        const settled = await this.#patiently(until, () => this.#attempt(key, timeout, effect))
        isDone = settled.isKept
        return settled
      } catch (error) {
        // None of those who wait would fare better: they needn't find out one after the other.
        isDone = error instanceof FluxError && error.failure.kind === 'unavailable'
        throw error
      } finally {
        this.#turns.leave(name, isDone)
      }
    }
  }

  /** The answer to the one before; null: it is gone, or is not there yet. */
  async #afterTurn(key: WebhookKey, timeout: number): Promise<Settled | null> {
    const row = await this.#parts.store.readRow(key.place)
    try {
      return row && this.#first.of(row, key, timeout)
    } catch (error) {
      if (error instanceof FirstUnderWay) return null
      throw error
    }
  }

  /** Looks again for a while, where another server has the first request under way. */
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

  async #attempt(key: WebhookKey, timeout: number, effect: WebhookEffect): Promise<Settled> {
    const { clock, idempotency, store } = this.#parts
    const { place, hash, keepMs: kept } = key
    const tried = idempotency.tryOf({ place, hash, kept }, { until: clock.now() + timeout })
    try {
      if (idempotency.isFull()) await idempotency.requireRoom()
      const { replayed = false, ...committed } = await effect({ key, tried })
      const isFiltered = 'kind' in committed.answer && committed.answer.kind === 'filtered'
      const earlier = isFiltered ? await store.readRow(place) : null
      if (earlier) return this.#first.of(earlier, key, timeout)
      return { ...committed, replayed, remark: null, isKept: !isFiltered }
    } catch (error) {
      const row = await tried.keptInstead(error)
      if (row) return this.#first.of(row, key, timeout, tried.isOwn(row))
      const isUnderWay = error instanceof FluxError && error.failure.kind === 'idempotencyInProgress'
      throw isUnderWay ? new FirstUnderWay() : error
    }
  }
}
