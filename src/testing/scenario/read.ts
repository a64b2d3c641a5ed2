// testing/scenario: reads scenario files, and checks the names in them. Faults tell line and column.
import { readFileSync } from 'node:fs'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { Report } from '../../definitions/report.ts'
import { JsonFault, readJson } from '../../definitions/source/json.ts'
import { checkKeys, readBy } from '../../definitions/source/read.ts'
import { messageOf } from '../../model/error-message.ts'
import { escapedKey } from '../../model/failure.ts'
import { isObject, type Json } from '../../model/json/value.ts'
import { alternatives, nearestName } from '../../model/nearest.ts'
import { pathOf } from '../coverage.ts'
import { functionsOf } from '../runner.ts'
import { MATCHERS, patternFault, type Mismatch } from './match.ts'
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

/** Why a scenario has failed. */
export interface ScenarioFailure {
  readonly message: string
  /** JSON pointer to the step, or the part of the file. */
  readonly pointer: string
  readonly line?: number
  readonly column?: number
  readonly mismatches: readonly Mismatch[]
  /** The moves of all contexts, in their order. */
  readonly way: readonly string[]
}

/** Reads a file of a package. */
export function readScenario(
  file: string,
  owner: string,
  all: readonly CompiledFlux[],
): ReadScenario | { readonly failure: ScenarioFailure } {
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
    const [{ pointer, part } = { pointer: '', part: undefined }] = faults
    const message = faults.map((fault) => `${fault.pointer} ${fault.reason}`.trim()).join('; ')
    return { failure: { message, pointer, ...placeOf(pointer, part), ...NOTHING_DONE } }
  } catch (error) {
    const place = error instanceof JsonFault && error.position
    return { failure: { message: messageOf(error), pointer: '', ...place, ...NOTHING_DONE } }
  }
}

const NOTHING_DONE = { mismatches: [], way: [] }

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
