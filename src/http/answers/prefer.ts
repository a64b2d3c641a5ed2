// http: `Prefer` (RFC 7240). `wait=N` on calls that move or start a context: the answer is held until that one rests.
// `respond-async` on an event for all: it is answered when it is stored.
import type { Context } from 'hono'
import type { Calls, Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import { AT_REST, MAX_TIMEOUT_SECONDS } from '../../api/contexts.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { hangUpSignal } from '../request/incoming.ts'
import { headerOf, type Env } from '../request/incoming.ts'

/** What a client asks for; a hint, which the calls that it is not for ignore. */
interface Preferences {
  /** Seconds for which the answer may be held; null: it isn't asked for. */
  readonly wait: number | null
  readonly respondAsync: boolean
}

const NONE: Preferences = { wait: null, respondAsync: false }

function preferencesOf(c: Context<Env>): Preferences {
  const header = headerOf(c, 'prefer')
  if (header === undefined) return NONE
  const preferences = header.split(',')
  return { wait: waitIn(preferences), respondAsync: preferences.some(isAsync) }
}

/** Of several that are alike the first counts, and what isn't understood is ignored (RFC 7240, 2). */
function waitIn(preferences: readonly string[]): number | null {
  for (const preference of preferences) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i.exec(preference) ?? []
    if (seconds !== undefined) return Math.min(Number(seconds), MAX_TIMEOUT_SECONDS)
  }
  return null
}

const isAsync = (preference: string): boolean =>
  (preference.split(';', 1)[0] ?? '').trim().toLowerCase() === 'respond-async'

/** The fields of an event call that its client's preferences are. */
export function preferEvent(c: Context<Env>): { readonly respondAsync?: true; readonly respondWithin?: number } {
  const { wait, respondAsync } = preferencesOf(c)
  return { ...(respondAsync && { respondAsync }), ...(wait !== null && { respondWithin: wait }) }
}

/** What a client gets whose preference was followed. */
const APPLIED = { 'preference-applied': 'wait' }

/** The context that an event moved or started, or that keeps it; null: it is not exactly one. */
function onlyContextOf({ transitions, executions, pending }: EventAnswer): ContextId | null {
  const [first, ...others] = [...transitions, ...executions, ...pending]
  return first && others.every(({ contextId }) => contextId === first.contextId) ? first.contextId : null
}

/**
 * The context, when it rests or the time is up. What was answered has become true, so what goes wrong here must not
 * look as if it had not: null then.
 */
async function contextAtRest(
  calls: Calls,
  contextId: ContextId,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal | undefined },
): Promise<object | null> {
  try {
    return (await calls.ask('waitFor', { contextId, status: AT_REST, timeout: seconds }, { signal })).answer
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    return error.failure.kind === 'waitTimeout' ? error.failure.context : null
  }
}

interface Holding {
  readonly calls: Calls
  /** What the request holds of the memory for requests. */
  readonly hold: { release(): void } | null
}

/** What is answered in the end. */
export interface SettledAnswer {
  readonly answer: object
  /** 200, if left out. */
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
}

/** The answer, once its context rests or the time is up; null: the client does not ask for it, or no context does. */
export function heldAnswer(
  c: Context<Env>,
  answer: object,
  { contextId, calls, hold }: Holding & { readonly contextId: ContextId | null },
): Promise<SettledAnswer> | null {
  const { wait } = preferencesOf(c)
  return wait === null || contextId === null ? null : withContext(c, answer, { contextId, calls, hold, seconds: wait })
}

async function withContext(
  c: Context<Env>,
  answer: object,
  { contextId, calls, hold, seconds }: Holding & { readonly contextId: ContextId; readonly seconds: number },
): Promise<SettledAnswer> {
  // What was sent is dealt with: a request that is held keeps nothing of it.
  hold?.release()
  const context = await contextAtRest(calls, contextId, { seconds, signal: hangUpSignal(c) })
  return context === null ? { answer } : { answer: { ...answer, context }, headers: APPLIED }
}

/**
 * The answer to an event: that it is accepted, or what it came to, as soon as its context rests; null: as it is.
 * `isForAll`: it was not for one context.
 */
export function settledEvent(
  c: Context<Env>,
  { answer, ended }: Told<EventAnswer>,
  { calls, hold, isForAll }: Holding & { readonly isForAll: boolean },
): SettledAnswer | Promise<SettledAnswer> | null {
  if (ended !== undefined) return accepted(c, answer)
  const { wait, respondAsync } = preferencesOf(c)
  if (wait === null) return null
  const contextId = onlyContextOf(answer)
  // It was waited for already, until it was sent to all.
  const isWaitedFor = isForAll && respondAsync
  if (contextId !== null) return withContext(c, answer, { contextId, calls, hold, seconds: isWaitedFor ? 0 : wait })
  return isWaitedFor ? { answer, headers: APPLIED } : null
}

function accepted(c: Context<Env>, { message, eventId }: EventAnswer): SettledAnswer {
  const location = `/flux-api/event?eventId=${encodeURIComponent(eventId)}`
  const applied = preferencesOf(c).respondAsync && { 'preference-applied': 'respond-async' }
  return { answer: { message, eventId }, status: ACCEPTED, headers: { location, ...applied } }
}

const ACCEPTED = 202

/** Whether a checked request is for all who wait for the event. */
export const isForAll = ({ contextId, key }: { readonly contextId?: unknown; readonly key?: unknown }): boolean =>
  contextId === undefined && key === undefined
