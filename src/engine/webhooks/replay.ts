// engine/webhooks: `replayDelivery` sends a delivery again: past verification and deduplication, and not past `when`.
// The request is that of the record of the context that it started, else the one that was kept, without its secrets.
import type { AnswerTo, CheckedCall } from '../../api/calls.ts'
import { webhookOf } from '../../definitions/endpoints.ts'
import type { BudgetShare } from '../../model/byte-budget.ts'
import { conflict, FluxError, notFound } from '../../model/failure.ts'
import { isObject } from '../../model/json/value.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { UNREADABLE, type Endpoint, type WebhookCall } from '../../model/webhook.ts'
import { weightOf } from '../contexts/context-loader.ts'
import { deliveryKeyOf, requestKeyOf, storedDeliveryOf, storedRequestOf } from '../deliveries/deliveries.ts'
import { keptBodyOf } from '../deliveries/delivery-request.ts'
import { decodeRecord } from '../record/decode.ts'
import { redactRequest } from '../redact/redactor.ts'
import { requireRole, type CallEnv } from '../calls/call-env.ts'
import { visibleEndpoints } from '../calls/list-deliveries.ts'
import { webhooks } from './webhooks.ts'

const DELIVERY_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

type Found = Awaited<ReturnType<typeof find>>

/** See `FluxApi`. What is sent again is charged to the memory for requests until it is answered. */
export async function replayDelivery(
  env: CallEnv,
  { deliveryId }: CheckedCall<'replayDelivery'>,
): Promise<AnswerTo<'replayDelivery'>> {
  env.replays.take()
  const share = env.memory.requests.hold()
  try {
    await env.deliveries.flush()
    const found = await find(env, deliveryId)
    const endpoint = endpointOf(env, found)
    if (found.delivery.outcome === 'handshake')
      throw conflict(`the delivery '${deliveryId}' was a test of the endpoint, which starts nothing`)
    return await send(env, endpoint, deliveryId, await requestOf(env, found, share))
  } finally {
    share.release()
    env.replays.release()
  }
}

/** @throws FluxError `notFound`; `conflict` when it was refused before its request was read */
async function find(env: CallEnv, deliveryId: string) {
  const { store, catalog, deliveries } = env
  const unknown = notFound(`there is no delivery '${deliveryId}'`)
  if (!DELIVERY_ID.test(deliveryId)) throw unknown
  for (const endpoint of catalog.endpoints().all) {
    const key = deliveryKeyOf(deliveries.tallyOf(endpoint).prefix, deliveryId)
    const reads = Array.from({ length: store.partitions }, (_, partition) =>
      store.readRow({ partition, space: 'deliveries', key }),
    )
    for (const row of await Promise.all(reads))
      if (row) return { endpoint, partition: row.partition, delivery: storedDeliveryOf(row.value) }
  }
  const refused = visibleEndpoints(env).flatMap((endpoint) => deliveries.tallyOf(endpoint).refused)
  if (!refused.some((one) => one.deliveryId === deliveryId)) throw unknown
  throw conflict(`the delivery '${deliveryId}' was refused before its request was read, which is not kept`)
}

/**
 * @throws FluxError when the caller may not reach the service; `conflict` when the webhook has gone meanwhile, or no
 * longer takes the method
 */
function endpointOf(env: CallEnv, { endpoint: { package: owner, fluxName, urlPath }, delivery: { method } }: Found) {
  const flux = env.catalog.find(owner, fluxName)
  if (flux) requireRole(env, flux, 'invoke')
  const webhook = flux && webhookOf(flux, urlPath, method)
  if (!webhook) throw conflict(`'${fluxName}' has no webhook any more that takes ${method} ${urlPath}`)
  const { timeout, verify } = webhook
  // A request that passed `verify` acts as the service does, and the caller of a replay has proved nothing.
  requireRole(env, { secured: verify !== null }, 'invoke')
  return { package: owner, fluxName, urlPath, timeout, verify }
}

/** The parts of a context that are parsed to send its request again. */
const PARTS_SENT = ['base', 'head', 'request', 'raw']

/**
 * The whole request, of the context that it started; else as it was kept.
 * @throws FluxError `conflict` when not all of it was kept; `overloaded`
 */
async function requestOf({ store }: CallEnv, { partition, delivery }: Found, share: BudgetShare) {
  const { deliveryId, isStart, contextId } = delivery
  const stored = isStart && contextId !== null ? await store.load({ id: contextId }) : null
  if (stored) {
    share.resize(weightOf(stored.parts, PARTS_SENT))
    await breathe(charactersOf(stored.parts, PARTS_SENT))
    const { request, raw } = decodeRecord(stored, PARTS_SENT)
    if (request) return { request, rawBody: Buffer.from(String(raw?.['body'] ?? ''), 'base64') }
  }
  const place = { partition, space: 'deliveries', key: requestKeyOf(deliveryId) } as const
  const row = delivery.request === null ? await store.readRow(place) : null
  if (row) share.resize(parsedBytes(row.value))
  await breathe(row?.value.length ?? 0)
  const kept = delivery.request ?? (row && storedRequestOf(row))
  if (kept === null) throw conflict(`the request of the delivery '${deliveryId}' is not kept any more`)
  const { request } = kept
  if (request[UNREADABLE] === true)
    throw conflict(`the request of the delivery '${deliveryId}' can't be read, so there is nothing to send again`)
  const rawBody = keptBodyOf(kept)
  if (rawBody) return { request, rawBody }
  throw conflict(`the body of the delivery '${deliveryId}' is longer than what is kept of it, and its context is gone`)
}

async function send(
  env: CallEnv,
  endpoint: Endpoint,
  replayOf: string,
  sent: Pick<WebhookCall, 'request' | 'rawBody'>,
) {
  const api = webhooks(env)
  const { request } = sent
  const { config, method } = request
  const delivery = { ...api.arrival(), ...sent, endpoint, replayOf }
  // As at the first time.
  const timeout = isObject(config) ? Number(config['timeout']) * 1000 : 0
  const call = { ...delivery, idempotencyKey: null, timeout, onStarted() {} }
  const result = await api.receive(call).catch((error: unknown) => {
    if (error instanceof FluxError) return error.failure
    throw error
  })
  const settlement = env.webhooks.settlementOf(result)
  const [path = ''] = String(redactRequest(request).shown['uri']).split('?', 1)
  const duration = env.clock.now() - delivery.time
  api.settled({ ...delivery, ...settlement, method: String(method), path, duration })
  return { deliveryId: delivery.deliveryId, status: settlement.status, contextId: settlement.contextId }
}
