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

/** What calls the webhooks of the present engine. Gives null while the caller waits for an answer. */
export const webhookCaller =
  ({ world, clock, log, secrets }: WebhookCallerParts) =>
  async (
    path: string,
    { method = 'POST', headers = {}, body: given, encoded }: WebhookRequest = {},
  ): Promise<WebhookAnswer | null> => {
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
    const answering = Promise.resolve(app.request(`/api${path}`, init)).then(readAnswer)
    const none = clock.idle().then(() => null)
    // An answer that is there at the present time comes first.
    const answer = await Promise.race([answering, none])
    await clock.idle()
    return answer
  }

async function readAnswer(response: Response): Promise<WebhookAnswer> {
  const { status, headers } = response
  return { status, headers: Object.fromEntries(headers), body: dataOf(await response.text(), headers) }
}
