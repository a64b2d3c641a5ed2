// engine/calls: the calls that show one context, as the store has it: all of it, one state, or the events that it can take;
// and `waitFor`, which holds the request until a context gets somewhere.
import type { Address } from '../../api/fields.ts'
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextEventsView, ContextView, StateContextView } from '../../api/contexts.ts'
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { eventSchema } from '../../definitions/json-schema/values-schema.ts'
import { type ContextRecord, isFinished } from '../../model/context.ts'
import { FluxError, malformed, notFound } from '../../model/failure.ts'
import { suggestion } from '../../model/nearest.ts'
import type { Reading } from '../contexts/context-loader.ts'
import { requireValid } from '../interpreter/describe.ts'
import { snapshotOf } from '../interpreter/snapshot.ts'
import { extentOfState, HEAD, WHOLE, type Extent } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { readRelative } from '../record/relatives.ts'
import { contextView, stateView } from '../record/views.ts'
import { hasEntered, standsSo } from '../waits/waits.ts'
import { contextIdOf } from './address.ts'
import { checkedTags, isReadable, requireRole, type CallEnv } from './call-env.ts'
import { eventsNamedIn, isSendable } from './event-hint.ts'
import { viewEnvOf } from './shown-contexts.ts'

/**
 * Runs `use` with the stored context and its service, as far as the extent goes.
 * @throws FluxError when it does not exist, or the caller may not read it; what `use` throws
 */
export async function readContext<T>(
  env: CallEnv,
  address: Address,
  extent: Extent,
  use: (read: Pick<Reading, 'record' | 'flux'>) => T | Promise<T>,
): Promise<T> {
  const { reads, reader } = env
  const check = (flux: CompiledFlux) => requireRole(env, flux, 'read')
  const id = await contextIdOf(env, address, 'read')
  const reading = await reader.open(id, { extent, check, signal: reads?.signal })
  reads?.add(reading.release)
  try {
    return await use(reading)
  } finally {
    if (reads === undefined) reading.release()
  }
}

/** See `FluxApi`. */
export const getContext = (env: CallEnv, { snapshot, ...address }: CheckedCall<'getContext'>): Promise<ContextView> =>
  readContext(env, address, WHOLE, async ({ record, flux }) => {
    const isVisible = isReadable(env)
    const view = contextView(record, flux, await viewEnvOf(env, record, isVisible))
    if (!snapshot) return view
    const child = record.child === null ? null : await readRelative(record.child, { ...env, isVisible })
    const childName = child && `${child.record.package}/${child.record.fluxName}`
    return { ...view, snapshot: snapshotOf(record, flux, childName) }
  })

/** See `FluxApi`. */
export const getStateContext = (
  env: CallEnv,
  { stateName, ...address }: CheckedCall<'getStateContext'>,
): Promise<StateContextView> =>
  readContext(env, address, extentOfState(stateName), async ({ record, flux }) => {
    const state = flux.states[flux.stateIndex.get(stateName) ?? -1]
    if (!state)
      throw notFound(`'${flux.fluxName}' has no state '${stateName}'${suggestion(stateName, flux.stateIndex.keys())}`)
    return stateView(record, flux, state, await movesOf(record, env))
  })

/**
 * Which events the context can take now, with the schemas of their inputs, what happens if none comes, and where the
 * other events of its definition are taken.
 */
export const getContextEvents = (env: CallEnv, address: CheckedCall<'getContextEvents'>): Promise<ContextEventsView> =>
  readContext(env, address, HEAD, ({ record, flux }) => {
    const { id: contextId, status } = record
    const state = flux.states[record.state]
    const head = { contextId, state: state?.name ?? '', status }
    if (!state || isFinished(status)) return { ...head, events: [], else: null, timed: null, others: [] }
    // A server of this version doesn't continue what another one wrote.
    const taking = record.position.phase === 'waiting' && !flux.isForeign ? state : null
    const takesAny = taking !== null && taking.choice.otherwise !== null
    const events = taking ? [...taking.choice.events].filter(([event]) => isSendable(event)) : []
    const input = eventSchema(state)
    return {
      ...head,
      events: events.map(([event, at]) => ({ event, to: targetOf(state, at, flux), input })),
      else: takesAny ? input : null,
      timed: timedOf(record, state, flux),
      others: takesAny ? [] : otherEvents(flux, record, state, taking),
      ...(record.isPaused && ({ paused: true } as const)),
    }
  })

/** The transition that is taken when the time comes: that of a state that waits, or one that was chosen and waits. */
function timedOf({ due, position: { phase, pick } }: ContextRecord, state: CompiledState, flux: CompiledFlux) {
  if (due === null || typeof pick !== 'number' || (phase !== 'waiting' && phase !== 'delayed')) return null
  return { at: due, to: targetOf(state, pick, flux), event: null }
}

const targetOf = ({ transitions }: CompiledState, at: number, { states }: CompiledFlux) =>
  states[transitions[at]?.to ?? -1]?.name ?? ''

/**
 * The events that the context does not take now, and why, in the order in which the definition names them; those that only
 * start the service come last. `taking`: its state, if it takes events now.
 */
function otherEvents(
  flux: CompiledFlux,
  { position }: ContextRecord,
  state: CompiledState,
  taking: CompiledState | null,
) {
  const reasonOf = (event: string, states: readonly CompiledState[], takers: readonly CompiledState[]) => {
    if (states.length === 0) return `starts '${flux.fluxName}', and is taken in no state`
    if (flux.isForeign) return `is taken in ${listed(states)}, by a server of the version that wrote the definition`
    if (takers.length === 0) return `is set by the action of ${listed(states)}, and is not taken from outside`
    const pause = position.phase === 'delayed' ? 'it waits to be left' : 'its action is under way'
    // Where it is taken now, it is none of the others.
    const why = takers.includes(state) ? `, but not while ${pause}` : ''
    const kept = flux.early.has(event) ? ', and is kept for it if it comes earlier' : ''
    return `is taken in ${listed(takers)}${why}${kept}`
  }
  return [...new Set(eventsNamedIn(flux))]
    .filter((event) => taking?.choice.events.has(event) !== true)
    .map((event) => {
      const states = flux.states.filter(({ choice }) => choice.events.has(event))
      const takers = states.filter(({ waiting }) => waiting)
      const shown = takers.length > 0 ? takers : states
      return { event, states: shown.map(({ name }) => name), reason: reasonOf(event, states, takers) }
    })
}

/** As in a sentence. */
const listed = (states: readonly CompiledState[]) => new Intl.ListFormat('en-GB').format(states.map(({ name }) => name))

/** States that one call may wait for. */
const MAX_STATES = 1000

/**
 * See `FluxApi`. @throws FluxError `waitTimeout`, `conflict`, `notFound`, `invalid` for states that the definition lacks,
 * `overloaded`, `unavailable`; what `signal` says
 */
export async function waitFor(
  env: CallEnv,
  request: CheckedCall<'waitFor'>,
  signal: AbortSignal | undefined,
): Promise<ContextView> {
  const { status = [], state = [], tag, timeout, ...address } = request
  const tags = checkedTags(env, tag, '/tag')
  if (status.length + state.length + tags.length === 0) throw malformed('no status, state or tag to wait for is given')
  // What may be waited for is small: it is kept as long as the request is held.
  if (state.length > MAX_STATES) throw malformed(`more than ${MAX_STATES} states are given`)
  const id = await contextIdOf(env, address, 'read')
  const wait = env.waits.join(id, env)
  try {
    // What was read is not kept for as long as the request is held.
    const outcome = await readContext(env, { contextId: id }, HEAD, ({ record, flux }) => {
      const condition = { statuses: [...new Set(status)], states: statesOf(flux, state), tags }
      return { record, condition }
    }).then(({ record, condition }) => env.waits.hold(wait, record, { condition, timeout: timeout * 1000, signal }))
    const { record, moves, view } = await env.show(id)
    const { condition, seen } = wait
    // Another server may have brought it there, and that was not heard.
    const unseen = record.moves - (seen ?? record.moves)
    const isThere = condition !== null && (standsSo(condition, record) || hasEntered(condition, moves, unseen))
    if (outcome === 'there' || isThere) return view
    if (isFinished(record.status))
      throw new FluxError({ kind: 'conflict', detail: `context ${id} has ended: ${record.status}`, context: view })
    throw new FluxError({ kind: 'waitTimeout', detail: `context ${id} did not get there in time`, context: view })
  } finally {
    env.waits.leave(wait)
  }
}

function statesOf({ fluxName, stateIndex }: CompiledFlux, names: readonly string[]) {
  const errors = names.flatMap((name, at) =>
    stateIndex.has(name)
      ? []
      : [{ pointer: `/state/${at}`, detail: `is no state of '${fluxName}'${suggestion(name, stateIndex.keys())}` }],
  )
  requireValid(errors)
  return new Map(names.map((name) => [name, stateIndex.get(name) ?? -1]))
}
