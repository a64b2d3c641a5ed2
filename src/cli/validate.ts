// cli: `actorflux validate`: the report of loading, without a server.
import { checkServices } from '../main.ts'
import { createLog } from '../observe/log.ts'
import { EXIT, type Command } from './command.ts'
import { readOptions, settingsOf } from './options.ts'
import { count, isBroken, reportLines, reportSummary } from './report.ts'

const HELP = `Usage: actorflux validate [folder …]

Checks every service in the folders of packages (ACTORFLUX_ACTORS if none is named). Tells every fault and warning; exits with 1 if there is a fault.`

export const validate: Command = async (args, world) => {
  const options = readOptions(args, { positionals: true })
  if (options.help) {
    world.out(HELP)
    return EXIT.fine
  }
  const settings = settingsOf(options, world)
  const actors = options.positionals.length > 0 ? options.positionals : settings.actors
  const { services, report } = await checkServices({ ...settings, actors }, { log: createLog({ level: settings.logLevel }) })
  for (const line of reportLines(report)) world.out(line)
  world.out(`${count(services.length, 'service')}: ${reportSummary(report)}`)
  return isBroken(report) ? EXIT.failed : EXIT.fine
}
