// cli/remote: `actorflux contexts` lists contexts, and `actorflux tail` their moves; `actorflux context …` is for one, or several
// by their ids; or, with filters, for all that match, by an operation.
import { CALLS } from '../../../api/calls.ts'
import { retryFields } from '../../../api/commands.ts'
import { AT_REST } from '../../../api/contexts.ts'
import { STREAM_MOVES } from '../../../api/streams.ts'
import type { MessageAnswer } from '../../../api/fields.ts'
import type { StreamItem } from '../../../client/client.ts'
import { Problem } from '../../../client/problem.ts'
import { EXIT, flagOption, textOption, UsageError, type Given } from '../../command.ts'
import { checked, fieldsIn, idOf, jsonIn, optionsFor, separated } from '../arguments.ts'
import { CONTEXT_HEADS, contextLines, contextRow, standingLines, statusCell, stepText } from '../context-table.ts'
import { IF_VERSION, REHEARSAL, rehearsalFields, rehearsalLines } from '../rehearsing.ts'
import { problemText, remote, type Remote } from '../remote.ts'
import { plain, plainJson, timeText } from '../text.ts'
import { MANY, OPERATION, OPERATION_WITH, runOperation } from './operation.ts'

const show = remote({
  summary: 'show a context: why it is where it is, its data and its history',
  words: '<id>…',
  options: { snapshot: flagOption('with its snapshot, as XState keeps it') },
  run: ({ words, values }, remote) =>
    eachOf(words, remote, async (contextId) => {
      const { client, isJson, answer } = remote
      const context = await client.getContext({ contextId, snapshot: values.snapshot })
      if (isJson) return answer(context, () => [])
      const [events, definition] = await Promise.all([
        client.getContextEvents({ contextId }),
        // That of an old context may be lost.
        client.getDefinition({ contextId }).catch(() => null),
      ])
      answer(context, ({ snapshot }) => [
        ...standingLines(context, events, definition, remote),
        ...contextLines(context, remote, definition),
        ...(snapshot ? ['', 'snapshot', plainJson(snapshot, 2)] : []),
      ])
    }),
})

const wait = remote({
  summary: 'wait until a context has a status, enters a state, or has a tag',
  word: '<id>',
  options: optionsFor(CALLS.waitFor.query, 'contextId', 'key', 'fluxName', 'package'),
  async run({ word, values }, remote) {
    const request = checked(CALLS.waitFor, { contextId: idOf(word) }, values)
    remote.answer(await remote.client.waitFor(request), (context) => contextLines(context, remote))
  },
})

/** Does it for each id, in order; tells of each that was refused, or that `act` gives a failure of, and goes on. */
async function eachOf(words: readonly string[], { io }: Remote, act: (contextId: number) => Promise<string | void>) {
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
    io.err(`actorflux: context ${id}: ${plain(failure)}`)
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
  const option = given(OPERATION_WITH)
  if (!isMany && option !== undefined) throw new UsageError(`--${option} goes with filters, not with an id`)
  if (isMany && values['if-version'] !== undefined) throw new UsageError('--if-version goes with an id')
  if (isMany && hasIds && words.length > 0) throw new UsageError('give ids or filters, not both')
  return isMany
}

const IDS_OR_FILTERS = '<id>… | <filters> --yes'

/** A command for the contexts that are named, or for all that match. */
const changing = (kind: 'terminate' | 'pause' | 'resume', summary: string) =>
  remote({
    summary,
    words: IDS_OR_FILTERS,
    options: { ...REHEARSAL, ...IF_VERSION, ...MANY, ...OPERATION },
    async run(given, remote) {
      const how = await rehearsalFields(given.values, remote)
      if (choosesMany(given)) return runOperation(kind, {}, given, remote, how)
      return eachOf(given.words, remote, async (contextId) =>
        tell(await remote.client[kind]({ contextId, ...how }), remote),
      )
    },
  })

/** Writes the answer of a call: what it did, or would do. */
const tell = (done: MessageAnswer & Parameters<typeof rehearsalLines>[0], remote: Remote) =>
  remote.answer(done, ({ message }) => rehearsalLines(done, remote) ?? [plain(message)])

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
  options: { ...RETRY, ...REHEARSAL, ...IF_VERSION, ...MANY, ...OPERATION_WITH },
  async run(given, remote) {
    const { client, io, answer } = remote
    const input = await jsonIn(given.values.input, 'input', io)
    const fields = { ...fieldsIn(retryFields, given.values), ...(input && { input }) }
    const how = await rehearsalFields(given.values, remote)
    if (choosesMany(given)) return runOperation('retry', fields, given, remote, how)
    return eachOf(given.words, remote, async (contextId) => {
      const done = await client.retry({ ...checked(CALLS.retry, { contextId, ...fields }), ...how })
      if (done.would) return tell(done, remote)
      // Where it waits or has ended; where it is, if that takes long.
      const { status, currentState, error, step } = await client
        .waitFor({ contextId, status: AT_REST, timeout: RETRY_SECONDS })
        .catch(() => client.getContext({ contextId }))
      const next = status === 'RUNNING' && step ? `: ${stepText(step)}` : ''
      answer({ ...done, status, error }, ({ message }) =>
        status === 'FAILED' ? [] : [plain(`${message}: ${status} in ${currentState}${next}`)],
      )
      return status === 'FAILED' ? `failed again: ${error?.type}: ${error?.message}` : undefined
    })
  },
})

const tagging = (kind: 'tag' | 'untag', summary: string) =>
  remote({
    summary,
    words: '<id> <tag>… | <tag>… <filters> --yes',
    options: { ...REHEARSAL, ...IF_VERSION, ...MANY, ...OPERATION_WITH },
    async run(given, remote) {
      const how = await rehearsalFields(given.values, remote)
      if (choosesMany(given, false)) {
        const tags = separated(given.words)
        return runOperation(kind, tags.length === 0 ? {} : { tags }, given, remote, how)
      }
      const [id, ...words] = given.words
      if (id === undefined) throw new UsageError('<id> is missing')
      const contextId = idOf(id)
      if (words.length === 0) throw new UsageError('<tag> is missing')
      const call = kind === 'tag' ? 'addTags' : 'removeTags'
      return tell(await remote.client[call]({ contextId, tag: separated(words), ...how }), remote)
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

export const contexts = remote({
  summary: 'list contexts: unfinished ones, if no status is given',
  options: {
    ...optionsFor(CALLS.listContexts.query, 'limit', 'page'),
    limit: textOption('number|all', `how many; ${DEFAULT_LIMIT} if left out`),
  },
  async run({ values }, { client, io, isJson, table }) {
    const { limit = String(DEFAULT_LIMIT) } = values
    if (!/^(all|[1-9]\d*)$/.test(limit)) throw new UsageError('--limit must be a positive integer, or all')
    const most = limit === 'all' ? Infinity : Number(limit)
    const fields = { limit: Math.min(most + 1, PAGE), ...(!isJson && { view: 'summary' }) }
    const rows = []
    let count = 0
    for await (const context of client.contexts(checked(CALLS.listContexts, fields, values))) {
      if (count === most) {
        if (io.screen !== null) io.err(`There are more: --limit shows them.`)
        break
      }
      count += 1
      if (!isJson) rows.push(contextRow(context))
      else {
        io.out(plainJson(context))
        // The list is read as fast as its reader takes it.
        if ((await io.flushed()) !== null) break
      }
    }
    if (!isJson) (count === 0 ? ['No context.'] : table(CONTEXT_HEADS, rows)).forEach(io.out)
  },
})

export const tail = remote({
  summary: 'print moves of contexts as they happen, until it is interrupted',
  options: optionsFor(STREAM_MOVES.query),
  async run({ values }, remote) {
    const { client, io, answer } = remote
    const filters = checked(STREAM_MOVES, {}, values)
    const signal = io.interrupted()
    try {
      for await (const move of client.stream(filters, { signal })) {
        answer(move, (item) => [lineOf(item, remote)])
        if ((await io.flushed()) !== null) break
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  },
})

function lineOf(item: StreamItem, { style }: Remote) {
  if ('gap' in item) return style('yellow', '… moves are missing here')
  if ('dropped' in item) return style('yellow', `… ${item.dropped.count} moves were dropped`)
  const { at, contextId, fluxName, kind, event, from, to, status } = item
  return [
    style('dim', timeText(at)),
    style('bold', String(contextId)),
    style('cyan', `${item.package}/${fluxName}`),
    style('dim', event === null ? kind : `${kind} ${event}`),
    plain(from === to || from === null ? to : `${from} → ${to}`),
    style(statusCell(item).style ?? 'bold', status),
  ].join('  ')
}
