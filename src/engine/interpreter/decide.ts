// engine/interpreter: decides the effect of one input on a context. Pure: time, randomness and ids come from the
// environment of the turn, and no argument is changed.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { validate } from '../../definitions/values/properties.ts'
import { denial, type Role } from '../../model/caller.ts'
import { actionError, type ActionError } from '../../model/action-error.ts'
import { type ContextRecord, isFinished, type Move, UNOWNED } from '../../model/context.ts'
import type { Standstill } from '../../model/standstill.ts'
import { entryOf } from './turn-state.ts'
import { conflict, FluxError, invalid, unavailable } from '../../model/failure.ts'
import { requireValid } from './describe.ts'
import { exceptionOf } from './exception.ts'
import type { Decision, Input, DecisionEnv } from './decision.ts'
import { keepOrRefuse, keepWhilePaused, withdraw } from './early.ts'
import { takes } from './nodes.ts'
import { isAt, runsHere, stepKeyIn, stepOf } from './position.ts'
import { retry } from './retry.ts'
import { childOf, recordChange, transit } from './transit.ts'

/** Decides the effect of one input on a context. Never throws for bad input: it returns `refused`. */
export function decide(flux: CompiledFlux, record: ContextRecord, input: Input, env: DecisionEnv): Decision {
  try {
    return effectOf(flux, record, input, env)
  } catch (error) {
    if (error instanceof FluxError) return { kind: 'refused', failure: error.failure }
    throw error
  }
}

/** @throws FluxError when the input is refused */
function effectOf(flux: CompiledFlux, record: ContextRecord, input: Input, env: DecisionEnv): Decision {
  const failure = flux.secured && 'caller' in input ? denial(input.caller, roleOf(input.type)) : null
  if (failure && input.type === 'EVENT' && input.tags) return { kind: 'noop' }
  if (failure) throw new FluxError(failure)
  if (isFinished(record.status) && input.type !== 'RETRY') {
    if (!('caller' in input) || input.type === 'WITHDRAW') return { kind: 'noop' }
    throw conflict(`context ${record.id} has ended: it is ${record.status}`)
  }
  // Only a server of the version that wrote the definition can continue the context.
  if (flux.isForeign && CONTINUES.has(input.type))
    throw unavailable(`context ${record.id} can't be carried on by this server: ${flux.faults.join('; ')}`)
  // Another server has taken over the step: only the result of that server is accepted.
  if ('owner' in input && input.owner !== record.lease?.owner) return { kind: 'noop' }
  switch (input.type) {
    case 'EVENT':
      return event(flux, record, input, env)
    case 'WAKE':
      return record.isPaused ? { kind: 'noop' } : transit(flux, record, { ...input, env })
    case 'DONE':
    case 'FAIL':
    case 'TERMINATE':
      return transit(flux, record, { ...input, env })
    case 'TAKE_OVER':
      return takeOver(flux, record, input, env)
    case 'RELEASE':
      return release(record, input, env)
    case 'OUTGROWN':
      if (input.answer && !isAt(input.answer, record)) return { kind: 'noop' }
      return endNow(flux, record, input.error, env, env.past.historyOf(record.id))
    case 'TAG':
      return tag(record, input, env)
    case 'WITHDRAW':
      return withdraw(record, input, env.now)
    case 'PAUSE':
      return pause(record, env)
    case 'RESUME':
      return resume(flux, record, env)
    case 'RETRY':
      return retry(flux, record, input, env)
  }
}

/** The role that a message needs, of contexts of secured services. */
const roleOf = (type: Input['type']): Role =>
  type === 'PAUSE' || type === 'RESUME' || type === 'RETRY' ? 'admin' : 'invoke'

/** Decides the first turn of a context from its initial record. */
export const begin = (flux: CompiledFlux, initial: ContextRecord, env: DecisionEnv): Decision =>
  transit(flux, initial, { type: 'START', env })

type Event = Input & { readonly type: 'EVENT' }

function event(flux: CompiledFlux, record: ContextRecord, input: Event, env: DecisionEnv): Decision {
  if (input.tags && !matches(record.tags, input.tags)) return { kind: 'noop' }
  const { now } = env
  const { name, eventId, isHeld } = input
  const state = flux.states[record.state]
  const waits = state && record.position.phase === 'waiting'
  const isTaken = waits && (isHeld ? state.choice.events.has(name) : takes(state, name))
  if (record.isPaused) {
    // Where it is the next one that the context would take, a fault of its input is reported to its sender now.
    if (isTaken && record.pending.length === 0 && !isHeld) inputOf(state, input, now)
    return keepWhilePaused(flux, record, input, now)
  }
  if (!isTaken) {
    const where = `in state '${state?.name ?? ''}'`
    const reason = waits
      ? `doesn't wait for '${name}' ${where}`
      : `can't take an event now: it is ${record.status} ${where}`
    return keepOrRefuse(flux, record, input, now, `context ${record.id} ${reason}`)
  }
  return transit(flux, record, { type: 'EVENT', name, eventId, input: inputOf(state, input, now), env })
}

/** The input of an event for the state. @throws FluxError when it is refused */
export function inputOf(state: CompiledState, { input, untyped }: Pick<Event, 'input' | 'untyped'>, now: number) {
  const rules = { now, unknown: 'ignore', fill: false, text: untyped, pointer: '/input' } as const
  const { value, errors } = validate(state.input, input, rules)
  requireValid(errors)
  return value
}

/**
 * A context with tags takes only events that have one of them; a context without tags takes only events without tags.
 */
function matches(own: readonly string[], sent: readonly string[]) {
  return own.length === 0 ? sent.length === 0 : sent.some((tag) => own.includes(tag))
}

function tag(record: ContextRecord, { add, remove }: Input & { type: 'TAG' }, env: DecisionEnv): Decision {
  const tags = [...new Set([...record.tags, ...add])].filter((name) => !remove.includes(name))
  const { count } = env.tagLimits
  if (tags.length > count) {
    const errors = [{ pointer: '/tag', detail: `a context can have ${count} tags` }]
    throw invalid(`context ${record.id} would have ${tags.length} tags`, errors)
  }
  if (tags.length === record.tags.length && tags.every((name) => record.tags.includes(name))) return { kind: 'noop' }
  return recordChange({ ...record, tags, updatedAt: env.now })
}

/**
 * A context that is paused already stays as it is. While it is paused, results of what was begun before are decided as
 * usual. A step that would begin then is held as a ready one that no server may claim, and a child is not started.
 */
const pause = (record: ContextRecord, { now }: DecisionEnv): Decision =>
  record.isPaused ? { kind: 'noop' } : recordChange({ ...record, isPaused: true, updatedAt: now })

/** The turn then takes the events that were kept, and what is due. */
function resume(flux: CompiledFlux, record: ContextRecord, { now }: DecisionEnv): Decision {
  if (!record.isPaused) return { kind: 'noop' }
  const running = { ...record, isPaused: undefined, updatedAt: now }
  const action = record.position.phase === 'acting' ? flux.states[record.state]?.action : undefined
  if (action?.effect !== 'child' || record.child !== null) return recordChange(running)
  // The child begins now, and so does its time.
  const due = action.timeoutMs === null ? null : now + action.timeoutMs
  const begun = { ...running, due, stepStartedAt: now }
  return { ...recordChange(begun), child: childOf(flux, begun) }
}

/** Inputs that continue a context according to its definition. */
const CONTINUES: ReadonlySet<Input['type']> = new Set(['EVENT', 'WAKE', 'DONE', 'FAIL', 'TAKE_OVER', 'RESUME', 'RETRY'])

// The lease of a step, and contexts that can't continue: none of what follows reads the context's data, which may be
// the cause of the failure.

/**
 * Maximum number of takeovers with which a step is started again, so that a step that kills its server does not kill
 * every server in turn.
 */
const MAX_TAKEOVERS = 5

const LOST = actionError('LeaseLost', `${MAX_TAKEOVERS + 1} servers were lost while they ran this step`)

/**
 * Leases the step to this server, and counts the takeover. Reads only the head of `record`. After too many takeovers
 * the step is not started but fails (`lossOf`). Handling that failure needs the data; if it kills another server, the
 * context is ended without reading its data.
 */
function takeOver(
  flux: CompiledFlux,
  record: ContextRecord,
  { isUncounted = false }: Input & { type: 'TAKE_OVER' },
  env: DecisionEnv,
): Decision {
  const { lease, state } = record
  if (!lease || lease.owner === env.owner) return { kind: 'noop' }
  const isReady = lease.owner === UNOWNED
  const takeovers = lease.takeovers + (isReady || isUncounted ? 0 : 1)
  if (takeovers > MAX_TAKEOVERS + 1)
    return endNow(flux, record, LOST, env, [entryOf(flux.states[state]?.name ?? '', env.now)])
  const changed = { ...record, stepStartedAt: undefined, updatedAt: env.now }
  // Its server has died. While it is paused, no other starts the step.
  if (record.isPaused)
    return isReady ? { kind: 'noop' } : recordChange({ ...changed, lease: { owner: UNOWNED, takeovers } })
  const next = {
    ...changed,
    lease: { owner: env.owner, takeovers },
    stepStartedAt: runsHere(flux, state) ? env.now : undefined,
  }
  return { ...recordChange(next), step: isLost(next) ? null : stepOf(next) }
}

const isLost = ({ lease }: ContextRecord) => lease !== null && lease.takeovers > MAX_TAKEOVERS

/** The message to a context whose step was taken over too many times; null: the step may start. */
export function lossOf(record: ContextRecord): Input | null {
  const step = stepOf(record)
  return step && isLost(record) ? { type: 'FAIL', ...step, error: LOST } : null
}

/** The failure of a step that blocked the event loop of a server until the server ended; null: it was not this step. */
export function blockOf(record: ContextRecord, { step: blocked, message, stack: at }: Standstill): Input | null {
  const step = stepOf(record)
  if (!step || blocked?.stepKey !== stepKeyIn(record) || blocked.attempt !== step.attempt) return null
  const stack = at === '' ? {} : { stack: at }
  const error = actionError('EventLoopBlocked', message)
  const realException = { name: error.type, message, ...stack }
  return { type: 'FAIL', ...step, error: { ...error, realException, ...stack } }
}

/**
 * Releases the lease of a step that does not run here, or that runs when the server stops. The step becomes ready, and
 * its next takeover is not counted.
 */
function release(record: ContextRecord, { step }: Input & { type: 'RELEASE' }, { owner }: DecisionEnv): Decision {
  const { lease } = record
  if (lease?.owner !== owner || (step && !isAt(step, record))) return { kind: 'noop' }
  return recordChange({ ...record, lease: { ...lease, owner: UNOWNED }, stepStartedAt: undefined })
}

/** Ends a context as failed. No transition is taken, and its data is not changed. */
function endNow(
  flux: CompiledFlux,
  record: ContextRecord,
  error: ActionError,
  { now }: DecisionEnv,
  history: readonly Move[],
): Decision {
  return recordChange({
    ...record,
    status: 'FAILED',
    due: null,
    lease: null,
    child: null,
    stepStartedAt: undefined,
    lastError: undefined,
    error: exceptionOf(error, flux, history),
    position: { ...record.position, phase: 'failed' },
    updatedAt: now,
    endedAt: now,
  })
}
