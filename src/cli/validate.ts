// cli: `actorflux validate`: loads the services and prints the report, without starting a server.
import { checkServices } from '../main.ts'
import { createLog } from '../observe/log.ts'
import { readSettings } from '../settings.ts'
import { EXIT, type Command } from './command.ts'
import { HELP_OPTION } from './options.ts'
import { parseWords } from './parse.ts'
import { counted, isBroken, leftAlone, reportLines, reportSummary } from './report.ts'

const HELP = `Usage: actorflux validate [folder …]

Checks every service in the folders of packages (ACTORFLUX_ACTORS if none is named). Tells every fault and warning; exits with 1 if there is a fault, or no service at all.`

export const validateCommand: Command = async (args, world) => {
  const { values, positionals: folders } = parseWords(args, HELP_OPTION)
  if (values.help) {
    world.out(HELP)
    return EXIT.fine
  }
  // Only these settings are read: faults in others must not prevent the check.
  const { ACTORFLUX_ACTORS, ACTORFLUX_LOG_LEVEL, ACTORFLUX_LOG_FORMAT } = world.env
  const settings = readSettings({
    ACTORFLUX_LOG_LEVEL,
    ACTORFLUX_LOG_FORMAT,
    ...(folders.length > 0 ? {} : { ACTORFLUX_ACTORS }),
  })
  const actors = folders.length > 0 ? folders : settings.actors
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { services, report } = await checkServices({ ...settings, actors }, { log, env: world.env })
  for (const line of [...reportLines(report), ...leftAlone(report)]) world.out(line)
  world.out(`${counted(services.length, 'service')}: ${reportSummary(report)}`)
  if (isBroken(report)) return EXIT.failed
  if (services.length > 0) return EXIT.fine
  // No service at all is a failure: most likely the folder is wrong.
  world.err(
    `actorflux: no service was found: ${actors.join(', ')} must hold packages, which are folders of .flux files`,
  )
  return EXIT.failed
}
