// definitions: how long contexts of a service keep events that come early, by event.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { CompiledState } from '../flux.ts'
import type { Report } from '../report.ts'
import { MAX_EARLY_SECONDS } from '../source/schema.ts'
import { durationSecondsOf } from '../values/durations.ts'

const SECOND_MS = 1000

/**
 * The milliseconds by event: the longest of the waiting states that have a transition for it. The root's is that of all
 * transitions that say nothing. Events that are never kept are left out.
 */
export function compileEarly(
  source: JsonObject,
  states: readonly CompiledState[],
  report: Report,
): ReadonlyMap<string, number> {
  const early = new Map<string, number>()
  const all = read(getOwn(source, 'early'), '/early', report) ?? 0
  const list = getOwn(source, 'states')
  for (const { index, waiting, choice } of states) {
    const state = Array.isArray(list) ? list[index] : undefined
    const transitions = isObject(state) ? getOwn(state, 'transitions') : undefined
    for (const [at, transition] of (Array.isArray(transitions) ? transitions : []).entries()) {
      if (!isObject(transition)) continue
      const event = getOwn(transition, 'event') ?? ''
      const pointer = `/states/${index}/transitions/${at}/early`
      const own = ownOf(transition, { event, waiting, pointer }, report)
      if (!waiting || typeof event !== 'string' || choice.events.get(event) !== at) continue
      const milliseconds = own ?? all
      if (milliseconds > 0) early.set(event, Math.max(milliseconds, early.get(event) ?? 0))
    }
  }
  return early
}

/** What the transition says itself; null: nothing. */
function ownOf(
  transition: JsonObject,
  { event, waiting, pointer }: { readonly event: Json; readonly waiting: boolean; readonly pointer: string },
  report: Report,
): number | null {
  const given = getOwn(transition, 'early') ?? null
  if (given === null) return null
  if (event === '' || event === '$else' || event === '$exception')
    report.fault(pointer, 'only a transition that names an event can keep one that comes early')
  else if (getOwn(transition, 'internal') === true)
    report.fault(pointer, 'the event is internal, so nobody sends it, and none can come early')
  else if (!waiting) report.warn(pointer, 'has no effect: the state does not wait for events')
  return read(given, pointer, report)
}

/** In milliseconds; null: it is left out, or wrong. */
function read(given: Json | undefined, pointer: string, report: Report): number | null {
  if (given === undefined || given === null) return null
  const seconds = durationSecondsOf(given)
  if (seconds === 0 || (seconds >= 1 && seconds <= MAX_EARLY_SECONDS)) return Math.round(seconds * SECOND_MS)
  report.fault(
    pointer,
    'must be 1 second to 7 days, as a number of seconds or a text like "90s", "15m", "1h" or "7d"; or 0',
  )
  return null
}
