// cli: `actorflux test`: runs the scenarios beside services, and says what they cover.
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { watchFolders } from '../definitions/watcher.ts'
import { createLog } from '../observe/log.ts'
import { readSome } from '../settings.ts'
import type { ScenarioResult, SuiteOptions } from '../testing/scenario/suite.ts'
import { withPrintsAside, type CliIo } from './cli-io.ts'
import { command, EXIT, flagOption, textOption, UsageError, type Given } from './command.ts'
import { isBroken, reportLines } from './report.ts'
import { messageOf } from '../model/error-message.ts'
import { plain, plainJson } from './remote/text.ts'
import { noService } from './validate.ts'
import { junitOf } from './test/junit.ts'
import { coverageLines, isCovered, resultLines, summaryOf } from './test/text.ts'

const OPTIONS = {
  watch: flagOption('run them again whenever a file changes, until Ctrl-C'),
  filter: textOption('text', 'only scenarios with that text in their name, service or file'),
  coverage: flagOption('draw what they cover, as diagrams of Mermaid'),
  min: textOption('percent', 'the least share of its transitions that must be taken of each service'),
  json: flagOption('for programs: each scenario as one line of JSON'),
  junit: textOption('file', 'write a report in the form of JUnit'),
  schema: flagOption('print the JSON Schema of scenario files, for editors, and run nothing'),
}

type TestOptions = Given<typeof OPTIONS>['values']

export const test = command({
  summary: 'run the scenarios (*.scenario.json) of a folder of packages, or of a folder within ACTORFLUX_ACTORS',
  word: '[folder]',
  options: OPTIONS,
  notes: `Without a folder, all of ACTORFLUX_ACTORS (actors). The services run in memory, at a time that stands still; no request
leaves the process. ACTORFLUX_LOG_LEVEL shows what they log.
Exits with 1 if a scenario fails, a file or a service has a fault, or less than --min is covered.`,
  async run({ word, values }, io) {
    if (values.schema) {
      const { scenarioSchema } = await import('../testing/scenario/schema.ts')
      return io.out(JSON.stringify(scenarioSchema()))
    }
    const suite = suiteOf(word, values, io)
    const min = Number(values.min ?? 0)
    if (!(min >= 0 && min <= 100)) throw new UsageError('--min must be a number from 0 to 100')
    const runOnce = () => withPrintsAside(() => runSuite(suite, values, min, io))
    if (!values.watch) return runOnce()
    const stopped = once(io.interrupted(), 'abort')
    let code: number = EXIT.fine
    const runAgain = async () => {
      code = await runOnce().catch((error: unknown) => {
        io.err(plain(`actorflux: ${messageOf(error)}`))
        return EXIT.failed
      })
    }
    const watcher = await watchFolders(suite.folders, runAgain, true)
    await stopped
    await watcher.close()
    return code
  },
})

/** @throws UsageError for what is no folder */
function suiteOf(word: string, { filter = '' }: TestOptions, { env }: CliIo): SuiteOptions {
  const { actors, logLevel: level } = readSome(env, 'ACTORFLUX_ACTORS', 'ACTORFLUX_LOG_LEVEL')
  const folder = resolve(word)
  const isWithin = actors.some((each) => `${folder}${sep}`.startsWith(`${resolve(each)}${sep}`))
  const folders = word === '' || isWithin ? actors : [word]
  for (const each of word === '' ? folders : [word])
    if (statSync(each, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new UsageError(`there is no folder ${each}`)
  const log = env['ACTORFLUX_LOG_LEVEL'] ? createLog({ level }) : undefined
  return { folders, within: word !== '' && isWithin ? word : null, filter, log }
}

/** Resolves with the exit code. */
async function runSuite(
  options: SuiteOptions,
  { json, junit, coverage: isDrawn = false }: TestOptions,
  min: number,
  io: CliIo,
): Promise<number> {
  const { openSuite } = await import('../testing/scenario/suite.ts')
  const began = performance.now()
  const suite = await openSuite(options)
  try {
    if (isBroken(suite.report)) {
      reportLines(suite.report).forEach(io.err)
      return EXIT.failed
    }
    if (suite.services.length === 0 && options.within === null) throw noService(options.folders)
    const results: ScenarioResult[] = []
    for await (const result of suite.run()) {
      results.push(result)
      if (json) io.out(plainJson(result))
      else resultLines(result, io.screen?.hasColour ?? false).forEach(io.out)
    }
    if (junit !== undefined) await writeFile(junit, junitOf(results))
    if (results.length === 0) throw new Error('no scenario was found: they are files *.scenario.json beside services')
    const short = suite.services.filter((flux) => !isCovered(suite.coverage.of(flux), min))
    if (!json) {
      coverageLines(suite, isDrawn, io.screen?.columns ?? null).forEach(io.out)
      io.out(summaryOf(results, performance.now() - began))
    }
    for (const { package: owner, fluxName } of short)
      io.err(`${owner}/${fluxName}: less than ${min}% of its transitions are taken`)
    return short.length > 0 || results.some(({ ok }) => !ok) ? EXIT.failed : EXIT.fine
  } finally {
    suite.close()
  }
}
