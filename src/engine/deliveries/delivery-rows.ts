// engine/deliveries: deliveries as rows. Those of an endpoint begin with the same text and lie newest first. A row is small:
// what would make it large is a row of its own, so that lists, and the note of how it was answered, needn't touch it.
import { createHash } from 'node:crypto'
import type { RowWrite, StoredRow } from '../../model/rows.ts'
import type { Delivery, Endpoint } from '../../model/webhook.ts'
import type { KeptRequest } from './delivery-request.ts'

/** What of a delivery lists show, besides its request. `status`, `duration`: null until it is answered. */
export interface DeliveryFacts extends Pick<
  Delivery,
  'deliveryId' | 'method' | 'time' | 'outcome' | 'contextId' | 'replayOf' | 'reason'
> {
  readonly status: number | null
  /** Milliseconds. */
  readonly duration: number | null
}

export interface StoredDelivery extends DeliveryFacts {
  /** Whether it started its context, whose record then has the whole request. */
  readonly isStart: boolean
  /** null: it is in the row of its own. */
  readonly request: KeptRequest | null
}

/** Where the rows of a delivery are. */
export interface DeliveryPlace {
  readonly partition: number
  readonly key: string
}

/** Characters of a request, as JSON, up to which it is in the row itself. */
const INLINE_CHARACTERS = 4096

/** Milliseconds for which a delivery is kept at most, also one of an endpoint that is gone. */
export const DELIVERY_KEPT_MS = 30 * 86_400_000

const HASH_CHARACTERS = 22

/** What distinguishes endpoints: those of several methods are one. */
export type EndpointName = Pick<Endpoint, 'package' | 'fluxName' | 'urlPath'>

/** What the keys of the deliveries of an endpoint begin with. */
export function prefixOf({ package: owner, fluxName, urlPath }: EndpointName): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([owner, fluxName, urlPath]))
    .digest('base64url')
  return `${hash.slice(0, HASH_CHARACTERS)}:`
}

/** Of a key, what those of all deliveries of the endpoint begin with. */
export const prefixIn = (key: string): string => key.slice(0, key.indexOf(':') + 1)

/** Ids ascend with time, and stores list rows by ascending keys: here, the newest goes first. */
export const deliveryKeyOf = (prefix: string, deliveryId: string): string => prefix + inverted(deliveryId)

const inverted = (deliveryId: string): string => invertedHex(deliveryId.replaceAll('-', ''))

const invertedHex = (hex: string): string =>
  Buffer.from(Buffer.from(hex, 'hex').map((byte) => 255 - byte)).toString('hex')

/** Of a key, the id of the delivery. */
export const deliveryIdIn = (prefix: string, key: string): string =>
  invertedHex(key.slice(prefix.length)).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Of the row of its own that has the request. */
export const requestKeyOf = (deliveryId: string): string => `request:${deliveryId}`

/** The request as it stands in its row; null: it needs a row of its own. */
export const inlineOf = (request: string): string | null => (request.length <= INLINE_CHARACTERS ? request : null)

/** @param inline as JSON */
export function factsRow(
  { partition, key }: DeliveryPlace,
  facts: DeliveryFacts & { readonly isStart: boolean },
  inline: string | null,
): RowWrite {
  const { deliveryId, method, time, outcome, status, duration, contextId, replayOf, reason, isStart } = facts
  const own = JSON.stringify({
    deliveryId,
    method,
    time,
    outcome,
    status,
    duration,
    contextId,
    replayOf,
    reason,
    isStart,
  })
  const value = `${own.slice(0, -1)},"request":${inline ?? 'null'}}`
  return { partition, space: 'deliveries', key, value, expiresAt: time + DELIVERY_KEPT_MS }
}

/** @param request as JSON */
export const requestRow = ({ partition }: DeliveryPlace, { deliveryId, time }: DeliveryFacts, request: string) =>
  ({
    partition,
    space: 'deliveries',
    key: requestKeyOf(deliveryId),
    value: request,
    expiresAt: time + DELIVERY_KEPT_MS,
  }) satisfies RowWrite

/** The engine wrote it, so its shape is trusted. @throws SyntaxError when it is damaged */
export const storedDeliveryOf = ({ value }: Pick<StoredRow, 'value'>): StoredDelivery => JSON.parse(value)
export const storedRequestOf = ({ value }: Pick<StoredRow, 'value'>): KeptRequest => JSON.parse(value)

/** Deletes what may be there of a delivery. */
export function removalOfDelivery({ partition, key }: DeliveryPlace, deliveryId: string): RowWrite[] {
  const gone = { partition, space: 'deliveries', value: null, expiresAt: null } as const
  return [
    { ...gone, key },
    { ...gone, key: requestKeyOf(deliveryId) },
  ]
}
