// engine/fanout: gives an event of a broadcast to one context, and reports what became of it. It never fails for all.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventAnswer } from '../../api/events.ts'
import type { Caller } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { BroadcastItems } from './broadcast-items.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { standOf } from '../turn/message.ts'
import { decodeHead } from '../record/decode.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { RefusalLog } from './refusal-log.ts'

export interface BroadcastEvent {
  readonly event: string
  readonly input: JsonObject
  readonly untyped: boolean
  readonly tags: readonly string[]
  readonly caller: Caller
  readonly eventId: string
  /** Key of the row of its receipt; null: it has none. */
  readonly receipt: string | null
  readonly traceparent?: string | undefined
}

/** What an event came to for one receiver; null: nothing, and there is nothing to report. */
export type Found =
  | {
      readonly answer: 'pending'
      readonly kept: EventAnswer['pending'][number]
      /** Epoch milliseconds. */
      readonly at: number
    }
  | {
      readonly answer: 'transitions' | 'executions'
      readonly stand: EventAnswer['transitions'][number]
      /** Epoch milliseconds. */
      readonly at: number
    }
  | {
      readonly answer: 'ignored'
      readonly entry: EventAnswer['ignored'][number]
      readonly failure: Failure | null
      /** The context had ended. */
      readonly hasEnded: boolean
    }
  | null

/** Whether the store could not be reached for it. */
export const isOutOfReach = (one: Found): boolean => one?.answer === 'ignored' && one.failure?.kind === 'unavailable'

export interface ReceiverParts {
  readonly store: Store
  readonly mailboxes: Pick<Mailboxes, 'post' | 'start'>
  readonly log: Log
  readonly refusals: Pick<RefusalLog, 'log'>
  /** What is kept of a broadcast under a key; null: it has none. */
  readonly items: BroadcastItems | null
}

/** Tries again to reach contexts whose mailboxes were full, in about 2.5 seconds, and the pause before the first one. */
const MAX_TRIES = 8
const FIRST_PAUSE_MS = 10

/** It was refused since its mailbox was full, and not read: a context that keeps no more events has its state here. */
const isFull = (one: Found | undefined): boolean =>
  one?.answer === 'ignored' && one.failure?.kind === 'busy' && one.entry.state === null

/**
 * Moves the contexts; in the same order, what the event came to for each. One whose mailbox is full is tried again for a
 * while before it is one that ignored the event.
 */
export async function moveAll(
  parts: ReceiverParts,
  ids: readonly ContextId[],
  sent: BroadcastEvent,
  how?: { readonly byTags: boolean },
): Promise<Found[]> {
  let found = await Promise.all(ids.map((id) => move(parts, id, sent, how)))
  for (let tries = 0; tries < MAX_TRIES && found.some(isFull); tries += 1) {
    await sleep(FIRST_PAUSE_MS * 2 ** tries)
    found = await Promise.all(
      ids.map((id, place) => (isFull(found[place]) ? move(parts, id, sent, how) : (found[place] ?? null))),
    )
  }
  return found
}

/** Moves the context, or has it keep the event. `byTags`: whether its tags must fit. */
async function move(
  { store, mailboxes, log, refusals, items }: ReceiverParts,
  id: ContextId,
  { event, input, untyped, tags: sentTags, caller, eventId, receipt, traceparent }: BroadcastEvent,
  { byTags }: { readonly byTags: boolean } = { byTags: true },
): Promise<Found> {
  try {
    const arrival = { tags: sentTags, receipt, keep: null }
    const tags = byTags ? sentTags : null
    const sent = { name: event, eventId, input, untyped, tags, caller, arrival, traceparent }
    const message = { type: 'EVENT', ...sent } as const
    const outcome = await mailboxes.post(id, message, { rows: items?.moved })
    const { updatedAt: at } = outcome.record
    if (outcome.kept) return { answer: 'pending', kept: { contextId: id, expiresAt: outcome.kept.expiresAt }, at }
    if (outcome.moved) return { answer: 'transitions', stand: standOf(outcome), at }
    if (!outcome.failure) return null
    const {
      failure,
      record: { status },
      flux: { fluxName },
    } = outcome
    const { contextId, state } = standOf(outcome)
    const entry = { contextId, fluxName, state, reason: failure.detail }
    return { answer: 'ignored', entry, failure, hasEnded: isFinished(status) }
  } catch (error) {
    const done = items?.doneBefore(error)
    if (done) return done.item
    // The context was purged after it was found.
    if (error instanceof FluxError && error.failure.kind === 'notFound') return null
    if (isUnreadable(error, log)) return null
    const fluxName = error instanceof FluxError && error.failure.kind === 'busy' ? await nameOf(store, id) : ''
    return ignored(refusals, { contextId: id, fluxName, state: null }, error)
  }
}

/** Of a context that was not read, since its mailbox is full; empty if it can't be. */
async function nameOf(store: Store, id: ContextId): Promise<string> {
  try {
    const stored = await store.load({ id })
    return stored ? decodeHead(stored).fluxName : ''
  } catch (error) {
    if (error instanceof FluxError) return ''
    throw error
  }
}

/** What goes wrong with one is no reason to fail for all: others may have moved already. */
export function ignored(
  refusals: ReceiverParts['refusals'],
  entry: Omit<EventAnswer['ignored'][number], 'reason'>,
  error: unknown,
): Found {
  const failure = error instanceof FluxError ? error.failure : null
  if (!failure || failure.kind === 'unavailable') {
    void refusals.log(
      'an event did not reach all that it addressed',
      failure?.kind ?? 'internal',
      () => ({ ...entry, error }),
      'error',
    )
  }
  return {
    answer: 'ignored',
    entry: { ...entry, reason: failure?.detail ?? 'the server failed; the reason is in its log' },
    failure,
    hasEnded: false,
  }
}
