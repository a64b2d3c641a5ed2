// cli/remote: the commands that speak to a server, by their words.
import type { Command } from '../command.ts'
import {
  pauseCommand,
  resumeCommand,
  retryCommand,
  showCommand,
  tagCommand,
  terminateCommand,
  untagCommand,
  waitCommand,
} from './commands/context.ts'
import { contextsCommand } from './commands/contexts.ts'
import { sendEventCommand } from './commands/event.ts'
import { executeCommand } from './commands/execute.ts'
import { listOperationsCommand, showOperationCommand, stopOperationCommand } from './commands/operation.ts'
import { resumeServerCommand } from './commands/server.ts'
import {
  diagramCommand,
  machineCommand,
  serviceSchemaCommand,
  servicesCommand,
  showServiceCommand,
} from './commands/services.ts'
import { tailCommand } from './commands/tail.ts'
import { deliveriesCommand, replayCommand, webhookListCommand } from './commands/webhooks.ts'
import { group, remote, type RemoteCommand } from './remote.ts'

type Group = { readonly [name: string]: RemoteCommand }

/** Commands of one word. */
export const SINGLE = {
  contexts: contextsCommand,
  execute: executeCommand,
  services: servicesCommand,
  tail: tailCommand,
  machine: machineCommand,
  schema: serviceSchemaCommand,
} satisfies Group

/** Commands of two words. */
export const GROUPS = {
  context: {
    show: showCommand,
    wait: waitCommand,
    retry: retryCommand,
    pause: pauseCommand,
    resume: resumeCommand,
    terminate: terminateCommand,
    tag: tagCommand,
    untag: untagCommand,
  },
  event: { send: sendEventCommand },
  service: { show: showServiceCommand, diagram: diagramCommand },
  webhook: { list: webhookListCommand, deliveries: deliveriesCommand, replay: replayCommand },
  operation: { list: listOperationsCommand, show: showOperationCommand, stop: stopOperationCommand },
  server: { resume: resumeServerCommand },
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
