// engine/webhooks: a request has its effect once under its key, which the effect writes in its commit, as all calls
// under a key do. A repeat is noticed by the guard of that commit, or before it is refused, and has the first answer.
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
import type { AnswerRow } from '../../model/context.ts'
import type { WebhookAnswer, WebhookReply } from '../../model/webhook.ts'
import type { Keeping } from '../idempotency/idempotency.ts'
import { readKept, type KeptPlace } from '../idempotency/kept-answer.ts'
import type { CallParts } from '../calls/call-env.ts'
import { decodeHead } from '../record/decode.ts'
import { ANSWERED } from '../waits/waits.ts'
import { sentTo } from '../turn/answer.ts'
import type { RootRequest } from '../turn/start-request.ts'

/** The key of a request, with which it has its effect once. */
export interface WebhookKey extends Pick<AnswerRow, 'hash' | 'keepMs'>, Pick<RootRequest, 'drawn'> {
  readonly place: KeptPlace
  /** `dedupe` has computed it. */
  readonly isDedupe: boolean
}

/** A request that may be repeated: its key, and the try to be the first under it. */
export interface WebhookKeeping extends Keeping {
  readonly key: WebhookKey
}

export interface WebhookKeys {
  /** null: repeats are not looked for. */
  readonly key: WebhookKey | null
  /** Why repeats are not looked for, although the endpoint says how. */
  readonly remark: string | null
}

/** The outcome of a request when it was committed. Its answer may come later. */
export interface Committed {
  readonly answer: WebhookAnswer | Promise<WebhookAnswer>
  /** The answer is that to an earlier request. */
  readonly replayed?: boolean
}

/** A reply, whose answer may come later. */
export type Settled = Required<Committed> & Pick<WebhookReply, 'remark'>

/** What a request is for, under the key that it may be the first to have; null: it has none. */
export type WebhookEffect = (keeping: WebhookKeeping | null) => Promise<Committed>

/** The request is of no interest, unless it is a repeat. Nothing is stored of it. */
export class Filtered extends FluxError {
  constructor() {
    super({ kind: 'conflict', detail: 'the request is of no interest' })
  }
}

/** What is kept: `running` while there is no answer yet. */
type KeptWebhook = WebhookAnswer | EventAnswer

/**
 * Runs the effect, unless a request under the key had it before: then gives the answer to that. Resolves when the
 * effect is committed; nothing of it is kept in memory from then on.
 * @param timeout milliseconds for which a repeat may wait for the first answer
 * @throws FluxError as `Idempotency.onceUnder`
 */
export async function once(
  parts: CallParts,
  { key, remark }: WebhookKeys,
  timeout: number,
  effect: WebhookEffect,
): Promise<Settled> {
  const { clock, idempotency } = parts
  try {
    if (key === null) return { replayed: false, ...(await effect(null)), remark }
    const { place } = key
    return await idempotency.onceUnder<Settled, KeptWebhook>({
      ...key,
      noted: { until: clock.now() + timeout },
      waits: true,
      run: async (keeping) => ({ replayed: false, ...(await effect({ ...keeping, key })), remark: null }),
      earlier({ answer: kept, until = 0 }, isOwn) {
        const answer = answerIn(kept)
        const settled = { answer, replayed: !isOwn, remark: null }
        // While the context has no answer yet, a repeat gets its id: with `dedupe` at once, else if there is no answer
        // in time.
        if (answer.kind !== 'running' || (key.isDedupe && !isOwn)) return settled
        const late: WebhookAnswer = { kind: 'late', contextId: answer.contextId }
        // The first got the same answer.
        if (!isOwn && until <= clock.now()) return { ...settled, answer: late }
        return { ...settled, answer: answerLater(parts, place, answer, { timeout, late: isOwn ? late : answer }) }
      },
    })
  } catch (error) {
    if (error instanceof Filtered) return { answer: { kind: 'filtered' }, replayed: false, remark }
    throw error
  }
}

/** The answer of that context, or else `late`. */
async function answerLater(
  { store, waits }: CallParts,
  place: KeptPlace,
  { contextId }: WebhookAnswer & { readonly kind: 'running' },
  { timeout, late }: { readonly timeout: number; readonly late: WebhookAnswer },
) {
  const wait = waits.join(contextId)
  try {
    const stored = await store.load({ id: contextId })
    if (stored) await waits.hold(wait, decodeHead(stored), { condition: ANSWERED, timeout, signal: undefined })
  } catch (error) {
    // The context was deleted meanwhile.
    if (!(error instanceof FluxError) || error.failure.kind !== 'notFound') throw error
  } finally {
    waits.leave(wait)
  }
  // It has the answer, since that is written in the same commit.
  const row = await store.readRow(place)
  const kept = row && readKept<KeptWebhook>(row.value).answer
  const answer = kept && answerIn(kept)
  return answer === null || answer.kind === 'running' ? late : answer
}

const answerIn = (kept: KeptWebhook) => ('kind' in kept ? kept : sentTo(kept))
