// engine/interpreter: walks through a machine by the nodes, transitions, guards and actions that XState made of its
// configuration. XState's own `transition()` selects the same ones anew for each event, and takes several times as long
// as the reducers; a test compares the two on every transition of the examples and of generated services.
//
// The machines have no history, no invocations, no parallel nodes and no exit actions, and entry actions only in nodes
// that have none inside. So what an event does depends on nothing but the node, the event and the guards.
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition, StateValue } from 'xstate'
import type { Phase } from '../../model/record.ts'
import { phaseOf } from './nodes.ts'
import type { ActionOf, ActionParams, GuardOf, GuardParams } from './state-nodes.ts'
import type { MachineEvent, TurnState } from './turn-state.ts'

export interface MachineArgs {
  readonly context: TurnState
  readonly event: MachineEvent
}

/** What the engine has to start. */
type Effect = 'step' | 'child'
type Reducing = Exclude<keyof ActionParams, Effect>

/** What each named action makes of the state of the turn. */
export type ReducerTable = {
  readonly [K in Reducing]: (args: MachineArgs, params: ActionParams[K]) => TurnState
}
/** What each named guard asks. */
export type GuardTable = {
  readonly [K in keyof GuardParams]: (args: MachineArgs, params: GuardParams[K]) => boolean
}

interface Parts {
  readonly reducers: ReducerTable
  readonly guards: GuardTable
  /** The value of the snapshot of a context in that phase of that state. */
  readonly valueOf: (phase: Phase, state: number) => StateValue
}

/** A transition, with the entry actions of the nodes to which it leads. */
interface Way {
  /** null: it is taken always. */
  readonly test: ((args: MachineArgs) => boolean) | null
  readonly acts: readonly ((args: MachineArgs) => TurnState)[]
  readonly effect: Effect | null
  readonly to: Leaf
}

/** A node without nodes inside. */
interface Leaf {
  readonly node: AnyStateNode
  readonly isFinal: boolean
  /** By the type of the event. */
  readonly ways: Map<string, readonly Way[]>
}

/** For the transitions that need no event. */
const EVENTLESS = ''

export interface MachineTransition {
  readonly state: TurnState
  readonly phase: Phase
  /** Whether a step, or a child, is to be started. */
  readonly effect: Effect | null
}

/** Goes through the nodes of one machine. */
export class MachineWalk {
  readonly #machine: AnyStateMachine
  readonly #parts: Parts
  readonly #leaves = new Map<AnyStateNode, Leaf>()
  /** Those in which a context rests, by the state. */
  readonly #resting = new Map<Phase, (Leaf | undefined)[]>()

  constructor(machine: AnyStateMachine, parts: Parts) {
    this.#machine = machine
    this.#parts = parts
  }

  /** The state of the turn after an event to a context in that phase of its state; null: the event has no effect. */
  go(phase: Phase, state: TurnState, event: MachineEvent): MachineTransition | null {
    const args = { context: state, event }
    let at = this.#restingAt(phase, state.data.state)
    let effect: Effect | null = null
    let isMoved = false
    for (let way = this.#way(at, event.type, args); way !== null; way = this.#way(at, EVENTLESS, args)) {
      // XState, too, takes a transition that changes nothing only once.
      if (way.to === at && way.acts.length === 0) break
      for (const act of way.acts) args.context = act(args)
      effect = way.effect ?? effect
      isMoved = true
      at = way.to
      if (at.isFinal) break
    }
    return isMoved ? { state: args.context, phase: phaseOf(at.node.key), effect } : null
  }

  /** The first transition whose guard is true; null: there is none. */
  #way(leaf: Leaf, type: string, args: MachineArgs): Way | null {
    let ways = leaf.ways.get(type)
    if (ways === undefined) leaf.ways.set(type, (ways = this.#waysOf(leaf, type)))
    for (const way of ways) if (way.test === null || way.test(args)) return way
    return null
  }

  /** The transitions of a node and of those around it, in the order in which XState asks their guards. */
  #waysOf(leaf: Leaf, type: string): Way[] {
    const ways: Way[] = []
    for (let node: AnyStateNode | undefined = leaf.node; node !== undefined; node = node.parent)
      for (const definition of (type === EVENTLESS ? node.always : node.transitions.get(type)) ?? [])
        ways.push(this.#wayOf(leaf, definition))
    return ways
  }

  #wayOf(leaf: Leaf, { guard, actions, target }: AnyTransitionDefinition): Way {
    const { reducers, guards } = this.#parts
    let [to] = target ?? []
    const named: unknown[] = [...actions]
    for (let inside = to; inside !== undefined; inside = inside.initial?.target?.[0]) {
      to = inside
      named.push(...inside.entry)
    }
    const acts: Way['acts'][number][] = []
    let effect: Effect | null = null
    for (const action of named) {
      if (!isNamed(action)) throw new TypeError('an action of a node has no name')
      if (action.type === 'step' || action.type === 'child') effect = action.type
      else if (isReducing(action, reducers)) acts.push(bindReducer(reducers, action))
      else throw new TypeError(`there is no action '${action.type}'`)
    }
    return {
      test: guard === undefined ? null : bindGuard(guards, guard),
      acts,
      effect,
      to: to === undefined ? leaf : this.#leafAt(to),
    }
  }

  #leafAt(node: AnyStateNode): Leaf {
    const known = this.#leaves.get(node)
    if (known !== undefined) return known
    const leaf = { node, isFinal: node.type === 'final', ways: new Map() }
    this.#leaves.set(node, leaf)
    return leaf
  }

  #restingAt(phase: Phase, state: number): Leaf {
    let ofPhase = this.#resting.get(phase)
    if (ofPhase === undefined) this.#resting.set(phase, (ofPhase = []))
    return (ofPhase[state] ??= this.#find(this.#parts.valueOf(phase, state)))
  }

  #find(value: StateValue): Leaf {
    const [key = '', inside] = typeof value === 'string' ? [value] : (Object.entries(value)[0] ?? [])
    const outer = this.#machine.root.states[key]
    const node = typeof inside === 'string' ? outer?.states[inside] : outer
    if (node === undefined) throw new Error(`the machine has no node ${JSON.stringify(value)}`)
    return this.#leafAt(node)
  }
}

const bindReducer =
  <K extends Reducing>(table: ReducerTable, { type, params }: ActionOf<K>) =>
  (args: MachineArgs): TurnState =>
    table[type](args, params)

function bindGuard(table: GuardTable, given: unknown): (args: MachineArgs) => boolean {
  const guard = typeof given === 'string' ? { type: given, params: undefined } : given
  if (!isNamed(guard) || !isAsking(guard, table)) throw new TypeError('a guard of a node has no name')
  return ask(table, guard)
}

const ask =
  <K extends keyof GuardParams>(table: GuardTable, { type, params }: GuardOf<K>) =>
  (args: MachineArgs): boolean =>
    table[type](args, params)

/** As XState keeps the actions and guards of `state-nodes.ts`, where the compiler has checked that parameters fit names. */
interface Named {
  readonly type: string
  readonly params: unknown
}

const isNamed = (given: unknown): given is Named =>
  typeof given === 'object' && given !== null && 'type' in given && typeof given.type === 'string' && 'params' in given
const isReducing = (given: Named, table: ReducerTable): given is ActionOf<Reducing> => Object.hasOwn(table, given.type)
const isAsking = (given: Named, table: GuardTable): given is GuardOf<keyof GuardParams> =>
  Object.hasOwn(table, given.type)
