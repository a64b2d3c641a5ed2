// engine/contexts: ids of events whose senders give none: UUIDs of version 7, which sort by the millisecond they were made in.
import { v7 } from 'uuid'

const ID_BYTES = 16

/** Random bytes are drawn for many ids at once: to draw them for each takes ten times as long as all else. */
const pool = new Uint8Array(256 * ID_BYTES)
let used = pool.length

export const newEventId = (): string => v7({ random: randomBytes() })

/** An id of that millisecond. Of equal milliseconds, ids sort by the number, which has 32 bits. */
export const newIdAt = (msecs: number, seq: number): string => v7({ random: randomBytes(), msecs, seq })

function randomBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  return pool.subarray(used, (used += ID_BYTES))
}
