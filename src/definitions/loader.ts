// definitions: loads all services below some folders, compiles them, and checks the references between them.
import type { JsonObject } from '../model/json/value.ts'
import type { PackageFolder, StepRunner } from '../ports/steps.ts'
import { BUILT_IN_MODELS } from './values/builtin-models.ts'
import { checkModelKeys } from './lint/keys.ts'
import type { Unit } from './actions/action-type.ts'
import { checkActions } from './actions/actions.ts'
import { checkSecrets, type SecretCheck } from './lint/secrets.ts'
import { checkEndpoints } from './lint/endpoints.ts'
import { compileFlux } from './service.ts'
import type { CompiledFlux } from './flux.ts'
import { compileShape, lookUpIn } from './values/properties.ts'
import { withPositions } from './source/positions.ts'
import { readFolders, type DefinitionFile } from './source/files.ts'
import { Report, type Fault } from './report.ts'
import { ModelFile } from './source/property-schema.ts'
import { take } from './source/take.ts'

export interface LoadedFolders {
  readonly packages: readonly PackageFolder[]
  /** `flux` is null if the service has a fault. */
  readonly services: readonly {
    readonly package: string
    readonly fluxName: string
    readonly file: string
    /** null: the file can't be read. */
    readonly source: JsonObject | null
    readonly flux: CompiledFlux | null
  }[]
  readonly faults: readonly Fault[]
  /** False when a folder can't be read. */
  readonly complete: boolean
}

export interface LoadOptions {
  readonly folders: readonly string[]
  readonly runner: StepRunner
  /** Absent: references to secrets are not checked. */
  readonly secrets?: SecretCheck | undefined
}

/**
 * Reads, compiles and checks all services, and mounts the packages in the runner, to check that their functions exist.
 * `whole`: stops before mounting if a folder can't be read, so that the mounted packages stay.
 */
export async function loadFolders(
  { folders, runner, secrets }: LoadOptions,
  { whole }: { readonly whole: boolean },
): Promise<LoadedFolders> {
  const { packages, fluxes, models, faults, complete } = await readFolders(folders)
  if (whole && !complete) return { packages: [], services: [], faults, complete }
  runner.mount(packages)
  const modelsOf = visibleModels(models)
  const units = fluxes.map((file) => {
    const { package: owner, name: fluxName, source } = file
    const report = new Report(file.file)
    const flux = source && compileFlux({ package: owner, fluxName, source, models: modelsOf(owner) }, report)
    return { package: owner, fluxName, source, report, flux } satisfies Unit
  })
  checkEndpoints(units)
  if (secrets) for (const { report } of units) checkSecrets(report, secrets)
  for (const unit of units) await checkActions(unit, units, runner)
  const all = [...faults, ...checkModels(models, modelsOf), ...units.flatMap(({ report }) => report.faults)]
  const texts = new Map([...fluxes, ...models].map(({ file, text }) => [file, text]))
  return {
    packages,
    services: units.map(({ report, flux, ...unit }) => ({
      ...unit,
      file: report.file,
      flux: report.broken ? null : flux,
    })),
    faults: withPositions(all, (file) => texts.get(file)),
    complete,
  }
}

type Models = ReadonlyMap<string, JsonObject>

/**
 * Returns the models that the services of a package may refer to: its own, those of other packages whose name is
 * unique, and the built-in ones.
 */
function visibleModels(files: readonly DefinitionFile[]): (owner: string) => Models {
  const readable = files.flatMap(({ source, ...file }) => (source === null ? [] : [{ ...file, source }]))
  const count = new Map<string, number>()
  for (const { name } of readable) count.set(name, (count.get(name) ?? 0) + 1)
  const unique = readable.filter(({ name }) => count.get(name) === 1)
  return (owner) =>
    new Map([
      ...BUILT_IN_MODELS,
      ...[...unique, ...readable.filter((file) => file.package === owner)].map(
        ({ name, source }) => [name, source] as const,
      ),
    ])
}

function checkModels(files: readonly DefinitionFile[], modelsOf: (owner: string) => Models): Fault[] {
  return files.flatMap(({ package: owner, file, source }) => {
    if (source === null) return []
    const report = new Report(file)
    checkModelKeys(source, report)
    const model = take(ModelFile, source, '', report)
    compileShape(model?.gloopProperties ?? [], {
      extra: false,
      ...lookUpIn(modelsOf(owner)),
      pointer: '/gloopProperties',
      report,
    })
    return report.faults
  })
}
