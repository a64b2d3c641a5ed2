// engine/interpreter: decides the effect of one input on a context. Pure: time, randomness and ids come from the
// environment of the turn, and no argument is changed.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate } from '../../definitions/values/properties.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { denial } from '../../model/caller.ts'
import { isFinished } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { describeInputErrors } from '../calls/describe.ts'
import { endNow, release, takeOver } from '../steps/leases.ts'
import { NeedsHistory } from './choose.ts'
import type { Decision, Input, DecisionEnv, StepAnswer } from './decision.ts'
import { keepOrRefuse, withdraw } from './early.ts'
import { transition } from './machine.ts'
import type { MachineEvent } from './machine-events.ts'
import { conclude } from './next-record.ts'
import { turnStateOf } from './turn-state.ts'

/** Decides the effect of one input on a context. Never throws for bad input: it returns `refused`. */
export function decide(flux: CompiledFlux, record: ContextRecord, input: Input, env: DecisionEnv): Decision {
  const failure = flux.secured && 'caller' in input ? denial(input.caller, 'invoke') : null
  if (failure) return input.type === 'EVENT' && input.tags ? { kind: 'noop' } : { kind: 'refused', failure }
  if (isFinished(record.status)) {
    const ended = input.type === 'EVENT' || input.type === 'TERMINATE' || input.type === 'TAG'
    return ended ? refused('conflict', `context ${record.id} has ended: it is ${record.status}`) : { kind: 'noop' }
  }
  if (flux.isNewer && CONTINUES.has(input.type)) return newer(flux, record)
  // Another server has taken over the step: only the result of that server is accepted.
  if ('owner' in input && input.owner !== record.lease?.owner) return { kind: 'noop' }
  switch (input.type) {
    case 'EVENT':
      return event(flux, record, input, env)
    case 'WAKE':
      return transit(flux, record, { type: 'WAKE' }, env)
    case 'DONE':
      return transit(flux, record, input, env)
    case 'TERMINATE':
      return transit(flux, record, { type: 'TERMINATE' }, env)
    case 'FAIL':
      return transit(flux, record, input, env)
    case 'TAKE_OVER':
      return takeOver(flux, record, input, env)
    case 'RELEASE':
      return release(record, input, env)
    case 'OUTGROWN':
      if (input.answer && !isAwaited(record, input.answer)) return { kind: 'noop' }
      return env.history ? endNow(flux, record, input.error, env, env.history) : { kind: 'needsHistory' }
    case 'TAG':
      return tag(record, input, env)
    case 'WITHDRAW':
      return withdraw(record, input, env.now)
  }
}

/** Whether the result is of the step in progress. */
function isAwaited({ position, lease }: ContextRecord, { epoch, attempt, owner }: StepAnswer): boolean {
  return position.epoch === epoch && position.attempt === attempt && (owner === undefined || owner === lease?.owner)
}

/** Decides the first turn of a context from its initial record. */
export function begin(flux: CompiledFlux, initial: ContextRecord, env: DecisionEnv): Decision {
  const reducerEnv = { turn: env, budget: env.budget ?? new WorkBudget(), history: [] }
  return conclude(
    { flux, record: initial, event: null, lastEvent: undefined },
    transition(flux, initial.position.phase, turnStateOf(initial), {
      type: 'START',
      state: initial.startState,
      env: reducerEnv,
    }),
    env,
  )
}

function event(
  flux: CompiledFlux,
  record: ContextRecord,
  input: Input & { type: 'EVENT' },
  env: DecisionEnv,
): Decision {
  if (input.tags && !matches(record.tags, input.tags)) return { kind: 'noop' }
  const state = flux.states[record.state]
  const waits = record.position.phase === 'waiting'
  if (!state || !waits)
    return keepOrRefuse(flux, record, input, {
      now: env.now,
      refusal: `context ${record.id} can't take an event now: it is ${record.status} in state '${state?.name ?? ''}'`,
    })
  if (!state.choice.events.has(input.name) && (state.choice.otherwise === null || input.isHeld))
    return keepOrRefuse(flux, record, input, {
      now: env.now,
      refusal: `context ${record.id} doesn't wait for '${input.name}' in state '${state.name}'`,
    })
  const { value, errors } = validate(state.input, input.input, {
    now: env.now,
    unknown: 'ignore',
    fill: false,
    text: input.untyped,
    pointer: '/input',
  })
  if (errors.length > 0)
    return { kind: 'refused', failure: { kind: 'invalid', detail: describeInputErrors(errors), errors } }
  const { name, eventId } = input
  return transit(flux, record, { type: 'EVENT', name, input: value }, env, { event: name, at: env.now, eventId })
}

/**
 * A context with tags takes only events that have one of them; a context without tags takes only events without tags.
 */
function matches(own: readonly string[], sent: readonly string[]): boolean {
  return own.length === 0 ? sent.length === 0 : sent.some((tag) => own.includes(tag))
}

function tag(record: ContextRecord, { add, remove }: Input & { type: 'TAG' }, env: DecisionEnv): Decision {
  const tags = [...new Set([...record.tags, ...add])].filter((name) => !remove.includes(name))
  if (tags.length > env.tagLimits.count) {
    const errors = [{ pointer: '/tag', detail: `a context can have ${env.tagLimits.count} tags` }]
    return {
      kind: 'refused',
      failure: { kind: 'invalid', detail: `context ${record.id} would have ${tags.length} tags`, errors },
    }
  }
  if (tags.length === record.tags.length && tags.every((name) => record.tags.includes(name))) return { kind: 'noop' }
  return {
    kind: 'next',
    record: { ...record, tags, updatedAt: env.now },
    log: [],
    step: null,
    child: null,
    abandonedChild: null,
    failure: null,
  }
}

/** Runs one event through the machine. `lastEvent`: that of the context, if the event has an effect. */
function transit(
  flux: CompiledFlux,
  record: ContextRecord,
  event: MachineEvent,
  env: DecisionEnv,
  lastEvent = record.lastEvent,
): Decision {
  const history = env.history ?? (record.moves === record.tail.length ? record.tail : null)
  try {
    const reducerEnv = { turn: env, budget: env.budget ?? new WorkBudget(), history }
    return conclude(
      { flux, record, event, lastEvent },
      transition(flux, record.position.phase, turnStateOf(record), { ...event, env: reducerEnv }),
      env,
    )
  } catch (error) {
    if (error instanceof NeedsHistory) return { kind: 'needsHistory' }
    throw error
  }
}

/** Inputs that continue a context according to its definition. */
const CONTINUES: ReadonlySet<Input['type']> = new Set(['EVENT', 'WAKE', 'DONE', 'FAIL', 'TAKE_OVER'])

/**
 * Refuses the input: a later version wrote the definition, and only a server of that version can continue the context.
 */
function newer({ fluxName }: CompiledFlux, { id }: ContextRecord): Decision {
  const reason = `a later version of it wrote the definition of '${fluxName}'`
  const detail = `context ${id} can't be carried on by this server: ${reason}`
  return { kind: 'refused', failure: { kind: 'unavailable', detail, retryAfter: 1 } }
}

const refused = (kind: 'conflict', detail: string): Decision => ({ kind: 'refused', failure: { kind, detail } })
