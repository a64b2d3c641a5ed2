// engine/contexts: what it is made of that comes from outside: the ports, and the limits of the settings.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Slots } from '../../model/slots.ts'
import type { TagLimits } from '../../model/tags.ts'
import type { SettlementOf } from '../../model/webhook.ts'
import type { AlarmClock, Clock } from '../../ports/clock.ts'
import type { CommitFeed, MoveFeed } from '../../ports/feeds.ts'
import type { Log } from '../../ports/log.ts'
import type { ServiceSecrets } from '../../ports/secrets.ts'
import type { Signals, Traces } from '../../ports/signals.ts'
import type { StepRunner, WebhookSender } from '../../ports/steps.ts'
import type { Store } from '../../ports/store.ts'
import type { MemoryLimits } from './context-loader.ts'

/** What nearly every part of the engine uses. */
export interface Deps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
}

export interface EngineParts extends Deps {
  readonly catalog: Catalog
  readonly runner: StepRunner
  /** Hidden in what steps return or throw, and what signs webhooks; absent: there are none. */
  readonly secrets?: ServiceSecrets | undefined
  /** Sends the webhooks of contexts that have ended. */
  readonly webhookSender: WebhookSender
  /** How many steps run here at once. */
  readonly slots: Slots
  readonly alarm: AlarmClock
  /** Counts and measures what the engine does; left out: there are no metrics. */
  readonly signals?: Signals | undefined
  /** Left out, or null: turns are not traced. */
  readonly traces?: Traces | null | undefined
  /** Milliseconds for which finished contexts stay readable. Infinity: nothing is deleted. */
  readonly retention: number
  /** Answers to calls under a key: the milliseconds for which they are kept, those to webhooks apart, and how many. */
  readonly idempotency: { readonly kept: number; readonly max: number; readonly keptOfWebhooks: number }
  /** What is drawn by chance, at least 0 and below 1, and UUIDs, also those of events; left out: those of Node. */
  readonly random?: (() => number) | undefined
  readonly uuid?: (() => string) | undefined
  /** Null: no other server can be there. */
  readonly others: {
    /** Milliseconds between heartbeats. */
    readonly beat: number
    readonly feed: CommitFeed
  } | null
  /** Receives commits while it has readers; left out: there is no stream of moves. */
  readonly moves?: MoveFeed | undefined
  readonly tagLimits: TagLimits
  readonly memory: MemoryLimits
  /** How many of each there may be at once; calls beyond are refused. */
  readonly bounds: {
    readonly commits: number
    readonly broadcasts: number
    readonly waits: number
    /** Unclaimed events. */
    readonly pending: number
    /**
     * Contexts of an event for all over HTTP that is answered when it was sent to all; one for more is accepted first.
     */
    readonly answeredBroadcast: number
  }
  /** How many deliveries are kept of each endpoint; what HTTP makes of a reply, also without an HTTP server. */
  readonly webhooks: { readonly deliveries: number; readonly settlementOf: SettlementOf }
  /** Called with the boot id of this server, and again when it gets another. */
  readonly onOwner?: ((owner: string) => void) | undefined
}

const nothing = (): void => {}

/** Where no signals are asked for. */
export const NO_SIGNALS: Signals = {
  event: nothing,
  moves: nothing,
  step: nothing,
  stepBegan: nothing,
  stepEnded: nothing,
  commit: nothing,
  conflict: nothing,
  lateness: nothing,
  depth: nothing,
  delivery: nothing,
}
