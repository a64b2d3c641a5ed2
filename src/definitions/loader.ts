// definitions: loads all services below some folders, compiles them, and checks the references between them.
import type { JsonObject } from '../model/json/value.ts'
import type { StepRunner } from '../ports/steps.ts'
import { checkActions, type Unit } from './actions/actions.ts'
import { endpointsOf } from './endpoints.ts'
import { checkProperties, checkSecrets, type SecretCheck } from './lint/lint.ts'
import { Report } from './report.ts'
import { compileLoaded } from './service.ts'
import { readFolders, type DefinitionFile } from './source/files.ts'
import { ModelFile } from './source/property-schema.ts'
import { checkKeys, readBy } from './source/read.ts'
import { BUILT_IN_MODELS } from './values/builtin-models.ts'
import { compileShape } from './values/shapes.ts'

export type LoadedFolders = Awaited<ReturnType<typeof loadFolders>>

export interface LoadOptions {
  readonly folders: readonly string[]
  readonly runner: StepRunner
  /** Absent: references to secrets are not checked. */
  readonly secrets?: SecretCheck | undefined
}

/**
 * Reads, compiles and checks all services, and mounts the packages in the runner, to check that their functions exist.
 * `whole`: if a folder can't be read, nothing is loaded, and the packages that are mounted stay.
 */
export async function loadFolders({ folders, runner, secrets }: LoadOptions, { whole = false } = {}) {
  const { packages, fluxes, models, faults, complete } = await readFolders(folders)
  if (whole && !complete) return { packages: [], services: [], faults, complete }
  runner.mount(packages)
  const modelsOf = visibleModels(models)
  const units = fluxes.map((file) => {
    const { package: owner, name: fluxName, source } = file
    const report = new Report(file.file)
    const flux = source && compileLoaded({ package: owner, fluxName, source, models: modelsOf(owner) }, report)
    return { ...file, fluxName, report, flux }
  })
  checkEndpoints(units)
  if (secrets) for (const { report } of units) checkSecrets(report, secrets)
  for (const unit of units) await checkActions(unit, units, runner)
  const reported = [...models.map((file) => ({ ...file, report: checkModel(file, modelsOf) })), ...units]
  return {
    packages,
    // A service with a fault is not loaded.
    services: units.map(({ report, flux, ...unit }) => ({ ...unit, flux: report.broken ? null : flux })),
    faults: [
      ...faults,
      ...reported.flatMap(({ report, placeOf }) =>
        report.faults.map((fault) => ({ ...fault, ...placeOf?.(fault.pointer, fault.part) })),
      ),
    ],
    complete,
  }
}

/** Reports webhooks of different services with the same endpoint, in both files. Each fault names the other service. */
function checkEndpoints(units: readonly Unit[]) {
  const taken = new Map<string, { readonly unit: Unit; readonly pointer: string }>()
  for (const unit of units)
    for (const webhook of unit.flux?.webhooks ?? [])
      for (const endpoint of endpointsOf(webhook)) {
        const own = { unit, pointer: webhook.pointer }
        const other = taken.get(endpoint)
        if (other === undefined) taken.set(endpoint, own)
        else if (other.unit === unit) unit.report.warn(own.pointer, `${endpoint} is listed twice`)
        else
          for (const [at, { unit: clashing }] of [
            [other, own],
            [own, other],
          ] as const)
            at.unit.report.fault(
              at.pointer,
              `webhook clash: ${endpoint} is also that of "${clashing.fluxName}" of package "${clashing.package}" (${clashing.report.file})`,
            )
      }
}

type Models = ReadonlyMap<string, JsonObject>

/**
 * Returns the models that the services of a package may refer to: its own, those of other packages whose name is
 * unique, and the built-in ones.
 */
function visibleModels(files: readonly DefinitionFile[]): (owner: string) => Models {
  const count = new Map<string, number>()
  for (const { name } of files) count.set(name, (count.get(name) ?? 0) + 1)
  return (owner) => {
    const models = new Map(BUILT_IN_MODELS)
    for (const { name, source, ...file } of files)
      if (source !== null && (file.package === owner || count.get(name) === 1)) models.set(name, source)
    return models
  }
}

function checkModel({ package: owner, file, source }: DefinitionFile, modelsOf: (owner: string) => Models) {
  const report = new Report(file)
  if (source === null) return report
  const pointer = '/gloopProperties'
  checkKeys(ModelFile, source, report)
  checkProperties(source['gloopProperties'], pointer, report, true)
  const list = readBy(ModelFile, source, report)?.gloopProperties ?? []
  compileShape(list, { extra: false, models: modelsOf(owner), pointer, report })
  return report
}
