// engine/idempotency: what is kept of a call under a key, and where: a row of the store, under the hash of the caller,
// the call, and the key. It lies with what the call is addressed to, so it is in the commit of the effect. Where that
// is the key of a context that is to be started, time, randomness and UUIDs are the same for all tries of the start, so
// that they come to the same key.
import { hash } from 'node:crypto'
import { v4 } from 'uuid'
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { partitionOf, type RowSpace, type StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { allRows, listed } from '../tasks/fan-out.ts'
import { keptKey, partitionOfKey, type KeyAddress } from '../record/index-keys.ts'
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { TagLimits } from '../../model/tags.ts'
import { addressOfStart, type RootRequest } from '../turn/start-request.ts'

/** What distinguishes equal keys. */
export interface ScopedKey {
  /** The caller: keys of different callers are different keys. */
  readonly scope: string
  readonly of: { readonly method: string; readonly route: string }
  readonly key: string
}

/**
 * The addressee of a call: the same key with another addressee is another request. Null: it has none, as an event for
 * all and the start of a context without key.
 */
export type Addressee = { readonly contextId: ContextId } | KeyAddress | null

/** Where the row of a call lies. */
export interface KeptPlace {
  readonly space: RowSpace
  readonly key: string
  readonly partition: number
}

/** What is kept of a call. */
export interface KeptAnswer<A = JsonObject> {
  /** Hash of the content. */
  readonly hash: string
  /** When it was answered, epoch milliseconds. */
  readonly at: number
  /** The name of the event, if it was one. */
  readonly event?: string | undefined
  /** Null: of a broadcast that is not done. */
  readonly answer: A | null
  /** For a webhook: when the first caller is answered in any case, epoch milliseconds. */
  readonly until?: number
  /** The answer only says that the event is accepted. */
  readonly isAccepted?: boolean
}

/** The key of its rows, whatever it is addressed to. */
export const rowKeyOf = ({ scope, of: { method, route }, key }: ScopedKey): string =>
  hash('sha256', JSON.stringify([scope, `${method} ${route}`, key]))

/**
 * Prefix of the keys of the rows of an event that was sent to single contexts. No row of a broadcast has it.
 */
const singlePrefix = (rowKey: string) => `${rowKey}!`

/** The place of the row of a call with that addressee. */
export function placeOf(rowKey: string, addressee: Addressee, partitions: number): KeptPlace {
  const space = 'idempotency'
  if (addressee === null) return { space, key: rowKey, partition: partitionOf(rowKey, partitions) }
  const prefix = singlePrefix(rowKey)
  if ('contextId' in addressee)
    return { space, key: prefix + addressee.contextId, partition: addressee.contextId % partitions }
  return { space, key: prefix + hash('sha256', keptKey(addressee)), partition: partitionOfKey(addressee, partitions) }
}

/** What is kept of an event as it was sent to single contexts. @throws FluxError `unavailable` */
export const readKeptToSingle = (store: Store, rowKey: string): Promise<StoredRow[]> =>
  listed(allRows(store, { space: 'items', prefix: singlePrefix(rowKey) }))

/** The row of a broadcast, or of another call that is addressed to nothing. */
export const readKeptToAll = (store: Store, rowKey: string): Promise<StoredRow | null> =>
  store.readRow(placeOf(rowKey, null, store.partitions))

/** @throws Error for a text that is no such row */
export function readKept<A = JsonObject>(text: string): KeptAnswer<A> {
  const kept: KeptAnswer<A> = JSON.parse(text)
  if (typeof kept.hash === 'string' && typeof kept.at === 'number') return kept
  throw new Error('the row of an idempotency key is not as it was written')
}

export const inProgress = () =>
  new FluxError({
    kind: 'idempotencyInProgress',
    detail: 'the first request under this key is still under way',
    retryAfter: 1,
  })

export const mismatch = () =>
  new FluxError({ kind: 'idempotencyMismatch', detail: 'the key was used for a request with another content' })

/**
 * The same for contents of plain data that differ only in the order of names, and in what is undefined. Stored: it must
 * stay the same for ever.
 */
export const contentHashOf = (content: object): string => hash('sha256', sortedText(content))

/** The recursion is bounded: inputs were copied, which refuses values nested deeper than 200 (`toJson`). */
function sortedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`
  const members: string[] = []
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name)
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${sortedText(member)}`)
  }
  return `{${members.join(',')}}`
}

/** How often the event was repeated, whatever it is addressed to. No row of an item begins with it. */
const placeOfRepeats = (store: Store, rowKey: string) =>
  ({ partition: partitionOf(rowKey, store.partitions), space: 'items', key: `${rowKey}#` }) as const

export async function repeatsOf(store: Store, rowKey: string): Promise<number> {
  const row = await store.readRow(placeOfRepeats(store, rowKey))
  return Number(row?.value ?? 0)
}

/**
 * If two repeats come at the same time, one may not be counted. Never fails: a repeat that can't be counted is
 * answered.
 */
export async function countRepeat(store: Store, rowKey: string, expiresAt: number): Promise<void> {
  try {
    const value = String((await repeatsOf(store, rowKey)) + 1)
    await store.commit({ writes: [], rows: [{ ...placeOfRepeats(store, rowKey), value, expiresAt }] })
  } catch {
    // The store is away.
  }
}

/** Without the seed, what is drawn can't be predicted. `now`: epoch milliseconds. */
export interface Drawn {
  readonly seed: string
  readonly now: number
}

/** Bytes of a number from 0 to below 1. */
const RANDOM_BYTES = 6

/** Each turn that it returns draws the same values. `what`: the purpose; another purpose draws other values. */
export const drawnFrom =
  ({ seed, now }: Drawn, what: string) =>
  (): Turn => {
    let count = 0
    const next = () => {
      count += 1
      return hash('sha256', JSON.stringify([seed, what, count]), 'buffer')
    }
    return {
      now,
      random: () => next().readUIntBE(0, RANDOM_BYTES) / 256 ** RANDOM_BYTES,
      uuid: () => v4({ random: next() }),
    }
  }

/**
 * The addressee of a context that is to be started under an idempotency key: the key that it will have. `drawn`: what
 * it must be evaluated with to come to that key; the same for each repeat, but for the time. `seed`: of the idempotency
 * key.
 */
export function addresseeOfNew(
  { clock, tagLimits }: { readonly clock: Clock; readonly tagLimits: TagLimits },
  request: RootRequest,
  seed: string,
): { readonly addressee: Addressee } & Pick<RootRequest, 'drawn'> {
  const { flux, key: given = flux.key } = request
  const { package: owner, fluxName } = flux
  if (given === null || typeof given === 'string')
    return { addressee: given === null ? null : { package: owner, fluxName, key: given } }
  const drawn = drawnFrom({ seed, now: clock.now() }, 'start')
  return { addressee: addressOfStart({ ...request, drawn }, { ...drawn(), tagLimits }), drawn }
}
