// testing/scenario: all scenarios of a folder: finds their files, and runs them one after the other.
import { readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { pathBelow } from '../../definitions/load-report.ts'
import { isIgnored } from '../../definitions/source/files.ts'
import type { Log } from '../../ports/log.ts'
import { Coverage, pathOf } from '../coverage.ts'
import { loadServices } from '../runtime.ts'
import { readScenario, type ScenarioFailure } from './read.ts'
import { runScenario } from './run.ts'

/** What became of a scenario. */
export interface ScenarioResult {
  /** Its name; of a file with faults, that of the file. */
  readonly scenario: string
  readonly file: string
  /** `package/fluxName`; null: the file has faults. */
  readonly service: string | null
  readonly ok: boolean
  readonly milliseconds: number
  readonly failure: ScenarioFailure | null
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
  const all = catalog.all()
  const coverage = new Coverage()
  const below = within === null ? '.' : pathBelow(folders, within)

  async function resultOf(file: string): Promise<ScenarioResult | null> {
    const path = pathBelow(folders, file)
    const read = readScenario(file, path.split('/', 1).join(), all)
    const isRead = 'scenario' in read
    const [scenario, service] = isRead ? [read.scenario.name, pathOf(read.flux)] : [path, null]
    if (!`${scenario}\n${service}\n${path}`.includes(filter)) return null
    const began = performance.now()
    const failure = isRead ? await runScenario(loaded, read, coverage) : read.failure
    const milliseconds = Math.round(performance.now() - began)
    return { scenario, file, service, ok: failure === null, milliseconds, failure }
  }

  return {
    /** Faults and warnings of the services. */
    report,
    coverage,
    /** The services that are to be covered. */
    services: all.filter((flux) => below === '.' || catalog.fileOf(flux).startsWith(`${below}/`)),
    async *run() {
      for (const folder of within === null ? folders : [within])
        for (const file of await scenariosIn(folder)) {
          const result = await resultOf(file)
          if (result) yield result
        }
    },
    close: () => runner.close(),
  }
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
