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

/** Where the row of a delivery is. */
export type DeliveryPlace = Pick<StoredRow, 'partition' | 'key'>

/** Characters of a request, as JSON, up to which it is in the row itself. */
const INLINE_CHARACTERS = 4096

/** Milliseconds for which a delivery is kept at most, also one of an endpoint that is gone. */
const RETENTION_MS = 30 * 86_400_000

const HASH_CHARACTERS = 22

/** What distinguishes endpoints: those of several methods are one. */
export type EndpointName = Pick<Endpoint, 'package' | 'fluxName' | 'urlPath'>

/** What the keys of the deliveries of an endpoint begin with. `name`: see `Deliveries`. */
export const prefixOf = (name: string): string =>
  `${createHash('sha256').update(name).digest('base64url').slice(0, HASH_CHARACTERS)}:`

/** Ids ascend with time, and stores list rows by ascending keys: here, the newest goes first. */
export const deliveryKeyOf = (prefix: string, deliveryId: string): string =>
  prefix + inverted(deliveryId.replaceAll('-', ''))

const inverted = (hex: string): string => Buffer.from(Buffer.from(hex, 'hex').map((byte) => 255 - byte)).toString('hex')

/** Of the row of its own that has the request. */
export const requestKeyOf = (deliveryId: string): string => `request:${deliveryId}`

/** The request as it stands in the row of its delivery; null: it needs a row of its own. */
export const inlineOf = (request: string): string | null => (request.length <= INLINE_CHARACTERS ? request : null)

/** @param request as JSON; null: it is not written, since it is in the row of its own already */
export function rowsOfDelivery(
  { partition, key }: DeliveryPlace,
  facts: DeliveryFacts & Pick<StoredDelivery, 'isStart'>,
  request: string | null,
): RowWrite[] {
  const row = { partition, space: 'deliveries', expiresAt: facts.time + RETENTION_MS } as const
  const inline = request && inlineOf(request)
  const own = { ...row, key, value: `${JSON.stringify(facts).slice(0, -1)},"request":${inline}}` }
  return request === inline ? [own] : [own, { ...row, key: requestKeyOf(facts.deliveryId), value: request }]
}

/** The engine wrote it, so its shape is trusted. @throws SyntaxError when it is damaged */
export const storedDeliveryOf = ({ value }: Pick<StoredRow, 'value'>): StoredDelivery => JSON.parse(value)
export const storedRequestOf = ({ value }: Pick<StoredRow, 'value'>): KeptRequest => JSON.parse(value)

/** Deletes what may be there of a delivery. `key`: begins with `prefix`. */
export function removalOfDelivery({ partition, key }: DeliveryPlace, prefix: string): RowWrite[] {
  const gone = { partition, space: 'deliveries', value: null, expiresAt: null } as const
  const id = inverted(key.slice(prefix.length)).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return [
    { ...gone, key },
    { ...gone, key: requestKeyOf(id) },
  ]
}
