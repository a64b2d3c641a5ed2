// cli/remote: `actorflux event send` sends an event to one context, or to all that wait for it; `actorflux execute` starts
// a service.
import { EXIT, listOption, textOption, UsageError, type Given } from '../../command.ts'
import { idOf, jsonIn, separated, serviceFields } from '../arguments.ts'
import { remote } from '../remote.ts'
import { plain } from '../text.ts'

const INPUT = { input: textOption('json|@file|-', 'inputs by name') }
const KEY = { 'idempotency-key': textOption('key', 'the call is carried out once under this key') }

const ADDRESS = {
  'context-id': textOption('id', 'the context'),
  key: textOption('key', 'the context with this key'),
  'flux-name': textOption('package/service', 'the service of the key'),
}

const send = remote({
  summary: 'send an event to one context, or to all that wait for it',
  word: '<event>',
  options: { ...ADDRESS, ...INPUT, tag: listOption('tag', 'send it to contexts that have any of these tags'), ...KEY },
  async run({ word, values }, { client, world, answer, table }) {
    const sent = await client.sendEvent({
      event: word,
      ...addressIn(values),
      input: await jsonIn(values.input, 'input', world),
      tags: values.tag && separated(values.tag),
      idempotencyKey: values['idempotency-key'],
    })
    const { message, transitions, executions, ignored, pending, hint, accepted } = sent
    const rows = [
      ...transitions.map(({ contextId, state }) => ['moved', contextId, state]),
      ...executions.map(({ contextId, state }) => ['started', contextId, state]),
      ...ignored.map(({ contextId, fluxName, reason }) => ['ignored', contextId ?? fluxName ?? '', reason]),
    ]
    const hasEffect = accepted || transitions.length + executions.length + pending.length > 0
    // A line for each context or service that the event was for.
    const lines = rows.length > 0 ? table(['OUTCOME', 'CONTEXT', 'STATE'], rows) : [plain(message)]
    answer(sent, () => (rows.length > 0 || hasEffect ? lines : []))
    const faults = [...(hasEffect ? [] : [message]), ...(hint === undefined ? [] : [hint])]
    if (faults.length > 0) world.err(`actorflux: ${plain(faults.join('; '))}`)
    return hasEffect ? EXIT.fine : EXIT.failed
  },
})

export const event = { send }

function addressIn({ 'context-id': id, key, 'flux-name': fluxName }: Given<typeof ADDRESS>['values']) {
  if (id !== undefined && (key ?? fluxName) !== undefined) throw new UsageError('--context-id stands alone')
  if (key === undefined && fluxName !== undefined) throw new UsageError('--flux-name goes with --key')
  if (key !== undefined && fluxName === undefined) throw new UsageError('--key needs --flux-name')
  return {
    ...(id !== undefined && { contextId: idOf(id) }),
    ...(fluxName !== undefined && { key, ...serviceFields(fluxName) }),
  }
}

export const execute = remote({
  summary: 'start a service, and print the id of the context',
  word: '<package/service>',
  options: {
    ...INPUT,
    tag: listOption('tag', 'a tag of the context'),
    key: textOption('key', 'the key of the context'),
    'start-state': textOption('state', 'the state to begin in'),
    ...KEY,
  },
  async run({ word, values }, { client, world, answer }) {
    const { package: owner, fluxName } = serviceFields(word)
    if (!owner || fluxName === '') throw new UsageError(`${JSON.stringify(word)} is no service: write package/service`)
    const started = await client.execute({
      package: owner,
      fluxName,
      input: await jsonIn(values.input, 'input', world),
      tags: values.tag && separated(values.tag),
      key: values.key,
      startState: values['start-state'],
      idempotencyKey: values['idempotency-key'],
    })
    answer(started, () => [plain(String(started.contextId))])
  },
})
