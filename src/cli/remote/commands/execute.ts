// cli/remote: `actorflux execute`: starts a service.
import { listOption, textOption, UsageError } from '../../command.ts'
import { jsonIn, separated, serviceFields } from '../arguments.ts'
import { remote } from '../remote.ts'
import { plain } from '../text.ts'

export const start = remote({
  summary: 'start a service, and print the id of the context',
  word: '<package/service>',
  options: {
    input: textOption('json|@file|-', 'inputs by name'),
    tag: listOption('tag', 'a tag of the context'),
    key: textOption('key', 'the key of the context'),
    'start-state': textOption('state', 'the state to begin in'),
    'idempotency-key': textOption('key', 'the call is carried out once under this key'),
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
