// cli: checks services: `actorflux validate`, which prints the report without starting a server, and other commands that do
// not serve them.
import { createLog } from '../observe/log.ts'
import { readSome } from '../settings.ts'
import { command, EXIT, type World } from './command.ts'
import { counted, isBroken, leftAlone, reportLines, reportSummary } from './report.ts'

/** Loads the services of the folders; of ACTORFLUX_ACTORS, if there are none. */
export async function checkFolders(folders: readonly string[], { env }: World) {
  const settings = readSome(
    env,
    ...(folders.length > 0 ? [] : ['ACTORFLUX_ACTORS']),
    'ACTORFLUX_LOG_LEVEL',
    'ACTORFLUX_LOG_FORMAT',
    'ACTORFLUX_WEBHOOK_TIMEOUT',
  )
  const actors = folders.length > 0 ? folders : settings.actors
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { checkServices } = await import('../main.ts')
  return { ...(await checkServices({ ...settings, actors }, { log, env })), actors, settings }
}

/** No service at all is a failure: most likely the folder is wrong. */
export const noService = (actors: readonly string[]): Error =>
  new Error(`no service was found: ${actors.join(', ')} must hold packages, which are folders of .flux files`)

export const validate = command({
  summary: 'check every service in the folders of packages (ACTORFLUX_ACTORS if none is named)',
  words: '[folder …]',
  notes: 'Prints every fault and warning. Exits with 1 if there is a fault, or no service at all.',
  async run({ words }, world) {
    const { actors, services, report } = await checkFolders(words, world)
    for (const line of [...reportLines(report), ...leftAlone(report)]) world.out(line)
    world.out(`${counted(services.length, 'service')}: ${reportSummary(report)}`)
    if (isBroken(report)) return EXIT.failed
    if (services.length === 0) throw noService(actors)
    return EXIT.fine
  },
})
