// engine/calls: sends an event to all contexts that wait for it. Each is moved at most once, and only then are
// executions started, so that no execution receives the event that started it.
import type { Catalog } from '../../definitions/catalog.ts'
import type { EventAnswer } from '../../api/send-event.ts'
import type { ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import type { Store } from '../../ports/store.ts'
import type { BroadcastItems } from '../idempotency/broadcast-items.ts'
import { keysOfEvent } from '../record/index-keys.ts'
import { BroadcastPlace } from './broadcast-place.ts'
import { startTriggered } from './broadcast-triggers.ts'
import { move, type BroadcastEvent, type Found, type ReceiverParts } from './broadcast-receivers.ts'

/** Contexts that are sent the event at the same time. */
const MAX_WAVE_CONTEXTS = 1000

export interface BroadcastParts extends Omit<ReceiverParts, 'items'> {
  readonly catalog: Pick<Catalog, 'triggeredBy'>
  /** Of large broadcasts; null: it isn't refused. */
  readonly bound: CountBound | null
}

type BroadcastAnswer = Pick<EventAnswer, 'message' | 'transitions' | 'executions' | 'ignored'>

/**
 * @throws FluxError `unavailable` when the store was unavailable and the event moved and started nothing; `overloaded`
 * when it addresses many contexts, and too many such broadcasts are in progress
 */
export async function broadcast(
  parts: BroadcastParts,
  sent: BroadcastEvent,
  items: BroadcastItems | null = null,
): Promise<BroadcastAnswer> {
  const place = new BroadcastPlace(parts.bound)
  try {
    return await run(parts, sent, { place, items })
  } finally {
    place.release()
  }
}

async function run(
  { store, catalog, mailboxes, log, refusals }: BroadcastParts,
  sent: BroadcastEvent,
  { place, items }: { readonly place: BroadcastPlace; readonly items: BroadcastItems | null },
): Promise<BroadcastAnswer> {
  const receivers = { store, mailboxes, log, refusals, items }
  const any = keysOfEvent(sent.event, sent.tags)
  const waiting = await waitingFor(store, any, { place, upTo: items?.upTo ?? (await store.highestId()) })
  // Only now: a context that the event itself started before a crash may be among them, and its row is there.
  await items?.load()
  const found: Found[] = [...(items?.earlier() ?? [])]
  const addressed = items ? waiting.filter((id) => !items.hasReached(id)) : waiting
  for (let from = 0; from < addressed.length; from += MAX_WAVE_CONTEXTS) {
    const ids = addressed.slice(from, from + MAX_WAVE_CONTEXTS)
    found.push(...(await Promise.all(ids.map((id) => move(receivers, id, sent)))))
    // A wave in which nothing is written does not yield to the event loop. Other work is served before the next wave.
    if (from + MAX_WAVE_CONTEXTS < addressed.length)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
  }
  found.push(...(await startTriggered(receivers, catalog.triggeredBy(sent.event), sent, found)))
  const answer: BroadcastAnswer = { message: '', transitions: [], executions: [], ignored: [] }
  collect(answer, found)
  logRefusal(refusals, sent.event, answer, found)
  const unreached = found.flatMap((one) =>
    one?.answer === 'ignored' && one.failure?.kind === 'unavailable' ? [one.failure] : [],
  )
  // An unknown outcome takes precedence over a certain failure: that context may have moved.
  const outOfReach = unreached.find(({ inDoubt }) => inDoubt) ?? unreached[0]
  if (outOfReach && answer.transitions.length + answer.executions.length === 0) throw new FluxError(outOfReach)
  const counts = `moved ${answer.transitions.length}, started ${answer.executions.length}, ignored by ${answer.ignored.length}`
  return { ...answer, message: `'${sent.event}': ${counts}` }
}

/** The answer to an event that was for all that wait for it. */
export const answerToAll = (
  { message, transitions, executions, ignored }: BroadcastAnswer,
  eventId: string,
): EventAnswer => ({ message, transitions, executions, ignored, eventId, pending: [] })

/**
 * The contexts that wait for the event. All are read before any is moved: a child that the event itself starts may have
 * a lower id than contexts of other partitions that are read later.
 */
async function waitingFor(
  store: Store,
  any: readonly string[],
  { place, upTo }: { readonly place: BroadcastPlace; readonly upTo: ContextId },
): Promise<ContextId[]> {
  const found: ContextId[] = []
  for (;;) {
    const ids = await store.waitingFor({ any, upTo, after: found.at(-1) ?? 0, limit: MAX_WAVE_CONTEXTS })
    for (const id of ids) found.push(id)
    place.take(found.length)
    if (ids.length < MAX_WAVE_CONTEXTS) return found
  }
}

function collect(answer: BroadcastAnswer, found: readonly Found[]): void {
  for (const one of found) {
    if (one?.answer === 'ignored') answer.ignored.push(one.entry)
    else if (one) answer[one.answer].push(one.stand)
  }
}

/** Logs one line for all contexts and services that refused the event. */
function logRefusal(
  refusals: ReceiverParts['refusals'],
  event: string,
  { transitions, executions, ignored }: BroadcastAnswer,
  found: readonly Found[],
): void {
  const refused: { [kind: string]: number } = {}
  for (const one of found)
    if (one?.answer === 'ignored' && one.failure) refused[one.failure.kind] = (refused[one.failure.kind] ?? 0) + 1
  const kinds = Object.keys(refused)
  if (kinds.length === 0) return
  const [first] = ignored
  void refusals.log('a broadcast was refused by some', kinds.sort().join(' '), () => ({
    event,
    moved: transitions.length,
    started: executions.length,
    refused,
    contextId: first?.contextId,
    fluxName: first?.fluxName,
    state: first?.state,
    reason: first?.reason,
  }))
}
