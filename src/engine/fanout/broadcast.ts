// engine/fanout: sends an event to all contexts that wait for it. Each is moved at most once, and only then are
// executions started, so that no execution receives the event that started it.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import { keysOfEarly, keysOfEvent } from '../record/index-keys.ts'
import { BroadcastTally } from './outcomes.ts'
import { hiddenFrom } from '../record/hidden.ts'
import { startTriggered, moveAll, type ReceiverParts } from './receivers.ts'
import type { BroadcastEvent } from './broadcast-rows.ts'

/** Contexts that are sent the event at the same time. */
const MAX_WAVE_CONTEXTS = 1000

export interface BroadcastParts extends Omit<ReceiverParts, 'items'> {
  readonly catalog: Pick<Catalog, 'triggeredBy' | 'all'>
  /** Of large broadcasts; null: it isn't refused. */
  readonly bound: CountBound | null
}

/** The contexts that wait for an event. */
export interface Receivers {
  /** None of them has a higher id. */
  readonly upTo: ContextId
  /** Ascending. */
  readonly ids: readonly ContextId[]
}

/** What becomes of broadcasts that aren't answered when they are done. */
export interface Accepting {
  /** Contexts up to which it is. */
  readonly above: number
  readonly accept: (receivers: Receivers, place: BroadcastPlace) => Promise<Told<EventAnswer>>
}

/**
 * @throws FluxError `unavailable` when the store was unavailable and the event moved and started nothing; `overloaded`
 * when it addresses many contexts, and too many such broadcasts are in progress
 */
export async function broadcast(
  parts: BroadcastParts,
  sent: BroadcastEvent,
  accepting: Accepting | null = null,
): Promise<Told<EventAnswer>> {
  const { store, catalog, refusals } = parts
  const place = new BroadcastPlace(parts.bound)
  try {
    const upTo = await store.highestId()
    const ids = await findReceivers(parts, sent, { upTo, place })
    if (accepting && ids.length > accepting.above) return await accepting.accept({ upTo, ids }, place)
    const receivers = { ...parts, items: null }
    const tally = new BroadcastTally({ whole: true })
    for (const wave of wavesOf(ids, MAX_WAVE_CONTEXTS)) {
      tally.add(await moveAll(receivers, wave, sent))
      // A wave in which nothing is written does not yield to the event loop. Other work is served before the next wave.
      if (wave.at(-1) !== ids.at(-1)) await yieldTurn()
    }
    const { hasMoved } = tally
    const of = (id: ContextId) => (tally.has(id) ? 'counted' : null)
    tally.add(await startTriggered(receivers, catalog.triggeredBy(sent.event), sent, { hasMoved, of }))
    return { answer: answerToAll(tally, sent, refusals) }
  } finally {
    place.release()
  }
}

export function* wavesOf(ids: readonly ContextId[], size: number): Generator<readonly ContextId[]> {
  for (let from = 0; from < ids.length; from += size) yield ids.slice(from, from + size)
}

export const yieldTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** The answer to an event that was sent to all. @throws FluxError when nobody could be reached */
function answerToAll(tally: BroadcastTally, sent: BroadcastEvent, refusals: BroadcastParts['refusals']): EventAnswer {
  tally.logRefusals(refusals, sent.event)
  const { failure } = tally
  if (failure) throw new FluxError(failure)
  return tally.answer(sent)
}

/**
 * The contexts that wait for the event, and that its sender may move: of others it must not learn how many they are. All
 * are read before any is moved: a child that the event itself starts may have
 * a lower id than contexts of other partitions that are read later.
 * @throws FluxError `overloaded` when they are many, and there is no place for that
 */
export async function findReceivers(
  { store, catalog }: Pick<BroadcastParts, 'store' | 'catalog'>,
  { event, tags, caller }: Pick<BroadcastEvent, 'event' | 'tags' | 'caller'>,
  { place, upTo, after = 0 }: { readonly place: BroadcastPlace; readonly upTo: ContextId; readonly after?: ContextId },
): Promise<ContextId[]> {
  const any = [...keysOfEvent(event, tags), ...keysOfEarly(event, tags)]
  const without = hiddenFrom({ catalog, caller }, 'invoke')
  const found: ContextId[] = []
  for (;;) {
    const ids = await store.waitingFor({ any, without, upTo, after: found.at(-1) ?? after, limit: MAX_WAVE_CONTEXTS })
    for (const id of ids) found.push(id)
    place.take(found.length)
    if (ids.length < MAX_WAVE_CONTEXTS) return found
  }
}

/** Contexts up to which a broadcast costs about as little as a call for one context. */
const MAX_SMALL_CONTEXTS = 64

/** What a broadcast has of the bound: nothing while it is as small as a call for one context. */
export class BroadcastPlace {
  readonly #bound: CountBound | null
  #isTaken = false

  constructor(bound: CountBound | null) {
    this.#bound = bound
  }

  /** @throws FluxError `overloaded` */
  take(addressed: number): void {
    if (this.#isTaken || this.#bound === null || addressed <= MAX_SMALL_CONTEXTS) return
    this.#bound.take()
    this.#isTaken = true
  }

  /** Of a broadcast that was accepted before: it is never refused. */
  add(): void {
    if (this.#isTaken || this.#bound === null) return
    this.#bound.add()
    this.#isTaken = true
  }

  /** Hands over what it has: whoever gets it releases it. */
  pass(): BroadcastPlace {
    const next = new BroadcastPlace(this.#bound)
    next.#isTaken = this.#isTaken
    this.#isTaken = false
    return next
  }

  release(): void {
    if (this.#isTaken) this.#bound?.release()
    this.#isTaken = false
  }
}
