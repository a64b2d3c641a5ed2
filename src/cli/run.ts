// cli: finds and runs the command that the command line names. A command is loaded only when it is used, so help
// appears at once.
import { readFileSync } from 'node:fs'
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { messageOf } from '../model/error-message.ts'

const COMMANDS: { readonly [name: string]: { readonly summary: string; readonly load: () => Promise<Command> } } = {
  serve: { summary: 'serve the services over HTTP', load: async () => (await import('./serve.ts')).serve },
  dev: { summary: 'serve, and follow changes of the files', load: async () => (await import('./dev.ts')).dev },
  validate: {
    summary: 'check the services without serving them',
    load: async () => (await import('./validate.ts')).validateCommand,
  },
  schema: {
    summary: 'print the JSON Schema of the files, for editors',
    load: async () => (await import('./schema.ts')).schemaCommand,
  },
  token: {
    summary: 'make, list and revoke the tokens of service users',
    load: async () => (await import('./token.ts')).token,
  },
  webhook: { summary: 'try the webhooks of services', load: async () => (await import('./webhook.ts')).webhook },
  doctor: { summary: 'check the data of the embedded store', load: async () => (await import('./doctor.ts')).doctor },
}

/** Runs the command that the arguments name; resolves with the exit code. */
export async function run([name, ...args]: string[], world: World): Promise<number> {
  if (name === '--version' || name === '-v') {
    world.out(version())
    return EXIT.fine
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    world.out(help())
    return EXIT.fine
  }
  const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) {
    if (name !== undefined) world.err(`actorflux: there is no command ${name}\n`)
    world.err(help())
    return EXIT.usage
  }
  try {
    const execute = await command.load()
    return await execute(args, world)
  } catch (error) {
    const lines = messageOf(error)
    for (const line of lines.split('\n')) world.err(`actorflux: ${line}`)
    if (!(error instanceof UsageError)) return EXIT.failed
    world.err(`See actorflux ${name} --help`)
    return EXIT.usage
  }
}

function help(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  return [
    'Usage: actorflux <command> [options]',
    '',
    ...lines,
    '',
    '  --help     this, or after a command: its options and settings',
    '  --version',
  ].join('\n')
}

/** The version of the package. package.json is two folders above this file, in the source and in the build. */
function version(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
