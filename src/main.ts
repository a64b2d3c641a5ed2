// main: what programs import from actorflux: a runtime in their process, a server, the check of services and of data.
// The parts are connected here and in the folder main/, and nowhere else.
import { systemClock } from './alarms/clock.ts'
import type { FluxApi } from './api/calls.ts'
import type { Engine } from './engine/engine.ts'
import { openEngine } from './main/engine.ts'
import { memoryOf } from './main/limits.ts'
import { watchSecrets, loadServices } from './main/services.ts'
import { createLog } from './observe/log.ts'
import type { Clock } from './ports/clock.ts'
import type { Log } from './ports/log.ts'
import { readSettings, type Settings } from './settings.ts'
import { stepRunner } from './steps/runner.ts'
import { backUp } from './store/lmdb/backup.ts'

export { examineData, moveData, type Moved } from './main/data.ts'
export type { FluxApi } from './api/calls.ts'
export { checkServices, LoadError, type LoadedServices } from './main/services.ts'
export { startServer, type Server } from './main/server.ts'
export { FluxError, type Failure } from './model/failure.ts'
export type { Flux } from './ports/steps.ts'

export interface RuntimeOptions {
  /** Folders of packages; `actors` if left out. */
  readonly actors?: readonly string[]
  /** Folder of the embedded store; `.actorflux` if left out. */
  readonly data?: string
  /** Redis to keep contexts in, or nodes of a cluster separated by commas; the embedded store if left out. */
  readonly redisUrl?: string
  /** Separates runtimes that share one store; `default` if left out. */
  readonly namespace?: string
  /** Partitions of the namespace in Redis; 1 if left out, 16 in a cluster. */
  readonly partitions?: number
  /** Milliseconds for which finished contexts stay readable; 7 days if left out. */
  readonly retention?: number
  /** Steps that run at once; 256 if left out. */
  readonly stepConcurrency?: number
  /** Whether `Http.request` may reach addresses that aren't public; false if left out. */
  readonly allowPrivate?: boolean
  readonly log?: Log
  /** The clock of the embedded store. With Redis, all servers use Redis's time. */
  readonly clock?: Clock
}

/** The calls in process, and `close`. */
export interface FluxRuntime extends FluxApi {
  /** Waits for running steps for at most `grace` milliseconds (10 s if left out), then releases everything. */
  close(options?: { readonly grace?: number }): Promise<void>
}

/**
 * Runs services in this process.
 * @throws LoadError when a service has a fault; Error when the data folder is in use, or Redis cannot be used
 */
export async function createRuntime({
  log: givenLog,
  clock = systemClock,
  ...options
}: RuntimeOptions = {}): Promise<FluxRuntime> {
  const chosen = Object.entries(options).filter(([, value]) => value != null)
  const settings: Settings = { ...readSettings({}), ...Object.fromEntries(chosen) }
  const { secrets, log } = await watchSecrets(
    process.env,
    givenLog ?? createLog({ level: settings.logLevel, format: settings.logFormat }),
  )
  const runner = stepRunner({ ...settings, log })
  let engine: Engine | undefined
  const close: FluxRuntime['close'] = async (options) => {
    await engine?.close(options)
    runner.close()
    secrets.close()
  }
  try {
    const { catalog } = await loadServices(settings, { log, secrets, runner })
    const given = { catalog, runner, clock, log, secrets, memory: memoryOf(settings) }
    engine = (await openEngine(settings, given)).engine
    await engine.start()
    return { ...engine.local(), close }
  } catch (error) {
    await close({ grace: 0 })
    throw error
  }
}

/**
 * Copies the data of the embedded store into a new folder, also while a server works with it. Gives the bytes of the copy.
 * `onProgress`: bytes that were copied, of at most so many.
 * @throws Error with one line when there is no data, the folder is not empty or has no room, or the data is damaged
 */
export function backUpData({ data, namespace }: Settings, options: Parameters<typeof backUp>[1]): Promise<number> {
  return backUp({ folder: data, namespace }, options)
}
