// cli: `actorflux types`: writes the types of the services of a folder, for programs that use the client.
import { writeFile } from 'node:fs/promises'
import { serviceTypes } from '../definitions/typescript/service-types.ts'
import { checkServices } from '../main.ts'
import { messageOf } from '../model/error-message.ts'
import { createLog } from '../observe/log.ts'
import { readSettings } from '../settings.ts'
import { EXIT, UsageError, type Command } from './command.ts'
import { HELP_OPTION } from './options.ts'
import { parseWords } from './parse.ts'
import { counted, isBroken, reportLines } from './report.ts'

const HELP = `Usage: actorflux types <folder> [--out file]

Writes the types of the services in a folder of packages, for createClient<Services> of actorflux/client: to the file, or to standard output. Writes nothing and exits with 1 if a service has a fault.`

/** @throws UsageError */
function readArguments(args: string[]) {
  const { values, positionals } = parseWords(args, { ...HELP_OPTION, out: { type: 'string' } })
  return { ...values, folders: positionals }
}

/** What modules of services print when they are loaded is not a part of the file, which may be standard output. */
async function printingToStderr<Result>(load: () => Promise<Result>): Promise<Result> {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  try {
    return await load()
  } finally {
    stdout.write = write
  }
}

export const typesCommand: Command = async (args, world) => {
  const { help, out, folders } = readArguments(args)
  if (help === true) {
    world.out(HELP)
    return EXIT.fine
  }
  if (folders.length !== 1) throw new UsageError('types takes one folder of packages')
  if (out === '') throw new UsageError('--out takes the name of a file')
  const { ACTORFLUX_LOG_LEVEL, ACTORFLUX_LOG_FORMAT } = world.env
  const settings = { ...readSettings({ ACTORFLUX_LOG_LEVEL, ACTORFLUX_LOG_FORMAT }), actors: folders }
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { services, report } = await printingToStderr(() => checkServices(settings, { log, env: world.env }))
  if (isBroken(report)) {
    for (const line of reportLines(report)) world.err(line)
    return EXIT.failed
  }
  if (services.length === 0) {
    world.err(
      `actorflux: no service was found: ${folders.join('')} must hold packages, which are folders of .flux files`,
    )
    return EXIT.failed
  }
  const text = serviceTypes(services)
  if (out === undefined) {
    world.out(text.trimEnd())
    return EXIT.fine
  }
  try {
    await writeFile(out, text)
  } catch (error) {
    world.err(`actorflux: ${out} can not be written: ${messageOf(error)}`)
    return EXIT.failed
  }
  world.out(`${counted(services.length, 'service')}: ${out}`)
  return EXIT.fine
}
