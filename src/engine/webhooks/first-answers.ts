// engine/webhooks: the answers to repeats of a request, by what is kept of the first: its answer, or how far it is.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { WebhookAnswer, WebhookReply } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { mismatch, type KeptPlace, type KeptRow } from '../idempotency/kept-answer.ts'
import { decodeHead } from '../record/decode.ts'
import type { Condition } from '../waits/condition.ts'
import type { Waits } from '../waits/waits.ts'
import { readKeptWebhook } from './kept-webhooks.ts'
import type { WebhookKey } from './webhook-keys.ts'

export interface FirstAnswersParts {
  readonly store: Store
  readonly clock: Clock
  readonly waits: Waits
}

/** A reply, whose answer may come later. */
export interface Settled extends Omit<WebhookReply, 'answer'> {
  readonly answer: WebhookAnswer | Promise<WebhookAnswer>
  /** The context that the answer is of, if one is known. */
  readonly contextId: ContextId | null
  /** Whether the row of the key has the answer, or will have it. */
  readonly isKept: boolean
}

/** The first request is under way: whether it has its effect is not known yet. */
export class FirstUnderWay extends Error {
  override readonly name = 'FirstUnderWay'
}

const ANSWERED: Condition = { statuses: [], states: [], tags: [], answered: true }

export class FirstAnswers {
  readonly #parts: FirstAnswersParts

  constructor(parts: FirstAnswersParts) {
    this.#parts = parts
  }

  /**
   * By the row of the key. While the context has no answer yet, a repeat is told of it: by `dedupe` at once, else if there
   * is no answer in time. `isOwn`: the request is itself the first. `timeout`: in milliseconds.
   * @throws FluxError `idempotencyMismatch`; FirstUnderWay
   */
  of({ value }: KeptRow, { place, hash, isDedupe }: WebhookKey, timeout: number, isOwn = false): Settled {
    const kept = readKeptWebhook(value)
    if (kept.hash !== hash) throw mismatch()
    const { answer, until } = kept
    if (answer === null) throw new FirstUnderWay()
    const contextId = 'contextId' in answer ? answer.contextId : null
    const settled = { answer, contextId, replayed: !isOwn, remark: null, isKept: true }
    if (answer.kind !== 'running' || (isDedupe && !isOwn)) return settled
    const late: WebhookAnswer = { kind: 'late', contextId: answer.contextId }
    // The first was told so, too.
    if (!isOwn && until <= this.#parts.clock.now()) return { ...settled, answer: late }
    return { ...settled, answer: this.#answerLater(place, answer, { timeout, late: isOwn ? late : answer }) }
  }

  /** The answer of that context, or else `late`. */
  async #answerLater(
    place: KeptPlace,
    { contextId }: WebhookAnswer & { readonly kind: 'running' },
    { timeout, late }: { readonly timeout: number; readonly late: WebhookAnswer },
  ): Promise<WebhookAnswer> {
    const { store, waits } = this.#parts
    const wait = waits.join(contextId, { isStep: false })
    try {
      const stored = await store.load({ id: contextId })
      if (stored) await waits.hold(wait, decodeHead(stored), { condition: ANSWERED, timeout, signal: undefined })
    } catch (error) {
      // The context was deleted meanwhile.
      if (!(error instanceof FluxError && error.failure.kind === 'notFound')) throw error
    } finally {
      waits.leave(wait)
    }
    // It has the answer, since that is written in the same commit.
    const row = await store.readRow(place)
    const answer = row && readKeptWebhook(row.value).answer
    return answer === null || answer.kind === 'running' ? late : answer
  }
}
