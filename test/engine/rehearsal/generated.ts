// Generated services and calls for rehearsals: all that a rehearsal has to foresee, combined by a seed.
import type { AssumedOutcome } from '../../../src/api/rehearsal.ts'
import { isFinished, type Status } from '../../../src/model/context.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { object, type Random } from '../../recorded/random.ts'

const EVENTS = ['go', 'pay', 'stop'] as const
const TAGS = ['red', 'blue'] as const
const ORDERS = ['1', '2', '3'] as const
/** Redis goes by the real time, from which tests are half a day away. */
const TTL_SECONDS = 172_800
/** A value that is to be hidden. */
export const SECRET = 'hush-hush-hush'

interface StatePlan {
  readonly name: string
  readonly kind: 'waiting' | 'code' | 'child' | 'map' | 'end'
  /** Whether it calls a function. */
  readonly acts: boolean
  /** Events that it waits for by name. */
  readonly events: readonly string[]
}

export interface ServicePlan {
  readonly fluxName: string
  readonly hasKey: boolean
  readonly states: readonly StatePlan[]
  readonly source: JsonObject
}

export interface World {
  readonly services: readonly ServicePlan[]
  /** How the attempts of each step end, by state. */
  readonly outcomes: { readonly [state: string]: readonly [AssumedOutcome, ...AssumedOutcome[]] }
}

const set = (to: string, expression: string): JsonObject => ({ type: 'set', expression, evaluate: true, to: [to] })
const copy = (from: string, to: string): JsonObject => ({ from: [from], to: [to] })

const INPUT: Json = [
  { name: 'order', defaultValue: '0' },
  { name: 'secret', sensitive: true },
  { name: 'any', type: 'any' },
]
const OUTPUT: Json = [
  { name: 'n', type: 'integer', defaultValue: 0 },
  { name: 'note' },
  { name: 'token', sensitive: true },
  { name: 'list', type: 'any' },
]
const OF_STATE = {
  input: [{ name: 'amount', type: 'integer', min: -5 }, { name: 'why' }] satisfies Json,
  output: [
    { name: 'own', type: 'any' },
    { name: 'hidden', sensitive: true },
  ] satisfies Json,
}

const LINES: readonly JsonObject[] = [
  set('n', 'n + 1'),
  set('n', 'n + (amount ?? 10)'),
  set('note', '$fluxEvent'),
  set('note', '`${$fluxName} ${$fluxStateName} ${note}`'),
  set('note', "'long '.padEnd(1500, json(n))"),
  set('own', '{ at: now(), "a/b~c": [n, note], deep: { n: n, none: null } }'),
  set('list', '[...(list ?? []), n]'),
  copy('secret', 'token'),
  copy('secret', 'hidden'),
  copy('any', 'own'),
  // It fails.
  { type: 'set', expression: 'no number', to: ['n'] },
]

const someLines = (random: Random, most: number): JsonObject[] =>
  random.list(
    random.between(0, most),
    () => (random.chance(0.03) ? LINES.at(-1) : random.pick(LINES.slice(0, -1))) ?? {},
  )

function codeAction(random: Random): JsonObject {
  return object({
    type: 'invokeCode',
    className: 'code',
    methodName: random.pick(['run', 'other']),
    inputs: random.some([copy('n', 'n'), copy('secret', 'with'), copy('amount', 'amount'), set('at', 'now()')], 0.5),
    outputs: [
      ...random.some([copy('value', 'n'), copy('text', 'note'), copy('text', 'token'), copy('$result', 'own')], 0.5),
      ...(random.chance(0.6) ? [copy('event', '$fluxEvent')] : []),
    ],
    // Longer than any test lasts.
    timeout: 86_400,
    retry: random.chance(0.5)
      ? object({
          maxAttempts: random.between(2, 3),
          delay: random.pick([0, 1, 30, 120]),
          factor: random.chance(0.3) ? 2 : undefined,
        })
      : undefined,
  })
}

const childAction = (random: Random, children: readonly string[]): JsonObject =>
  object({
    type: 'invokeFlux',
    name: random.pick(children),
    inputs: random.some([copy('order', 'order'), copy('secret', 'secret'), copy('list', 'any')], 0.6),
    outputs: [
      ...random.some([copy('n', 'n'), copy('note', 'note'), copy('$result', 'own')], 0.5),
      ...(random.chance(0.3) ? [copy('note', '$fluxEvent')] : []),
    ],
    timeout: random.chance(0.3) ? random.pick([45, 900]) : undefined,
  })

function outcomeOf(random: Random): AssumedOutcome {
  if (random.chance(0.35))
    return { error: { type: random.pick(['Declined', 'RangeError']), message: random.pick(['no', 'not yet', '']) } }
  return {
    result: random.pick<Json>([
      { event: random.pick(EVENTS), value: random.between(0, 9), text: random.pick(['t', SECRET, 'x'.repeat(1200)]) },
      { value: 3, text: 'none', list: [1, null, { a: 'b' }] },
      'a text',
      null,
    ]),
  }
}

interface Making {
  readonly random: Random
  readonly fluxName: string
  readonly children: readonly string[]
  readonly outcomes: { [state: string]: readonly [AssumedOutcome, ...AssumedOutcome[]] }
}

const pause = (random: Random) => `duration:${random.pick([0, 20, 60, 600, 1800])}`

function stateOf({ random, fluxName, children, outcomes }: Making, index: number, count: number) {
  const nameOf = (at: number) => `${fluxName}${at}`
  const name = nameOf(index)
  const isEnd = index === count - 1
  const later = () => nameOf(random.between(index + 1, count - 1))
  const anywhere = () => (random.chance(0.6) ? later() : nameOf(random.between(0, count - 1)))
  const chosen = random.next()
  const kind = isEnd
    ? 'end'
    : chosen < 0.5
      ? 'waiting'
      : chosen < 0.75
        ? 'code'
        : chosen < 0.9 && children.length > 0
          ? 'child'
          : 'map'
  const transitions: JsonObject[] = []
  const lines = () => (random.chance(0.4) ? [random.pick([set('amount', 'n'), copy('note', 'why')])] : undefined)
  const to = (state: string, more: { [name: string]: Json | undefined } = {}) =>
    transitions.push(object({ to: state, lines: lines(), ...more }))
  const early = () => (random.chance(0.2) ? '2d' : undefined)
  let acts = kind === 'code'
  let named: readonly string[] = []
  let action: JsonObject | undefined
  if (kind === 'waiting') {
    named = random.some(EVENTS, 0.5)
    for (const event of named) to(anywhere(), { event, early: early() })
    if (random.chance(0.4) || transitions.length === 0) to(later(), { wait: pause(random) })
    if (random.chance(0.15)) to(later(), { event: '$else' })
    if (random.chance(0.3)) {
      acts = random.chance(0.4)
      action = acts ? codeAction(random) : { lines: someLines(random, 2) }
      if (random.chance(0.4)) to(later(), { event: '$exception' })
    }
  } else if (!isEnd) {
    const events = random.chance(0.3) ? random.some(EVENTS, 0.5) : []
    for (const event of events) to(later(), { event, internal: true })
    if (events.length === 0) to(later(), { wait: random.chance(0.2) ? pause(random) : undefined })
    else if (random.chance(0.7)) to(later(), { event: '$else' })
    if (random.chance(0.5)) to(later(), { event: '$exception', wait: random.chance(0.1) ? pause(random) : undefined })
  }
  if (kind === 'code') action = codeAction(random)
  if (kind === 'child') action = childAction(random, children)
  if (kind === 'map' || (isEnd && random.chance(0.4))) action = { type: 'map', lines: someLines(random, 3) }
  if (acts) outcomes[name] = [outcomeOf(random), ...random.list(random.between(0, 2), () => outcomeOf(random))]
  const source = object({
    name,
    waiting: kind === 'waiting' || undefined,
    ...OF_STATE,
    action,
    transitions: transitions.length > 0 ? transitions : undefined,
  })
  return { plan: { name, kind, acts, events: named } as const, source }
}

function serviceOf(making: Making): ServicePlan {
  const { random, fluxName } = making
  const count = random.between(3, 6)
  const states = random.list(count, (index) => stateOf(making, index, count))
  const hasKey = fluxName !== 'A' && random.chance(0.5)
  return {
    fluxName,
    hasKey,
    states: states.map(({ plan }) => plan),
    source: object({
      key: hasKey ? 'k-${order}' : undefined,
      keyReuse: hasKey && random.chance(0.2) ? 'never' : undefined,
      tags: random.chance(0.6) ? ['o-${order}', ...random.some(TAGS, 0.3)] : undefined,
      early: random.chance(0.15) ? '2d' : undefined,
      triggers: random.chance(0.35)
        ? [
            object({
              event: random.pick(EVENTS),
              unlessMoved: random.chance(0.5) || undefined,
              key: random.chance(0.3) ? 't-${order}' : undefined,
            }),
          ]
        : undefined,
      onEnd: random.chance(0.4) ? { url: 'http://hook.example/${order}', secret: '$secrets.HOOK' } : undefined,
      input: INPUT,
      output: OUTPUT,
      states: states.map(({ source }) => source),
    }),
  }
}

export function worldOf(random: Random): World {
  const outcomes: Making['outcomes'] = {}
  const services: ServicePlan[] = []
  for (const fluxName of ['A', 'B', 'C', 'D']) {
    const children = services.filter(({ hasKey }) => !hasKey || random.chance(0.3)).map((service) => service.fluxName)
    services.push(serviceOf({ random, fluxName, children: random.chance(0.7) ? children : [], outcomes }))
  }
  return { services, outcomes }
}

/** What a call is chosen by. */
interface Standing {
  readonly id: number
  readonly fluxName: string
  readonly currentState: string
  readonly status: Status
  readonly key: string | null
}

/** A call, by its name in the API. */
export interface GeneratedCall {
  readonly name:
    'execute' | 'sendEvent' | 'terminate' | 'retry' | 'pause' | 'resume' | 'addTags' | 'removeTags' | 'startOperation'
  readonly request: { readonly [name: string]: unknown }
}

const inputOf = (random: Random) =>
  object({
    order: random.chance(0.9) ? random.pick(ORDERS) : undefined,
    secret: random.chance(0.5) ? SECRET : undefined,
    any: random.chance(0.3) ? random.pick<Json>([1, null, ['a'], { b: { c: 1 } }]) : undefined,
  })

const inputOfEvent = (random: Random) =>
  object({
    amount: random.chance(0.6) ? random.between(-6, 9) : undefined,
    why: random.chance(0.4) ? random.pick(['so', '']) : undefined,
    order: random.chance(0.2) ? random.pick(ORDERS) : undefined,
  })

export function executeOf(random: Random, { services }: World): GeneratedCall {
  const { fluxName, states } = random.pick(services)
  const request = object({
    package: 'p',
    fluxName,
    input: inputOf(random),
    tags: random.chance(0.4) ? random.some(TAGS, 0.6) : undefined,
    key: random.chance(0.15) ? random.pick(['k-1', 'k-9']) : undefined,
    existing: random.chance(0.3) ? random.pick(['refuse', 'use', 'replace']) : undefined,
    startState: random.chance(0.1) ? random.pick(states).name : undefined,
  })
  return { name: 'execute', request }
}

function eventOf(random: Random, address: JsonObject, likely: readonly string[] = []): GeneratedCall {
  const isForAll = Object.keys(address).length === 0
  const orStart = 'key' in address && random.chance(0.6) ? { input: inputOf(random) } : undefined
  const request = object({
    ...address,
    event: random.chance(0.05) ? 'unknown' : random.pick(likely.length > 0 && random.chance(0.8) ? likely : EVENTS),
    input: inputOfEvent(random),
    tags:
      isForAll && random.chance(0.5) ? random.pick([['o-1'], ['o-2', 'red'], ['blue'], ['red', 'blue']]) : undefined,
    version: !isForAll && random.chance(0.1) ? random.between(1, 3) : undefined,
    eventId: random.chance(0.2) ? `e-${random.between(1, 4)}` : undefined,
    // An event that is unclaimed is offered to contexts later, by commits of its own.
    ttl: !isForAll && orStart === undefined && random.chance(0.25) ? TTL_SECONDS : undefined,
    orStart,
  })
  return { name: 'sendEvent', request }
}

function operationOf(random: Random): GeneratedCall {
  const command = random.pick(['event', 'terminate', 'tag', 'untag', 'retry', 'pause', 'resume'])
  const withOf: { readonly [name: string]: JsonObject } = {
    event: { event: random.pick(EVENTS), input: inputOfEvent(random) },
    tag: { tags: ['red', 'green'] },
    untag: { tags: ['red'] },
  }
  const filter = object({
    ...(random.chance(0.5) && { fluxName: random.pick(['A', 'B', 'C', 'D']) }),
    ...(command === 'retry' && { status: random.pick(['FAILED', 'TERMINATED']) }),
  })
  return { name: 'startOperation', request: object({ do: command, filter, with: withOf[command], rate: 1_000_000 }) }
}

const COMMANDS = ['terminate', 'retry', 'retry', 'pause', 'resume', 'addTags', 'removeTags'] as const

/** Mostly one that may take the command. */
function contextFor(random: Random, name: string, contexts: readonly Standing[]): Standing {
  const isFit = ({ status }: Standing) =>
    name === 'retry' ? status === 'FAILED' || status === 'TERMINATED' : !isFinished(status)
  const fit = contexts.filter(isFit)
  return random.pick(fit.length > 0 && random.chance(0.95) ? fit : contexts)
}

export function callOf(random: Random, world: World, contexts: readonly Standing[]): GeneratedCall {
  const chosen = random.next()
  if (contexts.length === 0 || chosen < 0.15) return executeOf(random, world)
  if (chosen < 0.31) return eventOf(random, {})
  if (chosen < 0.37) return operationOf(random)
  const name = chosen < 0.68 ? 'sendEvent' : random.pick(COMMANDS)
  const context = contextFor(random, name, contexts)
  const states = world.services.find(({ fluxName }) => fluxName === context.fluxName)?.states ?? []
  const address = addressOf(random, world, context)
  if (name === 'sendEvent')
    return eventOf(random, address, states.find((state) => state.name === context.currentState)?.events)
  const idempotencyKey = random.chance(0.2) ? `i-${random.between(1, 3)}` : undefined
  const version = random.chance(0.15) ? random.between(1, 3) : undefined
  const tag = name === 'addTags' || name === 'removeTags' ? random.some([...TAGS, 'o-1'], 0.6) : undefined
  const ofRetry = name === 'retry' && {
    state: random.chance(0.3) && states.length > 0 ? random.pick(states).name : undefined,
    input: random.chance(0.2) ? inputOfEvent(random) : undefined,
    newKey: random.chance(0.2) || undefined,
  }
  const tags = tag && { tag: tag.length > 0 ? tag : ['green'] }
  return { name, request: object({ ...address, ...tags, ...ofRetry, idempotencyKey, version }) }
}

/** By id, or by a key, which perhaps no context has. */
function addressOf(random: Random, { services }: World, { id, key, fluxName }: Standing): JsonObject {
  if (random.chance(0.02)) return { contextId: 999_999 }
  if (random.chance(0.7)) return { contextId: id }
  const keyed = services.filter(({ hasKey }) => hasKey)
  if (key !== null && random.chance(0.6)) return { fluxName, key }
  return keyed.length === 0
    ? { contextId: id }
    : { fluxName: random.pick(keyed).fluxName, key: `k-${random.pick(ORDERS)}` }
}
