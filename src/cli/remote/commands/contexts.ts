// cli/remote: `actorflux contexts`: lists contexts.
import { CALLS } from '../../../api/calls.ts'
import { EXIT, UsageError } from '../../command.ts'
import { checked, fieldsIn, noWords, optionsFor, optionText, textOption, withoutFields } from '../arguments.ts'
import { CONTEXT_HEADS, contextRow } from '../context-table.ts'
import type { RemoteCommand } from '../remote.ts'

/** Contexts of a list, if nothing else is said. */
const DEFAULT_LIMIT = 30
/** Contexts that are asked for at once. */
const PAGE = 1000

const filters = withoutFields(CALLS.listContexts.query, 'limit', 'page')

export const contextsCommand: RemoteCommand = {
  usage: 'contexts [filters]',
  summary: 'list contexts: those that have not ended, if no status is given',
  options: { ...optionsFor(filters), limit: textOption('number|all', `how many; ${DEFAULT_LIMIT} if left out`) },
  async run({ words, values }, { client, world, isJson, table, answer }) {
    noWords(words)
    if (!isJson && values['view'] !== undefined) throw new UsageError('--view goes with --json')
    const most = limitOf(optionText(values, 'limit'))
    const fields = { view: isJson ? undefined : 'summary', ...fieldsIn(filters, values) }
    const request = checked(CALLS.listContexts, { ...withoutGaps(fields), limit: Math.min(most + 1, PAGE) })
    const rows = []
    let count = 0
    for await (const context of client.contexts(request)) {
      if (count === most) {
        if (world.screen !== null) world.err(`There are more: --limit shows them.`)
        break
      }
      count += 1
      if (!isJson) rows.push(contextRow(context))
      else {
        answer(context, () => [])
        // The list is read as fast as its reader takes it.
        if ((await world.flushed()) !== null) break
      }
    }
    if (!isJson) for (const line of count === 0 ? ['No context.'] : table(CONTEXT_HEADS, rows)) world.out(line)
    return EXIT.fine
  },
}

const withoutGaps = (fields: { readonly [field: string]: unknown }) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT
  if (text === 'all') return Infinity
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit === 0) throw new UsageError('--limit must be a positive integer, or all')
  return limit
}
