// engine/turn: a service as a machine of XState that runs without a server. It is the machine of the engine, with
// plain data at its edges: its snapshots are those that a context shows, and its events need no server.
import { randomUUID } from 'node:crypto'
import { fromCallback, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate'
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { FluxError } from '../../model/failure.ts'
import { isObject, tryJson, type Json, type JsonObject } from '../../model/json/value.ts'
import { initialRecordOf } from './start-request.ts'
import { inputOf } from '../interpreter/decide.ts'
import { newMachine } from '../interpreter/machine.ts'
import { positionIn } from '../interpreter/nodes.ts'
import { childReference, errorFrom, numberOf, shownOf, turnStateFrom } from '../interpreter/snapshot.ts'
import { turnStateOf, type MachineEvent, type TurnState } from '../interpreter/turn-state.ts'
import { redactorOf } from '../redact/redactor.ts'

type Fields = { readonly [field: string]: unknown }
type Scope = Parameters<AnyStateMachine['transition']>[2]

/** A child that another server runs. */
const elsewhere = fromCallback(() => {})

/**
 * The machine of a service, with snapshots and events of plain data. Without a snapshot it starts with its inputs. A
 * snapshot has the state of the turn as a context shows it: in `context`, and in `registers`.
 */
export function stockMachine(flux: CompiledFlux): AnyStateMachine {
  const machine = newMachine(flux)
  const own = newMachine(flux)
  const unredacted = hidesNothing(flux)

  /** The snapshot after a transition, with plain data. */
  const plain = (after: AnyMachineSnapshot & { readonly context: TurnState }, scope: Scope): AnyMachineSnapshot => {
    const { phase } = positionIn(flux, after.value)
    const children = phase === 'acting' ? after.children : {}
    for (const id of Object.keys(after.children)) if (!(id in children)) scope.stopChild(after.children[id])
    const error = after.context.turn.contextError ?? undefined
    if (phase === 'failed') expectError(scope)
    return { ...after, ...shownOf(flux, phase, after.context, unredacted), error, children }
  }

  machine.transition = (snapshot, event: { readonly type: string }, scope) => {
    if (snapshot.status !== 'active') return snapshot
    if (event.type.startsWith('xstate.')) return own.transition(snapshot, event, scope)
    const context = turnStateFrom(flux, { ...snapshot })
    const known = machineEventFrom(flux, context.data.state, { ...event })
    if (known === null) return snapshot
    const inner = { ...snapshot, context }
    const after = own.transition(inner, known, scope)
    return after === inner ? snapshot : plain(after, scope)
  }

  /** @throws Error when the inputs are refused */
  machine.getInitialSnapshot = (scope, input: unknown) => {
    const env = envFrom({})
    const begun = own.getInitialSnapshot(scope, startOf(flux, tryJson(input ?? {}), env))
    return plain(own.transition(begun, { type: 'START', env }, scope), scope)
  }

  machine.getPersistedSnapshot = (snapshot, options) => {
    const ids = Object.keys(snapshot.children)
    const children = ids.map((id) => [id, childReference(String(snapshot.children[id]?.src))] as const)
    return {
      ...own.getPersistedSnapshot({ ...snapshot, context: {}, children: {} }, options),
      context: structuredClone(snapshot.context),
      children: Object.fromEntries(children),
    }
  }

  machine.restoreSnapshot = (persisted, scope) => {
    const snapshot: Fields = { ...persisted }
    const children = isObject(snapshot['children']) ? snapshot['children'] : {}
    const { actors } = own.implementations
    for (const child of Object.values(children))
      if (isObject(child) && typeof child['src'] === 'string') actors[child['src']] ??= elsewhere
    // XState takes data that looks like an actor for one, so it is not given the data.
    const bare = { status: 'active' as const, output: undefined, error: undefined, ...snapshot, children, context: {} }
    const restored = own.restoreSnapshot(bare, scope)
    if (restored.status === 'error') expectError(scope)
    const { context = {}, registers } = snapshot
    return { ...restored, context: structuredClone(context), ...(registers !== undefined && { registers }) }
  }
  return machine
}

/** A redactor that leaves all as it is. */
const hidesNothing = (flux: CompiledFlux) => ({
  ...redactorOf(NO_SECRETS, { ...flux, isSensitive: false }),
  request: (request: JsonObject) => request,
})

const NO_SECRETS = { request: null, inheritedSecrets: null, input: {}, output: {}, states: {} }

/** The state of the turn of a context that starts with those inputs. @throws FluxError when they are refused */
function startOf(flux: CompiledFlux, given: Json, turn: Turn): TurnState {
  const request = {
    flux,
    input: isObject(given) ? given : {},
    untyped: false,
    unknown: 'refuse' as const,
    tags: [],
    trigger: null,
    key: null,
  }
  const tagLimits = { count: Infinity, bytes: Infinity }
  return turnStateOf(initialRecordOf(request, { ...turn, tagLimits }).checked()(0))
}

/** A context that fails is no failure of the program: XState throws errors that have no listener. */
function expectError({ self }: Scope): void {
  self.subscribe({ error: () => {} })
}

/**
 * The environment of one event: its time, in epoch milliseconds, and its randomness, a number or what gives one with
 * each call, as far as it has them.
 */
function envFrom({ now, random }: Fields) {
  const drawn = typeof random === 'number' ? () => random : Math.random
  const turn = {
    now: typeof now === 'number' && Number.isFinite(now) ? now : Date.now(),
    random: typeof random === 'function' ? () => Number(Reflect.apply(random, undefined, [])) : drawn,
    uuid: randomUUID,
  }
  return { ...turn, budget: new WorkBudget(), past: { historyOf: () => [] } }
}

/**
 * The event to a context in that state; null: it has no effect, for the server would refuse it. Its data is checked as
 * the server checks what it is sent.
 */
function machineEventFrom({ states }: CompiledFlux, index: number, event: Fields): MachineEvent | null {
  const { type, name } = event
  const env = envFrom(event)
  const answer = { epoch: numberOf(event['epoch'], NaN), attempt: numberOf(event['attempt'], NaN), env }
  switch (type) {
    case 'EVENT': {
      const [state, input] = [states[index], tryJson(event['input'] ?? {})]
      if (typeof name !== 'string' || !state || !isObject(input)) return null
      try {
        return { type, name, input: inputOf(state, { input, untyped: false }, env.now), env }
      } catch (error) {
        if (error instanceof FluxError) return null
        throw error
      }
    }
    case 'WAKE':
    case 'TERMINATE':
      return { type, env }
    case 'DONE':
      return { type, ...answer, result: tryJson(event['result'] ?? null) }
    case 'FAIL':
      return { type, ...answer, error: errorFrom(event['error']) }
    default:
      return null
  }
}
