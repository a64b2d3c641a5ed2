// cli: `actorflux webhook`: what helps with the webhooks of services.
import { EXIT, type Command } from './command.ts'
import { groupOf } from './remote/commands.ts'
import { testWebhook, WEBHOOK_TEST_HELP } from './webhook-test.ts'

const test: Command = async (args, world) => {
  if (!args.some((word) => word === '--help' || word === '-h')) return testWebhook(args, world)
  world.out(WEBHOOK_TEST_HELP)
  return EXIT.fine
}

export const webhook: Command = groupOf('webhook', {
  test: { summary: 'sign a sample delivery as its provider does, and send it to a webhook', execute: test },
})
