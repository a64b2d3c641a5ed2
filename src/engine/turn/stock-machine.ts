// engine/turn: a service as a machine of XState that runs without a server. It is the machine of the engine, with
// plain data at its edges: its snapshots are those that a context shows, and its events need no server.
import { randomUUID } from 'node:crypto'
import { fromCallback, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate } from '../../definitions/values/properties.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import { isObject, setOwn, tryJson, type JsonObject } from '../../model/json/value.ts'
import type { Phase } from '../../model/record.ts'
import { initialRecordOf } from './start-request.ts'
import { errorOf } from '../interpreter/exception.ts'
import { newMachine } from '../interpreter/machine.ts'
import { phaseOf } from '../interpreter/nodes.ts'
import {
  childReference,
  plainContextOf,
  registersOf,
  snapshotStatusOf,
  currentIndexOf,
  turnStateFrom,
} from '../interpreter/snapshot.ts'
import { NO_TURN, turnStateOf, type MachineEvent, type ReducerEnv, type TurnState } from '../interpreter/turn-state.ts'

type Persisted = { readonly [field: string]: unknown }
type Scope = Parameters<AnyStateMachine['transition']>[2]

/** A child that another server runs. */
const elsewhere = fromCallback(() => {})

/** The machine of a service, with snapshots and events of plain data. Without a snapshot it starts with its inputs. */
export function stockMachine(flux: CompiledFlux): AnyStateMachine {
  const machine = newMachine(flux)
  const edge = new PlainEdge(flux, machine)
  machine.transition = (snapshot, event, scope) => edge.transition(snapshot, event, scope)
  machine.getInitialSnapshot = (scope, input) => edge.initial(scope, input)
  machine.getPersistedSnapshot = (snapshot, options) => edge.persisted(snapshot, options)
  machine.restoreSnapshot = (snapshot, scope) => edge.restored({ ...snapshot }, scope)
  return machine
}

/** Translates between the snapshots of the engine's machine and plain ones. */
class PlainEdge {
  readonly #flux: CompiledFlux
  readonly #machine: AnyStateMachine
  readonly #own: Pick<AnyStateMachine, 'transition' | 'getInitialSnapshot' | 'getPersistedSnapshot' | 'restoreSnapshot'>
  /** The whole state of the turn, by the plain context that shows it. */
  readonly #states = new WeakMap<object, TurnState>()

  constructor(flux: CompiledFlux, machine: AnyStateMachine) {
    this.#flux = flux
    this.#machine = machine
    this.#own = {
      transition: machine.transition.bind(machine),
      getInitialSnapshot: machine.getInitialSnapshot,
      getPersistedSnapshot: machine.getPersistedSnapshot,
      restoreSnapshot: machine.restoreSnapshot,
    }
  }

  transition(snapshot: AnyMachineSnapshot, event: { readonly type: string }, scope: Scope): AnyMachineSnapshot {
    if (snapshot.status !== 'active') return snapshot
    if (event.type.startsWith('xstate.')) return this.#own.transition(snapshot, event, scope)
    const known = machineEventFrom(this.#flux, currentIndexOf(this.#flux, snapshot.value), { ...event })
    if (known === null) return snapshot
    const inner = { ...snapshot, context: this.#stateOf(snapshot) }
    const after = this.#own.transition(inner, known, scope)
    return after === inner ? snapshot : this.#closed(after, scope)
  }

  /** @throws Error when the inputs are refused */
  initial(scope: Scope, input: unknown): AnyMachineSnapshot {
    const env = envFrom({})
    const given = tryJson(input ?? {})
    const request = {
      flux: this.#flux,
      input: isObject(given) ? given : {},
      untyped: false,
      unknown: 'refuse' as const,
      tags: [],
      trigger: null,
      parent: null,
      key: null,
    }
    const started = initialRecordOf(request, { ...env.turn, tagLimits: { count: Infinity, bytes: Infinity } })
    const state = turnStateOf(started.recordOf(0))
    const begun = this.#own.getInitialSnapshot(scope, state)
    const event = { type: 'START', state: this.#flux.startState, env }
    return this.#closed(this.#own.transition(begun, event, scope), scope)
  }

  restored(snapshot: Persisted, scope: Scope): AnyMachineSnapshot {
    const children = isObject(snapshot['children']) ? snapshot['children'] : {}
    const { actors } = this.#machine.implementations
    for (const child of Object.values(children))
      if (isObject(child) && typeof child['src'] === 'string') actors[child['src']] ??= elsewhere
    // XState takes data that looks like an actor for one, so it is not given the data.
    const bare = { status: 'active' as const, output: undefined, error: undefined, ...snapshot, children, context: {} }
    const restored = this.#own.restoreSnapshot(bare, scope)
    const context = structuredClone(snapshot['context'] ?? {})
    this.#states.set(context, turnStateFrom(this.#flux, snapshot))
    if (restored.status === 'error') expectError(scope)
    return { ...restored, context }
  }

  persisted(snapshot: AnyMachineSnapshot, options: unknown) {
    const { context, children } = snapshot
    const known: JsonObject = {}
    for (const id of Object.keys(children)) {
      const src: unknown = children[id]?.src
      setOwn(known, id, childReference(typeof src === 'string' ? src : ''))
    }
    const phase = this.#phaseOf(snapshot)
    return {
      ...this.#own.getPersistedSnapshot({ ...snapshot, context: {}, children: {} }, options),
      context: structuredClone(context),
      children: known,
      ...(phase !== null && registersOf(this.#flux, phase, this.#stateOf(snapshot), null)),
    }
  }

  /** null: it never started. */
  #phaseOf({ value }: AnyMachineSnapshot): Phase | null {
    return isObject(value) || typeof value === 'string' ? phaseOf(value) : null
  }

  #stateOf(snapshot: AnyMachineSnapshot): TurnState {
    return this.#states.get(snapshot.context) ?? turnStateFrom(this.#flux, { ...snapshot })
  }

  /** The snapshot after a transition, with plain data. */
  #closed(after: AnyMachineSnapshot & { readonly context: TurnState }, scope: Scope): AnyMachineSnapshot {
    const phase = phaseOf(after.value)
    const status = snapshotStatusOf(phase)
    const made = after.context
    const state = { ...made, due: status === 'active' ? made.due : null, waits: phase === 'waiting', turn: NO_TURN }
    const context = plainContextOf(this.#flux, state, null)
    this.#states.set(context, state)
    if (phase !== 'acting') for (const id of Object.keys(after.children)) scope.stopChild(after.children[id])
    if (status === 'error') expectError(scope)
    return {
      ...after,
      status,
      context,
      error: status === 'error' ? made.turn.contextError : undefined,
      children: phase === 'acting' ? after.children : {},
    }
  }
}

/** A context that fails is no failure of the program: XState would throw it where nobody listens to errors. */
function expectError({ self }: Scope): void {
  self.subscribe({ error: () => {} })
}

type Fields = { readonly [field: string]: unknown }

/** The environment of one event: its time, in epoch milliseconds, and its randomness, as far as it has them. */
function envFrom({ now, random }: Fields): ReducerEnv {
  return {
    turn: {
      now: typeof now === 'number' && Number.isFinite(now) ? now : Date.now(),
      random: drawFrom(random),
      uuid: randomUUID,
    },
    budget: new WorkBudget(),
    history: [],
  }
}

/** A number, or what gives one with each call. */
function drawFrom(random: unknown): () => number {
  if (typeof random === 'number') return () => random
  return typeof random === 'function' ? () => Number(Reflect.apply(random, undefined, [])) : Math.random
}

/**
 * The event to a context in that state; null: it has no effect, for the server would refuse it. Its data is checked as the server checks what it
 * is sent.
 */
function machineEventFrom(flux: CompiledFlux, state: number, event: Fields): MachineEvent | null {
  const env = envFrom(event)
  switch (event['type']) {
    case 'EVENT': {
      const { name, input } = event
      if (typeof name !== 'string') return null
      const given = input === undefined || input === null ? {} : tryJson(input)
      const value = isObject(given) ? validInput(flux, state, given, env.turn.now) : null
      return value && { type: 'EVENT', name, input: value, env }
    }
    case 'WAKE':
      return { type: 'WAKE', env }
    case 'TERMINATE':
      return { type: 'TERMINATE', env }
    case 'DONE': {
      const { epoch, attempt, result } = event
      if (typeof epoch !== 'number' || typeof attempt !== 'number') return null
      return { type: 'DONE', epoch, attempt, result: result === undefined ? null : tryJson(result), env }
    }
    case 'FAIL': {
      const { epoch, attempt, error } = event
      if (typeof epoch !== 'number' || typeof attempt !== 'number') return null
      return { type: 'FAIL', epoch, attempt, error: actionErrorFrom(error), env }
    }
    default:
      return null
  }
}

function validInput({ states }: CompiledFlux, index: number, given: JsonObject, now: number): JsonObject | null {
  const state = states[index]
  if (!state) return null
  const options = { now, unknown: 'ignore' as const, fill: false, text: false, pointer: '/input' }
  const { value, errors } = validate(state.input, given, options)
  return errors.length > 0 ? null : value
}

/** An error as data, also one that has only some of the fields, or was thrown. */
function actionErrorFrom(error: unknown): ActionError {
  if (error instanceof Error || !isObject(error) || typeof error['message'] !== 'string') return errorOf(error)
  const { message, type, className, realException } = error
  const named = typeof type === 'string' ? type : 'Error'
  return {
    message,
    type: named,
    className: typeof className === 'string' ? className : named,
    realException: realException ?? { name: named, message },
    ...retryFrom(error),
  }
}

function retryFrom({ retry }: JsonObject): Pick<ActionError, 'retry'> {
  const afterMs = isObject(retry) ? retry['afterMs'] : undefined
  return afterMs === null || typeof afterMs === 'number' ? { retry: { afterMs } } : {}
}
