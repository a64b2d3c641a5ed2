// definitions: compiles the content of a .flux file to a service. All faults go to the report.
import { otherFormat } from '../model/format.ts'
import { freeze, getOwn, isObject, type Json, type JsonObject } from '../model/json/value.ts'
import { alternatives } from '../model/nearest.ts'
import { checkKeys } from './lint/keys.ts'
import { checkReachable } from './lint/reachable.ts'
import { compileEarly } from './compile/early.ts'
import { brokenState, compileState, outlineStates, placeholderOf, type Service } from './compile/state.ts'
import { compileKey, compileKeyReuse } from './compile/key.ts'
import { compileOnEnd } from './compile/on-end.ts'
import { compileText } from './compile/templates.ts'
import { compileTriggers } from './compile/triggers.ts'
import { checkStarted } from './compile/webhook-send.ts'
import { compileWebhooks } from './compile/webhooks.ts'
import { seenIn } from './lines/names.ts'
import { UnreadableDefinition } from './definition-error.ts'
import type { CompiledFlux, CompiledState } from './flux.ts'
import { unused } from './compile/lost.ts'
import { foreignFormat, hashOf, pinnedText, readPinned, type FluxUnit } from './pinned/text.ts'
import { compileShape, lookUpIn, type Shape } from './values/properties.ts'
import { Report, type Fault } from './report.ts'
import { Root } from './source/schema.ts'
import { take } from './source/take.ts'
import { messageOf } from '../model/error-message.ts'

/** Compiles a service; null if the report has a fault. */
export function compileFlux(unit: FluxUnit, report: Report): CompiledFlux | null {
  const flux = compile(unit, pinnedText({ ...unit, models: reachableModels(unit) }), report)
  return report.broken ? null : flux
}

/**
 * Compiles a definition from the text that is stored under its hash. Contexts fail when they act in a state that can't
 * be compiled any more; a state whose name can't be read gets a placeholder.
 * @throws UnreadableDefinition when it has no states, or the text is not a definition of this format
 */
export function recompile(text: string): CompiledFlux {
  const unit = readPinned(text)
  if (unit === null) throw unreadableText(text)
  const report = new Report(`${unit.package}/${unit.fluxName}`, { pinned: true })
  const flux = tryToCompile(unit, text, report)
  const found = report.faults.filter(({ severity }) => severity === 'fault')
  const faults = found.map(told)
  if (flux === null || flux.states.length === 0) {
    const reason = `the definition of ${report.file} no longer compiles: ${faults.join('; ')}`
    throw new UnreadableDefinition(reason, unit)
  }
  if (found.length === 0) return flux
  const states = flux.states.map((state) => {
    const fault = found.find(({ pointer }) => concerns(pointer, state.index))
    return fault === undefined ? state : brokenState(state, told(fault))
  })
  return { ...flux, faults, states }
}

function unreadableText(text: string): UnreadableDefinition {
  const format = foreignFormat(text)
  return format === null
    ? new UnreadableDefinition('what is stored is no definition')
    : new UnreadableDefinition(otherFormat(`the definition ${hashOf(text)}`, format), { isForeign: true })
}

const told = ({ pointer, reason }: Fault): string => `${pointer}: ${reason}`

/** Whether a fault at that place is one of the state. All states read and write the service's own inputs and outputs. */
const concerns = (pointer: string, state: number): boolean =>
  ['/input/', '/output/', `/states/${state}/`].some((place) => `${pointer}/`.startsWith(place))

/** An unexpected exception is a fault of the whole definition. */
function tryToCompile(unit: FluxUnit, text: string, report: Report): CompiledFlux | null {
  try {
    return compile(unit, text, report)
  } catch (error) {
    report.fault('', messageOf(error))
    return null
  }
}

/**
 * Compiles a definition. It never throws for faults: they are reported, and the rest is compiled. null if there is
 * nothing to compile.
 */
function compile(
  { package: owner, fluxName, source, models }: FluxUnit,
  text: string,
  report: Report,
): CompiledFlux | null {
  // All contexts share these objects, and answers contain parts of them, so they are frozen.
  for (const shared of [source, ...models.values()]) freeze(shared)
  const root = take(Root, source, '', report)
  if (root === null) return null
  checkKeys(source, report)
  const extra = root.allowExtraProperties ?? false
  const shape = (list: readonly JsonObject[], pointer: string, keep: boolean): Shape =>
    compileShape(list, { extra: keep, ...lookUpIn(models), pointer, report })
  const input = shape(root.input ?? [], '/input', extra)
  const output = shape(root.output ?? [], '/output', false)
  const outlines = outlineStates(root.states ?? [], (list, pointer) => shape(list, pointer, false), report)
  if (isEmpty(getOwn(source, 'states'))) report.fault('/states', 'there are no states')
  const named = outlines.filter(({ name }) => name !== '').map((outline) => [outline.name, outline] as const)
  const service: Service = { input, output, extra, states: new Map(named), report }
  const states = withOwnNames(
    outlines.map((outline) => compileState(outline, service)),
    service,
  )
  const startState = findStart(root.startState ?? '', service)
  if (!report.broken) checkReachable(states, startState, report)
  const seen = extra ? null : seenIn([input])
  const tags = (root.tags ?? []).flatMap((tag, index) => compileText(tag, seen, `/tags/${index}`, report) ?? [])
  const triggers = compileTriggers(getOwn(source, 'triggers'), seen, report)
  const webhooks = compileWebhooks(source, report)
  checkStarted(webhooks, { package: owner, fluxName }, report)
  if (root.secured)
    for (const { pointer } of webhooks)
      report.fault(pointer, "a secured service can't have a webhook: there is no authentication")
  return {
    hash: hashOf(text),
    text,
    package: owner,
    fluxName,
    source,
    input,
    output,
    tags,
    key: compileKey(getOwn(source, 'key'), seen, '/key', report),
    keyReuse: compileKeyReuse(getOwn(source, 'keyReuse'), report),
    onEnd: compileOnEnd(getOwn(source, 'onEnd'), seen, report),
    triggers,
    early: compileEarly(source, states, report),
    webhooks,
    secured: root.secured ?? isSecured(source),
    allowExtraProperties: extra,
    isSensitive: text.includes('"sensitive"'),
    states,
    stateIndex: new Map(states.map(({ name, index }) => [name, index])),
    startState,
    faults: [],
    lost: null,
    isForeign: false,
  }
}

/** Whether a service is secured when `secured` is not a boolean: any value but null is treated as true. */
const isSecured = (source: JsonObject): boolean => (getOwn(source, 'secured') ?? false) !== false

/**
 * Gives a placeholder name to states without a name of their own. Names must be unique, since the machine's nodes have
 * them.
 */
function withOwnNames(states: readonly CompiledState[], { states: named }: Service): CompiledState[] {
  const [taken, seen] = [new Set(named.keys()), new Set<string>()]
  return states.map((state) => {
    const isOwn = named.has(state.name) && !seen.has(state.name)
    seen.add(state.name)
    return isOwn ? state : { ...state, name: unused(placeholderOf(state.index), taken) }
  })
}

const isEmpty = (list: Json | undefined) => (Array.isArray(list) ? list.length === 0 : (list ?? null) === null)

function findStart(name: string, { states, report }: Service): number {
  if (name === '') return 0
  const start = states.get(name)
  if (start === undefined)
    report.fault('/startState', `there is no state "${name}"${alternatives(name, states.keys())}`)
  return start?.index ?? 0
}

/** The models that a service refers to, directly or through other models, by name. */
function reachableModels({ source, models }: FluxUnit): ReadonlyMap<string, JsonObject> {
  const reached = new Map<string, JsonObject>()
  const visit = (value: Json): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isObject(value)) return
    const reference = getOwn(value, 'reference')
    const model = typeof reference === 'string' && !reached.has(reference) ? models.get(reference) : undefined
    if (typeof reference === 'string' && model !== undefined) {
      reached.set(reference, model)
      visit(model)
    }
    Object.values(value).forEach(visit)
  }
  visit(source)
  return new Map([...reached].sort(([a], [b]) => (a < b ? -1 : 1)))
}
