// engine/calls: the events of a definition that a context does not take now, and why.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import type { ContextRecord } from '../../model/record.ts'

/** An event that a definition names. */
interface OtherEvent {
  readonly event: string
  /** Names of the states that name it. */
  readonly states: string[]
  /** In one sentence. */
  readonly reason: string
}

interface Standing {
  readonly record: ContextRecord
  readonly state: CompiledState
  /** The state, if it takes events now. */
  readonly taking: CompiledState | null
}

/** Events of other names are refused before any context sees them. */
export const sendable = (event: string): boolean => event !== '' && !event.startsWith('$')

/** In the order in which the definition names them; those that only start the service come last. */
export function otherEvents(flux: CompiledFlux, standing: Standing): OtherEvent[] {
  const named = new Map<string, CompiledState[]>()
  for (const state of flux.states)
    for (const event of state.choice.events.keys()) {
      const states = named.get(event)
      if (states === undefined) named.set(event, [state])
      else states.push(state)
    }
  for (const { event } of flux.triggers) if (!named.has(event)) named.set(event, [])
  return [...named]
    .filter(([event]) => sendable(event) && standing.taking?.choice.events.has(event) !== true)
    .map(([event, states]) => {
      const takers = states.filter(({ waiting }) => waiting)
      const shown = takers.length > 0 ? takers : states
      return { event, states: shown.map(({ name }) => name), reason: reasonOf(event, states, takers, flux, standing) }
    })
}

function reasonOf(
  event: string,
  states: readonly CompiledState[],
  takers: readonly CompiledState[],
  flux: CompiledFlux,
  { record, state }: Standing,
): string {
  if (states.length === 0) return `starts '${flux.fluxName}', and is taken in no state`
  if (flux.isForeign) return `is taken in ${listed(states)}, by a server of the version that wrote the definition`
  if (takers.length === 0) return `is set by the action of ${listed(states)}, and is not taken from outside`
  // Where it is taken now, it is none of the others.
  const isHere = takers.includes(state)
  const why = isHere ? (record.position.phase === 'delayed' ? DELAYED : ACTING) : ''
  const kept = flux.early.has(event) ? ', and is kept for it if it comes earlier' : ''
  return `is taken in ${listed(takers)}${why}${kept}`
}

const ACTING = ', but not while its action is under way'
const DELAYED = ', but not while it waits to be left'

/** As in a sentence. */
function listed(states: readonly CompiledState[]): string {
  const names = states.map(({ name }) => name)
  const last = names.pop() ?? ''
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`
}
