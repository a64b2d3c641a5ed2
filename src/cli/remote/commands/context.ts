// cli/remote: `actorflux context …`: one context, or several by their ids; or, with filters, all that match, by an
// operation.
import { CALLS } from '../../../api/calls.ts'
import { contextFilters } from '../../../api/context-lists.ts'
import { AT_REST } from '../../../api/contexts.ts'
import { Problem } from '../../../client/problem.ts'
import { EXIT, UsageError, type World } from '../../command.ts'
import {
  checked,
  fieldsIn,
  flagOption,
  idOf,
  idsIn,
  listOption,
  optionsFor,
  optionText,
  textOption,
  withoutFields,
  wordIn,
  type Given,
} from '../arguments.ts'
import { contextLines, standingLines, stepText } from '../context-table.ts'
import { jsonArgumentOf } from '../json-argument.ts'
import { problemText, type Remote, type RemoteCommand } from '../remote.ts'
import { runOperation, type OperationKind } from '../run-operation.ts'
import { plain, plainJson } from '../text.ts'

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
      if (remote.isJson) return remote.answer(context, () => [])
      const [events, definition] = await Promise.all([
        remote.client.getContextEvents({ contextId }),
        // That of an old context may be lost.
        remote.client.getDefinition({ contextId }).catch(nullIfProblem),
      ])
      const { snapshot } = context
      remote.answer(context, () => [
        ...standingLines(context, { events, definition }, remote),
        ...contextLines(context, remote, definition),
        ...(snapshot ? ['', 'snapshot', ...plainJson(snapshot, 2).split('\n')] : []),
      ])
    }),
}

function nullIfProblem(error: unknown): null {
  if (error instanceof Problem) return null
  throw error
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
      ...fieldsIn(withoutFields(CALLS.waitFor.query, 'contextId', 'key', 'fluxName', 'state'), values),
      ...state,
    }
    const context = await remote.client.waitFor(checked(CALLS.waitFor, { contextId, ...fields }))
    remote.answer(context, () => contextLines(context, remote))
    return EXIT.fine
  },
}

/** Does it for each id, in order; tells of each that was refused, or that `act` gives a failure of, and goes on. */
async function eachOf(
  words: readonly string[],
  { world }: Remote,
  act: (contextId: number) => Promise<string | void>,
): Promise<number> {
  const ids = idsIn(words)
  let exit: number = EXIT.fine
  const fail = (id: number, text: string) => {
    world.err(`actorflux: context ${id}: ${text}`)
    exit = EXIT.failed
  }
  for (const id of ids) {
    try {
      const failure = await act(id)
      if (failure) fail(id, plain(failure))
    } catch (error) {
      // With one id, or without a server, there is nothing to go on with.
      if (!(error instanceof Problem) || ids.length === 1) throw error
      fail(id, problemText(error))
    }
  }
  return exit
}

const FILTERS = contextFilters('those that have not ended')

/** Options of an operation on all that match. */
const OPERATION = {
  yes: flagOption('do it: without it, you are told how many would be changed'),
  rate: textOption('number', 'so many a second; 1,000 if left out'),
}

/** Of one that can be told more. */
const TOLD_OPERATION = { ...OPERATION, with: textOption('json|@file|-', 'what the operation takes besides, as JSON') }

const MANY = { ...optionsFor(FILTERS), all: flagOption('all that have not ended') }

const choosesMany = ({ values }: Given): boolean => Object.keys(MANY).some((name) => values[name] !== undefined)

/** @throws UsageError for an option that means nothing where contexts are named */
function notForIds({ values }: Given): void {
  const given = Object.keys(TOLD_OPERATION).find((name) => values[name] !== undefined)
  if (given !== undefined) throw new UsageError(`--${given} goes with filters, not with an id`)
}

type One = (client: Remote['client'], request: { readonly contextId: number }) => Promise<{ readonly message: string }>

/** A command for the contexts that are named, or for all that match. */
const changing = (kind: OperationKind, summary: string, one: One): RemoteCommand => ({
  usage: `context ${kind} <id>… | <filters> --yes`,
  summary,
  options: { ...MANY, ...OPERATION },
  async run(given, remote) {
    if (choosesMany(given)) return runOperation(kind, {}, noIds(given), remote)
    notForIds(given)
    return eachOf(given.words, remote, async (contextId) => {
      const done = await one(remote.client, { contextId })
      remote.answer(done, () => [plain(done.message)])
    })
  },
})

/** @throws UsageError */
function noIds(given: Given): Given {
  if (given.words.length > 0) throw new UsageError('give ids or filters, not both')
  return given
}

export const terminateCommand = changing('terminate', 'end contexts, or all that match', (client, request) =>
  client.terminate(request),
)
export const pauseCommand = changing(
  'pause',
  'let contexts start no step and take no event until they are resumed',
  (client, request) => client.pause(request),
)
export const resumeCommand = changing('resume', 'let paused contexts go on', (client, request) =>
  client.resume(request),
)

/** Seconds for which a retried context is waited for, to tell what has become of it. */
const RETRY_SECONDS = 5

export const retryCommand: RemoteCommand = {
  usage: 'context retry <id>… | <filters> --yes',
  summary: 'let failed or terminated contexts go on, and print the status after it',
  options: {
    state: textOption('state', 'the state to enter; the one that failed if left out'),
    input: textOption('json|@file|-', 'inputs by name'),
    definition: textOption('pinned|current', 'the definition to go on with; pinned if left out'),
    'new-key': flagOption('the step gets another stepKey'),
    ...MANY,
    ...TOLD_OPERATION,
  },
  async run(given, remote) {
    const { client, world } = remote
    const fields = await retryFieldsIn(given, world)
    if (choosesMany(given)) return runOperation('retry', fields, noIds(given), remote)
    notForIds(given)
    return eachOf(given.words, remote, async (contextId) => {
      const done = await client.retry(checked(CALLS.retry, { contextId, ...fields }))
      const { status, currentState, error, step } = await atRest(contextId, remote)
      const next = status === 'RUNNING' && step ? `: ${stepText(step)}` : ''
      remote.answer({ ...done, status, error }, () =>
        status === 'FAILED' ? [] : [plain(`${done.message}: ${status} in ${currentState}${next}`)],
      )
      return status === 'FAILED' ? `failed again: ${error?.type}: ${error?.message}` : undefined
    })
  },
}

async function retryFieldsIn({ values }: Given, world: World) {
  const [state, definition, input] = ['state', 'definition', 'input'].map((name) => optionText(values, name))
  return {
    ...(state !== undefined && { state }),
    ...(definition !== undefined && { definition }),
    ...(input !== undefined && { input: await jsonArgumentOf(input, 'input', world) }),
    ...(values['new-key'] === true && { newKey: true }),
  }
}

/** The context once it waits or has ended; as it is, if that takes long. */
async function atRest(contextId: number, { client }: Remote) {
  try {
    return await client.waitFor({ contextId, status: AT_REST, timeout: RETRY_SECONDS })
  } catch (error) {
    if (error instanceof Problem && error.status === 504) return client.getContext({ contextId })
    throw error
  }
}

const tagging = (kind: 'tag' | 'untag', summary: string): RemoteCommand => ({
  usage: `context ${kind} <id> <tag>… | <tag>… <filters> --yes`,
  summary,
  options: { ...MANY, ...TOLD_OPERATION },
  async run(given, remote) {
    if (choosesMany(given)) {
      const tags = tagsIn(given.words)
      return runOperation(kind, tags.length === 0 ? {} : { tags }, given, remote)
    }
    notForIds(given)
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
