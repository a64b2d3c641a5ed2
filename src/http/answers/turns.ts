// http: spreads large work over several turns of the event loop, so that other requests are served in between.
import { setImmediate } from 'node:timers/promises'

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => setImmediate()

/** A body with more bytes takes milliseconds to decode and store. */
const LARGE_BYTES = 64 * 1024

let turn: Promise<void> = Promise.resolve()

/** Resolves in a turn of the event loop that no other caller of this function gets. */
export function ownTurn(): Promise<void> {
  turn = turn.then(nextTurn)
  return turn
}

export const isLarge = (bytes: number): boolean => bytes > LARGE_BYTES

/** Pauses between two operations on a body of so many bytes. Each large body gets a turn of its own. */
export function pauseFor(bytes: number): Promise<void> | undefined {
  return isLarge(bytes) ? ownTurn() : undefined
}
