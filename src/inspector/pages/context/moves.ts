// inspector/pages: the moves of a context, as its view has them: states by time, each with what led there. The record names
// events alone; the definition tells a time from an exception.
import type { ContextView } from '../../../api/contexts.ts'
import { isFinished } from '../../../model/context.ts'
import { isObject, type Json, type JsonObject } from '../../../model/json/value.ts'
import { graphOf, type GraphEdge } from '../../diagram/graph.ts'
import { durationText } from '../../parts/time.tsx'

export interface Stay {
  readonly state: string
  /** The state before; null: it is the first that is known. */
  readonly from: string | null
  /** What led there; null: it came by itself, or began there. */
  readonly event: string | null
  /** What led there, where it was no event: `start`, `after 10 s`, `exception: card declined`; `–`: it is not known. */
  readonly cause: string
  /** Whether the state starts a child. */
  readonly hasChild: boolean
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds up to the next move, or to now. */
  readonly lasted: number
  readonly isCurrent: boolean
}

/** `definition` null: it is lost. */
export function staysOf(context: ContextView, definition: JsonObject | null, now: number): readonly Stay[] {
  const { executionHistory: history, stateContexts, endedAt, status, updatedAt } = context
  const { states, edges } = graphOf(definition ?? {})
  const end = isFinished(status) ? (endedAt ?? updatedAt) : now
  /** The moves of each state that are not told yet. Those of one turn have one time, so each is told once. */
  const left = new Map(stateContexts.map(({ name, transitionContexts }) => [name, [...transitionContexts]]))
  return history.map(({ stateName: state, enteredAt: at, event: told }, index) => {
    const before = history[index - 1]
    const next = history[index + 1]
    const from = before?.stateName ?? null
    const moves = left.get(from ?? '') ?? []
    const place = moves.findIndex(({ to, takenAt }) => to === state && takenAt === at)
    const [move] = place === -1 ? [] : moves.splice(place, 1)
    const event = told ?? move?.event ?? null
    const taken = edges.filter((edge) => edge.from === from && edge.to === state)
    const cause = move && causeOf(taken, move.values, at - (before?.enteredAt ?? at))
    return {
      state,
      from,
      event,
      cause: before ? (cause ?? '–') : 'start',
      hasChild: states.some(({ name, startsChild }) => name === state && startsChild),
      at,
      lasted: Math.max(0, (next?.enteredAt ?? end) - at),
      isCurrent: next === undefined,
    }
  })
}

/** @param edges one of which was taken. undefined: it is not known which */
function causeOf(edges: readonly GraphEdge[], values: JsonObject, waited: number) {
  const possible = edges.filter(({ kind }) => kind !== 'event' && kind !== 'else')
  const message = possible
    .map(({ messageTo }) =>
      messageTo?.reduce<Json | undefined>((inside, name) => (isObject(inside) ? inside[name] : undefined), values),
    )
    .find((value) => typeof value === 'string')
  if (message !== undefined) return `exception: ${message}`
  const [kind, ...others] = new Set(possible.map((edge) => edge.kind))
  if (kind === 'next' || others.length > 0) return undefined
  return kind === 'timed' ? `after ${durationText(waited)}` : kind
}
