// cli: finds and runs the command that the command line names. A command is loaded only when it is used, so help
// appears at once.
import { messageOf } from '../model/error-message.ts'
import { alternatives, suggestion } from '../model/nearest.ts'
import { getOwn } from '../model/json/value.ts'
import type { CliIo } from './cli-io.ts'
import {
  asksForHelp,
  EXIT,
  execute,
  helpText,
  isCommand,
  UsageError,
  type CommandSpec,
  type Group,
  type LoadableCommand,
} from './command.ts'
import { plain } from './remote/text.ts'
import { versionText } from './version.ts'

/** The command, or the group, that a module exports by its name. */
const from = <Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<{ readonly [exported in Name]: CommandSpec | Group }>,
): LoadableCommand => ({ name, summary, load: async () => (await load())[name] })

const services = () => import('./remote/commands/services.ts')
const contexts = () => import('./remote/commands/context.ts')
const events = () => import('./remote/commands/event.ts')
const checks = () => import('./validate.ts')
const data = () => import('./data.ts')

const COMMANDS: readonly LoadableCommand[] = [
  from('serve', 'serve the services over HTTP', () => import('./serve.ts')),
  from('dev', 'serve, and follow changes of the files', () => import('./dev.ts')),
  from('init', 'write a first service into a folder', () => import('./init.ts')),
  from('validate', 'check the services without serving them', checks),
  from('test', 'run the scenarios of services, and say what they cover', () => import('./test.ts')),
  from('types', 'write the types of the services, for programs that use the client', checks),
  from('token', 'make, list and revoke the tokens of service users', () => import('./token.ts')),
  from(
    'webhook',
    'list webhooks and their deliveries, replay them, and try them',
    () => import('./remote/commands/webhooks.ts'),
  ),
  from('contexts', 'list contexts', contexts),
  from('context', 'show, wait for, retry, pause, resume, terminate and tag contexts, also many at once', contexts),
  from('event', 'send an event', events),
  from('execute', 'start a service', events),
  from('services', 'list the services of a server', services),
  from('service', 'show and draw a service', services),
  from('operation', 'list, show and stop operations on many contexts', () => import('./remote/commands/operation.ts')),
  from('tail', 'follow moves of contexts as they happen', contexts),
  from('schema', 'print the JSON Schemas of a service, or that of the files, for editors', services),
  from('machine', 'print a service as a machine of XState', services),
  from('server', 'resume a paused server', services),
  from('mcp', 'offer the calls of a server as tools for agents', () => import('./mcp.ts')),
  from('completion', 'print a script that completes commands in a shell', async () => {
    const { completionOf } = await import('./completion.ts')
    return { completion: completionOf(COMMANDS) }
  }),
  from('backup', 'copy the data of the embedded store, also while it is served', data),
  from('move', 'move the data of the embedded store to Redis', data),
  from('doctor', 'check the data of the embedded store', data),
]

/** Runs the command that the arguments name; resolves with the exit code. */
export async function run([name, ...args]: string[], io: CliIo): Promise<number> {
  const found = COMMANDS.find((command) => command.name === name)
  try {
    if (found) {
      const loaded = await found.load()
      return await (isCommand(loaded) ? execute(loaded, found.name, args, io) : runOneOf(found, loaded, args, io))
    }
    if (name === undefined) {
      io.err(help())
      return EXIT.usage
    }
    if (name === '--version' || name === '-v') io.out(versionText())
    else if (name === 'help' || asksForHelp(name)) io.out(help())
    else {
      const known = COMMANDS.map((command) => command.name)
      throw new UsageError(`there is no command ${name}${suggestion(name, known)}`)
    }
    return EXIT.fine
  } catch (error) {
    const lines = messageOf(error).split('\n')
    if (error instanceof UsageError) {
      io.err(plain(`actorflux: ${lines.join('; ')} (see actorflux ${found ? `${name} ` : ''}--help)`))
      return EXIT.usage
    }
    for (const line of lines) io.err(plain(`actorflux: ${line}`))
    return EXIT.failed
  }
}

async function runOneOf({ name, summary }: LoadableCommand, group: Group, args: readonly string[], io: CliIo) {
  const word = args.find((each) => !asksForHelp(each))
  if (word !== undefined) {
    const command = getOwn(group, word)
    if (command) return execute(command, `${name} ${word}`, args.toSpliced(args.indexOf(word), 1), io)
    throw new UsageError(`there is no command ${name} ${word}${alternatives(word, Object.keys(group))}`)
  }
  if (args.length === 0) throw new UsageError(`${name} needs a command: ${Object.keys(group).join(', ')}`)
  const rows = Object.entries(group).map(([each, command]) => [`  ${each}`, command.summary])
  io.out(helpText(`${name} <command>`, summary, rows, `See actorflux ${name} <command> --help`))
  return EXIT.fine
}

const help = () =>
  helpText(
    '<command>',
    'serve workflow services, look after them, and speak to a server',
    COMMANDS.map(({ name, summary }) => [`  ${name}`, summary]),
    '  --help     this, or after a command: its options and settings\n  --version',
  )
