// http: which requests get the answer that an earlier one under the same `Idempotency-Key` got.
import type { Context } from 'hono'
import type { Env } from '../request/incoming.ts'

export const REPLAYED = { 'Idempotency-Replayed': 'true' }

const replayed = new WeakSet<object>()

/** Notes it for an answer that is a problem, which is written elsewhere. */
export function noteReplay(c: Context<Env>): void {
  replayed.add(c)
}

/** The header for a problem; null: it is the first answer. */
export const replayedHeaders = (c: Context<Env>): { readonly [name: string]: string } | null =>
  replayed.has(c) ? { 'idempotency-replayed': 'true' } : null
