// http: spreads large work over several turns of the event loop, so that other requests are served in between.
//
// - The work for a client's body is proportional to its size: JSON is measured before it is parsed
//   (`model/json/text.ts`), each large body is parsed in a turn of its own, and patterns never have two adjacent parts
//   that can match the same characters.
import { setImmediate } from 'node:timers/promises'
import { breathe, type Work } from '../../model/texts.ts'

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => setImmediate()

/** A body with more bytes takes milliseconds to decode and store. */
const LARGE_BYTES = 64 * 1024

/** Resolves in a turn of the event loop in which nothing else that is large is done. */
export async function ownTurn(work?: Work): Promise<void> {
  await breathe(Infinity, work)
}

export const isLarge = (bytes: number): boolean => bytes > LARGE_BYTES

/** Pauses between two operations on a body of so many bytes. Each large body gets a turn of its own. */
export function pauseFor(bytes: number): Promise<void> | undefined {
  return isLarge(bytes) ? ownTurn('acting') : undefined
}
