// http: `Prefer` (RFC 7240). `wait=N` on calls that move or start a context: the answer is held until that one rests.
// `respond-async` on an event for all: it is answered when it is stored.
import type { Context } from 'hono'
import type { Calls, Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import { AT_REST, MAX_TIMEOUT_SECONDS } from '../../api/contexts.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { hangUpSignal, headerOf, type Env } from '../request/incoming.ts'

const NO_PREFERENCES: readonly string[] = []
const NOTHING_PREFERRED = {}

/** The preferences of a client, without their parameters. */
const preferredOf = (c: Context<Env>): readonly string[] =>
  headerOf(c, 'prefer')
    ?.split(',')
    .map((preference) => (preference.split(';', 1)[0] ?? '').trim()) ?? NO_PREFERENCES

/** Whether a client asks for an answer that tells of failures only. */
export const prefersMinimal = (c: Context<Env>): boolean =>
  preferredOf(c).some((preference) => /^return *= *"?minimal"?$/i.test(preference))

/**
 * What a client asks for; a hint, which the calls that it is not for ignore. Of several that are alike the first counts,
 * and what isn't understood is ignored (RFC 7240, 2). `respondWithin`: seconds for which the answer may be held.
 */
export function preferEvent(c: Context<Env>): { readonly respondAsync?: true; readonly respondWithin?: number } {
  const preferred = preferredOf(c)
  if (preferred.length === 0) return NOTHING_PREFERRED
  const [seconds] = preferred.flatMap((preference) => /^wait *= *"?(\d{1,9})"?$/i.exec(preference)?.[1] ?? [])
  return {
    ...(preferred.some((preference) => /^respond-async$/i.test(preference)) && { respondAsync: true }),
    ...(seconds !== undefined && { respondWithin: Math.min(Number(seconds), MAX_TIMEOUT_SECONDS) }),
  }
}

/** What a client gets whose preference was followed. */
const APPLIED = { 'preference-applied': 'wait' }

/** The context that an event moved or started, or that keeps it; null: it is not exactly one. */
function onlyContextOf({ transitions, executions, pending }: EventAnswer): ContextId | null {
  const [first, ...others] = [...transitions, ...executions, ...pending]
  return first && others.every(({ contextId }) => contextId === first.contextId) ? first.contextId : null
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

/**
 * The answer, once its context rests or the time is up; null: the client does not ask for it, or no context does.
 * `timeout`: the seconds for which it may be held; left out: as the client prefers.
 */
export function heldAnswer(
  c: Context<Env>,
  answer: object,
  contextId: ContextId | null,
  { calls, hold }: Holding,
  timeout = preferEvent(c).respondWithin,
): Promise<SettledAnswer> | null {
  if (timeout === undefined || contextId === null) return null
  // What was sent is dealt with: a request that is held keeps nothing of it.
  hold?.release()
  return calls.ask('waitFor', { contextId, status: AT_REST, timeout }, { signal: hangUpSignal(c) }).then(
    ({ answer: context }) => ({ answer: { ...answer, context }, headers: APPLIED }),
    (error: unknown) => {
      if (!(error instanceof FluxError)) throw error
      // What was answered has become true, so what goes wrong here must not look as if it had not.
      if (error.failure.kind !== 'waitTimeout') return { answer }
      return { answer: { ...answer, context: error.failure.context }, headers: APPLIED }
    },
  )
}

/**
 * The answer to an event: that it is accepted, or what it came to, as soon as its context rests; null: as it is.
 * `isForAll`: it was not for one context.
 */
export function settledEvent(
  c: Context<Env>,
  { answer, ended }: Told<EventAnswer>,
  isForAll: boolean,
  holding: Holding,
): SettledAnswer | Promise<SettledAnswer> | null {
  const { respondWithin, respondAsync } = preferEvent(c)
  if (ended !== undefined) {
    const { message, eventId } = answer
    const location = `/flux-api/event?eventId=${encodeURIComponent(eventId)}`
    const applied = respondAsync && { 'preference-applied': 'respond-async' }
    return { answer: { message, eventId }, status: 202, headers: { location, ...applied } }
  }
  if (respondWithin === undefined) return null
  // It was waited for already, until it was sent to all.
  const isWaitedFor = isForAll && respondAsync
  const held = heldAnswer(c, answer, onlyContextOf(answer), holding, isWaitedFor ? 0 : respondWithin)
  return held ?? (isWaitedFor ? { answer, headers: APPLIED } : null)
}

/** Whether a checked request is for all who wait for the event. */
export const isForAll = ({ contextId, key }: { readonly contextId?: unknown; readonly key?: unknown }): boolean =>
  contextId === undefined && key === undefined
