// engine/interpreter: runs an event through the machine of a context, as a decision.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ContextRecord, Move, Phase } from '../../model/record.ts'
import { NeedsHistory } from './choose.ts'
import type { Decision, DecisionEnv } from './decision.ts'
import { transition } from './machine.ts'
import type { MachineEvent } from './machine-events.ts'
import { conclude } from './next-record.ts'
import { turnStateOf, type TurnState } from './turn-state.ts'

/** Runs one event through the machine. `lastEvent`: that of the context, if the event has an effect. */
export const transit = (
  flux: CompiledFlux,
  record: ContextRecord,
  event: MachineEvent,
  env: DecisionEnv,
  lastEvent = record.lastEvent,
): Decision =>
  transitFrom(flux, { record, phase: record.position.phase, state: turnStateOf(record), lastEvent }, event, env)

interface From {
  readonly record: ContextRecord
  /** Phase of the machine. */
  readonly phase: Phase
  readonly state: TurnState
  readonly lastEvent: ContextRecord['lastEvent']
}

/** The same from another phase, or state of the turn, than those of the record. */
export function transitFrom(
  flux: CompiledFlux,
  { record, phase, state, lastEvent }: From,
  event: MachineEvent,
  env: DecisionEnv,
): Decision {
  const history = env.history ?? (record.moves === record.tail.length ? record.tail : null)
  try {
    const reducerEnv = { turn: env, budget: env.budget ?? new WorkBudget(), history }
    const made = transition(flux, phase, state, { ...event, env: reducerEnv })
    return conclude({ flux, record, event, lastEvent }, made, env)
  } catch (error) {
    if (error instanceof NeedsHistory) return { kind: 'needsHistory' }
    throw error
  }
}

/** A change of the record alone, with those moves. */
export const recordChange = (
  record: ContextRecord,
  log: readonly Move[] = [],
): Decision & { readonly kind: 'next' } => ({
  kind: 'next',
  record,
  log,
  step: null,
  child: null,
  abandonedChild: null,
  failure: null,
})

export const conflicting = (detail: string): Decision => ({ kind: 'refused', failure: { kind: 'conflict', detail } })
