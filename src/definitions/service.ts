// definitions: compiles the content of a .flux file to a service. All faults go to the report.
import { messageOf } from '../model/error-message.ts'
import { freeze, getOwn, type JsonObject } from '../model/json/value.ts'
import { alternatives } from '../model/nearest.ts'
import { signingSecretFault } from '../model/webhook-schemes/standard.ts'
import { brokenState, compileState, isNamed, outlineStates } from './compile/states.ts'
import { compileWebhooks } from './compile/webhooks.ts'
import { UnreadableDefinition } from './definition-error.ts'
import { compileTemplate } from './expressions/compile.ts'
import type { Expression } from './expressions/expression.ts'
import type { CompiledFlux, CompiledState } from './flux.ts'
import { compileSeen, seenIn } from './lines/names.ts'
import { checkProperties, checkReachable } from './lint/lint.ts'
import { hashOf, pinnedText, readPinned, unreadable, type FluxUnit } from './pinned/text.ts'
import { Report, type Fault } from './report.ts'
import { checkKeys, readBy } from './source/read.ts'
import { Root, type FluxSource } from './source/schema.ts'
import type { Shape } from './values/property.ts'
import { compileShape } from './values/shapes.ts'

/** Compiles a service; null if it has faults, which are in the report. */
export function compileFlux(unit: FluxUnit, report: Report): CompiledFlux | null {
  const flux = compileLoaded(unit, report)
  return report.broken ? null : flux
}

/** Compiles a service, also one with faults, to check what it refers to; null if it has no states. */
export function compileLoaded(unit: FluxUnit, report: Report): CompiledFlux | null {
  const { source } = unit
  checkKeys(Root, source, report)
  const flux = compile(unit, pinnedText({ ...unit, models: reachableModels(unit) }), report, checkProperties)
  if (flux !== null && !report.broken) checkReachable(flux.states, flux.startState, report)
  return flux
}

/**
 * Compiles a definition from the text that is stored under its hash. Contexts fail when they act in a state that can't
 * be compiled any more; a state whose name can't be read gets a placeholder.
 * @throws UnreadableDefinition when it has no states, or the text is not a definition of this format
 */
export function recompile(text: string): CompiledFlux {
  const unit = readPinned(text)
  if (unit === null) throw unreadable(text)
  const report = new Report(`${unit.package}/${unit.fluxName}`)
  let flux = null
  try {
    flux = compile(unit, text, report, null)
  } catch (error) {
    report.fault('', messageOf(error))
  }
  const found = report.faults.filter(({ severity }) => severity === 'fault')
  const faults = found.map(told)
  if (flux === null) {
    const reason = `the definition of ${report.file} no longer compiles: ${faults.join('; ')}`
    throw new UnreadableDefinition(reason, unit)
  }
  const states = flux.states.map((state) => {
    const fault = found.find(({ pointer }) => concerns(pointer, state.index))
    return fault === undefined ? state : brokenState(state, told(fault))
  })
  return { ...flux, faults, states }
}

const told = ({ pointer, reason }: Fault) => `${pointer}: ${reason}`

/** Whether a fault at that place is one of the state. All states read and write the service's own inputs and outputs. */
const concerns = (pointer: string, state: number) =>
  ['/input/', '/output/', `/states/${state}/`].some((place) => `${pointer}/`.startsWith(place))

/**
 * Compiles a definition. Faults are reported, and the rest is compiled. null if there is nothing to compile. `lint`: checks
 * lists of properties.
 */
function compile(
  { source, models, ...named }: FluxUnit,
  text: string,
  report: Report,
  lint: typeof checkProperties | null,
): CompiledFlux | null {
  // All contexts share these objects, and answers contain parts of them, so they are frozen.
  for (const shared of [source, ...models.values()]) freeze(shared)
  const root = readBy(Root, source, report)
  if (root === null) return null
  const extra = root.allowExtraProperties
  const shape = (list: readonly JsonObject[], pointer: string, keep = false): Shape => {
    // The inputs come from outside, where they are checked.
    lint?.(list, pointer, report, pointer.endsWith('/input'))
    return compileShape(list, { extra: keep, models, pointer, report })
  }
  const [input, output] = [shape(root.input, '/input', extra), shape(root.output, '/output')]
  const outlines = outlineStates(root.states, shape, report)
  const byName = new Map(outlines.filter(isNamed).map((outline) => [outline.name, outline]))
  const service = { input, output, extra, states: byName, report }
  const states = outlines.map((outline) => compileState(outline, service))
  const start = byName.get(root.startState ?? '')
  if (root.startState && !start)
    report.fault('/startState', `there is no state "${root.startState}"${alternatives(root.startState, byName.keys())}`)
  const visible = extra ? null : seenIn([input])
  const template: TemplateAt = (text, pointer) => compileSeen(compileTemplate, text, { visible, pointer, report })
  const url = template(root.onEnd?.url, '/onEnd/url')
  if (root.onEnd)
    report.secrets.push({ pointer: '/onEnd/secret', name: root.onEnd.secret, faultOf: signingSecretFault })
  const webhooks = compileWebhooks(root.webhooks, named, report)
  if (root.secured)
    for (const { pointer } of webhooks)
      report.fault(pointer, "a secured service can't have a webhook: there is no authentication")
  return {
    ...named,
    hash: hashOf(text),
    text,
    source,
    input,
    output,
    tags: root.tags.flatMap((tag, index) => template(tag, `/tags/${index}`) ?? []),
    key: template(root.key, '/key'),
    keyReuse: root.keyReuse ?? 'ended',
    onEnd: root.onEnd && url ? { url, secret: root.onEnd.secret } : null,
    triggers: compileTriggers(root, template, report),
    early: earlyOf(root, states),
    webhooks,
    // What can't be read secures the service, too.
    secured: (getOwn(source, 'secured') ?? false) !== false,
    isSensitive: text.includes('"sensitive"'),
    states,
    stateIndex: new Map(states.map(({ name, index }) => [name, index])),
    startState: start?.index ?? 0,
    faults: [],
    lost: null,
    isForeign: false,
  }
}

/** Compiles a template over the inputs. */
type TemplateAt = (text: string | null | undefined, pointer: string) => Expression | null

/** Compiles the triggers. Only the first one of an event counts. */
function compileTriggers({ triggers }: FluxSource, template: TemplateAt, report: Report) {
  const seen = new Set<string>()
  return triggers.flatMap((trigger, index) => {
    if (trigger === undefined) return []
    const { event, unlessMoved } = trigger
    const pointer = `/triggers/${index}`
    const at = `${pointer}/event`
    if (event === '' || event.startsWith('$')) report.warn(at, `"${event}" can't be sent as an event`)
    else if (seen.has(event)) report.warn(at, `"${event}" is listed twice`)
    seen.add(event)
    return [{ event, unlessMoved, key: template(trigger.key, `${pointer}/key`) }]
  })
}

/**
 * How long an event is kept that comes early: the longest of the waiting states that have a transition for it. The root's
 * is that of all transitions that say nothing. Events that are never kept are left out.
 */
function earlyOf(root: FluxSource, states: readonly CompiledState[]) {
  const early = new Map<string, number>()
  for (const { index, waiting, choice } of states)
    for (const [event, at] of waiting ? choice.events : []) {
      const keptMs = root.states[index]?.transitions[at]?.early ?? root.early ?? 0
      if (keptMs > 0) early.set(event, Math.max(keptMs, early.get(event) ?? 0))
    }
  return early
}

/** The models that a service refers to, directly or through other models, by name. */
function reachableModels({ source, models }: FluxUnit) {
  const reached = new Map<string, JsonObject>()
  const visited = new Set<JsonObject>([source])
  for (const part of visited)
    for (const [, quoted = ''] of JSON.stringify(part).matchAll(/"reference":("(?:[^"\\]|\\.)*")/g)) {
      const name: string = JSON.parse(quoted)
      const model = models.get(name)
      if (model === undefined) continue
      reached.set(name, model)
      visited.add(model)
    }
  return new Map([...reached].sort(([a], [b]) => (a < b ? -1 : 1)))
}
