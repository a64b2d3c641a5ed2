// cli/remote: `actorflux event send`: sends an event to one context, or to all that wait for it.
import { EXIT, UsageError } from '../../command.ts'
import { idOf, serviceFields, optionText, textOption, listOption, wordIn, type Values } from '../arguments.ts'
import { jsonArgumentOf } from '../json-argument.ts'
import type { Remote, RemoteCommand } from '../remote.ts'
import { plain } from '../text.ts'
import { tagsIn } from './execute.ts'

export const sendEventCommand: RemoteCommand = {
  usage: 'event send <event>',
  summary: 'send an event to one context, or to all that wait for it',
  options: {
    'context-id': textOption('id', 'the context'),
    key: textOption('key', 'the context with this key'),
    'flux-name': textOption('package/service', 'the service of the key'),
    input: textOption('json|@file|-', 'inputs by name'),
    tag: listOption('tag', 'to those that have any of these tags'),
    'idempotency-key': textOption('key', 'the call is carried out once under this key'),
  },
  async run({ words, values }, remote) {
    const event = wordIn(words, 'event')
    const input = optionText(values, 'input')
    const idempotencyKey = optionText(values, 'idempotency-key')
    const sent = await remote.client.sendEvent({
      event,
      ...addressIn(values),
      ...(input !== undefined && { input: await jsonArgumentOf(input, 'input', remote.world) }),
      ...tagsIn(values),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    })
    const lines = answerLines(sent, remote)
    const { message, transitions, executions, pending, hint, accepted } = sent
    const hasEffect = accepted || transitions.length + executions.length + pending.length > 0
    remote.answer(sent, () => lines ?? (hasEffect ? [plain(message)] : []))
    const faults = [...(hasEffect ? [] : [message]), ...(hint === undefined ? [] : [hint])]
    if (faults.length > 0) remote.world.err(`actorflux: ${plain(faults.join('; '))}`)
    return hasEffect ? EXIT.fine : EXIT.failed
  },
}

function addressIn(values: Values) {
  const [id, key, fluxName] = ['context-id', 'key', 'flux-name'].map((name) => optionText(values, name))
  if (id !== undefined) {
    if (key !== undefined || fluxName !== undefined) throw new UsageError('--context-id stands alone')
    return { contextId: idOf(id) }
  }
  if (key === undefined && fluxName !== undefined) throw new UsageError('--flux-name goes with --key')
  if (key !== undefined && fluxName === undefined) throw new UsageError('--key needs --flux-name')
  return key === undefined || fluxName === undefined ? {} : { key, ...serviceFields(fluxName) }
}

type Sent = Awaited<ReturnType<Remote['client']['sendEvent']>>

/** A line for each context or service that the event was for; null: there is none. */
function answerLines({ transitions, executions, ignored }: Sent, { table }: Remote): readonly string[] | null {
  const rows = [
    ...transitions.map(({ contextId, state }) => ['moved', contextId, state] as const),
    ...executions.map(({ contextId, state }) => ['started', contextId, state] as const),
    ...ignored.map(({ contextId, fluxName, reason }) => ['ignored', contextId ?? fluxName, reason] as const),
  ]
  if (rows.length === 0) return null
  return table(
    ['OUTCOME', 'CONTEXT', 'STATE'],
    rows.map((row) => row.map((text) => ({ text: String(text ?? '') }))),
  )
}
