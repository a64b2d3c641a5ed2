// recorded: random actions of states, and the module that their functions lie in.
import type { JsonObject } from '../../src/model/json/value.ts'
import { randomExpression, randomLine } from './expressions.ts'
import type { Property } from './properties.ts'
import { object, type Random } from './random.ts'

/** The global set in which functions that stand still put their contexts: nothing is under way there. */
export const STANDING = 'actorfluxTestStanding'

export const CODE = `
export const echo = (args, { attempt, stepKey, contextId, stateName }) =>
  ({ ...args, attempt, stepKey, contextId, stateName })
export const shape = async ({ n = 2 }) => ({
  event: 'go', list: Array.from({ length: 3 }, (_, at) => at * n),
  nested: { a: { b: null }, date: new Date(0), none: undefined },
})
export const nothing = () => {}
export const fail = ({ why = 'as told' }) => { throw Object.assign(new RangeError(String(why)), { code: 7 }) }
export const odd = () => { throw 'a text' }
export const flaky = ({ until = 3 }, { attempt, log }) => {
  log.info('looked', { attempt })
  if (attempt < until) throw new TypeError('attempt ' + attempt)
  return { event: 'pay', attempt }
}
export const look = async (_, flux) => {
  const { status, currentState, step } = await flux.getContext({ contextId: flux.contextId })
  return { status, currentState, attempt: step.attempt }
}
export const stand = (_, { contextId, signal }) => new Promise((_resolve, reject) => {
  const standing = globalThis.${STANDING}
  standing?.add(contextId)
  signal.addEventListener('abort', () => { standing?.delete(contextId); reject(signal.reason) })
})
`
const METHODS = 'echo echo echo shape shape nothing look flaky flaky flaky stand stand fail odd'.split(' ')

const SCRIPTS = [
  'return 1 + 1',
  "return { event: 'go', at: $fluxStateName }",
  "throw new RangeError('no')",
  'const list = [3, 1, 2]\nreturn list.sort().map((n) => ({ n }))',
  'return await Promise.resolve(`from ${$fluxName}`)',
  'return null.x',
]

/** A service that another may run. */
interface Child {
  readonly fluxName: string
  readonly source: JsonObject
  readonly input: readonly Property[]
}

export interface ActionPlan {
  readonly random: Random
  /** What the state sees. */
  readonly seen: readonly Property[]
  /** What it may write to. */
  readonly targets: readonly Property[]
  /** Events that its transitions name, which it may set. */
  readonly events: readonly string[]
  /** Services that it may run. */
  readonly children: readonly Child[]
  /** Whether it may run scripts: each world that does starts processes. */
  readonly scripts: boolean
}

export function randomAction(plan: ActionPlan): JsonObject | undefined {
  const { random, children, scripts } = plan
  const kind = random.next()
  if (children.length > 0 && kind < 0.35) return childAction(plan)
  if (scripts && kind < 0.45) return scriptAction(plan)
  if (kind < 0.65) return codeAction(plan)
  if (kind < 0.92 || plan.events.length > 0) return mapAction(plan)
  return undefined
}

function mapAction({ random, seen, targets, events }: ActionPlan): JsonObject {
  const lines =
    targets.length === 0 ? [] : random.list(random.between(0, 4), () => randomLine(random, seen, random.pick(targets)))
  if (events.length > 0 && random.chance(0.93)) lines.push(eventLine(random, events))
  return object({ type: random.chance(0.5) ? 'map' : undefined, lines })
}

/** Sets what decides which transition is taken; now and then none fits, or the context ends. */
function eventLine(random: Random, events: readonly string[]): JsonObject {
  if (random.chance(0.06))
    return { type: 'set', expression: random.pick(['nobody', '$fluxTerminate']), to: ['$fluxEvent'] }
  const [one, other] = [random.pick(events), random.pick(events)]
  if (random.chance(0.5)) return { type: 'set', expression: one, to: ['$fluxEvent'] }
  return {
    type: 'set',
    expression: `$fluxContextId % 2 == 0 ? ${JSON.stringify(one)} : ${JSON.stringify(other)}`,
    evaluate: true,
    to: ['$fluxEvent'],
  }
}

function codeAction(plan: ActionPlan): JsonObject {
  const { random, seen } = plan
  if (random.chance(0.12) && plan.events.length === 0) return builtinAction(plan)
  const methodName = random.pick(METHODS)
  const inputs =
    seen.length === 0
      ? []
      : random.list(random.between(0, 2), () => ({
          from: [random.pick(seen).name],
          to: [random.pick(['first', 'why', 'payload'])],
        }))
  return object({
    type: 'invokeCode',
    className: 'code',
    methodName,
    inputs,
    outputs: outputLines(plan),
    retry:
      methodName === 'flaky' || random.chance(0.2)
        ? object({
            maxAttempts: random.between(1, 4),
            delay: random.between(1, 3),
            factor: random.chance(0.5) ? 2 : undefined,
            maxDelay: random.chance(0.3) ? 2 : undefined,
          })
        : undefined,
    timeout: methodName === 'stand' ? random.between(1, 40) : undefined,
  })
}

function builtinAction({ random, seen }: ActionPlan): JsonObject {
  const message = [
    {
      type: 'set',
      expression: random.chance(0.5)
        ? "'seen'"
        : randomExpression(
            random,
            seen.map(({ name }) => name),
          ),
      evaluate: true,
      to: ['message'],
    },
  ]
  return random.chance(0.5)
    ? { type: 'invokeCode', className: 'Logger', methodName: random.pick(['info', 'warn', 'debug']), inputs: message }
    : {
        type: 'invokeCode',
        className: 'Errors',
        methodName: 'throwException',
        inputs: [...message, { type: 'set', expression: 'OwnException', to: ['type'] }],
      }
}

function scriptAction(plan: ActionPlan): JsonObject {
  const { random } = plan
  return object({
    type: 'script',
    script: random.pick(SCRIPTS),
    outputs: outputLines(plan),
    retry: random.chance(0.2) ? { maxAttempts: 2, delay: 1 } : undefined,
  })
}

function childAction(plan: ActionPlan): JsonObject {
  const { random, seen, children } = plan
  const { fluxName, source, input } = random.pick(children)
  const timeout = random.chance(0.3) ? random.between(2, 30) : undefined
  const lines =
    seen.length === 0
      ? []
      : random.list(random.between(0, 2), () => ({
          from: random.pick(seen).name,
          to: random.pick(['i0', 'i1', 'i2']),
        }))
  const isKnown = (name: string) => source['allowExtraProperties'] === true || input.some((one) => one.name === name)
  const isLacking = ({ name, source: { required, defaultValue } }: Property) =>
    required === true && defaultValue === undefined && !lines.some(({ to }) => to === name)
  return object({
    type: 'invokeFlux',
    name: fluxName,
    timeout,
    inputs: [
      ...lines.filter(({ to }) => isKnown(to)).map(({ from, to }) => ({ from: [from], to: [to] })),
      ...input.filter(isLacking).map(({ name }) => ({ type: 'set', expression: 'null', evaluate: true, to: [name] })),
    ],
    outputs: outputLines(plan),
  })
}

/** Where the result's keys can be kept. */
const KEPT: { readonly [type: string]: readonly string[] } = {
  string: ['stepKey', 'event', 'at'],
  integer: ['attempt'],
  double: ['attempt'],
  object: ['nested'],
  any: ['attempt', 'event', 'stepKey', 'nested', 'list', '$result', 'o0', 'o1'],
}

function outputLines({ random, seen, targets, events }: ActionPlan): JsonObject[] {
  const lines =
    targets.length === 0
      ? []
      : random.list(random.between(0, 2), () => {
          const target = random.pick(targets)
          const keys = target.array ? undefined : KEPT[random.chance(0.05) ? 'any' : target.type]
          return keys && random.chance(0.7)
            ? { from: [random.pick(keys)], to: [target.name] }
            : randomLine(random, seen, target)
        })
  if (events.length > 0 && random.chance(0.9))
    lines.push(random.chance(0.3) ? { from: ['event'], to: ['$fluxEvent'] } : eventLine(random, events))
  return lines
}
