// runtime: an event for all who wait for it. Each context is moved at most once, and only then are executions started, so that none hears what started it.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { EventAnswer } from '../model/calls.ts'
import { denial, type Caller } from '../model/caller.ts'
import type { ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import type { JsonObject } from '../model/json.ts'
import type { Store } from '../ports/store.ts'
import { standOf, type Contexts } from './contexts.ts'
import { wordsOfEvent } from './terms.ts'

/** Contexts told at once. */
const WAVE = 1000

export interface BroadcastEvent {
  readonly event: string
  readonly input: JsonObject
  readonly tags: readonly string[]
  readonly caller: Caller
}

type Found = { answer: 'transitions' | 'executions'; stand: EventAnswer['transitions'][number] } | { answer: 'ignored'; entry: EventAnswer['ignored'][number] } | null

export async function broadcast(
  { store, catalog, contexts }: { store: Store; catalog: Catalog; contexts: Contexts }, sent: BroadcastEvent,
): Promise<EventAnswer> {
  const answer: EventAnswer = { message: '', transitions: [], executions: [], ignored: [] }
  const any = wordsOfEvent(sent.event, sent.tags)
  const upTo = await store.highestId()
  for (let after: ContextId | undefined = 0; after !== undefined;) {
    const ids: ContextId[] = await store.waitingFor({ any, upTo, after, limit: WAVE })
    collect(answer, await Promise.all(ids.map((id) => move(contexts, id, sent))))
    after = ids.length === WAVE ? ids.at(-1) : undefined
  }
  const triggered = catalog.triggeredBy(sent.event).filter((flux) => !(flux.secured && denial(sent.caller, 'invoke')))
  collect(answer, await Promise.all(triggered.map((flux) => start(contexts, flux, sent))))
  const counts = `moved ${answer.transitions.length}, started ${answer.executions.length}, ignored by ${answer.ignored.length}`
  return { ...answer, message: `'${sent.event}': ${counts}` }
}

function collect(answer: EventAnswer, found: readonly Found[]): void {
  for (const one of found) {
    if (one?.answer === 'ignored') answer.ignored.push(one.entry)
    else if (one) answer[one.answer].push(one.stand)
  }
}

async function move(contexts: Contexts, id: ContextId, { event, input, tags, caller }: BroadcastEvent): Promise<Found> {
  try {
    const outcome = await contexts.deliver(id, { type: 'EVENT', name: event, input, tags, caller })
    if (outcome.moved) return { answer: 'transitions', stand: standOf(outcome) }
    if (!outcome.failure) return null
    return { answer: 'ignored', entry: { ...standOf(outcome), fluxName: outcome.flux.fluxName, reason: outcome.failure.detail } }
  } catch (error) {
    // Purged in between: there is nobody left who could have ignored it.
    if (error instanceof FluxError && error.failure.kind === 'notFound') return null
    throw error
  }
}

async function start(contexts: Contexts, flux: CompiledFlux, { event, input, tags }: BroadcastEvent): Promise<Found> {
  try {
    const outcome = await contexts.start({ flux, input, unknown: 'ignore', tags, trigger: event, parent: null })
    return { answer: 'executions', stand: standOf(outcome) }
  } catch (error) {
    if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
    return { answer: 'ignored', entry: { contextId: null, fluxName: flux.fluxName, state: null, reason: error.failure.detail } }
  }
}
