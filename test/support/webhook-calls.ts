// Requests to webhooks as the HTTP layer hands them to the engine.
import type { WebhookCall, WebhookReply } from '../../src/model/webhook.ts'
import { isObject, type Json } from '../../src/model/json/value.ts'
import type { Bench } from './engine.ts'

export interface Delivered {
  readonly path: string
  readonly body?: Json
  readonly method?: string
  /** Behind the path. */
  readonly query?: string
  readonly idempotencyKey?: string
  readonly replayOf?: string
  /** Milliseconds. */
  readonly timeout?: number
}

let delivered = 0

/** @throws FluxError as `WebhookApi.receive` */
export function deliver(
  { engine: { webhooks }, clock }: Pick<Bench, 'engine' | 'clock'>,
  { path, body = null, method = 'POST', query = '', timeout = 60_000, ...given }: Delivered,
): Promise<WebhookReply> {
  const found = webhooks.find(method, path.split('/').slice(1))
  if (!found || !('endpoint' in found)) throw new Error(`there is no webhook ${method} ${path}`)
  const text = JSON.stringify(body)
  const parameters = Object.fromEntries(
    Object.entries(isObject(body) ? body : {}).map(([name, value]) => [name, String(value)]),
  )
  const call: WebhookCall = {
    endpoint: found.endpoint,
    deliveryId: `d${(delivered += 1)}`,
    time: clock.now(),
    idempotencyKey: given.idempotencyKey ?? null,
    replayOf: given.replayOf ?? null,
    request: { method, uri: `/api${path}${query}`, headers: [], cookies: [], parameters, body },
    rawBody: Buffer.from(text),
    timeout,
    onStarted() {},
  }
  return webhooks.receive(call)
}
