// cli: finds and runs the command that the command line names. A command is loaded only when it is used, so help
// appears at once.
import { messageOf } from '../model/error-message.ts'
import { getOwn } from '../model/json/value.ts'
import { alternatives, suggestion } from '../model/nearest.ts'
import { aligned, asksForHelp, EXIT, execute, UsageError, type Commands, type Group, type World } from './command.ts'
import { plain } from './remote/text.ts'
import { versionText } from './version.ts'

const services = () => import('./remote/commands/services.ts')

const COMMANDS: Commands = {
  serve: { summary: 'serve the services over HTTP', load: async () => (await import('./serve.ts')).serve },
  dev: { summary: 'serve, and follow changes of the files', load: async () => (await import('./dev.ts')).dev },
  init: { summary: 'write a first service into a folder', load: async () => (await import('./init.ts')).init },
  validate: {
    summary: 'check the services without serving them',
    load: async () => (await import('./validate.ts')).validate,
  },
  types: {
    summary: 'write the types of the services, for programs that use the client',
    load: async () => (await import('./types.ts')).types,
  },
  token: {
    summary: 'make, list and revoke the tokens of service users',
    group: async () => (await import('./token.ts')).token,
  },
  webhook: {
    summary: 'list webhooks and their deliveries, replay them, and try them',
    group: async () => ({
      ...(await import('./remote/commands/webhooks.ts')).webhook,
      test: (await import('./webhook-test.ts')).testWebhook,
    }),
  },
  contexts: {
    summary: 'list contexts',
    load: async () => (await import('./remote/commands/contexts.ts')).contexts,
  },
  context: {
    summary: 'show, wait for, retry, pause, resume, terminate and tag contexts, also many at once',
    group: async () => (await import('./remote/commands/context.ts')).context,
  },
  event: { summary: 'send an event', group: async () => (await import('./remote/commands/event.ts')).event },
  execute: { summary: 'start a service', load: async () => (await import('./remote/commands/execute.ts')).start },
  services: { summary: 'list the services of a server', load: async () => (await services()).list },
  service: { summary: 'show and draw a service', group: async () => (await services()).service },
  operation: {
    summary: 'list, show and stop operations on many contexts',
    group: async () => (await import('./remote/commands/operation.ts')).operation,
  },
  tail: {
    summary: 'follow moves of contexts as they happen',
    load: async () => (await import('./remote/commands/tail.ts')).tail,
  },
  schema: {
    summary: 'print the JSON Schemas of a service, or that of the files, for editors',
    load: async () => (await services()).schema,
  },
  machine: { summary: 'print a service as a machine of XState', load: async () => (await services()).machine },
  server: { summary: 'let a paused server go on', group: async () => (await services()).server },
  mcp: { summary: 'offer the calls of a server as tools for agents', load: async () => (await import('./mcp.ts')).mcp },
  completion: {
    summary: 'print a script that completes commands in a shell',
    load: async () => (await import('./completion.ts')).completionOf(COMMANDS),
  },
  backup: {
    summary: 'copy the data of the embedded store, also while it is served',
    load: async () => (await import('./backup.ts')).backup,
  },
  move: {
    summary: 'move the data of the embedded store to Redis',
    load: async () => (await import('./move.ts')).move,
  },
  doctor: { summary: 'check the data of the embedded store', load: async () => (await import('./doctor.ts')).doctor },
}

/** Runs the command that the arguments name; resolves with the exit code. */
export async function run([name, ...args]: string[], world: World): Promise<number> {
  if (name === '--version' || name === '-v') {
    world.out(versionText())
    return EXIT.fine
  }
  if (name === 'help' || (name !== undefined && asksForHelp(name))) {
    world.out(help())
    return EXIT.fine
  }
  const found = getOwn(COMMANDS, name ?? '')
  if (name === undefined || found === undefined) {
    const unknown = `there is no command ${name}${suggestion(name ?? '', Object.keys(COMMANDS))}`
    world.err(name === undefined ? help() : misuse(unknown, 'actorflux'))
    return EXIT.usage
  }
  try {
    if ('group' in found) return await runOneOf({ name, group: await found.group() }, args, world)
    return await execute({ ...(await found.load()), name }, args, world)
  } catch (error) {
    const lines = messageOf(error).split('\n')
    if (error instanceof UsageError) {
      world.err(misuse(lines.join('; '), `actorflux ${name}`))
      return EXIT.usage
    }
    for (const line of lines) world.err(plain(`actorflux: ${line}`))
    return EXIT.failed
  }
}

async function runOneOf({ name, group }: { name: string; group: Group }, args: readonly string[], world: World) {
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

const misuse = (message: string, command: string) => plain(`actorflux: ${message} (see ${command} --help)`)

const help = () =>
  [
    'Usage: actorflux <command> [options]',
    '',
    ...aligned(Object.entries(COMMANDS).map(([name, { summary }]) => [`  ${name}`, summary])),
    '',
    '  --help     this, or after a command: its options and settings',
    '  --version',
  ].join('\n')
