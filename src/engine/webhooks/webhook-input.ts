// engine/webhooks: the inputs that a request gives a service, by their names.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { setOwn, type JsonObject } from '../../model/json/value.ts'
import type { WebhookCall } from '../../model/webhook.ts'

/** Only declared inputs are set. An array takes all values of its name, any other type the last one. */
export function webhookInputOf({ input }: CompiledFlux, textsOf: WebhookCall['textsOf']): JsonObject {
  const given: JsonObject = {}
  for (const [name, { array }] of input.properties) {
    const texts = textsOf(name)
    const last = texts.at(-1)
    if (last !== undefined) setOwn(given, name, array ? [...texts] : last)
  }
  return given
}
