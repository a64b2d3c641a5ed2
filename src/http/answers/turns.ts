// http: work that is large is done over several turns of the event loop, so that others are served in between.
import { setImmediate } from 'node:timers/promises'

/** Resolves in the next turn. */
export const nextTurn = (): Promise<void> => setImmediate()

/** Bytes of a body that takes milliseconds to be understood and kept. */
const LARGE_BYTES = 64 * 1024

let turn: Promise<void> = Promise.resolve()

/** Resolves in a turn in which nobody else who asked for one works. */
export function ownTurn(): Promise<void> {
  turn = turn.then(nextTurn)
  return turn
}

export const isLarge = (bytes: number): boolean => bytes > LARGE_BYTES

/**
 * Between two things that are done with a body of so many bytes. Large ones that have come together take a turn each.
 */
export function pauseFor(bytes: number): Promise<void> | undefined {
  return isLarge(bytes) ? ownTurn() : undefined
}
