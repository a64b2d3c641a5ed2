// engine/webhooks: what is kept of a webhook that was called under a key: rows of the space `idempotency`, as those of
// other calls, with the answer from which HTTP makes the same reply again.
import type { EventAnswer } from '../../api/events.ts'
import type { DoorAnswer, WebhookAnswer } from '../../model/webhook.ts'
import { readKept } from '../idempotency/kept-answer.ts'

export interface KeptWebhook {
  /** Of what was asked for. */
  readonly hash: string
  /** `running`: there is no answer yet. Null: an event is being sent to all. */
  readonly answer: WebhookAnswer | null
  /** When the caller of the first is answered in any case, epoch milliseconds. */
  readonly until: number
}

/** A row with the answer of a context. `at`: when the context started, epoch milliseconds. */
export const keptWebhookText = (facts: { hash: string; at: number; answer: WebhookAnswer }): string =>
  JSON.stringify(facts)

/** The engine wrote the row, so its shape is trusted. @throws Error for a text that is no such row */
export function readKeptWebhook(text: string): KeptWebhook {
  const { hash } = readKept(text)
  const { answer, until = 0 }: { answer: WebhookAnswer | EventAnswer | null; until?: number } = JSON.parse(text)
  return { hash, until, answer: answer === null || 'kind' in answer ? answer : sentTo(answer) }
}

/** The answer of an endpoint that has sent an event. */
export function sentTo({ eventId, transitions, executions, pending }: EventAnswer): DoorAnswer {
  const ids = [...transitions, ...executions, ...pending].flatMap(({ contextId }) => contextId ?? [])
  return { kind: 'sent', eventId, contextIds: [...new Set(ids)] }
}
