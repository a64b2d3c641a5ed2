// testing/scenario: reads scenario files, and checks the names in them. Faults tell line and column.
import { readFileSync } from 'node:fs'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { Report, type Fault } from '../../definitions/report.ts'
import { JsonFault, readJson } from '../../definitions/source/json.ts'
import { checkKeys, readBy } from '../../definitions/source/read.ts'
import { messageOf } from '../../model/error-message.ts'
import { escapedKey } from '../../model/failure.ts'
import { isObject, type Json } from '../../model/json/value.ts'
import { alternatives, nearestName } from '../../model/nearest.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import { pathOf } from '../coverage.ts'
import { functionsOf } from '../runner.ts'
import { MATCHERS } from './match.ts'
import { patternFault } from './pattern.ts'
import { ScenarioFile, STEPS, type Scenario } from './schema.ts'

/** A scenario without a fault. */
export interface ReadScenario {
  readonly scenario: Scenario
  readonly flux: CompiledFlux
  /** Where a part of the file is, by its JSON pointer. */
  readonly placeOf: ReturnType<typeof readJson>['placeOf']
}

/** The service of that name, first in the package. */
export function serviceIn(catalog: Catalog, owner: string, name: string): CompiledFlux | undefined {
  const { package: given = owner, fluxName } = serviceNameOf({ fluxName: name })
  return catalog.find(given, fluxName)
}

/** Reads a file of a package. */
export function readScenario(
  file: string,
  owner: string,
  catalog: Catalog,
): ReadScenario | { readonly faults: readonly Fault[] } {
  const report = new Report(file)
  try {
    const { value, repeated, placeOf } = readJson(readFileSync(file))
    for (const pointer of repeated) report.fault(pointer, 'this key is there more than once', 'key')
    checkKeys(ScenarioFile, value, report)
    const scenario = readBy(ScenarioFile, value, report)
    const flux = scenario && serviceIn(catalog, owner, scenario.service)
    if (scenario) checkNames(scenario, owner, catalog, report)
    const faults = report.faults.filter(({ severity }) => severity === 'fault')
    if (scenario && flux && faults.length === 0) return { scenario, flux, placeOf }
    return { faults: faults.map((fault) => ({ ...fault, ...placeOf(fault.pointer, fault.part) })) }
  } catch (error) {
    const place = error instanceof JsonFault && error.position
    return { faults: [{ severity: 'fault', file, pointer: '', reason: messageOf(error), ...place }] }
  }
}

function checkNames(scenario: Scenario, owner: string, catalog: Catalog, report: Report) {
  const services = catalog.all()
  const functions = functionsOf(services)
  const checkFunctions = (named: object | null | undefined, pointer: string) => {
    for (const name of Object.keys(named ?? {}))
      if (!functions.has(name))
        report.fault(
          `${pointer}/${escapedKey(name)}`,
          `no service calls a function "${name}"${alternatives(name, functions)}`,
          'key',
        )
  }
  const check = (name: string | null | undefined, pointer: string) => {
    const flux = name == null ? undefined : serviceIn(catalog, owner, name)
    const names = services.map((each) => (each.package === owner ? each.fluxName : pathOf(each)))
    if (name != null && !flux)
      report.fault(`${pointer}/service`, `there is no service "${name}"${alternatives(name, names)}`)
    return flux
  }
  const own = check(scenario.service, '')
  checkFunctions(scenario.functions, '/functions')
  for (const [index, step] of scenario[STEPS].entries()) {
    const pointer = `/${STEPS}/${index}`
    const { states = [] } = (step.service == null ? own : check(step.service, pointer)) ?? {}
    const { state, calls } = step.expect ?? {}
    const names = states.map(({ name }) => name)
    if (typeof state === 'string' && states.length > 0 && !names.includes(state))
      report.fault(`${pointer}/expect/state`, `there is no state "${state}"${alternatives(state, names)}`)
    if (isObject(calls)) checkFunctions(calls, `${pointer}/expect/calls`)
    for (const [name, value] of Object.entries(step.expect ?? {}))
      checkMatchers(value ?? null, `${pointer}/expect/${name}`, report)
  }
}

/** Reports patterns that can't be used, and what is nearly a matcher. */
function checkMatchers(expected: Json, pointer: string, report: Report) {
  if (typeof expected !== 'object' || expected === null) return
  for (const [key, value] of Object.entries(expected)) {
    const at = `${pointer}/${escapedKey(key)}`
    const fault = key === '$matches' && !Array.isArray(expected) ? patternFault(value) : null
    if (fault !== null) report.fault(at, fault)
    else if (nearestName(key, MATCHERS) !== null)
      report.fault(at, `unknown matcher "${key}"${alternatives(key, MATCHERS)}`, 'key')
    else checkMatchers(value, at, report)
  }
}
