// cli/remote: `actorflux context …`: one context, or several by their ids; or, with filters, all that match, by an
// operation.
import { contextFilters } from '../../../api/context-filters.ts'
import { WAIT_FOR } from '../../../api/wait-for.ts'
import { Problem } from '../../../client/problem.ts'
import { EXIT, UsageError } from '../../command.ts'
import {
  checked,
  fieldsIn,
  flagOption,
  idOf,
  idsIn,
  listOption,
  optionsFor,
  textOption,
  withoutFields,
  wordIn,
  type Given,
} from '../arguments.ts'
import { contextLines } from '../context-table.ts'
import { problemText, type Remote, type RemoteCommand } from '../remote.ts'
import { runOperation, type OperationKind } from '../run-operation.ts'
import { plain } from '../text.ts'

export const showCommand: RemoteCommand = {
  usage: 'context show <id>…',
  summary: 'show a context: why it is where it is, its data and its history',
  options: { snapshot: flagOption('with its snapshot, as XState keeps it') },
  run: ({ words, values }, remote) =>
    eachOf(words, remote, async (contextId) => {
      const context = await remote.client.getContext({
        contextId,
        ...(values['snapshot'] === true && { snapshot: true }),
      })
      remote.answer(context, () => contextLines(context, remote))
    }),
}

export const waitCommand: RemoteCommand = {
  usage: 'context wait <id>',
  summary: 'wait until a context has a status, enters a state, or has a tag',
  options: {
    status: listOption('status', 'a status to wait for'),
    state: listOption('state', 'a state to wait for'),
    tag: listOption('tag', 'a tag to wait for'),
    timeout: textOption('seconds', '30 if left out'),
  },
  async run({ words, values }, remote) {
    const contextId = idOf(wordIn(words, 'id'))
    // Names of states may have commas.
    const state = Array.isArray(values['state']) && { state: values['state'].map(String) }
    const fields = {
      ...fieldsIn(withoutFields(WAIT_FOR.query, 'contextId', 'key', 'fluxName', 'state'), values),
      ...state,
    }
    const context = await remote.client.waitFor(checked(WAIT_FOR, { contextId, ...fields }))
    remote.answer(context, () => contextLines(context, remote))
    return EXIT.fine
  },
}

/** Does it for each id, in order; tells of each that was refused, and goes on. */
async function eachOf(
  words: readonly string[],
  { world }: Remote,
  act: (contextId: number) => Promise<void>,
): Promise<number> {
  const ids = idsIn(words)
  let exit: number = EXIT.fine
  for (const id of ids) {
    try {
      await act(id)
    } catch (error) {
      // With one id, or without a server, there is nothing to go on with.
      if (!(error instanceof Problem) || ids.length === 1) throw error
      world.err(`actorflux: context ${id}: ${problemText(error)}`)
      exit = EXIT.failed
    }
  }
  return exit
}

const FILTERS = contextFilters('those that have not ended')

const MANY = {
  ...optionsFor(FILTERS),
  all: flagOption('all that have not ended'),
  yes: flagOption('do it: without it, you are told how many would be changed'),
  rate: textOption('number', 'so many a second; 1,000 if left out'),
  with: textOption('json|@file|-', 'what the operation takes besides'),
}

/** Names of options that choose many contexts. */
const CHOOSING = [...Object.keys(optionsFor(FILTERS)), 'all']

const choosesMany = ({ values }: Given): boolean => CHOOSING.some((name) => values[name] !== undefined)

type One = (client: Remote['client'], request: { readonly contextId: number }) => Promise<{ readonly message: string }>

/** A command for the contexts that are named, or for all that match. */
const changing = (kind: OperationKind, summary: string, one: One): RemoteCommand => ({
  usage: `context ${kind} <id>… | <filters> --yes`,
  summary,
  options: MANY,
  async run(given, remote) {
    if (choosesMany(given)) {
      if (given.words.length > 0) throw new UsageError('give ids or filters, not both')
      return runOperation(kind, {}, given, remote)
    }
    return eachOf(given.words, remote, async (contextId) => {
      const done = await one(remote.client, { contextId })
      remote.answer(done, () => [plain(done.message)])
    })
  },
})

export const terminateCommand = changing('terminate', 'end contexts, or all that match', (client, request) =>
  client.terminate(request),
)
export const retryCommand = changing('retry', 'let failed or terminated contexts go on', (client, request) =>
  client.retry(request),
)
export const pauseCommand = changing(
  'pause',
  'let contexts start no step and take no event until they are resumed',
  (client, request) => client.pause(request),
)
export const resumeCommand = changing('resume', 'let paused contexts go on', (client, request) =>
  client.resume(request),
)

const tagging = (kind: 'tag' | 'untag', summary: string): RemoteCommand => ({
  usage: `context ${kind} <id> <tag>… | <tag>… <filters> --yes`,
  summary,
  options: MANY,
  async run(given, remote) {
    if (choosesMany(given)) {
      const tags = tagsIn(given.words)
      return runOperation(kind, tags.length === 0 ? {} : { tags }, given, remote)
    }
    const [id, ...words] = given.words
    if (id === undefined) throw new UsageError('<id> is missing')
    const request = { contextId: idOf(id), tag: tagsIn(words) }
    if (request.tag.length === 0) throw new UsageError('<tag> is missing')
    const { client } = remote
    const done = await (kind === 'tag' ? client.addTags(request) : client.removeTags(request))
    remote.answer(done, () => [plain(done.message)])
    return EXIT.fine
  },
})

const tagsIn = (words: readonly string[]): string[] => words.flatMap((word) => word.split(','))

export const tagCommand = tagging('tag', 'add tags to a context, or to all that match')
export const untagCommand = tagging('untag', 'remove tags from a context, or from all that match')
