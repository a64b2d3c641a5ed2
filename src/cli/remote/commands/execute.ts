// cli/remote: `actorflux execute`: starts a service.
import { EXIT, UsageError } from '../../command.ts'
import { listOption, optionText, textOption, wordIn, type Values } from '../arguments.ts'
import { jsonArgumentOf } from '../json-argument.ts'
import type { RemoteCommand } from '../remote.ts'
import { plain } from '../text.ts'

export const executeCommand: RemoteCommand = {
  usage: 'execute <package/service>',
  summary: 'start a service, and print the id of the context',
  options: {
    input: textOption('json|@file|-', 'inputs by name'),
    tag: listOption('tag', 'a tag of the context'),
    key: textOption('key', 'the key of the context'),
    'start-state': textOption('state', 'the state to begin in'),
    'idempotency-key': textOption('key', 'the call is carried out once under this key'),
  },
  async run({ words, values }, { client, world, answer }) {
    const [owner, fluxName] = serviceOf(wordIn(words, 'package/service'))
    const input = optionText(values, 'input')
    const started = await client.execute({
      package: owner,
      fluxName,
      ...(input !== undefined && { input: await jsonArgumentOf(input, 'input', world) }),
      ...given(values),
    })
    answer(started, () => [plain(String(started.contextId))])
    return EXIT.fine
  },
}

const given = (values: Values) => {
  const [key, startState, idempotencyKey] = ['key', 'start-state', 'idempotency-key'].map((name) =>
    optionText(values, name),
  )
  return {
    ...tagsIn(values),
    ...(key !== undefined && { key }),
    ...(startState !== undefined && { startState }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
}

/** The tags of `--tag`, which may also be separated by commas. */
export function tagsIn({ tag }: Values): { tags?: string[] } {
  return Array.isArray(tag) ? { tags: tag.flatMap((text) => String(text).split(',')) } : {}
}

/** @throws UsageError */
export function serviceOf(word: string): [owner: string, fluxName: string] {
  const at = word.lastIndexOf('/')
  if (at <= 0 || at === word.length - 1)
    throw new UsageError(`${JSON.stringify(word)} is no service: write package/service`)
  return [word.slice(0, at), word.slice(at + 1)]
}
