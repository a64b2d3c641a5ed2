// engine/turn: the rows that messages write in the commit of their turn.
import type { RowWrite } from '../../model/rows.ts'
import type { Message } from './message.ts'
import type { Applied } from './tracked-context.ts'
import type { TurnResult } from './turn.ts'

/** A row, and the place among the messages of the turn of the one that writes it; -1: the turn itself does. */
export interface MessageRow {
  readonly place: number
  readonly row: RowWrite
}

export const hasRows = ({ rows }: Message): boolean => rows !== undefined

const isWithoutEffect = ({ kind }: Applied): boolean => kind === 'noop' || kind === 'refused'

/**
 * The rows of the turn itself, and those of all messages that were decided; or the place of the first message that
 * writes a row that one before it writes, too.
 */
export function rowsOfTurn(
  messages: readonly Message[],
  { work: { replaced }, results, rows: own, context: { record, flux } }: TurnResult & { kind: 'decided' },
): MessageRow[] | { readonly place: number } {
  const rows: MessageRow[] = own.map((row) => ({ place: -1, row }))
  const known = new Set<string>()
  for (const [place, applied] of results.entries()) {
    const message = messages[place]
    if (!message?.rows || (isWithoutEffect(applied) && message.rowsAlways !== true)) continue
    for (const row of message.rows(applied, record, flux, replaced)) {
      const name = `${row.space}:${row.key}`
      if (known.has(name) && place > 0) return { place }
      known.add(name)
      rows.push({ place, row })
    }
  }
  return rows
}

/** A message that can't be committed, by its place in the turn, and why. */
export interface Unprepared {
  readonly place: number
  readonly error: unknown
}

/** What comes before the commit of these rows; null: nothing. Gives the messages for which it failed, the last one first. */
export function beforeRows(
  messages: readonly Message[],
  rows: readonly MessageRow[],
): Promise<readonly Unprepared[]> | null {
  const under: Promise<Unprepared | null>[] = []
  let last = -1
  for (const { place } of rows) {
    // All rows of a message stand together.
    if (place === last) continue
    last = place
    const done = messages[place]?.first?.()
    if (done)
      under.push(
        done.then(
          () => null,
          (error: unknown) => ({ place, error }),
        ),
      )
  }
  if (under.length === 0) return null
  return Promise.all(under).then((all) => all.flatMap((one) => one ?? []).toReversed())
}
