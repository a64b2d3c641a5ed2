// engine/calls: sends an event to all contexts that wait for it. Each is moved at most once, and only then are
// executions started, so that no execution receives the event that started it.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { EventAnswer } from '../../api/send-event.ts'
import { denial, type Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { BroadcastItems } from '../idempotency/broadcast-items.ts'
import type { Mailboxes } from '../mailboxes.ts'
import { standOf } from '../message.ts'
import type { RefusalLog } from '../refusal-log.ts'
import { decodeHead } from '../record/decode.ts'
import { keysOfEvent } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { BroadcastPlace } from './broadcast-place.ts'

/** Contexts that are sent the event at the same time. */
const MAX_WAVE_CONTEXTS = 1000

export interface BroadcastEvent {
  readonly event: string
  readonly input: JsonObject
  readonly untyped: boolean
  readonly tags: readonly string[]
  readonly caller: Caller
}

/** What is kept of a broadcast under a key, left out of others. */
type Items = BroadcastItems | null

type Found =
  | { readonly answer: 'transitions' | 'executions'; readonly stand: EventAnswer['transitions'][number] }
  | { readonly answer: 'ignored'; readonly entry: EventAnswer['ignored'][number]; readonly failure: Failure | null }
  | null

export interface BroadcastParts {
  readonly store: Store
  readonly catalog: Pick<Catalog, 'triggeredBy'>
  readonly mailboxes: Pick<Mailboxes, 'post' | 'start'>
  readonly log: Log
  readonly refusals: Pick<RefusalLog, 'log'>
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
  items: Items = null,
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
  { place, items }: { readonly place: BroadcastPlace; readonly items: Items },
): Promise<BroadcastAnswer> {
  const found: Found[] = [...(items?.earlier() ?? [])]
  const any = keysOfEvent(sent.event, sent.tags)
  const waiting = await waitingFor(store, any, { place, upTo: items?.upTo ?? (await store.highestId()) })
  const addressed = items ? waiting.filter((id) => !items.hasMoved(id)) : waiting
  for (let from = 0; from < addressed.length; from += MAX_WAVE_CONTEXTS) {
    const ids = addressed.slice(from, from + MAX_WAVE_CONTEXTS)
    found.push(...(await Promise.all(ids.map((id) => move({ store, mailboxes, log, refusals }, id, { sent, items })))))
    // A wave in which nothing is written does not yield to the event loop. Other work is served before the next wave.
    if (from + MAX_WAVE_CONTEXTS < addressed.length)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
  }
  const triggered = catalog
    .triggeredBy(sent.event)
    .filter((flux) => !(flux.secured && denial(sent.caller, 'invoke')) && items?.hasStarted(flux) !== true)
  found.push(
    ...(await Promise.all(triggered.map((flux) => start({ mailboxes, log, refusals }, flux, { sent, items })))),
  )
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
  refusals: BroadcastParts['refusals'],
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

interface Sending {
  readonly sent: BroadcastEvent
  readonly items: Items
}

type MoveParts = Pick<BroadcastParts, 'mailboxes' | 'log' | 'refusals'>

async function move(
  { store, mailboxes, log, refusals }: MoveParts & Pick<BroadcastParts, 'store'>,
  id: ContextId,
  { sent: { event, input, untyped, tags, caller }, items }: Sending,
): Promise<Found> {
  try {
    const message = { type: 'EVENT', name: event, input, untyped, tags, caller } as const
    const outcome = await mailboxes.post(id, message, { rows: items?.moved })
    if (outcome.moved) return { answer: 'transitions', stand: standOf(outcome) }
    if (!outcome.failure) return null
    const {
      failure,
      flux: { fluxName },
    } = outcome
    const { contextId, state } = standOf(outcome)
    return { answer: 'ignored', entry: { contextId, fluxName, state, reason: failure.detail }, failure }
  } catch (error) {
    const done = items?.doneBefore(error)
    if (done) return done
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

async function start(
  { mailboxes, refusals }: MoveParts,
  flux: CompiledFlux,
  { sent: { event, input, untyped, tags }, items }: Sending,
): Promise<Found> {
  try {
    const request = { flux, input, untyped, unknown: 'ignore', tags, trigger: event } as const
    const outcome = await mailboxes.start(request, { rows: items?.started, partition: items?.partition })
    return { answer: 'executions', stand: standOf(outcome) }
  } catch (error) {
    const done = items?.doneBefore(error)
    if (done) return done
    return ignored(refusals, { contextId: null, fluxName: flux.fluxName, state: null }, error)
  }
}

/**
 * The entry for a context or service that failed. It does not fail the whole broadcast: others may have moved already.
 */
function ignored(
  refusals: BroadcastParts['refusals'],
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
  }
}
