// http: `Prefer: wait=N` (RFC 7240) on calls that move or start a context: the answer is held until that one rests.
import type { Context } from 'hono'
import type { FluxApi } from '../../api/flux-api.ts'
import type { EventAnswer } from '../../api/send-event.ts'
import { AT_REST, MAX_TIMEOUT_SECONDS } from '../../api/wait-for.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { hangUpSignal } from '../request/hang-up.ts'
import { headerOf, type Env } from '../request/incoming.ts'

/** Seconds; null: the client does not ask for it. */
function preferredWait(c: Context<Env>): number | null {
  const header = headerOf(c, 'prefer')
  if (header === undefined) return null
  // Of several that are alike the first counts, and what isn't understood is ignored (RFC 7240, 2).
  for (const preference of header.split(',')) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i.exec(preference) ?? []
    if (seconds !== undefined) return Math.min(Number(seconds), MAX_TIMEOUT_SECONDS)
  }
  return null
}

/** What a client is told whose preference was followed. */
const APPLIED = { 'preference-applied': 'wait' }

/** The context that an event moved or started, or that keeps it; null: it is not exactly one. */
export function onlyContextOf({ transitions, executions, pending }: EventAnswer): ContextId | null {
  const [first, ...others] = [...transitions, ...executions, ...pending]
  return first && others.every(({ contextId }) => contextId === first.contextId) ? first.contextId : null
}

/**
 * The context, when it rests or the time is up. What was answered has become true, so what goes wrong here must not
 * look as if it had not: null then.
 */
async function contextAtRest(
  calls: FluxApi,
  contextId: ContextId,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal | undefined },
): Promise<object | null> {
  try {
    return await calls.waitFor({ contextId, status: AT_REST, timeout: seconds }, { signal })
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    return error.failure.kind === 'waitTimeout' ? error.failure.context : null
  }
}

interface Holding<A> {
  readonly calls: FluxApi
  /** The one context that the answer tells of. */
  readonly moved: (answer: A) => ContextId | null
  /** What the request holds of the memory for requests. */
  readonly hold: { release(): void } | null
}

interface HeldAnswer {
  readonly answer: object
  readonly headers?: { readonly [name: string]: string }
}

/** The answer, once its context rests or the time is up; null: the client does not ask for it, or no context does. */
export function heldAnswer<A extends object>(
  c: Context<Env>,
  answer: A,
  { calls, moved, hold }: Holding<A>,
): Promise<HeldAnswer> | null {
  const seconds = preferredWait(c)
  const contextId = seconds === null ? null : moved(answer)
  if (seconds === null || contextId === null) return null
  // What was sent is dealt with: a request that is held keeps nothing of it.
  hold?.release()
  return contextAtRest(calls, contextId, { seconds, signal: hangUpSignal(c) }).then((context) =>
    context === null ? { answer } : { answer: { ...answer, context }, headers: APPLIED },
  )
}
