// cli: checks services without serving them: `actorflux validate` prints the report, and `actorflux types` writes the types of
// the services of a folder, for programs that use the client.
import { writeFile } from 'node:fs/promises'
import { createLog } from '../observe/log.ts'
import { readSome } from '../settings.ts'
import { withPrintsAside, type CliIo } from './cli-io.ts'
import { command, EXIT, textOption } from './command.ts'
import { counted, isBroken, reportLines, reportSummary } from './report.ts'

/** Loads the services of the folders; of ACTORFLUX_ACTORS, if there are none. */
export async function checkFolders(folders: readonly string[], { env }: CliIo) {
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
export const noService = (actors: readonly string[]) =>
  new Error(`no service was found: ${actors.join(', ')} must hold packages, which are folders of .flux files`)

export const validate = command({
  summary: 'check every service in the folders of packages (ACTORFLUX_ACTORS if none is named)',
  words: '[folder …]',
  notes: 'Prints every fault and warning. Exits with 1 if there is a fault, or no service at all.',
  async run({ words }, io) {
    const { actors, services, report } = await checkFolders(words, io)
    reportLines(report).forEach(io.out)
    io.out(`${counted(services.length, 'service')}: ${reportSummary(report)}`)
    if (services.length === 0 && !isBroken(report)) throw noService(actors)
    return isBroken(report) ? EXIT.failed : EXIT.fine
  },
})

export const types = command({
  summary: 'write the types of the services in a folder of packages, for createClient<Services> of actorflux/client',
  word: '<folder>',
  options: { out: textOption('file', 'the file; standard output if left out') },
  notes: 'Writes nothing and exits with 1 if a service has a fault.',
  async run({ word, values: { out } }, io) {
    // The file may be standard output.
    const { services, report } = await withPrintsAside(() => checkFolders([word], io))
    if (isBroken(report)) {
      reportLines(report).forEach(io.err)
      return EXIT.failed
    }
    if (services.length === 0) throw noService([word])
    const { serviceTypes } = await import('../definitions/typescript/service-types.ts')
    const text = serviceTypes(services)
    if (out === undefined) io.out(text.trimEnd())
    else {
      await writeFile(out, text)
      io.out(`${counted(services.length, 'service')}: ${out}`)
    }
    return EXIT.fine
  },
})
