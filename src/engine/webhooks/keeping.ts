// engine/webhooks: what the effect of a webhook must write in its commit, so that repeats find its answer.
import { CALLS } from '../../api/calls.ts'
import type { ContextId } from '../../model/context.ts'
import { conflict } from '../../model/failure.ts'
import type { WebhookAnswer, WorkflowAnswer } from '../../model/webhook.ts'
import type { KeyTry } from '../idempotency/idempotency.ts'
import type { SendOptions } from '../calls/send-event.ts'
import type { RowsOf } from '../turn/message.ts'
import type { RootRequest } from '../turn/start-request.ts'
import type { StartOptions } from '../turn/mailboxes.ts'
import { acceptedAs, answerOf } from '../turn/answer.ts'
import type { WebhookKey } from './webhook-keys.ts'

/** What a request came to when it was committed, or refused without an error. */
export interface Committed {
  /** Of the context that was started; null: none was. */
  readonly contextId: ContextId | null
  readonly answer: WebhookAnswer | Promise<WorkflowAnswer>
  /** The answer is that to an earlier request. */
  readonly replayed?: boolean
}

/** A request that may be repeated: its key, and the try to be the first under it. */
export interface WebhookKeeping {
  readonly key: WebhookKey
  readonly tried: KeyTry
}

const SENT_TO_ALL = {
  answer: {
    /** @throws FluxError for the answer of a webhook that was no broadcast, which is then looked up as such */
    parse(data: unknown) {
      if (typeof data === 'object' && data !== null && 'kind' in data) throw conflict('the request was answered before')
      return CALLS.sendEvent.answer.parse(data)
    },
  },
}

/** How a context is started under the key of its request; null: it has none. `accepted`: that is the answer. */
export function startUnder(
  keeping: WebhookKeeping | null,
  isAccepted = false,
): {
  readonly request: Pick<RootRequest, 'answerRows' | 'drawn'>
  readonly options: Pick<StartOptions, 'partition' | 'rows'>
} {
  if (keeping === null) return NO_KEY
  const { key, tried } = keeping
  const { hash, keepMs, drawn } = key
  const rows: RowsOf = (_, record, flux) => {
    const { id: contextId } = record
    const answer = isAccepted ? acceptedAs(record) : (answerOf(record, flux) ?? { kind: 'running', contextId })
    return [tried.rowOf(answer)]
  }
  const answerRows = isAccepted ? undefined : [{ key: key.place.key, hash, keepMs }]
  return { request: { answerRows, drawn }, options: { partition: tried.partition, rows } }
}

const NO_KEY = { request: {}, options: {} }

/** How an event is sent under the key of its request; null: it has none. */
export function sendUnder(keeping: WebhookKeeping | null): Pick<SendOptions, 'toOne' | 'toAll'> {
  if (keeping === null) return {}
  const { key, tried } = keeping
  const { place, hash, keepMs: kept } = key
  return {
    toOne: (eventId) => ({ rows: (_, { id }) => [tried.rowOf({ kind: 'sent', eventId, contextIds: [id] })] }),
    toAll: ({ keptBroadcasts }, event, manner) =>
      keptBroadcasts.onceUnder({ key: place.key, hash, kept, of: SENT_TO_ALL }, event, manner),
  }
}
