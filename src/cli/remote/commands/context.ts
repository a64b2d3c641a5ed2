// cli/remote: `actorflux context …`: one context, or several by their ids; or, with filters, all that match, by an
// operation.
import { CALLS } from '../../../api/calls.ts'
import { AT_REST } from '../../../api/contexts.ts'
import { Problem } from '../../../client/problem.ts'
import { EXIT, flagOption, textOption, UsageError, type Given, type World } from '../../command.ts'
import { checked, definedIn, fieldsIn, idOf, jsonIn, optionsFor, separated, withoutFields } from '../arguments.ts'
import { contextLines, standingLines, stepText } from '../context-table.ts'
import { problemText, remote, type Remote } from '../remote.ts'
import { MANY, OPERATION, runOperation, TOLD_OPERATION } from '../run-operation.ts'
import { plain, plainJson } from '../text.ts'

const show = remote({
  summary: 'show a context: why it is where it is, its data and its history',
  words: '<id>…',
  options: { snapshot: flagOption('with its snapshot, as XState keeps it') },
  run: ({ words, values }, remote) =>
    eachOf(words, remote, async (contextId) => {
      const context = await remote.client.getContext({ contextId, snapshot: values.snapshot })
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
})

function nullIfProblem(error: unknown): null {
  if (error instanceof Problem) return null
  throw error
}

const WAIT = withoutFields(CALLS.waitFor.query, 'contextId', 'key', 'fluxName', 'package')

const wait = remote({
  summary: 'wait until a context has a status, enters a state, or has a tag',
  word: '<id>',
  options: optionsFor(WAIT),
  async run({ word, values }, remote) {
    const contextId = idOf(word)
    const context = await remote.client.waitFor(checked(CALLS.waitFor, { contextId, ...fieldsIn(WAIT, values) }))
    remote.answer(context, () => contextLines(context, remote))
  },
})

/** Does it for each id, in order; tells of each that was refused, or that `act` gives a failure of, and goes on. */
async function eachOf(words: readonly string[], { world }: Remote, act: (contextId: number) => Promise<string | void>) {
  const ids = words.map(idOf)
  if (ids.length === 0) throw new UsageError('<id> is missing')
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

/** Whether all that match are meant. @throws UsageError for an option that means nothing where contexts are named */
function choosesMany({ values }: Given) {
  const hasAny = (options: object) => Object.keys(options).find((name) => values[name] !== undefined)
  if (hasAny(MANY) !== undefined) return true
  const given = hasAny(TOLD_OPERATION)
  if (given !== undefined) throw new UsageError(`--${given} goes with filters, not with an id`)
  return false
}

/** @throws UsageError */
function noIds({ words }: Given) {
  if (words.length > 0) throw new UsageError('give ids or filters, not both')
}

const IDS_OR_FILTERS = '<id>… | <filters> --yes'

/** A command for the contexts that are named, or for all that match. */
const changing = (kind: 'terminate' | 'pause' | 'resume', summary: string) =>
  remote({
    summary,
    words: IDS_OR_FILTERS,
    options: { ...MANY, ...OPERATION },
    async run(given, remote) {
      if (!choosesMany(given))
        return eachOf(given.words, remote, async (contextId) => {
          const done = await remote.client[kind]({ contextId })
          remote.answer(done, () => [plain(done.message)])
        })
      noIds(given)
      return runOperation(kind, {}, given, remote)
    },
  })

/** Seconds for which a retried context is waited for, to tell what has become of it. */
const RETRY_SECONDS = 5

const RETRY = {
  state: textOption('state', 'the state to enter; the one that failed if left out'),
  input: textOption('json|@file|-', 'inputs by name'),
  definition: textOption('pinned|current', 'the definition to go on with; pinned if left out'),
  'new-key': flagOption('the step gets another stepKey'),
}

const retry = remote({
  summary: 'let failed or terminated contexts go on, and print the status after it',
  words: IDS_OR_FILTERS,
  options: { ...RETRY, ...MANY, ...TOLD_OPERATION },
  async run(given, remote) {
    const { client, world } = remote
    const fields = await retryFieldsIn(given, world)
    if (choosesMany(given)) {
      noIds(given)
      return runOperation('retry', fields, given, remote)
    }
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
})

const retryFieldsIn = async ({ values }: Given<typeof RETRY>, world: World) =>
  definedIn({
    state: values.state,
    definition: values.definition,
    input: await jsonIn(values.input, 'input', world),
    newKey: values['new-key'],
  })

/** The context once it waits or has ended; as it is, if that takes long. */
async function atRest(contextId: number, { client }: Remote) {
  try {
    return await client.waitFor({ contextId, status: AT_REST, timeout: RETRY_SECONDS })
  } catch (error) {
    if (error instanceof Problem && error.status === 504) return client.getContext({ contextId })
    throw error
  }
}

const tagging = (kind: 'tag' | 'untag', summary: string) =>
  remote({
    summary,
    words: '<id> <tag>… | <tag>… <filters> --yes',
    options: { ...MANY, ...TOLD_OPERATION },
    async run(given, remote) {
      if (choosesMany(given)) {
        const tags = separated(given.words)
        return runOperation(kind, tags.length === 0 ? {} : { tags }, given, remote)
      }
      const [id, ...words] = given.words
      if (id === undefined) throw new UsageError('<id> is missing')
      const request = { contextId: idOf(id), tag: separated(words) }
      if (words.length === 0) throw new UsageError('<tag> is missing')
      const { client } = remote
      const done = await (kind === 'tag' ? client.addTags(request) : client.removeTags(request))
      remote.answer(done, () => [plain(done.message)])
      return EXIT.fine
    },
  })

export const context = {
  show,
  wait,
  retry,
  pause: changing('pause', 'let contexts start no step and take no event until they are resumed'),
  resume: changing('resume', 'let paused contexts go on'),
  terminate: changing('terminate', 'end contexts, or all that match'),
  tag: tagging('tag', 'add tags to a context, or to all that match'),
  untag: tagging('untag', 'remove tags from a context, or from all that match'),
}
