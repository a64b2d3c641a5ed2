// cli/remote: `actorflux contexts`: lists contexts.
import { CALLS } from '../../../api/calls.ts'
import { textOption, UsageError } from '../../command.ts'
import { checked, definedIn, fieldsIn, optionsFor, withoutFields } from '../arguments.ts'
import { CONTEXT_HEADS, contextRow } from '../context-table.ts'
import { remote } from '../remote.ts'

/** Contexts of a list, if nothing else is said. */
const DEFAULT_LIMIT = 30
/** Contexts that are asked for at once. */
const PAGE = 1000

const FILTERS = withoutFields(CALLS.listContexts.query, 'limit', 'page')

export const contexts = remote({
  summary: 'list contexts: those that have not ended, if no status is given',
  options: { ...optionsFor(FILTERS), limit: textOption('number|all', `how many; ${DEFAULT_LIMIT} if left out`) },
  async run({ values }, { client, world, isJson, table, answer }) {
    const given = fieldsIn(FILTERS, values)
    if (!isJson && given['view'] !== undefined) throw new UsageError('--view goes with --json')
    const most = limitOf(values.limit)
    const fields = definedIn({ view: isJson ? undefined : 'summary', ...given })
    const request = checked(CALLS.listContexts, { ...fields, limit: Math.min(most + 1, PAGE) })
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
  },
})

function limitOf(text: string | undefined) {
  if (text === undefined) return DEFAULT_LIMIT
  if (text === 'all') return Infinity
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit === 0) throw new UsageError('--limit must be a positive integer, or all')
  return limit
}
