// engine/calls: `replayDelivery` sends a delivery again: past verification and deduplication, and not past `when`. The
// request is that of the record of the context that it started, else the one that was kept, without its secrets.
import { check } from '../../api/check.ts'
import { REPLAY_DELIVERY, type ReplayAnswer, type ReplayRequest } from '../../api/replay-delivery.ts'
import { conflict, FluxError, notFound } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { UNREADABLE, type Endpoint, type WebhookCall } from '../../model/webhook.ts'
import { decodeRecord } from '../record/decode.ts'
import { requestShown } from '../redact/request.ts'
import { keptBodyOf, textsOfRequest } from '../webhooks/delivery-request.ts'
import {
  deliveryKeyOf,
  requestKeyOf,
  storedDeliveryOf,
  storedRequestOf,
  type EndpointName,
  type StoredDelivery,
} from '../webhooks/delivery-rows.ts'
import { requireRole, type CallEnv } from './call-env.ts'
import { isVisible } from './list-webhooks.ts'

const DELIVERY_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Rows that are looked for at once. */
const STRIDE = 64

interface Found {
  readonly endpoint: EndpointName
  readonly partition: number
  readonly delivery: StoredDelivery
}

/** What is sent again. */
type Sent = Pick<WebhookCall, 'request' | 'rawBody'>

/** See `FluxApi`. */
export async function replayDelivery(env: CallEnv, given: ReplayRequest): Promise<ReplayAnswer> {
  const { deliveryId } = check(REPLAY_DELIVERY, given)
  env.replays.take()
  try {
    await env.deliveries.flush()
    const found = await find(env, deliveryId)
    const endpoint = endpointOf(env, found)
    if (found.delivery.outcome === 'handshake')
      throw conflict(`the delivery '${deliveryId}' was a test of the endpoint, which starts nothing`)
    const sent = (await ofContext(env, found)) ?? (await ofRows(env, found))
    return await send(env, { endpoint, replayOf: deliveryId, sent })
  } finally {
    env.replays.release()
  }
}

/** @throws FluxError `notFound`; `conflict` when it was refused before its request was read */
async function find(env: CallEnv, deliveryId: string): Promise<Found> {
  const { store, deliveries, webhooks } = env
  const unknown = () => notFound(`there is no delivery '${deliveryId}'`)
  if (!DELIVERY_ID.test(deliveryId)) throw unknown()
  const endpoints = new Map<string, EndpointName>()
  for (const endpoint of webhooks.all()) endpoints.set(deliveries.tallyOf(endpoint).prefix, endpoint)
  const places = [...endpoints].flatMap(([prefix, endpoint]) =>
    Array.from({ length: store.partitions }, (_, partition) => ({ prefix, endpoint, partition })),
  )
  for (let from = 0; from < places.length; from += STRIDE) {
    const some = await Promise.all(
      places.slice(from, from + STRIDE).map(async ({ prefix, endpoint, partition }): Promise<Found | null> => {
        const row = await store.readRow({ partition, space: 'deliveries', key: deliveryKeyOf(prefix, deliveryId) })
        return row && { endpoint, partition, delivery: storedDeliveryOf(row) }
      }),
    )
    const found = some.find((one) => one !== null)
    if (found) return found
  }
  for (const endpoint of endpoints.values())
    if (
      isVisible(env, endpoint) &&
      deliveries
        .tallyOf(endpoint)
        .refused()
        .some((one) => one.deliveryId === deliveryId)
    )
      throw conflict(`the delivery '${deliveryId}' was refused before its request was read, which is not kept`)
  throw unknown()
}

/** @throws FluxError when the caller may not reach the service; `conflict` when the webhook has gone meanwhile, or no longer takes the method */
function endpointOf(
  env: CallEnv,
  { endpoint: { package: owner, fluxName, urlPath }, delivery: { method } }: Found,
): Endpoint {
  const flux = env.catalog.find(owner, fluxName)
  if (flux) requireRole(env, flux, 'invoke')
  const ofMethod = (name: string) =>
    flux?.webhooks.find((one) => one.urlPath === urlPath && one.httpMethods.includes(name))
  const webhook = ofMethod(method) ?? (method === 'HEAD' ? ofMethod('GET') : undefined)
  if (!flux || !webhook) throw conflict(`'${fluxName}' has no webhook any more that takes ${method} ${urlPath}`)
  const { timeout, verify } = webhook
  return { package: owner, fluxName, urlPath, timeout, verify }
}

/** The whole request, of the context that it started; null: there is none any more. */
async function ofContext({ store }: CallEnv, { delivery: { isStart, contextId } }: Found): Promise<Sent | null> {
  const stored = isStart && contextId !== null ? await store.load({ id: contextId }) : null
  const record = stored && decodeRecord(stored)
  if (!record?.request) return null
  const body = record.raw?.['body']
  return { request: record.request, rawBody: Buffer.from(typeof body === 'string' ? body : '', 'base64') }
}

/** The request as it was kept. @throws FluxError `conflict` when not all of it was */
async function ofRows({ store }: CallEnv, { partition, delivery }: Found): Promise<Sent> {
  const { deliveryId } = delivery
  const row =
    delivery.request === null
      ? await store.readRow({ partition, space: 'deliveries', key: requestKeyOf(deliveryId) })
      : null
  const kept = delivery.request ?? (row && storedRequestOf(row))
  if (kept === null) throw conflict(`the request of the delivery '${deliveryId}' is not kept any more`)
  if (kept.request[UNREADABLE] === true)
    throw conflict(`the request of the delivery '${deliveryId}' can't be read, so there is nothing to send again`)
  const rawBody = keptBodyOf(kept)
  if (rawBody === null)
    throw conflict(
      `the body of the delivery '${deliveryId}' is longer than what is kept of it, and its context is gone`,
    )
  return { request: kept.request, rawBody }
}

async function send(
  { webhooks, settlementOf, now }: CallEnv,
  { endpoint, replayOf, sent }: { readonly endpoint: Endpoint; readonly replayOf: string; readonly sent: Sent },
): Promise<ReplayAnswer> {
  const { request, rawBody } = sent
  const arrival = webhooks.arrival()
  const call: WebhookCall = {
    endpoint,
    ...arrival,
    ...sent,
    idempotencyKey: null,
    replayOf,
    textsOf: textsOfRequest(request),
    timeout: timeoutOf(request),
    onStarted: () => undefined,
  }
  const result = await webhooks.receive(call).catch((error: unknown) => {
    if (error instanceof FluxError) return error.failure
    throw error
  })
  const settlement = settlementOf(result)
  const { uri } = requestShown(request)
  webhooks.settled({
    ...arrival,
    ...settlement,
    endpoint,
    method: String(request['method']),
    path: String(uri).split('?', 1)[0] ?? '',
    duration: now() - arrival.time,
    replayOf,
    request,
    rawBody,
  })
  return { deliveryId: arrival.deliveryId, status: settlement.status, contextId: settlement.contextId }
}

/** Milliseconds: as at the first time. */
function timeoutOf({ config }: JsonObject): number {
  const seconds = typeof config === 'object' && config !== null && 'timeout' in config ? Number(config['timeout']) : 0
  return seconds * 1000
}
