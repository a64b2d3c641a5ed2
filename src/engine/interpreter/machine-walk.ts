// engine/interpreter: walks through a machine of XState. What XState would do in a node (the guards that it asks, and
// where each of its transitions leads) is learnt from XState itself when it is needed first, and remembered: XState
// computes it anew for each event, which takes several times as long as the reducers.
//
// The machines have no history, no invocations and no parallel nodes, and each transition has a guard, an action or an
// end as its target. So it depends on nothing but the node and the type of the event.
import {
  createActor,
  createMachine,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type StateValue,
} from 'xstate'
import type { Phase } from '../../model/record.ts'
import type { MachineEvent } from './machine-events.ts'
import { phaseOf } from './nodes.ts'
import type { TurnState } from './turn-state.ts'

export interface MachineArgs {
  readonly context: TurnState
  readonly event: MachineEvent
}

type Test = (args: MachineArgs) => boolean
type Act = (args: MachineArgs) => TurnState
/** What the engine has to start. */
type Effect = 'step' | 'child'

/** What XState does when a guard is true. */
interface Way {
  readonly acts: readonly Act[]
  readonly effect: Effect | null
  readonly to: Place
}

/** What XState tells when it is asked. While it is, no guard and no reducer is run. */
interface Probe {
  /** The guard that is true, by its place among those that are asked. */
  readonly takes: number
  readonly tests: Test[]
  readonly acts: Act[]
  effect: Effect | null
  isTaken: boolean
}

/** Asking XState is synchronous, so one variable is enough. */
let probe: Probe | null = null

/** Gives the answer to a guard while XState is asked; null: it isn't. */
export function probeGuard(test: Test): boolean | null {
  if (probe === null) return null
  // A transition was made: what follows it is learnt in the node that it leads to.
  if (probe.isTaken || probe.acts.length > 0) return false
  probe.isTaken = probe.tests.push(test) - 1 === probe.takes
  return probe.isTaken
}

/** Notes a reducer while XState is asked. Returns false when it isn't. */
export function probeAction(act: Act): boolean {
  probe?.acts.push(act)
  return probe !== null
}

/** A type that no node knows: only the eventless transitions are left. */
const EVENTLESS = { type: '$eventless' } as const

/** The guards that XState asks in a node after an event of one type, in their order. */
interface Choices {
  readonly tests: readonly Test[]
  /** By their guards; those that were never taken are missing. */
  readonly ways: (Way | undefined)[]
  /** What is done when all are false; null: nothing. */
  readonly otherwise: Way | null
}

/** A node of the machine that has no nodes inside. */
class Place {
  readonly isFinal: boolean
  readonly #snapshot: AnyMachineSnapshot
  readonly #places: Map<string, Place>
  readonly #choices = new Map<string, Choices>()
  #phase: Phase | null = null

  constructor(snapshot: AnyMachineSnapshot, places: Map<string, Place>) {
    this.#snapshot = snapshot
    this.#places = places
    this.isFinal = snapshot.status !== 'active'
  }

  get phase(): Phase {
    return (this.#phase ??= phaseOf(this.#snapshot.value))
  }

  /** What XState would do; null: nothing. */
  way(type: string, args: MachineArgs): Way | null {
    const choices = this.#choices.get(type) ?? this.#learn(type)
    const { tests, ways, otherwise } = choices
    const count = tests.length
    for (let place = 0; place < count; place += 1)
      if (tests[place]?.(args) === true) return (ways[place] ??= this.#ask(type, place).way)
    return otherwise
  }

  #learn(type: string): Choices {
    const { tests, way } = this.#ask(type, -1)
    const changes = way.to !== this || way.acts.length > 0
    const choices = { tests, ways: [], otherwise: changes ? way : null }
    this.#choices.set(type, choices)
    return choices
  }

  #ask(type: string, takes: number): { readonly tests: readonly Test[]; readonly way: Way } {
    const asked: Probe = { takes, tests: [], acts: [], effect: null, isTaken: false }
    probe = asked
    try {
      const after = this.#snapshot.machine.transition(this.#snapshot, { type }, scope)
      const { tests, acts, effect } = asked
      return { tests, way: { acts, effect, to: placeAt(after, this.#places) } }
    } finally {
      probe = null
    }
  }
}

function placeAt(snapshot: AnyMachineSnapshot, places: Map<string, Place>): Place {
  const key = JSON.stringify(snapshot.value)
  const place = places.get(key) ?? new Place(snapshot, places)
  places.set(key, place)
  return place
}

/** The actor scope that XState needs for a pure transition. The machines do not use the actor, so all share one. */
const self = createActor(createMachine({}))
const scope: AnyActorScope = {
  self,
  id: '',
  sessionId: '',
  system: self.system,
  logger: () => {},
  defer: () => {},
  stopChild: () => {},
  emit: () => {},
  actionExecutor: ({ type }) => {
    if (probe !== null && (type === 'step' || type === 'child')) probe.effect = type
  },
}

export interface MachineTransition {
  readonly state: TurnState
  readonly phase: Phase
  /** Whether a step, or a child, is to be started. */
  readonly effect: Effect | null
}

type ValueOf = (phase: Phase, state: number) => StateValue

/** Goes through the nodes of one machine. */
export class MachineWalk {
  readonly #machine: AnyStateMachine
  readonly #valueOf: ValueOf
  readonly #places = new Map<string, Place>()
  /** Those in which a context rests, by the state. */
  readonly #resting = new Map<Phase, (Place | undefined)[]>()

  /** `valueOf` gives the value of the snapshot of a context in that phase of that state. */
  constructor(machine: AnyStateMachine, valueOf: ValueOf) {
    this.#machine = machine
    this.#valueOf = valueOf
  }

  /** The state of the turn after an event to a context in that phase of its state; null: the event has no effect. */
  go(phase: Phase, state: TurnState, event: MachineEvent): MachineTransition | null {
    const args = { context: state, event }
    let at = this.#restingAt(phase, state.data.state)
    let effect: Effect | null = null
    let isMoved = false
    for (let way = at.way(event.type, args); way !== null; way = at.way(EVENTLESS.type, args)) {
      // XState, too, takes a transition that changes nothing only once.
      if (way.to === at && way.acts.length === 0) break
      for (const act of way.acts) args.context = act(args)
      effect = way.effect ?? effect
      isMoved = true
      at = way.to
      if (at.isFinal) break
    }
    return isMoved ? { state: args.context, phase: at.phase, effect } : null
  }

  #restingAt(phase: Phase, state: number): Place {
    let ofPhase = this.#resting.get(phase)
    if (ofPhase === undefined) this.#resting.set(phase, (ofPhase = []))
    const known = ofPhase[state]
    if (known !== undefined) return known
    const resting = this.#machine.resolveState({ value: this.#valueOf(phase, state), context: {} })
    return (ofPhase[state] = placeAt(resting, this.#places))
  }
}
