// engine/calls: `replayDelivery` sends a delivery again: past verification and deduplication, and not past `when`. The
// request is that of the record of the context that it started, else the one that was kept, without its secrets.
import type { CheckedCall } from '../../api/calls.ts'
import type { ReplayAnswer } from '../../api/webhooks.ts'
import type { BudgetShare } from '../../model/byte-budget.ts'
import { denial } from '../../model/caller.ts'
import { conflict, FluxError, notFound } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { UNREADABLE, type Endpoint, type WebhookCall, type WebhookReply } from '../../model/webhook.ts'
import { weightOf } from '../contexts/context-loader.ts'
import { decodeRecord } from '../record/decode.ts'
import { redactRequest } from '../redact/redactor.ts'
import { keptBodyOf, textsOfRequest } from '../deliveries/delivery-request.ts'
import {
  deliveryKeyOf,
  requestKeyOf,
  storedDeliveryOf,
  storedRequestOf,
  type EndpointName,
  type StoredDelivery,
} from '../deliveries/delivery-rows.ts'
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

/** What is sent again, until a context has it; the share is charged with the memory that it takes. */
interface Held {
  sent: Sent | null
  readonly share: BudgetShare
}

/** See `FluxApi`. */
export async function replayDelivery(
  env: CallEnv,
  { deliveryId }: CheckedCall<'replayDelivery'>,
): Promise<ReplayAnswer> {
  env.replays.take()
  const held: Held = { sent: null, share: env.requests.hold() }
  try {
    await env.deliveries.flush()
    const found = await find(env, deliveryId)
    const endpoint = endpointOf(env, found)
    if (found.delivery.outcome === 'handshake')
      throw conflict(`the delivery '${deliveryId}' was a test of the endpoint, which starts nothing`)
    held.sent = (await ofContext(env, found, held.share)) ?? (await ofRows(env, found, held.share))
    return await send(env, { endpoint, replayOf: deliveryId, held })
  } finally {
    held.share.release()
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
    if (isVisible(env, endpoint) && deliveries.tallyOf(endpoint).refused.some((one) => one.deliveryId === deliveryId))
      throw conflict(`the delivery '${deliveryId}' was refused before its request was read, which is not kept`)
  throw unknown()
}

/**
 * @throws FluxError when the caller may not reach the service; `conflict` when the webhook has gone meanwhile, or no longer
 * takes the method
 */
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
  // A request that passed `verify` acts as the service does, and the caller of a replay has proved nothing.
  const failure = verify === null ? null : denial(env.caller, 'invoke')
  if (failure) throw new FluxError(failure)
  return { package: owner, fluxName, urlPath, timeout, verify }
}

/** The whole request, of the context that it started; null: there is none any more. @throws FluxError `overloaded` */
async function ofContext(
  { store }: CallEnv,
  { delivery: { isStart, contextId } }: Found,
  share: BudgetShare,
): Promise<Sent | null> {
  const stored = isStart && contextId !== null ? await store.load({ id: contextId }) : null
  if (!stored) return null
  share.resize(weightOf(stored.parts, PARTS_SENT))
  await breathe(charactersOf(stored.parts, PARTS_SENT))
  const record = decodeRecord(stored, PARTS_SENT)
  if (!record.request) return null
  const body = record.raw?.['body']
  return { request: record.request, rawBody: Buffer.from(typeof body === 'string' ? body : '', 'base64') }
}

/** Of a context, what is parsed to send its request again. */
const PARTS_SENT = ['base', 'head', 'request', 'raw']

/** The request as it was kept. @throws FluxError `conflict` when not all of it was; `overloaded` */
async function ofRows({ store }: CallEnv, { partition, delivery }: Found, share: BudgetShare): Promise<Sent> {
  const { deliveryId } = delivery
  const row =
    delivery.request === null
      ? await store.readRow({ partition, space: 'deliveries', key: requestKeyOf(deliveryId) })
      : null
  if (row) share.resize(parsedBytes(row.value))
  await breathe(row?.value.length ?? 0)
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
  env: CallEnv,
  { endpoint, replayOf, held }: { readonly endpoint: Endpoint; readonly replayOf: string; readonly held: Held },
): Promise<ReplayAnswer> {
  const { webhooks, settlementOf, now } = env
  const arrival = webhooks.arrival()
  const shown = shownOf(held)
  const result = await receive(env, held, { ...arrival, endpoint, replayOf }).catch((error: unknown) => {
    if (error instanceof FluxError) return error.failure
    throw error
  })
  const settlement = settlementOf(result)
  const { request, rawBody } = held.sent ?? NOTHING_HELD
  const duration = now() - arrival.time
  webhooks.settled({ ...arrival, ...settlement, ...shown, endpoint, duration, replayOf, request, rawBody })
  return { deliveryId: arrival.deliveryId, status: settlement.status, contextId: settlement.contextId }
}

const NOTHING_HELD = { request: null, rawBody: null }

/** Not an async function, which would keep the request in memory while it waits. */
function receive(
  { webhooks }: CallEnv,
  held: Held,
  given: Pick<WebhookCall, 'endpoint' | 'deliveryId' | 'time' | 'replayOf'>,
): Promise<WebhookReply> {
  const { request, rawBody } = sentOf(held)
  return webhooks.receive({
    ...given,
    request,
    rawBody,
    idempotencyKey: null,
    textsOf: textsOfRequest(request),
    timeout: timeoutOf(request),
    onStarted() {
      held.sent = null
      held.share.release()
    },
  })
}

function shownOf(held: Held): { readonly method: string; readonly path: string } {
  const { request } = sentOf(held)
  const { uri } = redactRequest(request).shown
  return { method: String(request['method']), path: String(uri).split('?', 1)[0] ?? '' }
}

function sentOf({ sent }: Held): Sent {
  if (sent === null) throw new Error('the request is no longer held')
  return sent
}

/** Milliseconds: as at the first time. */
function timeoutOf({ config }: JsonObject): number {
  const seconds = typeof config === 'object' && config !== null && 'timeout' in config ? Number(config['timeout']) : 0
  return seconds * 1000
}
