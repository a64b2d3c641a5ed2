// engine/calls: `getContextEvents` shows which events a context can take now, with the schemas of their inputs, what
// happens if none comes, and where the other events of its definition are taken.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextEventsView } from '../../api/contexts.ts'
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { eventSchema } from '../../definitions/json-schema/values-schema.ts'
import { isFinished } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { HEAD } from '../record/decode.ts'
import { contextIdOf } from './address.ts'
import { readContext, type CallEnv } from './call-env.ts'
import { otherEvents, sendable } from './other-events.ts'

/** See `FluxApi`. */
export async function getContextEvents(
  env: CallEnv,
  request: CheckedCall<'getContextEvents'>,
): Promise<ContextEventsView> {
  const address = request
  return readContext(env, await contextIdOf(env, address, 'read'), HEAD, ({ record, flux }) => eventsView(record, flux))
}

function eventsView(record: ContextRecord, flux: CompiledFlux): ContextEventsView {
  const { id: contextId, status, state: index } = record
  const state = flux.states[index]
  const head = { contextId, state: state?.name ?? '', status }
  const paused = record.isPaused && ({ paused: true } as const)
  if (!state || isFinished(status)) return { ...head, events: [], else: null, timed: null, others: [] }
  // A server of this version doesn't continue what another one wrote.
  const taking = record.position.phase === 'waiting' && !flux.isForeign ? state : null
  return {
    ...head,
    events: taking === null ? [] : eventsOf(taking, flux),
    else: taking === null || taking.choice.otherwise === null ? null : eventSchema(taking),
    timed: timedOf(record, state, flux),
    others: taking !== null && taking.choice.otherwise !== null ? [] : otherEvents(flux, { record, state, taking }),
    ...paused,
  }
}

const eventsOf = (state: CompiledState, flux: CompiledFlux): ContextEventsView['events'] =>
  [...state.choice.events]
    .filter(([event]) => sendable(event))
    .map(([event, at]) => ({ event, to: targetOf(state, at, flux), input: eventSchema(state) }))

/** The transition that is taken when the time comes: that of a state that waits, or one that was chosen and waits. */
function timedOf(
  { due, position: { phase, pick } }: ContextRecord,
  state: CompiledState,
  flux: CompiledFlux,
): ContextEventsView['timed'] {
  if (due === null || typeof pick !== 'number' || (phase !== 'waiting' && phase !== 'delayed')) return null
  return { at: due, to: targetOf(state, pick, flux), event: null }
}

const targetOf = ({ transitions }: CompiledState, at: number, { states }: CompiledFlux): string =>
  states[transitions[at]?.to ?? -1]?.name ?? ''
