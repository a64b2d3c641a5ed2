// engine/pending: the end of a broadcast: an event with a time to live that reached nobody is held for whoever comes to
// wait for it.
import type { EventAnswer } from '../../api/events.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { EventToHold, HeldEvents } from './held-events.ts'

/** `ttl`: milliseconds; null: it is not held. */
export interface SentToAll extends Pick<EventToHold, 'eventId' | 'event' | 'input' | 'untyped' | 'tags' | 'caller'> {
  readonly ttl: number | null
}

export interface EndOfBroadcast {
  readonly answer: EventAnswer
  /** Epoch milliseconds. */
  readonly receivedAt: number
  /** Key of the row of its receipt; null: it has none. */
  readonly receipt: string | null
  /** Writes the answer, with rows in the same commit; false: that was refused. Left out: only the rows are written. */
  readonly write?: (answer: EventAnswer, rows: readonly RowWrite[]) => Promise<boolean>
}

/** The answer to the sender; null: it was to be held, and another server has ended it meanwhile. @throws FluxError as `HeldEvents.hold` */
export async function endBroadcast(
  heldEvents: Pick<HeldEvents, 'hold'>,
  { ttl, eventId, event, input, untyped, tags, caller }: SentToAll,
  { answer, receivedAt, receipt, write }: EndOfBroadcast,
): Promise<EventAnswer | null> {
  const { transitions, executions, pending } = answer
  if (ttl === null || transitions.length + executions.length + pending.length > 0) {
    await write?.(answer, [])
    return answer
  }
  const expiresAt = receivedAt + ttl
  const told: EventAnswer = {
    ...answer,
    message: `${answer.message}, kept for the first that waits for it`,
    pending: [{ contextId: null, expiresAt }],
  }
  const toHold = { eventId, event, input, untyped, tags, receivedAt, expiresAt, receipt, caller }
  return (await heldEvents.hold(toHold, write && ((rows) => write(told, rows)))) ? told : null
}
