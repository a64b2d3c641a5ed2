// engine/record: the moves of a context. The newest are in the record (its tail). When the tail becomes too long, a
// commit moves it to rows of the log. Reading combines both and returns each move once.
import { sizeOf } from '../../model/json/weight.ts'
import { type ContextId, type ContextRecord, MAX_LOG_ROWS, type Move } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { isUnreadable } from './unreadable.ts'

/** Moves in the tail, and characters of its text, beyond which it is moved to the log. */
const MAX_TAIL = { moves: 8, characters: 2048 }

/**
 * Approximate. Of a larger value only the name is logged: a loop that carries a megabyte would otherwise store a
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
 * The tail of a record after the moves of a turn, and the rows that the commit adds to the log.
 * @param text the text of `decided.tail`; undefined if it is not known
 */
export function tailAfter(decided: ContextRecord, text: string | undefined, made: readonly Move[]) {
  const added = made.map(shortened)
  const moves = added.length === 0 ? decided.tail : [...decided.tail, ...added]
  const whole =
    appended(text, textsOf(added, decided.moves - added.length)) ??
    `[${textsOf(moves, decided.moves - moves.length).join(',')}]`
  if (moves.length <= MAX_TAIL.moves && whole.length <= MAX_TAIL.characters) return { moves, text: whole, rows: [] }
  return { moves: [], text: '[]', rows: textsOf(moves, decided.moves - moves.length) }
}

/** The rows of moves. `first`: the number of the first one. */
const textsOf = (moves: readonly Move[], first: number): string[] =>
  moves.map(({ from, event, to, at, values }, index) =>
    JSON.stringify([from, event, to, at, values, first + index] satisfies Row),
  )

/** The text of a list with more elements appended; undefined if the text of the list is not known. */
function appended(list: string | undefined, more: readonly string[]): string | undefined {
  if (list === undefined || more.length === 0) return list
  const text = more.join(',')
  return list === '[]' ? `[${text}]` : `${list.slice(0, -1)},${text}]`
}

function shortened(move: Move): Move {
  const isLarge = (value: unknown) => sizeOf(value, MAX_LOGGED_CHARACTERS) > MAX_LOGGED_CHARACTERS
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
  { id, moves, tail }: ContextRecord,
  { store, log }: { readonly store: Store; readonly log: Log },
): Promise<readonly Move[]> {
  if (moves === tail.length) return tail
  const rows = readableRows(id, await store.log({ id, limit: MAX_LOG_ROWS - tail.length }), log)
  const logged = moves - tail.length
  return [...rows.filter(([, , , , , number]) => number < logged).map(moveOf), ...tail]
}

export const moveOf = ([from, event, to, at, values]: Row): Move => ({ from, event, to, at, values })

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
