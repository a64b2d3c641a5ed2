// http: spreads large work over several turns of the event loop, so that other requests are served in between.
//
// - The work for a client's body is proportional to its size: JSON is measured before it is parsed
//   (`model/json/text.ts`), large bodies take several turns of the event loop (`answers/turns.ts`), and patterns never
//   have two adjacent parts that can match the same characters.
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

/** Runs work one after the other. Each `yield` of it ends a turn of the event loop. */
export class Slices {
  readonly #waiting: Iterator<void, void>[] = []

  /** Begins at once, if no other work is under way. */
  run(work: Iterator<void, void>): void {
    if (this.#waiting.push(work) === 1) this.#goOn()
  }

  #goOn(): void {
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      let isOver = true
      try {
        isOver = first.next().done === true
      } finally {
        if (isOver) this.#waiting.shift()
      }
      if (!isOver) return void breathe(Infinity)?.then(() => this.#goOn())
    }
  }
}
