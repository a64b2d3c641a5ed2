// cli: starts a server and prints its greeting, for `serve` and `dev`.
import type { FolderWatcher } from '../definitions/watcher.ts'
import { LoadError, startServer, type Server } from '../main.ts'
import { createLog } from '../observe/log.ts'
import type { Log } from '../ports/log.ts'
import { unsupported } from '../settings.ts'
import { EXIT, type World } from './command.ts'
import { greeting } from './greeting.ts'
import { settingsOf, type ServeOptions } from './options.ts'
import { reportLines, reportSummary } from './report.ts'
import { untilStopped } from './stop.ts'
import { warnOfNobody, warnOfSettings } from './warnings.ts'
import { messageOf } from '../model/error-message.ts'

/** Milliseconds that requests and steps under way get when the server stops. The process must end within 10 seconds. */
const GRACE_MS = 9_000

/**
 * Runs a server until it is stopped; resolves with the exit code.
 * @param started called once the server serves; resolves with a watcher that is closed before the server stops
 */
export async function runServer(
  options: ServeOptions,
  world: World,
  started?: (server: Server, log: Log) => Promise<FolderWatcher>,
): Promise<number> {
  warnOfSettings(world)
  const settings = settingsOf(options, world)
  const refusals = unsupported(settings)
  if (refusals.length > 0) {
    for (const line of refusals) world.err(`actorflux: ${line}`)
    return EXIT.failed
  }
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  let server: Server
  try {
    server = await startServer(settings, { log, env: world.env, paused: options.paused })
  } catch (error) {
    report(error, world)
    log.debug('could not start', { error })
    return EXIT.failed
  }
  const watcher = await started?.(server, log)
  const stopped = untilStopped({
    log,
    async close() {
      await watcher?.close()
      await server.close({ grace: GRACE_MS })
    },
  })
  for (const line of reportLines(server.loaded.report)) world.out(line)
  const {
    url,
    storage,
    loaded: { services },
  } = server
  await warnOfNobody(settings, services, world)
  const { requireAuth } = settings
  for (const line of greeting({ url, storage, services, requireAuth, pid: process.pid })) world.out(line)
  if (options.paused) world.out('paused: nothing changes until actorflux server resume')
  return stopped
}

function report(error: unknown, world: World): void {
  if (error instanceof LoadError) {
    for (const line of reportLines(error.report)) world.err(line)
    world.err(`actorflux: ${error.message}: ${reportSummary(error.report)}`)
  } else world.err(`actorflux: ${messageOf(error)}`)
}
