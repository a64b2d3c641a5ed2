// engine/calls: sends an event to all contexts that wait for it. Each is moved at most once, and only then are
// executions started, so that none takes the event that started it.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux, CompiledTrigger } from '../../definitions/flux.ts'
import type { EventAnswer } from '../../api/send-event.ts'
import { denial, type Caller } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { Mailboxes } from '../mailboxes.ts'
import { standOf } from '../message.ts'
import type { RefusalLog } from '../refusal-log.ts'
import { keysOfEvent } from '../record/index-keys.ts'
import { holderIn } from '../start-key.ts'
import { isUnreadable } from '../record/unreadable.ts'

/** Contexts that get the event at once. */
const MAX_WAVE_CONTEXTS = 1000

export interface BroadcastEvent {
  readonly event: string
  readonly input: JsonObject
  readonly untyped: boolean
  readonly tags: readonly string[]
  readonly caller: Caller
}

type Found =
  | { readonly answer: 'transitions' | 'executions'; readonly stand: EventAnswer['transitions'][number] }
  | {
      readonly answer: 'ignored'
      readonly entry: EventAnswer['ignored'][number]
      readonly failure: Failure | null
      readonly hasEnded: boolean
    }
  | null

interface BroadcastParts {
  readonly store: Store
  readonly catalog: Pick<Catalog, 'triggeredBy'>
  readonly mailboxes: Pick<Mailboxes, 'post' | 'start'>
  readonly log: Log
  readonly refusals: Pick<RefusalLog, 'log'>
}

export type BroadcastAnswer = Pick<EventAnswer, 'message' | 'transitions' | 'executions' | 'ignored'>

/** @throws FluxError `unavailable` when the store was out of reach for everything that the event addressed */
export async function broadcast(
  { store, catalog, mailboxes, log, refusals }: BroadcastParts,
  sent: BroadcastEvent,
): Promise<BroadcastAnswer> {
  const found: Found[] = []
  const any = keysOfEvent(sent.event, sent.tags)
  const addressed = await waitingFor(store, any)
  for (let from = 0; from < addressed.length; from += MAX_WAVE_CONTEXTS) {
    const ids = addressed.slice(from, from + MAX_WAVE_CONTEXTS)
    found.push(...(await Promise.all(ids.map((id) => move({ mailboxes, log, refusals }, id, sent)))))
    // Where nothing is written, nothing above has waited: other work of the event loop comes first.
    if (from + MAX_WAVE_CONTEXTS < addressed.length)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
  }
  const told: Teller = { mailboxes, log, refusals }
  found.push(...(await startTriggered(told, catalog.triggeredBy(sent.event), sent, found)))
  const answer: BroadcastAnswer = { message: '', transitions: [], executions: [], ignored: [] }
  collect(answer, found)
  logRefusal(refusals, sent.event, answer, found)
  const unreached = found.flatMap((one) =>
    one?.answer === 'ignored' && one.failure?.kind === 'unavailable' ? [one.failure] : [],
  )
  // A context that may have moved all the same is reported rather than those that certainly did not.
  const outOfReach = unreached.find(({ inDoubt }) => inDoubt) ?? unreached[0]
  if (outOfReach && answer.transitions.length + answer.executions.length === 0) throw new FluxError(outOfReach)
  const counts = `moved ${answer.transitions.length}, started ${answer.executions.length}, ignored by ${answer.ignored.length}`
  return { ...answer, message: `'${sent.event}': ${counts}` }
}

/**
 * All of them, before any is moved: a child that the event itself starts may have a lower id than contexts of other
 * partitions that come later.
 */
async function waitingFor(store: Store, any: readonly string[]): Promise<ContextId[]> {
  const upTo = await store.highestId()
  const found: ContextId[] = []
  for (;;) {
    const ids = await store.waitingFor({ any, upTo, after: found.at(-1) ?? 0, limit: MAX_WAVE_CONTEXTS })
    for (const id of ids) found.push(id)
    if (ids.length < MAX_WAVE_CONTEXTS) return found
  }
}

function collect(answer: BroadcastAnswer, found: readonly Found[]): void {
  for (const one of found) {
    if (one?.answer === 'ignored') answer.ignored.push(one.entry)
    else if (one) answer[one.answer].push(one.stand)
  }
}

/** One line, however many have refused it. */
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

type Teller = Pick<BroadcastParts, 'mailboxes' | 'log' | 'refusals'>

async function move(
  { mailboxes, log, refusals }: Teller,
  id: ContextId,
  { event, input, untyped, tags, caller }: Omit<BroadcastEvent, 'tags'> & { readonly tags: readonly string[] | null },
): Promise<Found> {
  try {
    const outcome = await mailboxes.post(id, { type: 'EVENT', name: event, input, untyped, tags, caller })
    if (outcome.moved) return { answer: 'transitions', stand: standOf(outcome) }
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
    // Purged in between: there is nobody left who could have ignored it.
    if (error instanceof FluxError && error.failure.kind === 'notFound') return null
    if (isUnreadable(error, log)) return null
    return ignored(refusals, { contextId: id, fluxName: '', state: null }, error)
  }
}

/** Those that start only if nobody was moved come last. */
async function startTriggered(
  told: Teller,
  services: readonly CompiledFlux[],
  sent: BroadcastEvent,
  moved: readonly Found[],
): Promise<Found[]> {
  const triggered = services.flatMap((flux) => {
    const trigger = flux.triggers.find(({ event }) => event === sent.event)
    return !trigger || (flux.secured && denial(sent.caller, 'invoke')) ? [] : [{ flux, trigger }]
  })
  const startAll = (some: readonly Triggered[]) => Promise.all(some.map((one) => start(told, one, sent, moved)))
  const always = await startAll(triggered.filter(({ trigger }) => !trigger.unlessMoved))
  if ([...moved, ...always].some((one) => one?.answer === 'transitions')) return always
  return [...always, ...(await startAll(triggered.filter(({ trigger }) => trigger.unlessMoved)))]
}

interface Triggered {
  readonly flux: CompiledFlux
  readonly trigger: CompiledTrigger
}

/** How often a start is tried again since the context that had its key has ended meanwhile. */
const MAX_TRIES = 10

/** Where another context has the key, that one gets the event, unless it has it already. */
async function start(
  told: Teller,
  { flux, trigger }: Triggered,
  sent: BroadcastEvent,
  moved: readonly Found[],
): Promise<Found> {
  const { mailboxes, refusals } = told
  const { event, input, untyped, tags } = sent
  const request = {
    flux,
    input,
    untyped,
    unknown: 'ignore' as const,
    tags,
    trigger: event,
    key: trigger.key ?? undefined,
  }
  for (let tries = 1; ; tries += 1) {
    try {
      const outcome = await mailboxes.start(request)
      return { answer: 'executions', stand: standOf(outcome) }
    } catch (error) {
      const holder = holderIn(error)
      if (holder === null) return ignored(refusals, { contextId: null, fluxName: flux.fluxName, state: null }, error)
      if (moved.some((one) => idOf(one) === holder)) return null
      const given = await move(told, holder, { ...sent, tags: null })
      const isOver = given === null || (given.answer === 'ignored' && given.hasEnded && flux.keyReuse === 'ended')
      if (!isOver || tries === MAX_TRIES) return given
    }
  }
}

const idOf = (one: Found): ContextId | null =>
  one === null ? null : one.answer === 'ignored' ? one.entry.contextId : one.stand.contextId

/** What goes wrong with one is no reason to fail for all: others may have moved already. */
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
    hasEnded: false,
  }
}
