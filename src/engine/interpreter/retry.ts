// engine/interpreter: a context that failed or was terminated goes on, or a step in a back-off makes its next attempt now.
// What depends on other contexts, and on the definition to go on with, comes with the environment.
//
// - A pause is a field of the record (`isPaused`), with an index key; a context that is not paused has neither. The
//   record keeps its time and its step, but the store lists neither (`encode.ts`, `ownerOf`), so no server looks at a
//   paused context. A step that would begin is ready, and not listed; a child that would begin is not started.
//   A step whose server has died becomes such a step (`interpreter/decide.ts`). The turn that resumes a
//   context takes the kept events, then what is due (`turn.ts`), and its step is claimed as any ready one.
// - The end of a context keeps what it changed (`interpreter/transit.ts`, a part of the record of its own): the phase
//   in which it stood, its due time, and the data before the action after which it ended, as far as that differs.
//   Reducers note that data only when they choose an end.
// - A retry is no event of XState: a final node takes none. The record is set back, and the machine goes on from its
//   first node (`interpreter/retry.ts`): `START` enters a state, with what a transition would have carried, and
//   `RETRY` runs the action of a state that was entered before. A context that waited is set back alone.
// - A retry counts as an entry of the state (`epoch`), so late results of earlier attempts have no effect. The key of
//   the step is that of the entry that the record names (`keyEpoch`).
// - What depends on others is found before the decision (`relatives.ts`): whether the key is free, which the
//   commit's unique key makes sure of, and whether the parent still waits. The parent is written in the same commit,
//   so either it has gone on or the child does.
// - A retry may re-pin (`record/repin.ts`). States are numbered anew by their names. Moves are stored with names, so the
//   log stays as it is.
// - A call reads the position of the context before it sends its message, so that of several calls at once one has an
//   effect, also when the context fails again in the same turn.
// - A server that is started paused opens its store, and starts nothing else (`engine.ts`): no heartbeat, so it owns
//   nothing; no alarm, purge or sweep. `gate.ts` refuses the calls that change something, also those of pages and
//   webhooks, and claims nothing.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate, type Shape } from '../../definitions/values/properties.ts'
import { type BeforeEnd, type ContextRecord, isFinished, type Move, RETRY_EVENT } from '../../model/context.ts'
import { conflict, FluxError } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { refuseInput, requireValid } from './describe.ts'
import type { Decision, DecisionEnv, Input } from './decision.ts'
import { dataBeforeEnd, recordChange, statusOf, transit } from './transit.ts'
import { isAt } from './position.ts'
import { entryOf, NO_TURN, START, stateData } from './turn-state.ts'

type Retry = Input & { readonly type: 'RETRY' }

/** Decides a retry. @throws FluxError when the context can't be retried */
export function retry(flux: CompiledFlux, record: ContextRecord, input: Retry, env: DecisionEnv): Decision {
  const { id, status, position } = record
  if (input.seen && !isAt(input.seen, record)) throw conflict(`context ${id} has been retried already, or has gone on`)
  if (position.phase === 'backoff' && !isFinished(status)) return attemptNow(flux, record, input, env)
  if (status !== 'FAILED' && status !== 'TERMINATED') throw conflict(`context ${id} can't be retried: it is ${status}`)
  const facts = env.retry ?? { record }
  if ('failure' in facts) throw new FluxError(facts.failure)
  const { record: present } = facts
  const again = begun(dataBeforeEnd(present), input, env)
  if (input.state !== null) return enter(flux, again, input, env)
  if (input.input !== null) refuseInput('/input', 'is taken only together with a state')
  const stood = present.beforeEnd
  const acted = stood && stood.phase !== 'waiting' && stood.phase !== 'delayed'
  if (status === 'FAILED' || acted) return act(flux, again, env)
  // A context that stood where the other definition has no place.
  if (!stood) return enterWith(flux, again, stateData(again, again.state).input, env)
  return stand(flux, { ...again, position: { ...again.position, pick: present.position.pick } }, stood, env)
}

/** The attempts go on counting. */
function attemptNow(flux: CompiledFlux, record: ContextRecord, input: Retry, env: DecisionEnv): Decision {
  if (input.state !== null || input.input !== null || input.definition !== null)
    throw conflict(`context ${record.id} waits for its next attempt: only newKey can be given`)
  const epoch = record.position.epoch + 1
  const underNewKey = input.newKey && { keyEpoch: undefined, position: { ...record.position, epoch } }
  return transit(flux, { ...record, due: env.now, ...underNewKey }, { type: 'WAKE', env })
}

/**
 * The record of a context that goes on. The state counts as entered once more, so that late results of earlier attempts
 * have no effect.
 */
function begun(record: ContextRecord, { newKey }: Retry, { now }: DecisionEnv): ContextRecord {
  const { position, request, status } = record
  return {
    ...record,
    status: 'RUNNING',
    updatedAt: now,
    endedAt: null,
    due: null,
    error: null,
    exception: null,
    retries: (record.retries ?? 0) + 1,
    keyEpoch: newKey ? undefined : (record.keyEpoch ?? position.epoch),
    beforeEnd: undefined,
    position: { ...START, epoch: position.epoch + 1 },
    // The caller of its webhook had its answer when the context ended.
    paused: record.paused ?? (request === null ? undefined : status),
  }
}

/** How the history shows that a context goes on in that state. */
const moveTo = (flux: CompiledFlux, { state }: ContextRecord, { now }: DecisionEnv, values: JsonObject = {}): Move => ({
  ...entryOf(flux.states[state]?.name ?? '', now),
  event: RETRY_EVENT,
  values,
})

/** The action of its state runs once more. */
function act(flux: CompiledFlux, record: ContextRecord, env: DecisionEnv): Decision {
  const turn = { ...NO_TURN, history: [moveTo(flux, record, env)] }
  return transit(flux, { ...record, moves: record.moves + 1 }, { type: 'RETRY', env }, turn)
}

/** It stands where it stood: it waits, or is delayed, until the original time. */
function stand(flux: CompiledFlux, record: ContextRecord, { phase, due }: BeforeEnd, env: DecisionEnv): Decision {
  const position = { ...record.position, phase }
  const moves = record.moves + 1
  const log = [moveTo(flux, record, env)]
  return recordChange({ ...record, status: statusOf(phase, due), due, moves, position }, log)
}

/** The state that is named is entered, as by a transition, with those inputs over its defaults. */
function enter(
  flux: CompiledFlux,
  record: ContextRecord,
  { state: name, input, untyped }: Retry,
  env: DecisionEnv,
): Decision {
  const given = input ?? {}
  const state = flux.states.find((one) => one.name === name)
  if (!state)
    refuseInput('/state', `'${flux.fluxName}' has no state '${name}'${suggestion(name ?? '', flux.stateIndex.keys())}`)
  const shape = state.waiting ? withoutRequired(state.input) : state.input
  const rules = { now: env.now, unknown: 'refuse', fill: true, text: untyped, pointer: '/input' } as const
  const { value, errors } = validate(shape, given, rules)
  requireValid(errors)
  const values = Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(given, name)))
  return enterWith(flux, { ...record, state: state.index }, value, env, values)
}

/** A state that waits gets with its event what is required. */
const withoutRequired = (shape: Shape) => ({
  ...shape,
  properties: new Map(Array.from(shape.properties, ([name, property]) => [name, { ...property, required: false }])),
})

function enterWith(
  flux: CompiledFlux,
  record: ContextRecord,
  input: JsonObject,
  env: DecisionEnv,
  values?: JsonObject,
): Decision {
  const carried = { move: moveTo(flux, record, env, values), input }
  return transit(flux, record, { type: 'START', env }, { ...NO_TURN, carried })
}
