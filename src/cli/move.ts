// cli: `actorflux move`: moves all that an embedded store has into an empty namespace of a single Redis.
import { resolve } from 'node:path'
import { moveData } from '../main.ts'
import { createLog } from '../observe/log.ts'
import { readSettings } from '../settings.ts'
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { HELP_OPTION } from './options.ts'
import { parseWords } from './parse.ts'
import { barOn } from './progress-bar.ts'

const HELP = `Usage: actorflux move <data folder> [<redis url>]

Copies all contexts, definitions, keys and other rows of an embedded store into a new namespace of a single Redis
(ACTORFLUX_NAMESPACE, default), and compares the counts. The server must be stopped. The folder stays as it is: don't
serve it again once servers work with Redis. The URL is that of ACTORFLUX_REDIS_URL if it is left out: other users of the
machine can see command lines. A move that was cut off goes on when it is called again; until its end, no
server opens the namespace. Exits with 1 when it can't be done, or a context can't be read.`

export const move: Command = async (args, world) => {
  const { help, folder, redisUrl } = readArguments(args, world)
  if (help === true) {
    world.out(HELP)
    return EXIT.fine
  }
  const settings = readSettings({
    ACTORFLUX_DATA: folder,
    ACTORFLUX_NAMESPACE: world.env['ACTORFLUX_NAMESPACE'],
    ACTORFLUX_REDIS_URL: redisUrl,
  })
  const bar = world.progress === null ? null : barOn(world.progress)
  let isBegun = false
  try {
    const { contexts, rows, definitions, unreadable, place } = await moveData(settings, {
      redisUrl,
      log: createLog({ level: 'error' }),
      onProgress(done, total) {
        if (!isBegun) bar?.start(total, 0)
        isBegun = true
        bar?.update(done)
      },
    })
    bar?.stop()
    world.out(
      `moved to namespace '${settings.namespace}' of Redis at ${place}: contexts ${contexts}, definitions ${definitions}, rows ${rows}`,
    )
    world.out(`start servers with ACTORFLUX_REDIS_URL, and do not serve ${resolve(folder)} again`)
    if (unreadable === 0) return EXIT.fine
    world.err(
      `actorflux: ${unreadable} contexts can't be read and were not moved: see actorflux doctor --data ${folder}`,
    )
    return EXIT.failed
  } finally {
    bar?.stop()
  }
}

/** @throws UsageError */
function readArguments(args: string[], { env }: World) {
  const { values, positionals } = parseWords(args, HELP_OPTION)
  const [folder = '', redisUrl = env['ACTORFLUX_REDIS_URL'] ?? '', ...more] = positionals
  if (values.help !== true && (folder === '' || redisUrl === '' || more.length > 0))
    throw new UsageError('a data folder and the URL of a Redis are needed')
  return { ...values, folder, redisUrl }
}
