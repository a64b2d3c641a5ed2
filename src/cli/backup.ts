// cli: `actorflux backup`: copies the data of the embedded store into a new folder, also while a server works with it.
import { resolve } from 'node:path'
import { backUpData } from '../main.ts'
import { createLog } from '../observe/log.ts'
import { readSettings } from '../settings.ts'
import { EXIT, UsageError, type Command } from './command.ts'
import { HELP_OPTION } from './options.ts'
import { parseWords } from './parse.ts'
import { barOn } from './progress-bar.ts'

const HELP = `Usage: actorflux backup <new folder> [--data <folder>]

Copies the data of the embedded store into a new folder, and checks the copy. The server may be running: the copy has all
that was acknowledged before it began. A server starts from it with ACTORFLUX_DATA=<new folder>.
Exits with 1 when it can't be done.

  --data   the data folder; ACTORFLUX_DATA (.actorflux) if not given`

const MEBIBYTE = 1024 * 1024

export const backup: Command = async (args, world) => {
  const { help, data, folder } = readArguments(args)
  if (help === true) {
    world.out(HELP)
    return EXIT.fine
  }
  if (world.env['ACTORFLUX_REDIS_URL'] && data === undefined) {
    world.err('actorflux: the data is in Redis (ACTORFLUX_REDIS_URL), whose own snapshots are its backup')
    return EXIT.failed
  }
  const settings = readSettings({
    ACTORFLUX_DATA: data ?? world.env['ACTORFLUX_DATA'],
    ACTORFLUX_NAMESPACE: world.env['ACTORFLUX_NAMESPACE'],
  })
  const into = resolve(folder)
  const bar = world.progress === null ? null : barOn(world.progress)
  let isBegun = false
  try {
    const bytes = await backUpData(settings, {
      into,
      log: createLog({ level: 'error' }),
      onProgress(copied, most) {
        if (!isBegun) bar?.start(Math.ceil(most / MEBIBYTE), 0)
        isBegun = true
        bar?.update(Math.floor(copied / MEBIBYTE))
      },
    })
    bar?.stop()
    world.out(
      `${Math.ceil(bytes / 1024)} KiB were written to ${into}: a server starts from there with ACTORFLUX_DATA=${into}`,
    )
    return EXIT.fine
  } finally {
    bar?.stop()
  }
}

/** @throws UsageError */
function readArguments(args: string[]) {
  const { values, positionals } = parseWords(args, { ...HELP_OPTION, data: { type: 'string' } })
  const [folder = '', ...more] = positionals
  if (values.help !== true && (folder === '' || more.length > 0)) throw new UsageError('one new folder is needed')
  return { ...values, folder }
}
