// engine/interpreter: record + input → next record. Pure: time, randomness and ids come with the turn, and nothing env
// is changed.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate } from '../../definitions/values/properties.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { denial } from '../../model/caller.ts'
import { isFinished, type Status } from '../../model/context.ts'
import type { ContextRecord, Lease, Phase } from '../../model/record.ts'
import { errorAfter, failureOf } from '../steps/attempts.ts'
import { describeInputErrors } from '../calls/describe.ts'
import { endNow, release, takeOver } from '../steps/leases.ts'
import { runsHere, stepOf } from '../record/position.ts'
import { NeedsHistory } from './choose.ts'
import type { Decision, Input, DecisionEnv, StepAnswer } from './decision.ts'
import { transition, type MachineEvent, type MachineTransition } from './machine.ts'
import { turnStateOf } from './turn-state.ts'

/** Decides what one input makes of a context. */
export function decide(flux: CompiledFlux, record: ContextRecord, input: Input, env: DecisionEnv): Decision {
  const failure = flux.secured && 'caller' in input ? denial(input.caller, 'invoke') : null
  if (failure) return input.type === 'EVENT' && input.tags ? { kind: 'noop' } : { kind: 'refused', failure }
  if (isFinished(record.status)) {
    const ended = input.type === 'EVENT' || input.type === 'TERMINATE' || input.type === 'TAG'
    return ended ? refused('conflict', `context ${record.id} has ended: it is ${record.status}`) : { kind: 'noop' }
  }
  if (flux.isNewer && CARRIES_ON.has(input.type)) return newer(flux, record)
  // Another server took the step over: its answer counts, and it is not to be robbed of it by what was known before.
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
  }
}

/** Whether the step that the answer is from is the one under way. */
function isAwaited({ position, lease }: ContextRecord, { epoch, attempt, owner }: StepAnswer): boolean {
  return position.epoch === epoch && position.attempt === attempt && (owner === undefined || owner === lease?.owner)
}

/** The first record of a context: `initial` holds what is fixed when it is started. */
export function begin(flux: CompiledFlux, initial: ContextRecord, env: DecisionEnv): Decision {
  const reducerEnv = { turn: env, budget: env.budget ?? new WorkBudget(), history: [] }
  return conclude(
    { flux, record: initial, event: null },
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
    return refused(
      'conflict',
      `context ${record.id} can't take an event now: it is ${record.status} in state '${state?.name ?? ''}'`,
    )
  if (!state.choice.events.has(input.name) && state.choice.otherwise === null) {
    return refused('conflict', `context ${record.id} doesn't wait for '${input.name}' in state '${state.name}'`)
  }
  const { value, errors } = validate(state.input, input.input, {
    now: env.now,
    unknown: 'ignore',
    fill: false,
    text: input.untyped,
    pointer: '/input',
  })
  if (errors.length > 0)
    return { kind: 'refused', failure: { kind: 'invalid', detail: describeInputErrors(errors), errors } }
  return transit(flux, record, { type: 'EVENT', name: input.name, input: value }, env)
}

/** A context that has tags takes only events that carry any of them, one without tags only events without. */
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

/** Sends one event through the machine. */
function transit(flux: CompiledFlux, record: ContextRecord, event: MachineEvent, env: DecisionEnv): Decision {
  const history = env.history ?? (record.moves === record.tail.length ? record.tail : null)
  try {
    const reducerEnv = { turn: env, budget: env.budget ?? new WorkBudget(), history }
    return conclude(
      { flux, record, event },
      transition(flux, record.position.phase, turnStateOf(record), { ...event, env: reducerEnv }),
      env,
    )
  } catch (error) {
    if (error instanceof NeedsHistory) return { kind: 'needsHistory' }
    throw error
  }
}

/** What the machine was told, and about whom. */
interface Told {
  readonly flux: CompiledFlux
  readonly record: ContextRecord /** null: it begins. */
  readonly event: MachineEvent | null
}

/** Turns what the machine says into the next record. */
function conclude(
  { flux, record, event }: Told,
  made: MachineTransition | null,
  { now, owner }: DecisionEnv,
): Decision {
  if (!made) return { kind: 'noop' }
  const {
    phase,
    effect,
    state: { data, turn, moves, epoch, attempt, pick, due: wanted },
  } = made
  const status = statusOf(phase, wanted)
  const isEnd = isFinished(status)
  // Whatever it was that it waited for: nothing wakes what has ended.
  const due = isEnd ? null : wanted
  const acting = phase === 'acting'
  const isChild = flux.states[data.state]?.action.effect === 'child'
  const begins = acting && effect === 'step'
  const awaits = acting && isChild
  const invokes = awaits && effect === 'child'
  const failure = failureOf(flux, record, event?.type === 'FAIL' ? event.error : turn.broke)
  const stepStartedAt = !acting
    ? undefined
    : invokes || (begins && runsHere(flux, data.state))
      ? now
      : begins
        ? undefined
        : record.stepStartedAt
  // Written out, and in the same order wherever records are made: they are copied and read for each event, and
  // spreading two objects is ten times as slow.
  const next: ContextRecord = {
    id: record.id,
    version: record.version,
    package: record.package,
    fluxName: record.fluxName,
    definition: record.definition,
    status,
    state: data.state,
    startState: record.startState,
    startedAt: record.startedAt,
    updatedAt: now,
    endedAt: isEnd ? now : null,
    due,
    tags: record.tags,
    error: turn.fatal,
    exception: data.exception,
    fluxEvent: data.fluxEvent,
    trigger: record.trigger,
    trackerId: record.trackerId,
    parent: record.parent,
    child: awaits && !invokes ? record.child : null,
    lease: acting && !awaits ? leaseOf(record, owner, begins) : null,
    stepStartedAt,
    lastError: acting || phase === 'backoff' ? errorAfter(record, epoch, failure, now) : undefined,
    moves: data.moves,
    tail: record.tail,
    visited: data.visited,
    position: { phase, moves, epoch, attempt, pick },
    input: data.input,
    output: data.output,
    request: data.request,
    inherited: record.inherited,
    raw: record.raw,
    answer: data.answer,
    paused:
      record.paused ??
      (record.request !== null && (status === 'WAITING' || status === 'WAITING_UNTIL') ? status : undefined),
    response: data.response,
    args: data.args,
    states: data.states,
  }
  return {
    kind: 'next',
    record: next,
    log: turn.history,
    step: begins ? stepOf(next) : null,
    child: invokes ? childOf(flux, next) : null,
    abandonedChild: record.child !== next.child ? record.child : null,
    failure,
  }
}

/** A step that starts belongs to this server; one that goes on, to whoever had it. */
function leaseOf(record: ContextRecord, owner: string, starts: boolean): Lease {
  return starts || !record.lease ? { owner, takeovers: 0 } : record.lease
}

function childOf(flux: CompiledFlux, { state, args }: ContextRecord) {
  const action = flux.states[state]?.action
  return action?.child == null ? null : { name: action.child, input: args ?? {} }
}

/** What makes a context go on, as its definition says. */
const CARRIES_ON: ReadonlySet<Input['type']> = new Set(['EVENT', 'WAKE', 'DONE', 'FAIL', 'TAKE_OVER'])

/** A server of the version that wrote the definition carries it on, in its time. */
function newer({ fluxName }: CompiledFlux, { id }: ContextRecord): Decision {
  const reason = `a later version of it wrote the definition of '${fluxName}'`
  const detail = `context ${id} can't be carried on by this server: ${reason}`
  return { kind: 'refused', failure: { kind: 'unavailable', detail, retryAfter: 1 } }
}

const refused = (kind: 'conflict', detail: string): Decision => ({ kind: 'refused', failure: { kind, detail } })

function statusOf(phase: Phase, due: number | null): Status {
  switch (phase) {
    case 'completed':
      return 'COMPLETED'
    case 'failed':
      return 'FAILED'
    case 'terminated':
      return 'TERMINATED'
    case 'waiting':
      return due === null ? 'WAITING' : 'WAITING_UNTIL'
    case 'delayed':
      return 'WAITING_UNTIL'
    default:
      return 'RUNNING'
  }
}
