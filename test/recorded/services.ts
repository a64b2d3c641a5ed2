// recorded: random services that load without a fault. Cycles lead through states that wait for an event, so that
// nothing runs on for ever by itself.
import type { JsonObject } from '../../src/model/json/value.ts'
import { randomAction } from './actions.ts'
import { randomLine } from './expressions.ts'
import { randomProperty, type Property } from './properties.ts'
import { object, type Random } from './random.ts'

export const EVENTS = ['go', 'pay', 'stop', 'order.paid'] as const
export const TAGS = ['red', 'blue', 'ü 1'] as const

const STATES = ['begin', 'a.b', '#c', 'd e', 'constructor', 'xstate.done', 'é', 'waiting', 's0', '__proto__'] as const

export interface Service {
  readonly package: string
  readonly fluxName: string
  readonly source: JsonObject
  readonly input: readonly Property[]
  readonly states: readonly {
    readonly name: string
    readonly input: readonly Property[]
    /** Events that it waits for. */ readonly events: readonly string[]
  }[]
  readonly hasChildren: boolean
}

interface Plan {
  readonly package: string
  readonly fluxName: string
  /** Services of the same package that it may run. */
  readonly children: readonly Service[]
  readonly scripts: boolean
}

interface StatePlan extends Plan {
  readonly random: Random
  readonly index: number
  readonly input: readonly Property[]
  readonly output: readonly Property[]
  /** Names and inputs of all states. */
  readonly all: readonly {
    readonly name: string
    readonly input: readonly Property[]
    readonly output: readonly Property[]
  }[]
}

const properties = (random: Random, prefix: string, from: number, to: number) =>
  random.list(random.between(from, to), (index) => randomProperty(random, `${prefix}${index}`))
const sources = (list: readonly Property[]) => (list.length > 0 ? list.map(({ source }) => source) : undefined)
/** An output is made by lines, which don't always run: none is required. */
const optional = (list: readonly Property[]) =>
  list.map((property) => ({ ...property, source: { ...property.source, required: false } }))

export function randomService(random: Random, plan: Plan): Service {
  const input = properties(random, 'i', 0, 4)
  const output = optional(properties(random, 'o', 1, 3))
  const names = random.some(STATES, 0.5)
  const all = (names.length < 2 ? ['begin', 'end'] : names).map((name) => ({
    name,
    input: properties(random, 'p', 0, 2),
    output: optional(properties(random, 'r', 0, 2)),
  }))
  const states = all.map((_, index) => randomState({ ...plan, random, index, input, output, all }))
  const hasChildren = states.some(({ action }) => JSON.stringify(action ?? null).includes('"invokeFlux"'))
  // One that starts others hears only what is meant for it: two that start children at once have them in any order.
  const tags = [
    ...(hasChildren ? ['only-${$fluxContextId}'] : []),
    ...random.some(['red', 'blue', ...(input[0] ? ['t-${json(i0)}'] : [])], hasChildren ? 0 : 0.2),
  ]
  const source = object({
    comment: random.chance(0.2) ? `${plan.fluxName} by chance` : undefined,
    startState: random.chance(0.15) ? random.pick(all).name : undefined,
    tags: tags.length > 0 ? tags : undefined,
    triggers: !hasChildren && random.chance(0.3) ? [random.pick(EVENTS)] : undefined,
    allowExtraProperties: random.chance(0.12) || undefined,
    secured: random.chance(0.05) || undefined,
    input: sources(input),
    output: sources(output),
    states,
  })
  return {
    package: plan.package,
    fluxName: plan.fluxName,
    source,
    input,
    hasChildren,
    states: all.map(({ name, input: taken }, index) => ({
      name,
      input: taken,
      events: EVENTS.filter(
        (event) => states[index]?.['waiting'] === true && JSON.stringify(states[index]).includes(`"event":"${event}"`),
      ),
    })),
  }
}

function randomState(plan: StatePlan): JsonObject {
  const { random, index, all, input, output, children, scripts } = plan
  const own = all[index] ?? { name: '', input: [], output: [] }
  const waiting = index < all.length - 1 && random.chance(0.5)
  const isEnd = index === all.length - 1
  const chooses = !isEnd && !waiting && random.chance(0.4)
  const events = waiting || chooses ? random.some(EVENTS, waiting ? 0.65 : 0.4) : []
  const seen = [...own.output, ...own.input, ...output, ...input]
  const transitions = isEnd
    ? []
    : waiting
      ? waitingTransitions(plan, seen, events)
      : actingTransitions(plan, seen, events)
  return object({
    name: own.name,
    x: random.chance(0.3) ? index * 100 : undefined,
    comment: random.chance(0.1) ? 'a state' : undefined,
    waiting: waiting || undefined,
    input: sources(own.input),
    output: sources(own.output),
    action: randomAction({
      random,
      seen,
      targets: [...own.output, ...output],
      events,
      children: waiting && random.chance(0.6) ? [] : children,
      scripts,
    }),
    transitions: transitions.length > 0 ? transitions : undefined,
  })
}

/** To the state of that index, with lines for its inputs. */
function transition(
  { random, all }: StatePlan,
  seen: readonly Property[],
  to: number,
  fields: { readonly [name: string]: string | undefined },
): JsonObject {
  const target = all[to] ?? { name: '', input: [] }
  const lines =
    target.input.length > 0
      ? random.list(random.between(0, 2), () => randomLine(random, seen, random.pick(target.input)))
      : []
  return object({ to: target.name, ...fields, lines: lines.length > 0 ? lines : undefined })
}

const later = ({ random, index, all }: StatePlan) =>
  random.chance(0.5) ? index + 1 : random.between(index + 1, all.length - 1)
const pause = ({ random }: StatePlan) =>
  random.pick([
    'duration:1',
    'duration:2',
    'duration:5',
    'duration:0.5',
    'duration:${1 + 1}',
    'date:${now() + 1500}',
    'date:2026-01-01T00:00:20Z',
    'duration:3600',
  ])

function waitingTransitions(plan: StatePlan, seen: readonly Property[], events: readonly string[]): JsonObject[] {
  const { random, all } = plan
  const anywhere = () => (random.chance(0.7) ? later(plan) : random.between(0, all.length - 1))
  const named = events.map((event) =>
    transition(plan, seen, anywhere(), { event, wait: random.chance(0.1) ? pause(plan) : undefined }),
  )
  const timed = random.list(random.chance(0.4) || named.length === 0 ? random.between(1, 2) : 0, () =>
    transition(plan, seen, later(plan), { wait: pause(plan) }),
  )
  const others = [...(random.chance(0.2) ? ['$else'] : []), ...(random.chance(0.2) ? ['$exception'] : [])]
  return [...named, ...timed, ...others.map((event) => transition(plan, seen, later(plan), { event }))]
}

function actingTransitions(plan: StatePlan, seen: readonly Property[], events: readonly string[]): JsonObject[] {
  const { random } = plan
  const wait = () => (random.chance(0.2) ? pause(plan) : undefined)
  const after = events.map((event) => transition(plan, seen, later(plan), { event, wait: wait() }))
  if (events.length === 0) after.push(transition(plan, seen, later(plan), { wait: wait() }))
  else if (random.chance(0.4)) after.push(transition(plan, seen, later(plan), { event: '$else' }))
  if (random.chance(0.45)) after.push(exception(plan, seen))
  return after
}

function exception(plan: StatePlan, seen: readonly Property[]): JsonObject {
  const { random, all } = plan
  const to = later(plan)
  const [first] = all[to]?.input ?? []
  const base = transition(plan, seen, to, { event: '$exception', wait: random.chance(0.15) ? pause(plan) : undefined })
  if (!first) return base
  return {
    ...base,
    lines: [
      random.chance(0.5)
        ? {
            from: ['$fluxException', random.pick(['message', 'type', 'className', 'fluxStackTrace'])],
            to: [first.name],
          }
        : {
            type: 'set',
            expression: '`${$fluxException.type}: ${$fluxException.message}`',
            evaluate: true,
            to: [first.name],
          },
    ],
  }
}
