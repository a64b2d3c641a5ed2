// cli: `actorflux doctor`: checks whether the data of the embedded store is whole, and salvages what can be read.
import { resolve } from 'node:path'
import { examineData, type Findings } from '../main.ts'
import { createLog } from '../observe/log.ts'
import { readSettings } from '../settings.ts'
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { HELP_OPTION } from './options.ts'
import { parseWords } from './parse.ts'

const HELP = `Usage: actorflux doctor [--data <folder>] [--salvage <new folder>]

Says whether the data of the embedded store is whole. It changes nothing there; the server must be stopped.
Exits with 0 when all of it can be read, with 1 when not.

  --data      the data folder; ACTORFLUX_DATA (.actorflux) if not given
  --salvage   writes what can be read into a new data folder, and says what could not`

/** Most lines of one kind that are printed. */
const MOST_LINES = 20

export const doctor: Command = async (args, world) => {
  const { help, data, salvage } = readArguments(args)
  if (help) {
    world.out(HELP)
    return EXIT.fine
  }
  const settings = readSettings({
    ACTORFLUX_DATA: data ?? world.env['ACTORFLUX_DATA'],
    ACTORFLUX_NAMESPACE: world.env['ACTORFLUX_NAMESPACE'],
  })
  const into = salvage === undefined ? null : resolve(salvage)
  const findings = await examineData(settings, { into, log: createLog({ level: 'error' }) })
  return into === null ? printState(findings, world) : printSalvage(findings, into, world)
}

function printState(findings: Findings, world: World): number {
  if (isWhole(findings)) {
    world.out(`the data in ${findings.file} is whole: ${contexts(findings.contexts)}`)
    return EXIT.fine
  }
  world.out(`the data in ${findings.file} is damaged`)
  printDamage(findings, world)
  world.out(
    `${countOf(findings)} can be read; restore a backup of the data folder, or run actorflux doctor --salvage <new folder>`,
  )
  return EXIT.failed
}

function printSalvage(findings: Findings, into: string, world: World): number {
  printDamage(findings, world)
  if (findings.contexts === 0 && !isWhole(findings)) {
    world.out(`nothing of ${findings.file} can be read, and nothing was written`)
    return EXIT.failed
  }
  world.out(`${countOf(findings)} were read, and written to ${into}: start the server with ACTORFLUX_DATA=${into}`)
  return isWhole(findings) ? EXIT.fine : EXIT.failed
}

function printDamage({ damage, unreadable, isDoubtful }: Findings, { out }: World): void {
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

const isWhole = ({ damage, unreadable }: Findings): boolean => damage.length === 0 && unreadable.length === 0

const contexts = (count: number): string => `${count} ${count === 1 ? 'context' : 'contexts'}`

/** If the findings are doubtful, the count is left out: it may be older than the records that were found. */
const countOf = ({ contexts: count, counted, isDoubtful }: Findings): string =>
  counted === null || isDoubtful ? contexts(count) : `${count} of ${contexts(counted)}`

interface Arguments {
  readonly help?: boolean | undefined
  readonly data?: string | undefined
  readonly salvage?: string | undefined
}

/** @throws UsageError */
function readArguments(args: string[]): Arguments {
  const options = { ...HELP_OPTION, data: { type: 'string' }, salvage: { type: 'string' } } as const
  const { values } = parseWords(args, options, false)
  if (values.salvage === '') throw new UsageError('--salvage needs a folder')
  return values
}
