// definitions: from the content of a .flux file to a service that can be decided on. What is wrong goes to the report, all of it in one go.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { freeze, getOwn, isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'
import { alternatives } from '../model/nearest.ts'
import { checkKeys } from './check-keys.ts'
import { checkReachable } from './check-reachable.ts'
import { compileState, outlineStates, type Service } from './compile-state.ts'
import { compileText } from './compile-text.ts'
import { compileWebhooks } from './compile-webhooks.ts'
import { seenIn } from './compile-names.ts'
import type { CompiledFlux } from './flux.ts'
import { compileShape, type Shape } from './properties.ts'
import { Report } from './report.ts'
import { Root, take } from './schema.ts'

export interface FluxUnit {
  readonly package: string
  readonly fluxName: string
  readonly source: JsonObject
  /** Contents of .model files, by dotted name. */
  readonly models: ReadonlyMap<string, JsonObject>
}

/** null when the report has a fault. */
export function compileFlux(unit: FluxUnit, report: Report): CompiledFlux | null {
  const models = reachableModels(unit)
  return compile({ ...unit, models }, textOf({ ...unit, models }), report)
}

const Stored = z.object({
  package: z.string(), fluxName: z.string(), source: z.custom<JsonObject>(isObject), models: z.custom<JsonObject>(isObject),
})

/**
 * Compiles a definition again from the text that was kept under its hash.
 * @throws Error when it doesn't compile any more
 */
export function recompile(text: string): CompiledFlux {
  const { models, ...unit } = Stored.parse(JSON.parse(text))
  const contents = Object.entries(models).flatMap(([name, model]) => isObject(model) ? [[name, model] as const] : [])
  const report = new Report(`${unit.package}/${unit.fluxName}`, { pinned: true })
  const flux = compile({ ...unit, models: new Map(contents) }, text, report)
  if (flux !== null) return flux
  const faults = report.faults.filter(({ severity }) => severity === 'fault').map(({ pointer, reason }) => `${pointer}: ${reason}`)
  throw new Error(`the definition of ${report.file} no longer compiles: ${faults.join('; ')}`)
}

function compile({ package: owner, fluxName, source, models }: FluxUnit, text: string, report: Report): CompiledFlux | null {
  // Views and definitions hand parts of them out: nobody may change what all contexts share.
  for (const shared of [source, ...models.values()]) freeze(shared)
  const root = take(Root, source, '', report)
  if (root === null) return null
  checkKeys(source, report)
  const extra = root.allowExtraProperties ?? false
  const shape = (list: readonly JsonObject[], pointer: string, keep: boolean): Shape =>
    compileShape(list, { extra: keep, models: (name) => models.get(name), pointer, report })
  const input = shape(root.input ?? [], '/input', extra)
  const output = shape(root.output ?? [], '/output', false)
  const outlines = outlineStates(root.states ?? [], (list, pointer) => shape(list, pointer, false), report)
  if (isEmpty(getOwn(source, 'states'))) report.fault('/states', 'there are no states')
  const service: Service = { input, output, extra, states: new Map(outlines.map((outline) => [outline.name, outline])), report }
  const states = outlines.map((outline) => compileState(outline, service))
  const startState = findStart(root.startState ?? '', service)
  checkReachable(states, startState, report)
  const seen = extra ? null : seenIn([input])
  const tags = (root.tags ?? []).flatMap((tag, index) => compileText(tag, seen, `/tags/${index}`, report) ?? [])
  checkTriggers(root.triggers ?? [], report)
  const webhooks = compileWebhooks(source, report)
  if (root.secured) for (const { pointer } of webhooks) report.fault(pointer, 'a secured service can\'t have a webhook: there is no authentication')
  if (report.broken) return null
  return {
    hash: createHash('sha256').update(text).digest('hex'), text, package: owner, fluxName, source, input, output, tags,
    triggers: root.triggers ?? [], webhooks, secured: root.secured ?? false, allowExtraProperties: extra,
    states, stateIndex: new Map(states.map(({ name, index }) => [name, index])), startState,
  }
}

const isEmpty = (list: Json | undefined) => (Array.isArray(list) ? list.length === 0 : (list ?? null) === null)

function findStart(name: string, { states, report }: Service): number {
  if (name === '') return 0
  const start = states.get(name)
  if (start === undefined) report.fault('/startState', `there is no state "${name}"${alternatives(name, states.keys())}`)
  return start?.index ?? 0
}

function checkTriggers(triggers: readonly string[], report: Report): void {
  for (const [index, trigger] of triggers.entries()) {
    const pointer = `/triggers/${index}`
    if (trigger === '' || trigger.startsWith('$')) report.warn(pointer, `"${trigger}" can't be sent as an event`)
    else if (triggers.indexOf(trigger) < index) report.warn(pointer, `"${trigger}" is listed twice`)
  }
}

/** What a definition is pinned by: everything that it is compiled from. */
function textOf({ package: owner, fluxName, source, models }: FluxUnit): string {
  const contents: JsonObject = {}
  for (const [name, model] of models) setOwn(contents, name, model)
  return JSON.stringify({ package: owner, fluxName, source, models: contents })
}

/** The models that a service refers to, and those that they refer to, by name. */
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
  return new Map([...reached].sort(([a], [b]) => a < b ? -1 : 1))
}
