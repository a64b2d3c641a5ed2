// cli/remote: the commands that speak to a server, by their words.
import type { Command } from '../command.ts'
import { pause, resume, retry, show, tag, terminate, untag, wait } from './commands/context.ts'
import { contexts } from './commands/contexts.ts'
import { sendEvent } from './commands/event.ts'
import { execute } from './commands/execute.ts'
import { listOperations, showOperation, stopOperation } from './commands/operation.ts'
import { resumeServer } from './commands/server.ts'
import { diagram, machine, schema, services, showService } from './commands/services.ts'
import { tail } from './commands/tail.ts'
import { deliveries, replay, webhookList } from './commands/webhooks.ts'
import { group, remote, type RemoteCommand } from './remote.ts'

type Group = { readonly [name: string]: RemoteCommand }

/** Commands of one word. */
export const SINGLE = { contexts, execute, services, tail, machine, schema } satisfies Group

/** Commands of two words. */
export const GROUPS = {
  context: { show, wait, retry, pause, resume, terminate, tag, untag },
  event: { send: sendEvent },
  service: { show: showService, diagram },
  webhook: { list: webhookList, deliveries, replay },
  operation: { list: listOperations, show: showOperation, stop: stopOperation },
  server: { resume: resumeServer },
} satisfies { readonly [name: string]: Group }

export const single = (name: keyof typeof SINGLE): Command => remote(SINGLE[name])

/** @param others commands of the group that speak to no server, with what help says of them */
export function groupOf(
  name: keyof typeof GROUPS,
  others: { readonly [name: string]: { readonly summary: string; readonly execute: Command } } = {},
): Command {
  const known: Group = GROUPS[name]
  const commands = Object.entries(known)
  const table = [
    ...commands.map(([word, command]) => [word, command.summary] as const),
    ...Object.entries(others).map(([word, { summary }]) => [word, summary] as const),
  ]
  const width = Math.max(...table.map(([word]) => word.length))
  const help = () =>
    [
      `Usage: actorflux ${name} <command> [options]`,
      '',
      ...table.map(([word, summary]) => `  ${word.padEnd(width)}  ${summary}`),
      '',
      `See actorflux ${name} <command> --help`,
    ].join('\n')
  return group(
    name,
    Object.fromEntries([
      ...commands.map(([word, command]) => [word, remote(command)] as const),
      ...Object.entries(others).map(([word, { execute }]) => [word, execute] as const),
    ]),
    help,
  )
}
