// cli/remote: `actorflux event send` sends an event to one context, or to all that wait for it; `actorflux execute` starts
// a service.
import { CALLS } from '../../../api/calls.ts'
import { EXIT, listOption, textOption, UsageError } from '../../command.ts'
import { checked, idOf, jsonIn, separated, serviceFields } from '../arguments.ts'
import { IF_VERSION, REHEARSAL, rehearsalFields, rehearsalLines } from '../rehearsing.ts'
import { remote } from '../remote.ts'
import { plain } from '../text.ts'

const INPUT = { input: textOption('json|@file|-', 'inputs by name') }
const KEY = { 'idempotency-key': textOption('key', 'the call is carried out once under this key') }

const send = remote({
  summary: 'send an event to one context, or to all that wait for it',
  word: '<event>',
  options: {
    'context-id': textOption('id', 'the context'),
    key: textOption('key', 'the context with this key'),
    'flux-name': textOption('package/service', 'the service of the key'),
    ...INPUT,
    tag: listOption('tag', 'send it to contexts that have any of these tags'),
    ...KEY,
    ...REHEARSAL,
    ...IF_VERSION,
  },
  async run({ word, values }, remote) {
    const { client, io, answer, table } = remote
    const { 'context-id': id, key, 'flux-name': fluxName } = values
    const request = checked(CALLS.sendEvent, {
      event: word,
      contextId: id === undefined ? id : idOf(id),
      key,
      ...(fluxName !== undefined && serviceFields(fluxName)),
      input: await jsonIn(values.input, 'input', io),
      tags: values.tag && separated(values.tag),
      idempotencyKey: values['idempotency-key'],
      ...(await rehearsalFields(values, remote)),
    })
    const sent = await client.sendEvent(request)
    const { message, transitions, executions, ignored, pending, hint, accepted } = sent
    const rows = [
      ...transitions.map(({ contextId, state }) => ['moved', contextId, state]),
      ...executions.map(({ contextId, state }) => ['started', contextId, state]),
      ...ignored.map(({ contextId, fluxName: name, reason }) => ['ignored', contextId ?? name, reason]),
    ]
    const hasEffect = accepted || transitions.length + executions.length + pending.length > 0
    // A line for each context or service that the event was for; else what became of it.
    const otherwise = hasEffect ? [plain(message)] : []
    const rehearsed = rehearsalLines(sent, remote)
    answer(sent, () => rehearsed ?? (rows.length > 0 ? table(['OUTCOME', 'CONTEXT', 'STATE'], rows) : otherwise))
    if (!hasEffect || hint !== undefined)
      io.err(`actorflux: ${plain([...(hasEffect ? [] : [message]), hint ?? []].flat().join('; '))}`)
    return hasEffect ? EXIT.fine : EXIT.failed
  },
})

export const event = { send }

export const execute = remote({
  summary: 'start a service, and print the id of the context',
  word: '<package/service>',
  options: {
    ...INPUT,
    tag: listOption('tag', 'a tag of the context'),
    key: textOption('key', 'the key of the context'),
    'start-state': textOption('state', 'the state to begin in'),
    ...KEY,
    ...REHEARSAL,
  },
  async run({ word, values }, remote) {
    const { client, io, answer } = remote
    const { package: owner, fluxName } = serviceFields(word)
    if (!owner || fluxName === '') throw new UsageError(`${JSON.stringify(word)} is no service: write package/service`)
    const started = await client.execute({
      package: owner,
      fluxName,
      input: await jsonIn(values.input, 'input', io),
      tags: values.tag && separated(values.tag),
      key: values.key,
      startState: values['start-state'],
      idempotencyKey: values['idempotency-key'],
      ...(await rehearsalFields(values, remote)),
    })
    answer(started, ({ contextId }) => rehearsalLines(started, remote) ?? [plain(String(contextId))])
  },
})
