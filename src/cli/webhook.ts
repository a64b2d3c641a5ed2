// cli: `actorflux webhook`: what helps with the webhooks of services.
import { EXIT, UsageError, type Command } from './command.ts'
import { testWebhook, WEBHOOK_TEST_HELP } from './webhook-test.ts'

const HELP = `Usage: actorflux webhook <command> [options]

  test    sign a sample delivery as its provider does, and send it to a webhook

See actorflux webhook <command> --help`

const COMMANDS: { readonly [name: string]: { readonly help: string; readonly execute: Command } } = {
  test: { help: WEBHOOK_TEST_HELP, execute: testWebhook },
}

const isHelp = (word: string): boolean => word === '--help' || word === '-h'

export const webhook: Command = async ([name, ...args], world) => {
  if (name !== undefined && isHelp(name)) {
    world.out(HELP)
    return EXIT.fine
  }
  const known = Object.keys(COMMANDS).join(', ')
  if (name === undefined) throw new UsageError(`webhook needs a command: ${known}`)
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) throw new UsageError(`there is no command webhook ${name}; there is ${known}`)
  if (!args.some(isHelp)) return command.execute(args, world)
  world.out(command.help)
  return EXIT.fine
}
