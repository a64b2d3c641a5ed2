// cli: `actorflux dev`: serves, and loads the services again whenever one of their files changes.
import { existsSync } from 'node:fs'
import { watchFolders } from '../definitions/watcher.ts'
import type { Server } from '../main.ts'
import type { Log } from '../ports/log.ts'
import { EXIT, type Command, type World } from './command.ts'
import { offerProject } from './init.ts'
import { SERVE_OPTIONS, settingsHelp, settingsOf } from './options.ts'
import { parseWords } from './parse.ts'
import { counted, isBroken, reportLines, reportSummary } from './report.ts'
import { runServer } from './start.ts'
import { isSupervised, supervise } from './supervise.ts'

const HELP = `Usage: actorflux dev [--host <address>] [--port <port>]

Like serve, but loads the services again when a file changes. A service with a fault stays as it was.
In a folder without services it offers to write a first one.
Starts the server again when a function has blocked it for ACTORFLUX_WATCHDOG_KILL.`

export const dev: Command = async (args, world) => {
  const options = parseWords(args, SERVE_OPTIONS, false).values
  if (options.help) {
    world.out(`${HELP}\n\n${settingsHelp()}`)
    return EXIT.fine
  }
  // Reports a mistake on the command line before a process is started.
  const { actors } = settingsOf(options, world)
  if (world.env['ACTORFLUX_ACTORS'] === undefined && !isSupervised() && !actors.some(existsSync)) {
    if (!(await offerProject(world))) return EXIT.failed
  }
  if (!isSupervised()) return supervise(world)
  return runServer(options, world, (server, log) =>
    watchFolders(settingsOf(options, world).actors, () => reload(server, { world, log })),
  )
}

async function reload(server: Server, { world, log }: { world: World; log: Log }): Promise<void> {
  try {
    const { services, report } = await server.reload()
    for (const line of reportLines(report)) world.out(line)
    const kept = isBroken(report) ? '; services with faults stay as they were' : ''
    world.out(`loaded ${counted(services.length, 'service')}: ${reportSummary(report)}${kept}`)
  } catch (error) {
    log.error('the services could not be loaded again', { error })
  }
}
