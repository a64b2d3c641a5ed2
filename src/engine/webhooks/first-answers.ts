// engine/webhooks: the answers to repeats of a request, by what is kept of the first: its answer, or how far it is.
import type { ContextId } from '../../model/context.ts'
import type { AnswerRow, ContextRecord } from '../../model/record.ts'
import type { WebhookAnswer, WebhookReply, WorkflowAnswer } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import type { Commits } from '../commit.ts'
import { inProgress, mismatch } from '../idempotency/key-claim.ts'
import { findKept, type KeptRow } from '../idempotency/kept-row.ts'
import type { KeyTry } from '../idempotency/key-try.ts'
import { decodeHead } from '../record/decode.ts'
import { deferred } from './deferred.ts'
import type { HeldRequests } from './held-requests.ts'
import { readKeptWebhook } from './kept-webhooks.ts'
import { hasAnswer } from './webhook-answer.ts'
import type { WebhookWaits } from './webhook-waits.ts'

export interface FirstAnswersParts {
  readonly store: Store
  readonly clock: Clock
  readonly commits: Pick<Commits, 'watch' | 'unwatch'>
  readonly waits: Pick<WebhookWaits, 'wait'>
  readonly held: Pick<HeldRequests, 'isAlive'>
}

/** A reply, whose answer may come later. */
export interface Settled extends Omit<WebhookReply, 'answer'> {
  readonly answer: WebhookAnswer | Promise<WebhookAnswer>
  /** The context that the answer is of, if one is known. */
  readonly contextId: ContextId | null
  /** Whether the row of the dedupe key has the answer, or will have it. */
  readonly isDeduped: boolean
}

/** By which key a request is known to be a repeat. */
interface Replay {
  readonly isDeduped: boolean
  /** False: the request is itself the first. */
  readonly replayed: boolean
}

/** The first delivery is under way: whether it has its effect is not known yet. */
export class FirstUnderWay extends Error {
  override readonly name = 'FirstUnderWay'
}

const settledWith = (answer: WebhookAnswer, replay: Replay): Settled => {
  const contextId = 'contextId' in answer ? answer.contextId : null
  return { ...replay, answer, contextId, remark: null }
}

export class FirstAnswers {
  readonly #parts: FirstAnswersParts

  constructor(parts: FirstAnswersParts) {
    this.#parts = parts
  }

  /**
   * By the row of a dedupe key. `timeout`: the request is itself the first, and waits for so many milliseconds.
   * @throws FirstUnderWay
   */
  async ofDedupe({ key, value }: KeptRow, timeout: number | null = null): Promise<Settled> {
    const { answer } = readKeptWebhook(value)
    if (answer === null) throw new FirstUnderWay()
    const settled = settledWith(answer, { isDeduped: true, replayed: timeout === null })
    if (timeout === null || answer.kind !== 'running') return settled
    return { ...settled, answer: this.#answerLater(key, answer.contextId, timeout) }
  }

  /**
   * By the row of an `Idempotency-Key`. While nobody is held for the answer any more, who asks again is.
   * @throws FluxError `idempotencyMismatch`, `idempotencyInProgress`
   */
  async ofIdempotency(
    row: KeptRow,
    { key, hash, tried, timeout }: AnswerRow & { readonly tried: KeyTry; readonly timeout: number },
  ): Promise<Settled> {
    const { clock, held } = this.#parts
    const kept = readKeptWebhook(row.value)
    if (kept.hash !== hash) throw mismatch()
    const { answer } = kept
    if (answer === null) throw inProgress()
    const replayed = !tried.isOwn(row)
    const settled = settledWith(answer, { isDeduped: false, replayed })
    if (answer.kind !== 'running') return settled
    const { contextId } = answer
    const { server = '', until = 0 } = kept.held ?? {}
    if (replayed && until <= clock.now()) return { ...settled, answer: { kind: 'late', contextId } }
    if (replayed && (await held.isAlive(server))) throw inProgress(contextId)
    return { ...settled, answer: this.#answerLater(key, contextId, timeout) }
  }

  /** The answer of that context, or that it is late. */
  async #answerLater(key: string, contextId: ContextId, timeout: number): Promise<WebhookAnswer> {
    const { store, clock, commits, waits } = this.#parts
    const late: WorkflowAnswer = { kind: 'late', contextId }
    const { promise: answered, resolve: settle } = deferred<WorkflowAnswer>()
    // The row has the answer, since it is written in the same commit.
    const look = (record: ContextRecord) => {
      if (hasAnswer(record)) settle({ kind: 'nothing', contextId })
    }
    commits.watch(contextId, look)
    try {
      const stored = await store.load({ id: contextId })
      if (stored) look(decodeHead(stored))
      const version = stored?.version ?? 0
      const until = clock.now() + timeout
      const waited = stored ? await waits.wait({ id: contextId, version, answered, settle, look, until }) : null
      if (waited?.kind === 'late') return late
    } finally {
      commits.unwatch(contextId)
    }
    const row = await findKept(store, key)
    const answer = row && readKeptWebhook(row.value).answer
    return answer === null || answer.kind === 'running' ? late : answer
  }
}
