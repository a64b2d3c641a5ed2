// engine/record: the moves of a context. The newest are in the record (its tail); when these are many or long, a commit
// moves them together to rows of the log. Reading returns the moves of both, each once.
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import { getOwn, setOwn } from '../../model/json/value.ts'
import { MAX_LOG_ROWS, type ContextRecord, type Move } from '../../model/record.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { sizeOf } from './json-size.ts'
import { isUnreadable } from './unreadable.ts'

/** Moves in a record, and characters of their text, beyond which they are moved to the log. */
const MAX_TAIL = { moves: 8, characters: 2048 }

/**
 * Characters, approximately. A larger value is not kept in the log, only its name: a loop that carries a megabyte would
 * otherwise store a thousand copies of it.
 */
const MAX_LOGGED_CHARACTERS = 4096

/** A move as it is stored: a list, since the names are the same in each. `number`: how many were made before it. */
type Row = readonly [
  from: Move['from'],
  event: Move['event'],
  to: Move['to'],
  at: Move['at'],
  values: Move['values'],
  number: number,
]

/** The tail of a record after a commit. */
export interface Tail {
  readonly moves: readonly Move[]
  /** Its text; null: the tail has been moved to the log. */
  readonly text: string | null
  /** The rows that the commit adds to the log. */
  readonly rows: readonly string[]
}

/**
 * The tail of a record after the moves of a turn.
 * @param text the text of `decided.tail`; undefined where it is not known
 */
export function tailAfter(decided: ContextRecord, text: string | undefined, made: readonly Move[]): Tail {
  const added = made.map(shortened)
  const moves = added.length === 0 ? decided.tail : [...decided.tail, ...added]
  const whole =
    appended(text, textsOf(added, decided.moves - added.length)) ??
    `[${textsOf(moves, decided.moves - moves.length).join(',')}]`
  if (moves.length <= MAX_TAIL.moves && whole.length <= MAX_TAIL.characters) return { moves, text: whole, rows: [] }
  return { moves: [], text: null, rows: textsOf(moves, decided.moves - moves.length) }
}

/** `first`: the number of the first of them. */
const textsOf = (moves: readonly Move[], first: number): string[] =>
  moves.map(({ from, event, to, at, values }, index) =>
    JSON.stringify([from, event, to, at, values, first + index] satisfies Row),
  )

/** The text of a list with more elements; undefined where the text of the list is not known. */
function appended(list: string | undefined, more: readonly string[]): string | undefined {
  if (list === undefined || more.length === 0) return list
  const text = more.join(',')
  return list === '[]' ? `[${text}]` : `${list.slice(0, -1)},${text}]`
}

function shortened(move: Move): Move {
  const { values } = move
  const large = Object.keys(values).filter(
    (name) => sizeOf(getOwn(values, name) ?? null, MAX_LOGGED_CHARACTERS) > MAX_LOGGED_CHARACTERS,
  )
  if (large.length === 0) return move
  const copy = { ...values }
  for (const name of large) setOwn(copy, name, `[more than ${MAX_LOGGED_CHARACTERS} characters]`)
  return { ...move, values: copy }
}

/** The moves of a tail's text. @throws SyntaxError */
export const movesOfTail = (text: string): Move[] => rowsOf(text).map(moveOf)

/**
 * All moves that are kept: those of the log, and the record's newest. The log may have grown since the record was read:
 * a move that is in both is returned once, a later one not at all.
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

const moveOf = ([from, event, to, at, values]: Row): Move => ({ from, event, to, at, values })

const rowsOf = (text: string): Row[] => JSON.parse(text)

/** Parses all rows together, which is faster; one by one where some are damaged, so that the others are kept. */
function readableRows(id: ContextId, texts: readonly string[], log: Log): Row[] {
  try {
    return rowsOf(`[${texts.join(',')}]`)
  } catch (error) {
    isUnreadable(unreadable(id, error), log)
    return texts.flatMap((text) => {
      try {
        return rowsOf(`[${text}]`)
      } catch {
        return []
      }
    })
  }
}
