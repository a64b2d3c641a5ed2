// testing: calls webhooks without a socket.
import { dataOf } from './network.ts'
import type { SimulatedClock } from './simulated-clock.ts'
import type { WebhookAnswer, WebhookRequest } from './types.ts'
import type { World } from './world.ts'

/** What calls the webhooks of the present engine. */
export const webhookCaller =
  ({ present }: World, clock: SimulatedClock) =>
  async (
    path: string,
    { method = 'POST', headers = {}, body: given, encoded }: WebhookRequest = {},
  ): Promise<WebhookAnswer> => {
    const body = encoded ? Buffer.from(String(given), 'base64') : given
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const bytes = isRaw ? Buffer.from(body) : body === undefined ? null : JSON.stringify(body)
    const type = isRaw || body === undefined ? {} : { 'content-type': 'application/json' }
    const init = { method, headers: { ...type, ...headers }, body: bytes }
    const response = await present().webhookApp().request(`/api${path}`, init)
    const { status, headers: answered } = response
    const answer = { status, headers: Object.fromEntries(answered), body: dataOf(await response.text(), answered) }
    await clock.idle()
    return answer
  }
