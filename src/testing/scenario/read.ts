// testing/scenario: reads scenario files. Faults tell line and column.
import { readFileSync } from 'node:fs'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { Report, type Fault } from '../../definitions/report.ts'
import { JsonFault, readJson } from '../../definitions/source/json.ts'
import { checkKeys, readBy } from '../../definitions/source/read.ts'
import { messageOf } from '../../model/error-message.ts'
import { alternatives } from '../../model/nearest.ts'
import { pathOf } from '../coverage.ts'
import type { Mismatch } from './match.ts'
import { ScenarioFile, type Scenario } from './schema.ts'

/** A scenario without a fault. */
export interface ReadScenario {
  readonly scenario: Scenario
  readonly flux: CompiledFlux
  /** By `package/fluxName`, and those of the package of the scenario by their names alone. */
  readonly services: ReadonlyMap<string, CompiledFlux>
  /** Where a part of the file is, by its JSON pointer. */
  readonly placeOf: ReturnType<typeof readJson>['placeOf']
}

/** Why a scenario has failed. */
export interface ScenarioFailure extends Pick<Fault, 'pointer' | 'line' | 'column'> {
  readonly message: string
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
  const services = new Map([
    ...own.map((flux) => [flux.fluxName, flux] as const),
    ...all.map((flux) => [pathOf(flux), flux] as const),
  ])
  try {
    const { value, repeated, placeOf } = readJson(readFileSync(file))
    for (const pointer of repeated) report.fault(pointer, 'this key is there more than once', 'key')
    checkKeys(ScenarioFile, value, report)
    const scenario = readBy(ScenarioFile, value, report)
    const flux = services.get(scenario?.service ?? '')
    if (scenario && !flux) report.fault('/service', unknownService(scenario.service, services))
    if (scenario && flux && !report.broken) return { scenario, flux, services, placeOf }
    const faults = report.faults.filter(({ severity }) => severity === 'fault')
    const { pointer = '', part }: Partial<Fault> = faults[0] ?? {}
    const message = faults.map((fault) => `${fault.pointer} ${fault.reason}`.trim()).join('; ')
    return { failure: { message, pointer, ...placeOf(pointer, part), ...NOTHING_DONE } }
  } catch (error) {
    const place = error instanceof JsonFault && error.position
    return { failure: { message: messageOf(error), pointer: '', ...place, ...NOTHING_DONE } }
  }
}

const NOTHING_DONE = { mismatches: [], way: [] }

export const unknownService = (name: string, services: ReadScenario['services']): string =>
  `unknown service "${name}"${alternatives(name, services.keys())}`
