// engine/idempotency: time, randomness and UUIDs that several tries of one start have in common, so that they come to the
// same key of the context.
import { createHash } from 'node:crypto'
import { v4 } from 'uuid'
import type { Turn } from '../../definitions/expressions/expression.ts'

/** Who does not know the seed can't predict what is drawn. `now`: epoch milliseconds. */
export interface Drawn {
  readonly seed: string
  readonly now: number
}

/** Bytes of a number from 0 to below 1. */
const RANDOM_BYTES = 6

/** Each turn that it gives draws the same. `what`: for what; anything else draws other values. */
export const drawnFrom =
  ({ seed, now }: Drawn, what: string) =>
  (): Turn => {
    let count = 0
    const next = () => {
      count += 1
      return createHash('sha256')
        .update(JSON.stringify([seed, what, count]))
        .digest()
    }
    return {
      now,
      random: () => next().readUIntBE(0, RANDOM_BYTES) / 256 ** RANDOM_BYTES,
      uuid: () => v4({ random: next() }),
    }
  }
