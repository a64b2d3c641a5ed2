// machine: `actorflux/machine`. A definition as a machine of XState, which restores the snapshots of contexts and does
// with them what the server does.
import type { AnyStateMachine } from 'xstate'
import { compileFlux } from './definitions/service.ts'
import { Report } from './definitions/report.ts'
import { BUILT_IN_MODELS } from './definitions/values/builtin-models.ts'
import { stockMachine } from './engine/turn/stock-machine.ts'
import { isObject } from './model/json/value.ts'
import { serviceNameOf } from './model/service-name.ts'

export interface MachineOptions {
  /** Contents of `.model` files by their dotted names, where the definition refers to such. */
  readonly models?: { readonly [name: string]: object } | ReadonlyMap<string, object>
  /** Name of the service, also with its package: `shop/orders.Order`. Expressions see it as `$fluxName`. */
  readonly name?: string
}

/**
 * The machine of a service. It restores what `GET /flux-api/context?snapshot=true` shows, in
 * `createActor(machine, { snapshot })`, and takes the events EVENT, WAKE, DONE, FAIL and TERMINATE. It calls no function
 * and sets no timer. Without a snapshot it starts with the inputs in `input`.
 * @param definition what `GET /flux-api/definition` answers
 * @throws Error with all faults of the definition, such as a model that is missing
 */
export function machineOf(definition: object, { models = {}, name = 'service' }: MachineOptions = {}): AnyStateMachine {
  const { models: resolved = {}, ...source } = jsonOf(definition)
  const given = { ...jsonOf(resolved ?? {}), ...jsonOf(models instanceof Map ? Object.fromEntries(models) : models) }
  const own = Object.entries(given).flatMap(([name, model]) => (isObject(model) ? [[name, model] as const] : []))
  const { package: owner = '', fluxName } = serviceNameOf({ fluxName: name })
  const unit = {
    package: owner,
    fluxName,
    source,
    models: new Map([...BUILT_IN_MODELS, ...own]),
  }
  const report = new Report(name)
  const flux = compileFlux(unit, report)
  if (flux !== null) return stockMachine(flux)
  const faults = report.faults.filter(({ severity }) => severity === 'fault')
  throw new Error(`'${name}' has faults: ${faults.map(({ pointer, reason }) => `${pointer}: ${reason}`).join('; ')}`)
}

/** A copy, since the compiler freezes what it is given. */
function jsonOf(value: unknown) {
  const copy: unknown = structuredClone(value)
  if (!isObject(copy)) throw new Error('a definition and its models must be objects')
  return copy
}
