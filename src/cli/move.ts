// cli: `actorflux move`: moves all that an embedded store has into an empty namespace of a single Redis.
import { resolve } from 'node:path'
import { createLog } from '../observe/log.ts'
import { command, UsageError } from './command.ts'
import { dataSettings } from './doctor.ts'
import { withBar } from './progress-bar.ts'

export const move = command({
  summary:
    'copy all contexts, definitions, keys and other rows of an embedded store into a new namespace of a single Redis',
  words: '<data folder> [<redis url>]',
  notes: `The namespace is that of ACTORFLUX_NAMESPACE (default); the counts are compared. The server must be stopped. The folder
stays as it is: don't serve it again once servers work with Redis. The URL is that of ACTORFLUX_REDIS_URL if it is left
out: other users of the machine can see command lines. A move that was cut off goes on when it is called again; until its
end, no server opens the namespace. Exits with 1 when it can't be done, or a context can't be read.`,
  async run({ words }, world) {
    const [folder = '', redisUrl = world.env['ACTORFLUX_REDIS_URL'] ?? '', ...more] = words
    if (folder === '' || redisUrl === '' || more.length > 0)
      throw new UsageError('a data folder and the URL of a Redis are needed')
    const settings = dataSettings(folder, { env: { ...world.env, ACTORFLUX_REDIS_URL: redisUrl } })
    const { moveData } = await import('../main.ts')
    const { contexts, rows, definitions, unreadable, place } = await withBar(world, (onProgress) =>
      moveData(settings, { redisUrl, log: createLog({ level: 'error' }), onProgress }),
    )
    world.out(
      `moved to namespace '${settings.namespace}' of Redis at ${place}: contexts ${contexts}, definitions ${definitions}, rows ${rows}`,
    )
    world.out(`start servers with ACTORFLUX_REDIS_URL, and do not serve ${resolve(folder)} again`)
    if (unreadable > 0)
      throw new Error(`${unreadable} contexts can't be read and were not moved: see actorflux doctor --data ${folder}`)
  },
})
