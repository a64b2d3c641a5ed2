// testing/scenario: all scenarios of a folder: finds their files, and runs them one after the other.
import { readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { pathBelow } from '../../definitions/load-report.ts'
import type { Fault } from '../../definitions/report.ts'
import { isIgnored } from '../../definitions/source/files.ts'
import type { Log } from '../../ports/log.ts'
import { Coverage, pathOf } from '../coverage.ts'
import { loadServices } from '../runtime.ts'
import { readScenario } from './read.ts'
import { runScenario, type StepFailure } from './run.ts'

/** What became of a scenario. */
export interface ScenarioResult {
  /** Its name; of a file with faults, that of the file. */
  readonly scenario: string
  readonly file: string
  /** `package/fluxName`; null: the file has faults. */
  readonly service: string | null
  readonly ok: boolean
  readonly milliseconds: number
  readonly failure: (Partial<StepFailure> & Pick<Fault, 'line' | 'column'> & { readonly message: string }) | null
}

export interface SuiteOptions {
  /** Folders of packages. */
  readonly folders: readonly string[]
  /** Only what is below this one; null: all. */
  readonly within: string | null
  /** Only scenarios with this text in their names, services or files. */
  readonly filter: string
  readonly log?: Log | undefined
}

/** Loads the services, and finds the scenarios. */
export async function openSuite({ folders, within, filter, log }: SuiteOptions) {
  const loaded = await loadServices(folders, log)
  const { catalog, runner, report } = loaded
  const coverage = new Coverage()
  const lists = await Promise.all((within === null ? folders : [within]).map(scenariosIn))
  const below = within === null ? '' : `${pathBelow(folders, within)}/`
  const isBelow = (path: string) => below === '' || below === './' || path.startsWith(below)

  async function resultOf(file: string): Promise<ScenarioResult | null> {
    const path = pathBelow(folders, file)
    const [owner = ''] = path.split('/', 1)
    const read = readScenario(file, owner, catalog)
    const about =
      'faults' in read
        ? { scenario: path, service: null }
        : { scenario: read.scenario.name, service: pathOf(read.flux) }
    if (![about.scenario, about.service ?? '', path].some((text) => text.includes(filter))) return null
    const began = performance.now()
    const failure = 'faults' in read ? faultsFailure(read.faults) : await runScenario(loaded, read, coverage)
    const place = failure && 'placeOf' in read ? read.placeOf(failure.pointer ?? '') : null
    return {
      ...about,
      file,
      ok: failure === null,
      milliseconds: Math.round((performance.now() - began) * 100) / 100,
      failure: failure && { ...failure, ...place },
    }
  }

  return {
    /** Faults and warnings of the services. */
    report,
    coverage,
    /** The services that are to be covered. */
    services: catalog.all().filter((flux: CompiledFlux) => isBelow(catalog.fileOf(flux))),
    async *run() {
      for (const file of lists.flat()) {
        const result = await resultOf(file)
        if (result) yield result
      }
    },
    close: () => runner.close(),
  }
}

/** The first fault, with its place, and the others in the message. */
function faultsFailure(faults: readonly Fault[]): NonNullable<ScenarioResult['failure']> {
  const [{ line, column, pointer = '' } = { line: undefined, column: undefined }] = faults
  const message = faults.map(({ reason, pointer: at }) => (at === '' ? reason : `${at}: ${reason}`)).join('; ')
  return { message, pointer, ...(line !== undefined && { line }), ...(column !== undefined && { column }) }
}

const isScenario = (file: string) => file.endsWith('.scenario.json') && !file.split(sep).some(isIgnored)

/** Files of scenarios in a folder, sorted. */
async function scenariosIn(folder: string) {
  const files = await readdir(folder, { recursive: true })
  return files
    .filter(isScenario)
    .sort()
    .map((file) => join(folder, file))
}
