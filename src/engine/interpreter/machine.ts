// engine/interpreter: a service as an XState machine. Only this file and `stock-machine.ts` use XState.
//
// Each state of a service is a node, named by the state's name (escaped by `nodes.ts`), with substates for the phases
// in which a context can be in it (`state-nodes.ts`). Seven fixed events (`START`, `RETRY`, `EVENT`, `WAKE`, `DONE`,
// `FAIL`, `TERMINATE`) carry names and data as payload. The machine's context is the state of the turn
// (`turn-state.ts`): the user's data, the count of entries, the attempt, the time it is due. Each action assigns what a
// pure reducer returns (`reducers.ts`); a reducer works on a copy (`working-state.ts`), on which lines run; `scope.ts`
// resolves the names in them. A transition is a function of snapshot and event: nothing is started, timed or stored
// here. A step or a child is what a context has whose machine comes to rest in `acting`; timers are absolute times. So
// a snapshot is plain data, restoring it starts nothing, and unmodified XState can restore it and continue. XState's
// own `transition()` makes an actor and selects nodes anew for each event, which takes several times as long as the
// reducers. So `walkOf` reads the nodes that XState made of the configuration, with their transitions, guards and
// actions, once for each node and type of event, and runs the guards and actions as XState would. The machines have no
// history, no invocations, no parallel nodes and no exit actions, and entry actions only in nodes that have none
// inside: what an event does depends on nothing but the node, the event and the guards. A test compares the walk with
// XState's `transition()` on all transitions of the examples and of generated services. The record has the position of
// the machine (`position`), not XState's snapshot, which `snapshot.ts` makes on request, with the user's data by its
// names. `src/machine.ts` (`actorflux/machine`) gives the same machine to programs without a server: `stock-machine.ts`
// replaces only its edges, plain snapshots and events in and out. In between runs the engine's machine, by XState's own
// functions, on the state of the turn, which is made from the `context` and the `registers` of a snapshot. `picture.ts`
// draws a definition as configuration of XState, which nothing runs. History and transition contexts are two views of
// one log, which keeps the newest 1,000 moves. The last few are in the record (`tail`). When there are more, a commit
// moves them together to rows of their own: each row that a commit writes has a cost, and a long list in the record
// would be rewritten by each commit.
import { assign, StateMachine, type AnyStateMachine, type AnyStateNode, type AnyTransitionDefinition } from 'xstate'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Phase } from '../../model/context.ts'
import { nodeId, phaseOf } from './nodes.ts'
import { REDUCERS, type Reducer } from './reducers.ts'
import { nodesOf, type MachineArgs } from './state-nodes.ts'
import type { MachineEvent, TurnState } from './turn-state.ts'
import { WorkingState } from './working-state.ts'

/**
 * A machine of a service. In its first node it waits for the event that enters the state in which it stands; its input
 * is the state of a turn.
 */
export function newMachine(flux: CompiledFlux): AnyStateMachine {
  const actions = Object.entries(REDUCERS).map(([name, reducer]) => {
    const act = ({ context, event }: MachineArgs) => reduced(flux, reducer, context, event)
    return [name, assign<TurnState, MachineEvent, undefined, MachineEvent, never>(act)] as const
  })
  // The two effects do nothing here: the engine performs the one that a transition has.
  const effects = { step() {}, child() {} }
  return new StateMachine(
    {
      id: flux.fluxName,
      context: ({ input }: { input: TurnState }) => input,
      initial: '$begin',
      on: { TERMINATE: '.$terminated' },
      states: nodesOf(flux),
    },
    { actions: { ...Object.fromEntries(actions), ...effects }, guards: {}, actors: {}, delays: {} },
  )
}

function reduced(flux: CompiledFlux, reducer: Reducer, context: TurnState, event: MachineEvent): TurnState {
  const next = new WorkingState(flux, context, event.env)
  reducer(next, event)
  return next.result
}

/** A transition, with the entry actions of the nodes to which it leads. */
interface Way {
  readonly isOpen: (args: MachineArgs) => boolean
  readonly reducers: readonly Reducer[]
  readonly to: Leaf
}

/** A node without nodes inside. */
interface Leaf {
  readonly node: AnyStateNode
  /** By the type of the event. */
  readonly ways: Map<string, readonly Way[]>
}

/** For the transitions that need no event. */
const EVENTLESS = ''

const BY_NAME: { readonly [name: string]: Reducer } = REDUCERS

/** The function that goes through the nodes of the machine of a service. */
function walkOf(flux: CompiledFlux) {
  const machine = newMachine(flux)
  const leaves = new Map<AnyStateNode, Leaf>()
  /** Those in which a context rests, by the state. */
  const resting = new Map<Phase, Leaf[]>()

  function leafAt(node: AnyStateNode): Leaf {
    const leaf = leaves.get(node) ?? { node, ways: new Map() }
    leaves.set(node, leaf)
    return leaf
  }

  function restingAt(phase: Phase, state: number): Leaf {
    let ofPhase = resting.get(phase)
    if (ofPhase === undefined) resting.set(phase, (ofPhase = []))
    return (ofPhase[state] ??= leafAt(machine.getStateNodeById(nodeId(phase, state))))
  }

  function wayOf(leaf: Leaf, { guard, actions, target }: AnyTransitionDefinition): Way {
    let to = leaf.node
    const named: unknown[] = [...actions]
    for (let inside = target?.[0]; inside !== undefined; inside = inside.initial?.target?.[0]) {
      to = inside
      named.push(...inside.entry)
    }
    return {
      isOpen: typeof guard === 'function' ? (args) => guard(args, undefined) : () => true,
      reducers: named.flatMap((name) => BY_NAME[String(name)] ?? []),
      to: leafAt(to),
    }
  }

  /** The transitions of a node and of those around it, in the order in which XState asks their guards. */
  function waysOf(leaf: Leaf, type: string): readonly Way[] {
    const known = leaf.ways.get(type)
    if (known) return known
    const ways: Way[] = []
    for (let node: AnyStateNode | undefined = leaf.node; node !== undefined; node = node.parent)
      for (const definition of (type === EVENTLESS ? node.always : node.transitions.get(type)) ?? [])
        ways.push(wayOf(leaf, definition))
    leaf.ways.set(type, ways)
    return ways
  }

  return (phase: Phase, context: TurnState, event: MachineEvent) => {
    const args = { context, event }
    /** The first transition whose guard is true. */
    const wayFrom = (leaf: Leaf, type: string) => waysOf(leaf, type).find(({ isOpen }) => isOpen(args))
    let at = restingAt(phase, context.data.state)
    let way = wayFrom(at, event.type)
    if (way === undefined) return null
    for (; way !== undefined; way = wayFrom(at, EVENTLESS)) {
      for (const reducer of way.reducers) args.context = reduced(flux, reducer, args.context, event)
      at = way.to
    }
    return { state: args.context, phase: phaseOf(at.node.key) }
  }
}

const walks = new WeakMap<CompiledFlux, ReturnType<typeof walkOf>>()

/** The state of the turn after an event to a context in that phase of its state; null: the event has no effect. */
export function transition(flux: CompiledFlux, phase: Phase, state: TurnState, event: MachineEvent) {
  let walk = walks.get(flux)
  if (walk === undefined) walks.set(flux, (walk = walkOf(flux)))
  return walk(phase, state, event)
}
