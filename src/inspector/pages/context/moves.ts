// inspector/pages: the moves of a context, as its view has them: states by time, each with what led there. The record names
// events alone; the definition tells a time from an exception.
import type { ContextView } from '../../../api/contexts.ts'
import { isFinished } from '../../../model/context.ts'
import { isObject, type Json, type JsonObject } from '../../../model/json/value.ts'
import { objectsIn } from '../../diagram/graph.ts'
import { durationText } from '../../parts/time.tsx'

export interface Stay {
  readonly state: string
  /** The state before; null: it is the first that is known. */
  readonly from: string | null
  /** What led there; null: it came by itself, or began there. */
  readonly event: string | null
  /** What led there, where it was no event: `after 10 s`, `exception: card declined`; null: nothing is known. */
  readonly cause: string | null
  /** Whether the state starts a child. */
  readonly hasChild: boolean
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds up to the next move, or to now. */
  readonly lasted: number
  readonly isCurrent: boolean
}

type Taken = ContextView['stateContexts'][number]['transitionContexts'][number]

/** `definition` null: it is lost. */
export function staysOf(context: ContextView, definition: JsonObject | null, now: number): readonly Stay[] {
  const { executionHistory: history, stateContexts, endedAt, status, updatedAt } = context
  const takenBy = new Map<string, Taken[]>()
  for (const { name, transitionContexts } of stateContexts)
    for (const taken of transitionContexts) {
      const key = JSON.stringify([name, taken.to, taken.takenAt])
      takenBy.set(key, [...(takenBy.get(key) ?? []), taken])
    }
  const states = new Map(objectsIn(definition?.['states']).map((state) => [state['name'], state]))
  const end = isFinished(status) ? (endedAt ?? updatedAt) : now
  return history.map(({ stateName: state, enteredAt: at, event: told }, index) => {
    const before = history[index - 1]
    const next = history[index + 1]
    const from = before?.stateName ?? null
    const move = told ? undefined : takenBy.get(JSON.stringify([from, state, at]))?.shift()
    const event = told ?? move?.event ?? null
    const transitions = objectsIn(states.get(from)?.['transitions'])
    const cause = move && event === null ? causeOf(move, transitions, at - (before?.enteredAt ?? at)) : null
    const action = states.get(state)?.['action']
    return {
      state,
      from,
      event,
      cause,
      hasChild: isObject(action) && action['type'] === 'invokeFlux',
      at,
      lasted: Math.max(0, (next?.enteredAt ?? end) - at),
      isCurrent: next === undefined,
    }
  })
}

/** null: it is not known, since several transitions may have been taken. */
function causeOf({ to, values }: Taken, transitions: readonly JsonObject[], waited: number): string | null {
  const possible = transitions.filter(
    ({ to: target, event = null }) => target === to && (event === null || event === '$exception'),
  )
  const message = possible.map((transition) => messageIn(transition, values)).find((text) => text !== null)
  if (message !== undefined) return `exception: ${message}`
  const [kind, ...others] = new Set(possible.map(kindOf))
  if (others.length > 0 || kind === 'next') return null
  return kind === 'timed' ? `after ${durationText(waited)}` : (kind ?? null)
}

const kindOf = ({ event = null, wait = null }: JsonObject): 'exception' | 'timed' | 'next' =>
  event !== null ? 'exception' : wait === null ? 'next' : 'timed'

/** What a line of the transition carried on of the exception; null: nothing. */
function messageIn(transition: JsonObject, values: JsonObject): string | null {
  for (const { from, expression, to } of objectsIn(transition['lines'])) {
    const source = Array.isArray(from) ? from.join('.') : typeof expression === 'string' ? expression.trim() : ''
    if (source !== '$fluxException.message' || !Array.isArray(to)) continue
    const value = to.reduce<Json | undefined>(
      (inside, name) => (isObject(inside) && typeof name === 'string' ? inside[name] : undefined),
      values,
    )
    if (typeof value === 'string') return value
  }
  return null
}
