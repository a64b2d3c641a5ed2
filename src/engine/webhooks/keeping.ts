// engine/webhooks: what the effect of a webhook must write in its commit, so that repeats find its answer.
import { SEND_EVENT, type EventAnswer } from '../../api/send-event.ts'
import { isReplayed } from '../../api/replayed.ts'
import type { ContextId } from '../../model/context.ts'
import { conflict } from '../../model/failure.ts'
import type { AnswerRow, ContextRecord } from '../../model/record.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { WebhookAnswer, WorkflowAnswer } from '../../model/webhook.ts'
import type { Store } from '../../ports/store.ts'
import type { KeyTry } from '../idempotency/key-try.ts'
import { findKept } from '../idempotency/kept-row.ts'
import type { KeptEvent } from '../idempotency/broadcast-rows.ts'
import type { KeptBroadcasts, Manner } from '../idempotency/kept-broadcasts.ts'
import type { SendOptions } from '../calls/send-event.ts'
import { RowTaken, type Preparation, type RowsOf } from '../message.ts'
import type { StartOptions } from '../starts.ts'
import { sentTo } from './kept-webhooks.ts'
import { acceptedAs, answerOf } from './webhook-answer.ts'

/** What a request came to when it was committed, or refused without an error. */
export interface Committed {
  /** Of the context that was started; null: none was. */
  readonly contextId: ContextId | null
  readonly answer: WebhookAnswer | Promise<WorkflowAnswer>
  /** The answer is that to an earlier request. */
  readonly replayed?: boolean
}

/** One key of a request, and the try to be the first under it. */
export interface TriedKey extends AnswerRow {
  readonly tried: KeyTry
}

/** A request that may be repeated, under one key or two. */
export class WebhookKeeping {
  /** In which the effect costs the fewest commits. */
  readonly partition: number
  /** What comes before the commit of the effect; undefined: nothing. */
  readonly first: Preparation | undefined
  readonly #keys: readonly TriedKey[]

  constructor(keys: readonly [TriedKey, ...TriedKey[]]) {
    const [{ tried }] = keys
    this.#keys = keys
    this.partition = tried.partition
    this.first = tried.first && inOrder(keys.flatMap((key) => key.tried.first ?? []))
  }

  /** The rows of the keys, for the commit of that context. */
  rowsOf(answer: WebhookAnswer, id: ContextId): RowWrite[] {
    return this.#keys.map(({ tried }) => tried.rowOf(answer, id))
  }

  /** Those that the context writes again when it has its answer. */
  get answerRows(): readonly AnswerRow[] {
    return this.#keys.map(({ key, hash, keepMs }) => ({ key, hash, keepMs }))
  }

  /**
   * Sends an event to all, once: under the first key, whose row has the answer of the broadcast. The row of the other
   * key is written after it. @throws FluxError as `KeptBroadcasts.once`; RowTaken
   */
  async broadcast(
    { store, keptBroadcasts }: { readonly store: Store; readonly keptBroadcasts: KeptBroadcasts },
    event: KeptEvent,
    manner: Manner,
  ): Promise<EventAnswer> {
    const [under, ...others] = this.#keys
    if (under === undefined) throw new Error('there is a key')
    const { key, hash, keepMs: kept } = under
    for (const other of others) await this.#requireUnused(store, under, other)
    const broadcastKey = { key, hash, kept, isForAny: hash === '', of: SENT_TO_ALL }
    const sent = await keptBroadcasts.onceUnder(broadcastKey, event, manner)
    for (const other of others) {
      try {
        await writeAfter(store, other, sentTo(sent))
      } catch (error) {
        // A crash may have come in between, so a repeat writes it, too.
        if (!(error instanceof RowTaken) || !isReplayed(sent)) throw error
      }
    }
    return sent
  }

  /** What is refused because of its other key must move nobody. @throws RowTaken */
  async #requireUnused(store: Store, under: TriedKey, { key }: TriedKey): Promise<void> {
    const there = await findKept(store, key)
    // A repeat by the first key is carried on, or answered, whatever became of the other.
    if (there === null || (await findKept(store, under.key)) !== null) return
    throw new RowTaken({ space: 'idempotency', key, value: there.value })
  }
}

const SENT_TO_ALL = {
  answer: {
    /** @throws FluxError for the answer of a webhook that was no broadcast, which is then looked up as such */
    parse(data: unknown) {
      if (typeof data === 'object' && data !== null && 'kind' in data) throw conflict('the request was answered before')
      return SEND_EVENT.answer.parse(data)
    },
  },
}

const inOrder = ([one, other]: readonly Preparation[]): Preparation | undefined =>
  one === undefined || other === undefined
    ? one
    : {
        before(partition) {
          const done = one.before(partition)
          return done === null ? other.before(partition) : done.then(() => other.before(partition) ?? undefined)
        },
        tryAgain: (error) => one.tryAgain(error) || other.tryAgain(error),
      }

/** @throws RowTaken */
async function writeAfter(store: Store, { key, tried }: TriedKey, answer: WebhookAnswer): Promise<void> {
  const at = partitionOf(key, store.partitions)
  for (;;) {
    await tried.first?.before(at)
    const outcome = await store.commit({ writes: [], rows: [tried.rowOf(answer, at)] })
    if (!('row' in outcome)) return
    const taken = new RowTaken(outcome.row)
    if (tried.first?.tryAgain(taken) !== true) throw taken
  }
}

/** How a context is started under the keys of its request; null: it has none. `accepted`: that is the answer. */
export function startUnder(
  keeping: WebhookKeeping | null,
  isAccepted = false,
): {
  readonly answerRows: ContextRecord['answerRows']
  readonly options: Pick<StartOptions, 'partition' | 'rows' | 'first'>
} {
  if (keeping === null) return NO_KEYS
  const { partition, first } = keeping
  const rows: RowsOf = (_, record, flux) => {
    const { id: contextId } = record
    const answer = isAccepted ? acceptedAs(record) : (answerOf(record, flux) ?? { kind: 'running', contextId })
    return keeping.rowsOf(answer, contextId)
  }
  return { answerRows: isAccepted ? undefined : keeping.answerRows, options: { partition, rows, first } }
}

const NO_KEYS = { answerRows: undefined, options: {} }

/** How an event is sent under the keys of its request; null: it has none. */
export function sendUnder(keeping: WebhookKeeping | null): Pick<SendOptions, 'toOne' | 'toAll'> {
  if (keeping === null) return {}
  return {
    toOne: (eventId) => ({
      rows: (_, { id }) => keeping.rowsOf({ kind: 'sent', eventId, contextIds: [id] }, id),
      first: keeping.first,
    }),
    toAll: (env, event, manner) => keeping.broadcast(env, event, manner),
  }
}
