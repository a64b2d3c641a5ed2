// engine/calls: callers of webhooks that wait for an answer. Each gets one by the end of its timeout, also when another
// server has carried the context on and its notification was lost.
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { WebhookAnswer } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import { decodeHead, decodeRecord } from '../record/decode.ts'
import { hasAnswer } from './webhook-answer.ts'

/** Milliseconds between looks at the stored context, in case the notification of another server was lost. */
const LOOK_EVERY_MS = 1000

/** Milliseconds that the last look may take, so that a store that does not answer does not keep the caller waiting. */
const LAST_LOOK_MS = 200

export interface WebhookWaitsParts {
  readonly store: Pick<Store, 'version' | 'load'>
  readonly clock: Clock
  /** Notifications of other servers that carry contexts on; null: there are none. */
  readonly feed: CommitFeed | null
}

/** One caller. */
interface Waiting {
  readonly id: ContextId
  /** Of the record that was looked at last. */
  readonly version: number
  readonly answered: Promise<WebhookAnswer>
  readonly settle: (answer: WebhookAnswer) => void
  /** Settles with the answer of that record, if it has one. */
  readonly look: (record: ContextRecord) => void
  /** Epoch milliseconds. */
  readonly until: number
}

export class WebhookWaits {
  readonly #parts: WebhookWaitsParts
  /** Ends the wait of each caller. */
  readonly #ends = new Set<() => void>()
  /** Looks at the stored context, for which a caller waits. */
  readonly #looks = new Map<ContextId, () => Promise<void>>()

  constructor(parts: WebhookWaitsParts) {
    this.#parts = parts
    parts.feed?.onNotified((id) => {
      const look = this.#looks.get(id)
      if (look) void look().catch(() => undefined)
    })
  }

  /** Resolves with the answer, or after the timeout as `late`. */
  async wait(waiting: Waiting): Promise<WebhookAnswer> {
    const { clock, feed } = this.#parts
    const { id, answered, settle, until } = waiting
    const look = this.#lookFor(waiting)
    if (feed) this.#looks.set(id, look)
    const stopLooking = feed ? repeat(clock, LOOK_EVERY_MS, look) : () => undefined
    const late = () => settle({ kind: 'late', contextId: id })
    const end = feed ? () => this.#lookOnceMore(look, late) : late
    this.#ends.add(end)
    const cancelTimeout = clock.after(Math.max(0, until - clock.now()), end)
    try {
      return await answered
    } finally {
      this.#ends.delete(end)
      cancelTimeout()
      stopLooking()
      this.#looks.delete(id)
    }
  }

  /** Ends all waits, as their timeouts would. */
  endAll(): void {
    for (const end of this.#ends) end()
  }

  /** Looks at the stored context, if it has changed since the last look. */
  #lookFor({ id, version, look }: Waiting): () => Promise<void> {
    const { store } = this.#parts
    let seen = version
    return async () => {
      const found = await store.version({ id })
      const stored = found === seen ? null : await store.load({ id })
      seen = found ?? seen
      if (stored && hasAnswer(decodeHead(stored))) look(decodeRecord(stored))
    }
  }

  /** Another server may have ended the context since the last look. */
  #lookOnceMore(look: () => Promise<void>, late: () => void): void {
    this.#parts.clock.after(LAST_LOOK_MS, late)
    void look()
      .catch(() => undefined)
      .finally(late)
  }
}

/** Calls `look` after every pause, whether it fails or not, until the function that it returns is called. */
function repeat(clock: Clock, pause: number, look: () => Promise<void>): () => void {
  let ended = false
  const next = (): (() => void) =>
    clock.after(
      pause,
      () =>
        void look()
          .catch(() => undefined)
          .finally(() => {
            if (!ended) cancel = next()
          }),
    )
  let cancel = next()
  return () => {
    ended = true
    cancel()
  }
}
