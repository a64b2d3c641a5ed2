// main: loads and checks the services of the folders; and the secrets of a runtime, with its log, in which their values
// are hidden.
import { systemClock } from '../alarms/clock.ts'
import { openCatalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { Fault } from '../definitions/report.ts'
import { hidingLog } from '../observe/log.ts'
import type { Log } from '../ports/log.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { StepRunner } from '../ports/steps.ts'
import type { Settings } from '../settings.ts'
import { openSecrets, type Environment } from '../settings/secrets.ts'
import { stepRunner } from '../steps/runner.ts'

export interface LoadedServices {
  readonly services: readonly CompiledFlux[]
  /** Faults and warnings, in any order. */
  readonly report: readonly Fault[]
}

/** The services have faults, so the server does not start. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
  readonly report: readonly Fault[]
  constructor(report: readonly Fault[]) {
    super('the services have faults')
    this.report = report
  }
}

/** Loads and checks the services and starts nothing. */
export async function checkServices(
  settings: Settings,
  { log, env = process.env }: { readonly log: Log; readonly env?: Environment },
): Promise<LoadedServices> {
  const runner = stepRunner({ ...settings, log })
  try {
    const secrets = { secrets: await openSecrets(env), isServing: false }
    const { catalog, report } = await openCatalog({ folders: settings.actors, runner, log, secrets })
    return { services: catalog.all(), report }
  } finally {
    runner.close()
  }
}

/**
 * Loads services in order to run them.
 * @throws LoadError when one has a fault, unless the settings say to skip it
 */
export async function loadServices(
  { actors, skipFaulty }: Settings,
  { log, secrets, runner }: { readonly log: Log; readonly secrets: ServiceSecrets; readonly runner: StepRunner },
) {
  const { catalog, report, complete } = await openCatalog({
    folders: actors,
    runner,
    log,
    secrets: { secrets, isServing: true },
  })
  const faults = report.filter(({ severity }) => severity === 'fault')
  if (faults.length > 0 && !(skipFaulty && complete)) throw new LoadError(report)
  const skipped = catalog.skipped()
  if (skipped.length > 0) log.warn('services with faults are skipped', { faults, skipped })
  return { catalog, report }
}

/**
 * Reads the secrets of the environment, and follows changes of their files until they are closed. The log that it gives
 * hides their values.
 */
export async function watchSecrets(environment: Environment, given: Log) {
  const secrets = await openSecrets(environment)
  const log = hidingLog(given, secrets)
  secrets.watch(systemClock, (secret, reason) =>
    log.error('the file of a secret is unusable; the value that was read last stays', { name: secret, reason }),
  )
  return { secrets, log }
}
