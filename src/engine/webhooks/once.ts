// engine/webhooks: a request has its effect once under its key, which the effect writes in its commit, as all calls under
// a key do. A repeat is noticed by the guard of that commit, or before it is refused, and has the first answer.
//
// - A webhook under a key (`once.ts`) writes the row of the key in the commit of its effect, as calls under keys do
//   (`idempotency/idempotency.ts`). The record of the context names the row (`answerRows`, in the part that is written
//   once). The commit in which it first pauses or ends writes its answer there (`answer.ts`): without a guard,
//   since the version of the context is one.
// - Of requests with one key, one at a time is committed here (`once.ts`). A repeat that waits for the answer waits
//   for its context as any call does (`waits/waits.ts`), whichever server the first is held at, and whether or not it
//   lives.
import type { EventAnswer } from '../../api/events.ts'
import { FluxError } from '../../model/failure.ts'
import type { WebhookAnswer, WebhookReply, WorkflowAnswer } from '../../model/webhook.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { inProgress, mismatch, type KeptPlace, type KeptRow } from '../idempotency/kept-answer.ts'
import type { Deps } from '../contexts/deps.ts'
import { decodeHead } from '../record/decode.ts'
import { pause } from '../time/periodic.ts'
import { ANSWERED, type Waits } from '../waits/waits.ts'
import { sentTo } from '../turn/answer.ts'
import type { WebhookKeeping, WebhookKey, WebhookKeys } from './webhook-keys.ts'

export interface OnceParts extends Omit<Deps, 'log'> {
  readonly waits: Waits
  readonly idempotency: Idempotency
}

/** What a request came to when it was committed, or refused without an error. */
export interface Committed {
  readonly answer: WebhookAnswer | Promise<WorkflowAnswer>
  /** The answer is that to an earlier request. */
  readonly replayed?: boolean
}

/** A reply, whose answer may come later. */
export interface Settled extends Omit<WebhookReply, 'answer'> {
  readonly answer: WebhookAnswer | Promise<WebhookAnswer>
}

/** What a request is for, under the key that it may be the first to have; null: it has none. */
export type WebhookEffect = (keeping: WebhookKeeping | null) => Promise<Committed>

/** Milliseconds between looks for a first request that another server has under way, and for how many it is looked. */
const LOOK_AGAIN_MS = 250
const PATIENCE_MS = 10_000

export class Once {
  readonly #parts: OnceParts
  /** By key, of the request that is being committed: whether there is an answer then. */
  readonly #underWay = new Map<string, Promise<boolean>>()

  constructor(parts: OnceParts) {
    this.#parts = parts
  }

  /**
   * Runs the effect, unless a request under the key had it before: then gives the answer to that. Resolves when the effect
   * is committed; nothing of it is kept in memory from then on.
   * @param timeout milliseconds for which a repeat may wait for the first answer
   * @throws FluxError `idempotencyMismatch`, `idempotencyInProgress`, `overloaded` when as many keys are kept as may
   * be; whatever the effect throws, if there is no earlier answer
   */
  async run({ key, remark }: WebhookKeys, timeout: number, effect: WebhookEffect): Promise<Settled> {
    if (key === null) return { replayed: false, ...(await effect(null)), remark }
    const { store, clock } = this.#parts
    const name = key.place.key
    const until = clock.now() + PATIENCE_MS
    for (let other; (other = this.#underWay.get(name));) {
      const row = (await other) ? await store.readRow(key.place) : null
      const earlier = row && this.#answerIn(row, key, timeout)
      if (earlier) return earlier
    }
    const own = this.#attempt(key, timeout, until, effect)
    // Where the store is away, those that wait need not find that out one after the other.
    const isAnswered = own
      .then(({ answer }) => !isFiltered(answer), isUnavailable)
      .finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, isAnswered)
    return own
  }

  /** Tries again until that time, epoch milliseconds, where another server has the first request under way. */
  async #attempt(key: WebhookKey, timeout: number, until: number, effect: WebhookEffect): Promise<Settled> {
    const { clock, idempotency, store } = this.#parts
    const { place, hash, keepMs: kept } = key
    for (;;) {
      const tried = idempotency.tryOf({ place, hash, kept }, { until: clock.now() + timeout })
      const first = async (): Promise<Settled | null> => {
        idempotency.requireRoom()
        const committed = await effect({ key, tried })
        const earlier = isFiltered(committed.answer) ? await store.readRow(place) : null
        return earlier ? this.#answerIn(earlier, key, timeout) : { replayed: false, ...committed, remark: null }
      }
      try {
        const settled = await tried.run(first, (row, isOwn) => this.#answerIn(row, key, timeout, isOwn))
        if (settled) return settled
        throw inProgress()
      } catch (error) {
        if (!isKind(error, 'idempotencyInProgress') || clock.now() >= until) throw error
        await pause(clock, LOOK_AGAIN_MS)
      }
    }
  }

  /**
   * By the row of the key. While the context has no answer yet, a repeat is told of it: by `dedupe` at once, else if there
   * is no answer in time. `isOwn`: the request is itself the first. Null: an event is being sent to all.
   * @throws FluxError `idempotencyMismatch`
   */
  #answerIn({ value }: KeptRow, { place, hash, isDedupe }: WebhookKey, timeout: number, isOwn = false): Settled | null {
    const kept = readKeptWebhook(value)
    if (kept.hash !== hash) throw mismatch()
    const { answer, until } = kept
    if (answer === null) return null
    const settled = { answer, replayed: !isOwn, remark: null }
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
      if (!isKind(error, 'notFound')) throw error
    } finally {
      waits.leave(wait)
    }
    // It has the answer, since that is written in the same commit.
    const row = await store.readRow(place)
    const answer = row && readKeptWebhook(row.value).answer
    return answer === null || answer.kind === 'running' ? late : answer
  }
}

const isKind = (error: unknown, kind: FluxError['failure']['kind']): boolean =>
  error instanceof FluxError && error.failure.kind === kind

const isUnavailable = (error: unknown): boolean => isKind(error, 'unavailable')

const isFiltered = (answer: Committed['answer'] | Settled['answer']): boolean =>
  'kind' in answer && answer.kind === 'filtered'

/** `answer`: null while an event is being sent to all, `running` while there is none yet. */
interface KeptWebhook {
  /** Of what was asked for. */
  readonly hash: string
  readonly answer: WebhookAnswer | EventAnswer | null
  /** When the caller of the first is answered in any case, epoch milliseconds. */
  readonly until?: number
}

/** The engine wrote the row, so its shape is trusted. @throws SyntaxError for a damaged one */
export function readKeptWebhook(text: string) {
  const { hash, answer, until = 0 }: KeptWebhook = JSON.parse(text)
  return { hash, until, answer: answer === null || 'kind' in answer ? answer : sentTo(answer) }
}
