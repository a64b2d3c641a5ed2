// cli: finds and runs the command that the command line names. A command is loaded only when it is used, so help
// appears at once.
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { messageOf } from '../model/error-message.ts'
import { suggestion } from '../model/nearest.ts'
import { plain } from './remote/text.ts'
import { versionText } from './version.ts'

const remote = () => import('./remote/commands.ts')

const COMMANDS: { readonly [name: string]: { readonly summary: string; readonly load: () => Promise<Command> } } = {
  serve: { summary: 'serve the services over HTTP', load: async () => (await import('./serve.ts')).serve },
  dev: { summary: 'serve, and follow changes of the files', load: async () => (await import('./dev.ts')).dev },
  init: { summary: 'write a first service into a folder', load: async () => (await import('./init.ts')).init },
  validate: {
    summary: 'check the services without serving them',
    load: async () => (await import('./validate.ts')).validateCommand,
  },
  types: {
    summary: 'write the types of the services, for programs that use the client',
    load: async () => (await import('./types.ts')).typesCommand,
  },
  token: {
    summary: 'make, list and revoke the tokens of service users',
    load: async () => (await import('./token.ts')).token,
  },
  webhook: {
    summary: 'list webhooks and their deliveries, replay them, and try them',
    load: async () => (await import('./webhook.ts')).webhook,
  },
  contexts: { summary: 'list contexts', load: async () => (await remote()).single('contexts') },
  context: {
    summary: 'show, wait for, retry, pause, resume, terminate and tag contexts, also many at once',
    load: async () => (await remote()).groupOf('context'),
  },
  event: { summary: 'send an event', load: async () => (await remote()).groupOf('event') },
  execute: { summary: 'start a service', load: async () => (await remote()).single('execute') },
  services: { summary: 'list the services of a server', load: async () => (await remote()).single('services') },
  service: { summary: 'show and draw a service', load: async () => (await remote()).groupOf('service') },
  operation: {
    summary: 'list, show and stop operations on many contexts',
    load: async () => (await remote()).groupOf('operation'),
  },
  tail: { summary: 'follow moves of contexts as they happen', load: async () => (await remote()).single('tail') },
  schema: {
    summary: 'print the JSON Schemas of a service, or that of the files, for editors',
    load: async () => (await import('./schema.ts')).schemaCommand,
  },
  machine: { summary: 'print a service as a machine of XState', load: async () => (await remote()).single('machine') },
  server: { summary: 'let a paused server go on', load: async () => (await remote()).groupOf('server') },
  mcp: {
    summary: 'offer the calls of a server as tools for agents',
    load: async () => (await import('./remote/remote.ts')).remote((await import('./mcp.ts')).mcp),
  },
  completion: {
    summary: 'print a script that completes commands in a shell',
    load: async () => (await import('./completion.ts')).completion,
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
  if (name === '--help' || name === '-h' || name === 'help') {
    world.out(help())
    return EXIT.fine
  }
  const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (name === undefined || command === undefined) {
    const unknown = `there is no command ${name}${suggestion(name ?? '', Object.keys(COMMANDS))}`
    world.err(name === undefined ? help() : misuse(unknown, 'actorflux'))
    return EXIT.usage
  }
  try {
    const execute = await command.load()
    return await execute(args, world)
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

const misuse = (message: string, command: string) => plain(`actorflux: ${message} (see ${command} --help)`)

function help(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`)
  return [
    'Usage: actorflux <command> [options]',
    '',
    ...lines,
    '',
    '  --help     this, or after a command: its options and settings',
    '  --version',
  ].join('\n')
}
