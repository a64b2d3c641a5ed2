// cli: `actorflux backup`: copies the data of the embedded store into a new folder, also while a server works with it.
import { resolve } from 'node:path'
import { createLog } from '../observe/log.ts'
import { command } from './command.ts'
import { DATA_OPTION, dataSettings } from './doctor.ts'
import { withBar } from './progress-bar.ts'

const MEBIBYTE = 1024 * 1024

export const backup = command({
  summary: 'copy the data of the embedded store into a new folder, and check the copy',
  word: '<new folder>',
  options: DATA_OPTION,
  notes: `The server may be running: the copy has all that was acknowledged before it began. A server starts from it with
ACTORFLUX_DATA=<new folder>. Exits with 1 when it can't be done.`,
  async run({ word, values: { data } }, world) {
    if (world.env['ACTORFLUX_REDIS_URL'] && data === undefined)
      throw new Error('the data is in Redis (ACTORFLUX_REDIS_URL), whose own snapshots are its backup')
    const settings = dataSettings(data, world)
    const into = resolve(word)
    const { backUpData } = await import('../main.ts')
    const bytes = await withBar(world, (show) =>
      backUpData(settings, {
        into,
        log: createLog({ level: 'error' }),
        onProgress: (copied, most) => show(Math.floor(copied / MEBIBYTE), Math.ceil(most / MEBIBYTE)),
      }),
    )
    world.out(
      `${Math.ceil(bytes / 1024)} KiB were written to ${into}: a server starts from there with ACTORFLUX_DATA=${into}`,
    )
  },
})
