// engine/idempotency: what is kept of a call under a key, and how it is found: rows of the store, under the hash of who
// called, which call it was, and the key.
import { createHash } from 'node:crypto'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'

/** What makes a key one's own. */
export interface ScopedKey {
  /** Who called: keys of different callers are different keys. */
  readonly scope: string
  readonly of: { readonly method: string; readonly route: string }
  readonly key: string
}

/** What is kept of it. */
export interface KeptAnswer {
  /** Of the content. */
  readonly hash: string
  /** When it was answered, epoch milliseconds. */
  readonly at: number
  /** The name of the event, if it was one. */
  readonly event?: string | undefined
  /** Null: of a broadcast that is not done. */
  readonly answer: JsonObject | null
  /** The answer only says that the event is accepted. */
  readonly isAccepted: boolean
}

/** The key of its rows. */
export const rowKeyOf = ({ scope, of: { method, route }, key }: ScopedKey): string =>
  sha256(JSON.stringify([scope, `${method} ${route}`, key]))

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** @throws Error for a text that is no such row */
export function readKept(text: string): KeptAnswer {
  const value: unknown = JSON.parse(text)
  if (isObject(value)) {
    const [hash, at, event] = [getOwn(value, 'hash'), getOwn(value, 'at'), getOwn(value, 'event')]
    const answer = getOwn(value, 'answer') ?? null
    if (typeof hash === 'string' && typeof at === 'number' && (answer === null || isObject(answer)))
      return {
        hash,
        at,
        answer,
        event: typeof event === 'string' ? event : undefined,
        isAccepted: getOwn(value, 'isAccepted') === true,
      }
  }
  throw new Error('the row of an idempotency key is not as it was written')
}
