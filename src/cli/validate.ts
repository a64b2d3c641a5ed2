// cli: `actorflux validate`: loads the services and prints the report, without starting a server.
import { checkFolders, noService } from './check.ts'
import { command, EXIT } from './command.ts'
import { counted, isBroken, leftAlone, reportLines, reportSummary } from './report.ts'

export const validate = command({
  summary: 'check every service in the folders of packages (ACTORFLUX_ACTORS if none is named)',
  words: '[folder …]',
  notes: 'Tells every fault and warning; exits with 1 if there is a fault, or no service at all.',
  async run({ words }, world) {
    const { actors, services, report } = await checkFolders(words, world)
    for (const line of [...reportLines(report), ...leftAlone(report)]) world.out(line)
    world.out(`${counted(services.length, 'service')}: ${reportSummary(report)}`)
    if (isBroken(report)) return EXIT.failed
    if (services.length > 0) return EXIT.fine
    world.err(noService(actors))
    return EXIT.failed
  },
})
