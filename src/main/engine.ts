// main: creates an engine on the store that the settings name.
import { createEngine, type Engine, type EngineParts } from '../engine/engine.ts'
import { settlementOf } from '../http/webhooks/settlement.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { MoveFeed } from '../ports/move-feed.ts'
import type { NotesPlace } from '../ports/step-watch.ts'
import type { Settings } from '../settings.ts'
import { openTraces } from '../observe/traces.ts'
import { createDispatcher } from '../steps/dispatcher.ts'
import { Slots } from '../steps/slots.ts'
import { webhookSender } from '../steps/webhook-sender.ts'
import { openStorage } from './storage.ts'

export interface OpenedEngine {
  readonly engine: Engine
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
  readonly notes: NotesPlace
  /** What is committed, for those who watch. */
  readonly moves: MoveFeed
}

/**
 * Opens the store and creates an engine on it, which is not started yet. If the store cannot be opened, the runner is
 * closed.
 * @throws Error when the data folder is in use, or Redis cannot be used
 */
export async function openEngine(
  settings: Settings,
  given: Pick<EngineParts, 'catalog' | 'runner' | 'clock' | 'log' | 'memory' | 'onOwner' | 'signals'> & {
    readonly secrets: ServiceSecrets
  },
): Promise<OpenedEngine> {
  const { retention, idempotency: kept, maxIdempotency: max, maxTags, maxTagBytes } = settings
  const { storage, parts } = await openStorage(settings, given).catch((error: unknown) => {
    given.runner.close()
    throw error
  })
  const bounds = {
    commits: settings.maxCommits,
    broadcasts: settings.maxBroadcasts,
    waits: settings.maxWaits,
    pending: settings.maxPending,
    answeredBroadcast: settings.broadcastAsync,
  }
  const tagLimits = { count: maxTags, bytes: maxTagBytes }
  const dispatcher = createDispatcher({ runner: given.runner, clock: parts.clock, secrets: given.secrets })
  const slots = new Slots({ code: settings.stepConcurrency, isolated: settings.isolated })
  const engine = createEngine({
    ...given,
    ...parts,
    retention,
    idempotency: { kept, max, keptOfWebhooks: settings.webhookIdempotency },
    dispatcher,
    webhookSender: webhookSender({ allowPrivate: settings.allowPrivate }),
    traces: openTraces(),
    slots,
    tagLimits,
    bounds,
    webhooks: { deliveries: settings.deliveries, settlementOf },
  })
  return { engine, storage, notes: parts.store.notes, moves: parts.moves }
}
