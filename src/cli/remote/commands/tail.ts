// cli/remote: `actorflux tail`: moves of contexts as they happen, until SIGINT.
import { STREAM_MOVES } from '../../../api/streams.ts'
import { checked, fieldsIn, optionsFor } from '../arguments.ts'
import { statusCell } from '../context-table.ts'
import { remote, type Remote } from '../remote.ts'
import { plain, timeText } from '../text.ts'

export const tail = remote({
  summary: 'print moves of contexts as they happen, until it is interrupted',
  options: optionsFor(STREAM_MOVES.query),
  async run({ values }, remote) {
    const { client, world } = remote
    const filters = checked(STREAM_MOVES, fieldsIn(STREAM_MOVES.query, values))
    const signal = world.interrupted()
    try {
      for await (const item of client.stream(filters, { signal })) {
        remote.answer(item, () => [lineOf(item, remote)])
        if ((await world.flushed()) !== null) break
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  },
})

type Item = ReturnType<Remote['client']['stream']> extends AsyncIterable<infer T> ? T : never

function lineOf(item: Item, { style }: Remote) {
  if ('gap' in item) return style('yellow', '… moves are missing here')
  if ('dropped' in item) return style('yellow', `… ${item.dropped.count} moves were dropped`)
  const { at, contextId, fluxName, kind, event, from, to, status } = item
  const cell = statusCell({ status })
  const cause = event === null ? kind : `${kind} ${event}`
  const way = from === to || from === null ? to : `${from} → ${to}`
  return [
    style('dim', timeText(at)),
    style('bold', String(contextId)),
    style('cyan', `${item.package}/${fluxName}`),
    style('dim', cause),
    plain(way),
    style(cell.style ?? 'bold', status),
  ].join('  ')
}
