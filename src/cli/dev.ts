// cli: `actorflux dev`: serves, and loads the services again whenever one of their files changes.
import { existsSync } from 'node:fs'
import { watchFolders } from '../definitions/watcher.ts'
import type { Server } from '../main.ts'
import type { Log } from '../ports/log.ts'
import { command, EXIT, type World } from './command.ts'
import { offerProject } from './init.ts'
import { counted, isBroken, reportLines, reportSummary } from './report.ts'
import { runServer, SERVE_OPTIONS, settingsHelp, settingsOf } from './serve.ts'
import { isSupervised, supervise } from './supervise.ts'

export const dev = command({
  summary: 'serve, and load the services again when a file changes; one with a fault stays as it was',
  options: SERVE_OPTIONS,
  notes: `In a folder without services it offers to write a first one.
Starts the server again when a function has blocked it for ACTORFLUX_WATCHDOG_KILL.

${settingsHelp()}`,
  async run({ values }, world) {
    // Reports a mistake on the command line before a process is started.
    const { actors } = settingsOf(values, world)
    if (isSupervised())
      return runServer(values, world, (server, log) =>
        watchFolders(settingsOf(values, world).actors, () => reload(server, { world, log })),
      )
    const isEmpty = world.env['ACTORFLUX_ACTORS'] === undefined && !actors.some(existsSync)
    if (isEmpty && !(await offerProject(world))) return EXIT.failed
    return supervise(world)
  },
})

async function reload(server: Server, { world, log }: { world: World; log: Log }) {
  try {
    const { services, report } = await server.reload()
    for (const line of reportLines(report)) world.out(line)
    const kept = isBroken(report) ? '; services with faults stay as they were' : ''
    world.out(`loaded ${counted(services.length, 'service')}: ${reportSummary(report)}${kept}`)
  } catch (error) {
    log.error('the services could not be loaded again', { error })
  }
}
