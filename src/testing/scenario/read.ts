// testing/scenario: reads scenario files, and checks the names in them. Faults tell line and column.
import { readFileSync } from 'node:fs'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { Report, type Fault } from '../../definitions/report.ts'
import { JsonFault, readJson } from '../../definitions/source/json.ts'
import { checkKeys, readBy } from '../../definitions/source/read.ts'
import { messageOf } from '../../model/error-message.ts'
import { escapedKey } from '../../model/failure.ts'
import { isObject, type Json } from '../../model/json/value.ts'
import { alternatives, nearestName } from '../../model/nearest.ts'
import { pathOf } from '../coverage.ts'
import { functionsOf } from '../runner.ts'
import { MATCHERS, patternFault } from './match.ts'
import { ScenarioFile, STEPS, type Scenario } from './schema.ts'

/** By `package/fluxName`, and those of the package of the scenario by their names alone. */
type Services = ReadonlyMap<string, CompiledFlux>

/** A scenario without a fault. */
export interface ReadScenario {
  readonly scenario: Scenario
  readonly flux: CompiledFlux
  readonly services: Services
  /** Where a part of the file is, by its JSON pointer. */
  readonly placeOf: ReturnType<typeof readJson>['placeOf']
}

/** Reads a file of a package. */
export function readScenario(
  file: string,
  owner: string,
  all: readonly CompiledFlux[],
): ReadScenario | { readonly faults: readonly Fault[] } {
  const report = new Report(file)
  const own = all.filter((flux) => flux.package === owner)
  const services: Services = new Map([
    ...own.map((flux) => [flux.fluxName, flux] as const),
    ...all.map((flux) => [pathOf(flux), flux] as const),
  ])
  try {
    const { value, repeated, placeOf } = readJson(readFileSync(file))
    for (const pointer of repeated) report.fault(pointer, 'this key is there more than once', 'key')
    checkKeys(ScenarioFile, value, report)
    const scenario = readBy(ScenarioFile, value, report)
    if (scenario) checkNames(scenario, services, report)
    const flux = services.get(scenario?.service ?? '')
    if (scenario && flux && !report.broken) return { scenario, flux, services, placeOf }
    const faults = report.faults.filter(({ severity }) => severity === 'fault')
    return { faults: faults.map((fault) => ({ ...fault, ...placeOf(fault.pointer, fault.part) })) }
  } catch (error) {
    const place = error instanceof JsonFault && error.position
    return { faults: [{ severity: 'fault', file, pointer: '', reason: messageOf(error), ...place }] }
  }
}

function checkNames(scenario: Scenario, services: Services, report: Report) {
  const functions = functionsOf([...services.values()])
  const check = (what: string, known: Iterable<string>, name: string, pointer: string, part?: 'key') => {
    const names = new Set(known)
    if (!names.has(name)) report.fault(pointer, `unknown ${what} "${name}"${alternatives(name, names)}`, part)
  }
  const checkFunctions = (named: object, pointer: string) => {
    for (const name of Object.keys(named)) check('function', functions, name, `${pointer}/${escapedKey(name)}`, 'key')
  }
  check('service', services.keys(), scenario.service, '/service')
  checkFunctions(scenario.functions ?? {}, '/functions')
  for (const [index, { service, expect = {} }] of scenario[STEPS].entries()) {
    const pointer = `/${STEPS}/${index}`
    if (service !== undefined) check('service', services.keys(), service, `${pointer}/service`)
    const { state, calls } = expect
    const states = services.get(service ?? scenario.service)?.states.map(({ name }) => name)
    if (typeof state === 'string' && states) check('state', states, state, `${pointer}/expect/state`)
    if (isObject(calls)) checkFunctions(calls, `${pointer}/expect/calls`)
    for (const [name, value] of Object.entries(expect))
      checkMatchers(value ?? null, `${pointer}/expect/${name}`, report)
  }
}

/** Reports patterns that can't be used, and what is nearly a matcher. */
function checkMatchers(expected: Json, pointer: string, report: Report) {
  if (typeof expected !== 'object' || expected === null) return
  for (const [key, value] of Object.entries(expected)) {
    const at = `${pointer}/${escapedKey(key)}`
    const fault = key === '$matches' ? patternFault(value) : null
    if (fault !== null) report.fault(at, fault)
    else if (nearestName(key, MATCHERS) === null) checkMatchers(value, at, report)
    else report.fault(at, `unknown matcher "${key}"${alternatives(key, MATCHERS)}`, 'key')
  }
}
