// engine/idempotency: time, randomness and UUIDs that several tries of one start have in common, so that they come to the
// same key of the context.
import { createHash } from 'node:crypto'
import { v4 } from 'uuid'
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { TagLimits } from '../../model/tags.ts'
import { initialRecordOf, type RootRequest } from '../turn/start-request.ts'
import type { Addressee } from './kept-answer.ts'

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

/**
 * The addressee of a context that is to be started under an idempotency key: the key that it will have. `drawn`: what it
 * must be evaluated with to come to that key; the same for each repeat, but for the time. `seed`: of the idempotency key.
 */
export function addresseeOfNew(
  { now, tagLimits }: { readonly now: () => number; readonly tagLimits: TagLimits },
  request: RootRequest,
  seed: string,
): { readonly addressee: Addressee } & Pick<RootRequest, 'drawn'> {
  const { flux, key: given = flux.key } = request
  const { package: owner, fluxName } = flux
  if (given === null || typeof given === 'string')
    return { addressee: given === null ? null : { package: owner, fluxName, key: given } }
  const drawn = drawnFrom({ seed, now: now() }, 'start')
  const { key = null } = initialRecordOf({ ...request, parent: null, drawn }, { ...drawn(), tagLimits })
  return { addressee: key === null ? null : { package: owner, fluxName, key }, drawn }
}
