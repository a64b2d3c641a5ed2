// cli: finds and runs the command that the command line names. A command is loaded only when it is used, so help
// appears at once.
import { messageOf } from '../model/error-message.ts'
import { alternatives, suggestion } from '../model/nearest.ts'
import { getOwn } from '../model/json/value.ts'
import {
  asksForHelp,
  EXIT,
  execute,
  isCommand,
  UsageError,
  type CommandSpec,
  type Group,
  type LoadableCommand,
  type World,
} from './command.ts'
import { aligned, plain } from './remote/text.ts'
import { versionText } from './version.ts'

/** The command, or the group, that a module exports by its name. */
const from = <Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<{ readonly [exported in Name]: CommandSpec | Group }>,
): LoadableCommand => ({ name, summary, load: async () => (await load())[name] })

const services = () => import('./remote/commands/services.ts')

const COMMANDS: readonly LoadableCommand[] = [
  from('serve', 'serve the services over HTTP', () => import('./serve.ts')),
  from('dev', 'serve, and follow changes of the files', () => import('./dev.ts')),
  from('init', 'write a first service into a folder', () => import('./init.ts')),
  from('validate', 'check the services without serving them', () => import('./validate.ts')),
  from('types', 'write the types of the services, for programs that use the client', () => import('./types.ts')),
  from('token', 'make, list and revoke the tokens of service users', () => import('./token.ts')),
  from(
    'webhook',
    'list webhooks and their deliveries, replay them, and try them',
    () => import('./remote/commands/webhooks.ts'),
  ),
  from('contexts', 'list contexts', () => import('./remote/commands/context.ts')),
  from(
    'context',
    'show, wait for, retry, pause, resume, terminate and tag contexts, also many at once',
    () => import('./remote/commands/context.ts'),
  ),
  from('event', 'send an event', () => import('./remote/commands/event.ts')),
  from('execute', 'start a service', () => import('./remote/commands/event.ts')),
  from('services', 'list the services of a server', services),
  from('service', 'show and draw a service', services),
  from('operation', 'list, show and stop operations on many contexts', () => import('./remote/commands/operation.ts')),
  from('tail', 'follow moves of contexts as they happen', () => import('./remote/commands/tail.ts')),
  from('schema', 'print the JSON Schemas of a service, or that of the files, for editors', services),
  from('machine', 'print a service as a machine of XState', services),
  from('server', 'resume a paused server', services),
  from('mcp', 'offer the calls of a server as tools for agents', () => import('./mcp.ts')),
  from('completion', 'print a script that completes commands in a shell', async () => {
    const { completionOf } = await import('./completion.ts')
    return { completion: completionOf(COMMANDS) }
  }),
  from('backup', 'copy the data of the embedded store, also while it is served', () => import('./backup.ts')),
  from('move', 'move the data of the embedded store to Redis', () => import('./move.ts')),
  from('doctor', 'check the data of the embedded store', () => import('./doctor.ts')),
]

/** Runs the command that the arguments name; resolves with the exit code. */
export async function run([name, ...args]: string[], world: World): Promise<number> {
  const found = COMMANDS.find((command) => command.name === name)
  try {
    if (found) {
      const loaded = await found.load()
      if (isCommand(loaded)) return await execute({ ...loaded, name: found.name }, args, world)
      return await runOneOf(found.name, loaded, args, world)
    }
    if (name === undefined) {
      world.err(help())
      return EXIT.usage
    }
    if (name === '--version' || name === '-v') world.out(versionText())
    else if (name === 'help' || asksForHelp(name)) world.out(help())
    else
      throw new UsageError(
        `there is no command ${name}${suggestion(
          name,
          COMMANDS.map((each) => each.name),
        )}`,
      )
    return EXIT.fine
  } catch (error) {
    const lines = messageOf(error).split('\n')
    if (error instanceof UsageError) {
      world.err(plain(`actorflux: ${lines.join('; ')} (see actorflux ${found ? `${name} ` : ''}--help)`))
      return EXIT.usage
    }
    for (const line of lines) world.err(plain(`actorflux: ${line}`))
    return EXIT.failed
  }
}

async function runOneOf(name: string, group: Group, args: readonly string[], world: World) {
  const [word, ...rest] = args.toSorted((one, other) => Number(asksForHelp(one)) - Number(asksForHelp(other)))
  const words = Object.keys(group)
  if (word === undefined) throw new UsageError(`${name} needs a command: ${words.join(', ')}`)
  if (asksForHelp(word)) {
    const rows = Object.entries(group).map(([each, { summary }]) => [`  ${each}`, summary])
    const lines = [`Usage: actorflux ${name} <command> [options]`, '', ...aligned(rows)]
    world.out([...lines, '', `See actorflux ${name} <command> --help`].join('\n'))
    return EXIT.fine
  }
  const command = getOwn(group, word)
  if (command) return execute({ ...command, name: `${name} ${word}` }, rest, world)
  throw new UsageError(`there is no command ${name} ${word}${alternatives(word, words)}`)
}

const help = () =>
  [
    'Usage: actorflux <command> [options]',
    '',
    ...aligned(COMMANDS.map(({ name, summary }) => [`  ${name}`, summary])),
    '',
    '  --help     this, or after a command: its options and settings',
    '  --version',
  ].join('\n')
