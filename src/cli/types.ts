// cli: `actorflux types`: writes the types of the services of a folder, for programs that use the client.
import { writeFile } from 'node:fs/promises'
import { messageOf } from '../model/error-message.ts'
import { checkFolders, noService } from './validate.ts'
import { command, EXIT, textOption, UsageError } from './command.ts'
import { counted, isBroken, reportLines } from './report.ts'

/** What modules of services print when they are loaded is not a part of the file, which may be standard output. */
async function printingToStderr<Result>(load: () => Promise<Result>) {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  try {
    return await load()
  } finally {
    stdout.write = write
  }
}

export const types = command({
  summary: 'write the types of the services in a folder of packages, for createClient<Services> of actorflux/client',
  word: '<folder>',
  options: { out: textOption('file', 'the file; standard output if left out') },
  notes: 'Writes nothing and exits with 1 if a service has a fault.',
  async run({ word, values: { out } }, world) {
    if (out === '') throw new UsageError('--out takes the name of a file')
    const { services, report } = await printingToStderr(() => checkFolders([word], world))
    if (isBroken(report)) {
      for (const line of reportLines(report)) world.err(line)
      return EXIT.failed
    }
    if (services.length === 0) throw noService([word])
    const { serviceTypes } = await import('../definitions/typescript/service-types.ts')
    const text = serviceTypes(services)
    if (out === undefined) {
      world.out(text.trimEnd())
      return EXIT.fine
    }
    try {
      await writeFile(out, text)
    } catch (error) {
      throw new Error(`${out} can not be written: ${messageOf(error)}`, { cause: error })
    }
    world.out(`${counted(services.length, 'service')}: ${out}`)
    return EXIT.fine
  },
})
