// cli: `actorflux doctor`: checks whether the data of the embedded store is whole, and salvages what can be read.
import { resolve } from 'node:path'
import type { Findings } from '../main.ts'
import { createLog } from '../observe/log.ts'
import { readSome } from '../settings.ts'
import { command, EXIT, textOption, UsageError, type World } from './command.ts'
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

/** Most lines of one kind that are printed. */
const MOST_LINES = 20

export const doctor = command({
  summary: 'say whether the data of the embedded store is whole',
  options: {
    ...DATA_OPTION,
    salvage: textOption('new folder', 'writes what can be read into a new data folder, and says what could not'),
  },
  notes: `It changes nothing there; the server must be stopped.
Exits with 0 when all of it can be read, with 1 when not.`,
  async run({ values: { data, salvage } }, world) {
    if (salvage === '') throw new UsageError('--salvage needs a folder')
    const into = salvage === undefined ? null : resolve(salvage)
    const { examineData } = await import('../main.ts')
    const findings = await examineData(dataSettings(data, world), { into, log: createLog({ level: 'error' }) })
    return into === null ? printState(findings, world) : printSalvage(findings, into, world)
  },
})

function printState(findings: Findings, world: World) {
  if (isWhole(findings)) {
    world.out(`the data in ${findings.file} is whole: ${counted(findings.contexts, 'context')}`)
    return EXIT.fine
  }
  world.out(`the data in ${findings.file} is damaged`)
  printDamage(findings, world)
  world.out(
    `${countOf(findings)} can be read; restore a backup of the data folder, or run actorflux doctor --salvage <new folder>`,
  )
  return EXIT.failed
}

function printSalvage(findings: Findings, into: string, world: World) {
  printDamage(findings, world)
  if (findings.contexts === 0 && !isWhole(findings)) {
    world.out(`nothing of ${findings.file} can be read, and nothing was written`)
    return EXIT.failed
  }
  world.out(`${countOf(findings)} were read, and written to ${into}: start the server with ACTORFLUX_DATA=${into}`)
  return isWhole(findings) ? EXIT.fine : EXIT.failed
}

function printDamage({ damage, unreadable, isDoubtful }: Findings, { out }: World) {
  const printLines = (lines: readonly string[]) => {
    for (const line of lines.slice(0, MOST_LINES)) out(`  ${line}`)
    if (lines.length > MOST_LINES) out(`  … and ${lines.length - MOST_LINES} more of this kind`)
  }
  printLines(damage)
  printLines(unreadable.map((id) => `the stored record of context ${id} can't be read`))
  if (isDoubtful)
    out(
      '  it is not known which pages are free: contexts may be older than their last version, and some may have been deleted',
    )
}

const isWhole = ({ damage, unreadable }: Findings) => damage.length === 0 && unreadable.length === 0

/** If the findings are doubtful, the count is left out: it may be older than the records that were found. */
const countOf = ({ contexts, counted: all, isDoubtful }: Findings) =>
  all === null || isDoubtful ? counted(contexts, 'context') : `${contexts} of ${counted(all, 'context')}`
