// cli: `actorflux dev`: serves, and reads the services again whenever a file of theirs changes.
import { watch } from 'node:fs'
import type { Server } from '../main.ts'
import type { Log } from '../ports/log.ts'
import { EXIT, type Command, type World } from './command.ts'
import { readOptions, settingsHelp, settingsOf } from './options.ts'
import { count, isBroken, reportLines, reportSummary } from './report.ts'
import { runServer } from './start.ts'

const HELP = `Usage: actorflux dev [--host <address>] [--port <port>]

Like serve, but reads the services again when a file changes. While there are faults, the services that ran before run on.`

/** Milliseconds of quiet after a change: editors write a file in several goes. */
const QUIET = 150

export const dev: Command = async (args, world) => {
  const options = readOptions(args)
  if (options.help) {
    world.out(`${HELP}\n\n${settingsHelp()}`)
    return EXIT.fine
  }
  return runServer(options, world, (server, log) => follow(server, { folders: settingsOf(options, world).actors, world, log }))
}

/** Gives a function that stops it. */
function follow(server: Server, { folders, world, log }: { folders: readonly string[]; world: World; log: Log }): () => void {
  let timer: NodeJS.Timeout | undefined
  let reloading = Promise.resolve()
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(() => { reloading = reloading.then(() => reload(server, { world, log })) }, QUIET)
  }
  const watchers = folders.map((folder) => watch(folder, { recursive: true }, (_, file) => {
    if (file === null || !/(^|[/\\])(\.|node_modules([/\\]|$))/.test(file)) changed()
  }).on('error', (error) => log.warn('can not follow changes', { folder, error })))
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

async function reload(server: Server, { world, log }: { world: World; log: Log }): Promise<void> {
  try {
    const { services, report } = await server.reload()
    for (const line of reportLines(report)) world.out(line)
    world.out(isBroken(report) ? `not loaded: ${reportSummary(report)}` : `loaded ${count(services.length, 'service')}: ${reportSummary(report)}`)
  } catch (error) {
    log.error('could not read the services again', { error })
  }
}
