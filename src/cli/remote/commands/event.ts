// cli/remote: `actorflux event send`: sends an event to one context, or to all that wait for it.
import { EXIT, listOption, textOption, UsageError, type Given } from '../../command.ts'
import { idOf, jsonIn, separated, serviceFields } from '../arguments.ts'
import { remote, type Remote } from '../remote.ts'
import { plain } from '../text.ts'

const ADDRESS = {
  'context-id': textOption('id', 'the context'),
  key: textOption('key', 'the context with this key'),
  'flux-name': textOption('package/service', 'the service of the key'),
}

const send = remote({
  summary: 'send an event to one context, or to all that wait for it',
  word: '<event>',
  options: {
    ...ADDRESS,
    input: textOption('json|@file|-', 'inputs by name'),
    tag: listOption('tag', 'to those that have any of these tags'),
    'idempotency-key': textOption('key', 'the call is carried out once under this key'),
  },
  async run({ word, values }, remote) {
    const sent = await remote.client.sendEvent({
      event: word,
      ...addressIn(values),
      input: await jsonIn(values.input, 'input', remote.world),
      tags: values.tag && separated(values.tag),
      idempotencyKey: values['idempotency-key'],
    })
    const lines = answerLines(sent, remote)
    const { message, transitions, executions, pending, hint, accepted } = sent
    const hasEffect = accepted || transitions.length + executions.length + pending.length > 0
    remote.answer(sent, () => lines ?? (hasEffect ? [plain(message)] : []))
    const faults = [...(hasEffect ? [] : [message]), ...(hint === undefined ? [] : [hint])]
    if (faults.length > 0) remote.world.err(`actorflux: ${plain(faults.join('; '))}`)
    return hasEffect ? EXIT.fine : EXIT.failed
  },
})

export const event = { send }

function addressIn({ 'context-id': id, key, 'flux-name': fluxName }: Given<typeof ADDRESS>['values']) {
  if (id !== undefined) {
    if (key !== undefined || fluxName !== undefined) throw new UsageError('--context-id stands alone')
    return { contextId: idOf(id) }
  }
  if (key === undefined && fluxName === undefined) return {}
  if (key === undefined) throw new UsageError('--flux-name goes with --key')
  if (fluxName === undefined) throw new UsageError('--key needs --flux-name')
  return { key, ...serviceFields(fluxName) }
}

type Sent = Awaited<ReturnType<Remote['client']['sendEvent']>>

/** A line for each context or service that the event was for; null: there is none. */
function answerLines({ transitions, executions, ignored }: Sent, { table }: Remote): readonly string[] | null {
  const rows = [
    ...transitions.map(({ contextId, state }) => ['moved', contextId, state]),
    ...executions.map(({ contextId, state }) => ['started', contextId, state]),
    ...ignored.map(({ contextId, fluxName, reason }) => ['ignored', contextId ?? fluxName ?? '', reason]),
  ]
  return rows.length === 0 ? null : table(['OUTCOME', 'CONTEXT', 'STATE'], rows)
}
