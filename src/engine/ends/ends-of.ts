// engine/ends: the sender of webhooks at the ends of contexts, as an engine has it.
import type { EngineParts } from '../engine-parts.ts'
import type { StoreId } from '../store-id.ts'
import { EndWebhooks } from './end-webhooks.ts'

/** Bytes of memory for webhooks that are being sent, as a share of those for steps. */
const SHARE = 1 / 4

export function endWebhooksOf(given: EngineParts, storeId: StoreId): EndWebhooks {
  const { store, clock, log, secrets, others, memory, webhookSender: sender } = given
  const [beat, bytes] = [others?.beat ?? null, memory.steps * SHARE]
  return new EndWebhooks({ store, clock, log, secrets, sender, storeId, beat, bytes, random: Math.random })
}
