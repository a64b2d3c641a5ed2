// cli: the commands that look after the embedded store: `actorflux backup` copies it into a new folder, `move` copies it into
// Redis, and `doctor` says whether all of it can be read.
import { resolve } from 'node:path'
import { createLog } from '../observe/log.ts'
import { readSome } from '../settings.ts'
import type { CliIo } from './cli-io.ts'
import { command, EXIT, textOption, UsageError } from './command.ts'
import { withBar } from './progress-bar.ts'
import { counted } from './report.ts'

const DATA = { data: textOption('folder', 'the data folder; ACTORFLUX_DATA (.actorflux) if not given') }

/** The settings of the embedded store, and of Redis where data is moved there. */
const settingsOf = (env: CliIo['env'], data = env['ACTORFLUX_DATA']) =>
  readSome({ ...env, ACTORFLUX_DATA: data }, 'ACTORFLUX_DATA', 'ACTORFLUX_NAMESPACE', 'ACTORFLUX_REDIS_URL')

const MEBIBYTE = 1024 * 1024

export const backup = command({
  summary: 'copy the data of the embedded store into a new folder, and check the copy',
  word: '<new folder>',
  options: DATA,
  notes: `The server may be running: the copy has all that was acknowledged before it began. A server starts from it with
ACTORFLUX_DATA=<new folder>. Exits with 1 when it can't be done.`,
  async run({ word, values: { data } }, io) {
    if (io.env['ACTORFLUX_REDIS_URL'] && data === undefined)
      throw new Error('the data is in Redis (ACTORFLUX_REDIS_URL), whose own snapshots are its backup')
    const settings = settingsOf(io.env, data)
    const into = resolve(word)
    const { backUpData } = await import('../main.ts')
    const bytes = await withBar(io.progress, (show) =>
      backUpData(settings, {
        into,
        log: createLog({ level: 'error' }),
        onProgress: (copied, most) => show(Math.floor(copied / MEBIBYTE), Math.ceil(most / MEBIBYTE)),
      }),
    )
    io.out(
      `${Math.ceil(bytes / 1024)} KiB were written to ${into}: a server starts from there with ACTORFLUX_DATA=${into}`,
    )
  },
})

export const move = command({
  summary:
    'copy all contexts, definitions, keys and other rows of an embedded store into a new namespace of a single Redis',
  words: '<data folder> [<redis url>]',
  notes: `The namespace is that of ACTORFLUX_NAMESPACE (default); the counts are compared. The server must be stopped. The folder
stays as it is: don't serve it again once servers work with Redis. The URL is that of ACTORFLUX_REDIS_URL if it is left
out: other users of the machine can see command lines. A move that was cut off goes on when it is called again; until its
end, no server opens the namespace. Exits with 1 when it can't be done, or a context can't be read.`,
  async run({ words }, io) {
    const [folder = '', redisUrl = io.env['ACTORFLUX_REDIS_URL'] ?? '', ...more] = words
    if (folder === '' || redisUrl === '' || more.length > 0)
      throw new UsageError('a data folder and the URL of a Redis are needed')
    const settings = settingsOf({ ...io.env, ACTORFLUX_REDIS_URL: redisUrl }, folder)
    const { moveData } = await import('../main.ts')
    const { contexts, rows, definitions, unreadable, place } = await withBar(io.progress, (onProgress) =>
      moveData(settings, { redisUrl, log: createLog({ level: 'error' }), onProgress }),
    )
    io.out(
      `moved to namespace '${settings.namespace}' of Redis at ${place}: contexts ${contexts}, definitions ${definitions}, rows ${rows}`,
    )
    io.out(`start servers with ACTORFLUX_REDIS_URL, and do not serve ${resolve(folder)} again`)
    if (unreadable > 0)
      throw new Error(`${unreadable} contexts can't be read and were not moved: see actorflux doctor --data ${folder}`)
  },
})

export const doctor = command({
  summary: 'read all data of the embedded store, and say whether it is whole',
  options: DATA,
  notes: `It changes nothing there; the server must be stopped.
Exits with 0 when all of it can be read, with 1 when not.`,
  async run({ values: { data } }, io) {
    const { examineData } = await import('../main.ts')
    const { file, contexts, unreadable } = await examineData(settingsOf(io.env, data))
    const found = counted(contexts, 'context')
    if (unreadable.length === 0) return io.out(`the data in ${file} is whole: ${found}`)
    io.out(`the data in ${file} is damaged: ${found} can be read, and ${unreadable.length} can not`)
    for (const line of unreadable) io.out(`  ${line}`)
    return EXIT.failed
  },
})
