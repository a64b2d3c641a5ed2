// cli/remote: `actorflux contexts` lists contexts; `actorflux context …` is for one, or several by their ids; or, with filters,
// for all that match, by an operation.
import { CALLS } from '../../../api/calls.ts'
import { AT_REST } from '../../../api/contexts.ts'
import { Problem } from '../../../client/problem.ts'
import type { JsonObject } from '../../../model/json/value.ts'
import { EXIT, flagOption, textOption, UsageError, type Given } from '../../command.ts'
import { checked, fieldsIn, idOf, jsonIn, optionsFor, separated, withoutFields } from '../arguments.ts'
import { CONTEXT_HEADS, contextLines, contextRow, standingLines, stepText } from '../context-table.ts'
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

function nullIfProblem(error: unknown) {
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
  for (const id of ids) {
    const failure = await act(id).catch((error: unknown) => {
      // With one id, or without a server, there is nothing to go on with.
      if (!(error instanceof Problem) || ids.length === 1) throw error
      return problemText(error)
    })
    if (!failure) continue
    world.err(`actorflux: context ${id}: ${plain(failure)}`)
    exit = EXIT.failed
  }
  return exit
}

/**
 * Whether all that match are meant.
 * @throws UsageError for ids besides, unless `words` are none; for an option that means nothing where contexts are named
 */
function choosesMany({ words, values }: Given, hasIds = true) {
  const given = (options: object) => Object.keys(options).find((name) => values[name] !== undefined)
  const isMany = given(MANY) !== undefined
  const option = given(TOLD_OPERATION)
  if (!isMany && option !== undefined) throw new UsageError(`--${option} goes with filters, not with an id`)
  if (isMany && hasIds && words.length > 0) throw new UsageError('give ids or filters, not both')
  return isMany
}

const IDS_OR_FILTERS = '<id>… | <filters> --yes'

/** A command for the contexts that are named, or for all that match. */
const changing = (kind: 'terminate' | 'pause' | 'resume', summary: string) =>
  remote({
    summary,
    words: IDS_OR_FILTERS,
    options: { ...MANY, ...OPERATION },
    run: async (given, remote) =>
      choosesMany(given)
        ? runOperation(kind, {}, given, remote)
        : eachOf(given.words, remote, async (contextId) => {
            const done = await remote.client[kind]({ contextId })
            remote.answer(done, () => [plain(done.message)])
          }),
  })

/** Seconds for which a retried context is waited for, to tell what has become of it. */
const RETRY_SECONDS = 5

const RETRY = {
  state: textOption('state', 'the state to enter; the one that failed if left out'),
  input: textOption('json|@file|-', 'inputs by name'),
  definition: textOption('pinned|current', 'the definition to continue with; pinned if left out'),
  'new-key': flagOption('the step gets a new stepKey'),
}

const retry = remote({
  summary: 'continue failed or terminated contexts, and print what became of them',
  words: IDS_OR_FILTERS,
  options: { ...RETRY, ...MANY, ...TOLD_OPERATION },
  async run(given, remote) {
    const { state, definition, input, 'new-key': newKey } = given.values
    const all = { state, definition, input: await jsonIn(input, 'input', remote.world), newKey }
    const fields: JsonObject = {}
    for (const [name, value] of Object.entries(all)) if (value !== undefined) fields[name] = value
    if (choosesMany(given)) return runOperation('retry', fields, given, remote)
    return eachOf(given.words, remote, async (contextId) => {
      const done = await remote.client.retry(checked(CALLS.retry, { contextId, ...fields }))
      const { status, currentState, error, step } = await atRest(contextId, remote)
      const next = status === 'RUNNING' && step ? `: ${stepText(step)}` : ''
      remote.answer({ ...done, status, error }, () =>
        status === 'FAILED' ? [] : [plain(`${done.message}: ${status} in ${currentState}${next}`)],
      )
      return status === 'FAILED' ? `failed again: ${error?.type}: ${error?.message}` : undefined
    })
  },
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
      if (choosesMany(given, false)) {
        const tags = separated(given.words)
        return runOperation(kind, tags.length === 0 ? {} : { tags }, given, remote)
      }
      const [id, ...words] = given.words
      if (id === undefined) throw new UsageError('<id> is missing')
      const contextId = idOf(id)
      if (words.length === 0) throw new UsageError('<tag> is missing')
      const done = await remote.client[kind === 'tag' ? 'addTags' : 'removeTags']({ contextId, tag: separated(words) })
      return remote.answer(done, () => [plain(done.message)])
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

/** Contexts of a list, if nothing else is said. */
const DEFAULT_LIMIT = 30
/** Contexts that are asked for at once. */
const PAGE = 1000

const LISTED = withoutFields(CALLS.listContexts.query, 'limit', 'page')

export const contexts = remote({
  summary: 'list contexts: unfinished ones, if no status is given',
  options: { ...optionsFor(LISTED), limit: textOption('number|all', `how many; ${DEFAULT_LIMIT} if left out`) },
  async run({ values }, { client, world, isJson, table, answer }) {
    const given = fieldsIn(LISTED, values)
    if (!isJson && given['view'] !== undefined) throw new UsageError('--view goes with --json')
    const most = limitOf(values.limit)
    const fields = { ...(!isJson && { view: 'summary' }), ...given, limit: Math.min(most + 1, PAGE) }
    const rows = []
    let count = 0
    for await (const context of client.contexts(checked(CALLS.listContexts, fields))) {
      if (count === most) {
        if (world.screen !== null) world.err(`There are more: --limit shows them.`)
        break
      }
      count += 1
      if (!isJson) rows.push(contextRow(context))
      answer(context, () => [])
      // The list is read as fast as its reader takes it.
      if (isJson && (await world.flushed()) !== null) break
    }
    if (!isJson) for (const line of count === 0 ? ['No context.'] : table(CONTEXT_HEADS, rows)) world.out(line)
  },
})

function limitOf(text = String(DEFAULT_LIMIT)) {
  if (text === 'all') return Infinity
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit === 0) throw new UsageError('--limit must be a positive integer, or all')
  return limit
}
