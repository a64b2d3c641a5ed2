// cli: `actorflux doctor`: reads all data of the embedded store, and says whether it is whole.
import { readSome } from '../settings.ts'
import { command, EXIT, textOption, type World } from './command.ts'
import { counted } from './report.ts'

export const DATA_OPTION = { data: textOption('folder', 'the data folder; ACTORFLUX_DATA (.actorflux) if not given') }

/** The settings of the embedded store, and of Redis where data is moved there. */
export const dataSettings = (data: string | undefined, { env }: Pick<World, 'env'>) =>
  readSome(
    { ...env, ...(data !== undefined && { ACTORFLUX_DATA: data }) },
    'ACTORFLUX_DATA',
    'ACTORFLUX_NAMESPACE',
    'ACTORFLUX_REDIS_URL',
  )

/** Most lines that are printed of what can't be read. */
const MOST_LINES = 20

export const doctor = command({
  summary: 'read all data of the embedded store, and say whether it is whole',
  options: DATA_OPTION,
  notes: `It changes nothing there; the server must be stopped.
Exits with 0 when all of it can be read, with 1 when not.`,
  async run({ values: { data } }, { env, out }) {
    const { examineData } = await import('../main.ts')
    const { file, contexts, unreadable } = await examineData(dataSettings(data, { env }))
    if (unreadable.length === 0) {
      out(`the data in ${file} is whole: ${counted(contexts, 'context')}`)
      return EXIT.fine
    }
    out(`the data in ${file} is damaged: ${counted(contexts, 'context')} can be read, and ${unreadable.length} can not`)
    for (const line of unreadable.slice(0, MOST_LINES)) out(`  ${line}`)
    if (unreadable.length > MOST_LINES) out(`  … and ${unreadable.length - MOST_LINES} more of this kind`)
    return EXIT.failed
  },
})
