// testing: calls webhooks without a socket.
import { createWebhookApp } from '../http/app.ts'
import { MAX_PARTS, memoryOf } from '../main/limits.ts'
import type { Log } from '../ports/log.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import { dataOf } from './network.ts'
import type { SimulatedClock } from './simulated-clock.ts'
import type { WebhookAnswer, WebhookRequest } from './types.ts'
import { SETTINGS, type World } from './world.ts'

interface WebhookCallerParts {
  readonly world: Pick<World, 'engine'>
  readonly clock: SimulatedClock
  readonly log: Log
  readonly secrets: ServiceSecrets
}

/** What calls the webhooks of the present engine. */
export const webhookCaller =
  ({ world, clock, log, secrets }: WebhookCallerParts) =>
  async (
    path: string,
    { method = 'POST', headers = {}, body: given, encoded }: WebhookRequest = {},
  ): Promise<WebhookAnswer> => {
    const { requests: inFlight, ...memory } = memoryOf(SETTINGS)
    const { webhooks } = world.engine
    const app = createWebhookApp({
      ...SETTINGS,
      ...memory,
      inFlight,
      maxParts: MAX_PARTS,
      webhooks,
      clock,
      log,
      secrets,
    })
    const body = encoded ? Buffer.from(String(given), 'base64') : given
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const bytes = isRaw ? Buffer.from(body) : body === undefined ? null : JSON.stringify(body)
    const type = isRaw || body === undefined ? {} : { 'content-type': 'application/json' }
    const init = { method, headers: { ...type, ...headers }, body: bytes }
    const response = await app.request(`/api${path}`, init)
    const { status, headers: answered } = response
    const answer = { status, headers: Object.fromEntries(answered), body: dataOf(await response.text(), answered) }
    await clock.idle()
    return answer
  }
