// cli: `actorflux serve`: serves the services until the process is stopped.
import { EXIT, type Command } from './command.ts'
import { SERVE_OPTIONS, settingsHelp } from './options.ts'
import { parseWords } from './parse.ts'
import { runServer } from './start.ts'

const HELP = `Usage: actorflux serve [--host <address>] [--port <port>] [--paused]

Checks the services, then serves them until SIGTERM or SIGINT.
With --paused it only serves what reads, takes no steps and wakes nobody, until
actorflux server resume.`

export const serve: Command = async (args, world) => {
  const options = parseWords(args, { ...SERVE_OPTIONS, paused: { type: 'boolean' } }, false).values
  if (!options.help) return runServer(options, world)
  world.out(`${HELP}\n\n${settingsHelp()}`)
  return EXIT.fine
}
