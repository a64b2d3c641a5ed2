// cli: `actorflux serve`: serves the services until the process is stopped.
import { EXIT, type Command } from './command.ts'
import { readOptions, settingsHelp } from './options.ts'
import { runServer } from './start.ts'

const HELP = `Usage: actorflux serve [--host <address>] [--port <port>] [--paused]

Checks the services, then serves them until SIGTERM or SIGINT.
With --paused it only serves what reads, takes no steps and wakes nobody, until
actorflux server resume.`

export const serve: Command = async (args, world) => {
  const options = readOptions(args, { paused: true })
  if (!options.help) return runServer(options, world)
  world.out(`${HELP}\n\n${settingsHelp()}`)
  return EXIT.fine
}
