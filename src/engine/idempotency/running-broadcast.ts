// engine/idempotency: a broadcast under a key that is under way: what is sent, and who carries it on.
import type { BroadcastEvent } from '../calls/broadcast-receivers.ts'

export interface KeptEvent extends BroadcastEvent {
  readonly eventId: string
}

/** A broadcast under way, as its row has it. */
export interface RunningBroadcast {
  readonly owner: string
  /** Epoch milliseconds after which it is taken for cut off, if other servers may be there. */
  readonly until: number
  readonly upTo: number
  readonly expiresAt: number
  /** The row of its key. */
  readonly value: string
  readonly sent: KeptEvent
  /** Begun here, and carried on by no other before; not in the row. */
  readonly isNew?: true
}
