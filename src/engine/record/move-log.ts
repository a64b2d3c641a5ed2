// engine/record: the moves of a context. The newest are in the record (its tail). When the tail becomes too long, a
// commit moves it to rows of the log. Reading combines both and returns each move once.
import type { Json } from '../../model/json/value.ts'
import { sizeOf } from '../../model/json/weight.ts'
import { type ContextId, type ContextRecord, MAX_LOG_ROWS, type Move } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { isUnreadable } from './unreadable.ts'

/** Characters of the tail, about eight moves, beyond which it is moved to the log. */
const MAX_TAIL_CHARACTERS = 800

/**
 * Approximate. A larger value is logged by its name only: a loop that carries a megabyte would otherwise store a
 * thousand copies of it.
 */
const MAX_LOGGED_CHARACTERS = 4096

/** A move as it is stored: an array, to omit the field names. `number`: the number of moves made before it. */
type Row = readonly [
  from: Move['from'],
  event: Move['event'],
  to: Move['to'],
  at: Move['at'],
  values: Move['values'],
  number: number,
]

/**
 * The tail of a record after the moves of a turn, and the rows that the commit adds to the log. The tail is one text:
 * as objects, the moves of many contexts in memory would cost each event a tenth of its time, by the garbage collector.
 */
export function tailAfter({ moves, tail }: ContextRecord, made: readonly Move[]) {
  if (made.length === 0) return { tail, log: [] }
  const first = moves - made.length
  const rows = made.map((move, index) => rowOf(shortened(move), first + index))
  if (tail !== '') rows.unshift(tail)
  const text = rows.join('\n')
  return text.length <= MAX_TAIL_CHARACTERS ? { tail: text, log: [] } : { tail: '', log: rowsOf(text) }
}

const rowsOf = (tail: string): readonly string[] => (tail === '' ? [] : tail.split('\n'))

const rowOf = ({ from, event, to, at, values }: Move, number: number): string =>
  JSON.stringify([from, event, to, at, values, number] satisfies Row)

const isLarge = (value: Json) => sizeOf(value, MAX_LOGGED_CHARACTERS) > MAX_LOGGED_CHARACTERS

function shortened(move: Move): Move {
  if (!isLarge(move.values)) return move
  const values = Object.entries(move.values).map(([name, value]) => [
    name,
    isLarge(value) ? `[more than ${MAX_LOGGED_CHARACTERS} characters]` : value,
  ])
  return { ...move, values: Object.fromEntries(values) }
}

/**
 * All moves that are kept: those of the log and those of the tail. The log may have grown since the record was read: a
 * move in both is returned once, and a later move is omitted.
 */
export async function movesOf(
  record: ContextRecord,
  { store, log }: { readonly store: Store; readonly log: Log },
): Promise<readonly Move[]> {
  const tail = rowsOf(record.tail)
  const logged = record.moves - tail.length
  if (logged === 0) return newestMoves(record, log)
  const rows = await store.log({ id: record.id, limit: MAX_LOG_ROWS - tail.length })
  const earlier = readableRows(record.id, rows, log).filter(([, , , , , number]) => number < logged)
  return [...earlier.map(moveOf), ...newestMoves(record, log)]
}

/** The moves of the tail. */
export const newestMoves = ({ id, tail }: Pick<ContextRecord, 'id' | 'tail'>, log: Log): Move[] =>
  readableRows(id, rowsOf(tail), log).map(moveOf)

const moveOf = ([from, event, to, at, values]: Row): Move => ({ from, event, to, at, values })

/** Only damaged rows are lost. */
const readableRows = (id: ContextId, texts: readonly string[], log: Log): Row[] =>
  texts.flatMap((text) => {
    try {
      const row: Row = JSON.parse(text)
      return [row]
    } catch (error) {
      isUnreadable(unreadable(id, error), log)
      return []
    }
  })
