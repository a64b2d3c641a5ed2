// engine/webhooks: callers of webhooks that wait for an answer. Each gets one by the end of its timeout, even if another
// server continued the context and its notification was lost.
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { WorkflowAnswer } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import { decodeHead, decodeRecord } from '../record/decode.ts'
import { hasAnswer } from './webhook-answer.ts'

/** Milliseconds between reads of the stored context, in case the notification of another server was lost. */
const LOOK_EVERY_MS = 1000

/** Milliseconds that the last read may take, so that an unresponsive store does not delay the answer. */
const LAST_LOOK_MS = 200

export interface WebhookWaitsParts {
  readonly store: Pick<Store, 'version' | 'load'>
  readonly clock: Clock
  /** Notifications of other servers that continue contexts; null: there are no other servers. */
  readonly feed: CommitFeed | null
}

/** One waiting caller. */
interface Waiting {
  readonly id: ContextId
  /** Version of the record that was read last. */
  readonly version: number
  readonly answered: Promise<WorkflowAnswer>
  readonly settle: (answer: WorkflowAnswer) => void
  /** Settles with the answer of the record, if it has one. */
  readonly look: (record: ContextRecord) => void
  /** Epoch milliseconds. */
  readonly until: number
}

export class WebhookWaits {
  readonly #parts: WebhookWaitsParts
  /** Functions that end the wait of each caller. */
  readonly #ends = new Set<() => void>()
  /** By context for which a caller waits: reads it from the store. */
  readonly #looks = new Map<ContextId, () => Promise<void>>()

  constructor(parts: WebhookWaitsParts) {
    this.#parts = parts
    parts.feed?.onNotified((id) => {
      const look = this.#looks.get(id)
      if (look) void look().catch(() => undefined)
    })
  }

  /** Resolves with the answer, or after the timeout as `late`. */
  async wait(waiting: Waiting): Promise<WorkflowAnswer> {
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

  /** Ends all waits as if they had timed out. */
  endAll(): void {
    for (const end of this.#ends) end()
  }

  /** Returns a function that reads the stored context if its version has changed since the last read. */
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

  /** The last read before the timeout: another server may have ended the context since the previous read. */
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
