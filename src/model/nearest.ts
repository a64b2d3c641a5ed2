// model: suggests the known name that a misspelt name was probably meant to be.

/** Maximum number of edits between a name and its suggestion, and their maximum share of the name's length. */
const MAX_EDITS = 2
const MAX_EDIT_SHARE = 1 / 3

/**
 * Returns the known name nearest to `name`, at most 2 edits (insertions, deletions, substitutions) and a third of its
 * length away. Case is ignored unless `matchCase`. Null if no name is that near, or if `name` itself is known.
 */
export function nearestName(
  name: string,
  known: Iterable<string>,
  { matchCase = false }: { readonly matchCase?: boolean } = {},
): string | null {
  const folded = (text: string) => (matchCase ? text : text.toLowerCase())
  let nearest: string | null = null
  let fewest = Math.min(MAX_EDITS, Math.floor(name.length * MAX_EDIT_SHARE)) + 1
  for (const candidate of known) {
    if (candidate === name) return null
    const edits = editsBetween(folded(name), folded(candidate), fewest - 1)
    if (edits < fewest) [nearest, fewest] = [candidate, edits]
  }
  return nearest
}

/** Returns `; did you mean 'contextId'?`, or an empty text, to append to a message about an unknown name. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known)
  return nearest === null ? '' : `; did you mean '${nearest}'?`
}

/** Names by their length: only those of about the same length are compared with a misspelt one. */
export class NamesByLength {
  readonly #names = new Map<number, string[]>()
  readonly size: number

  constructor(names: ReadonlySet<string>) {
    this.size = names.size
    for (const name of names) {
      const alike = this.#names.get(name.length)
      if (alike) alike.push(name)
      else this.#names.set(name.length, [name])
    }
  }

  /** Those that `nearestName` may find for `name`; the most similar lengths come first. */
  *near({ length }: string): Generator<string, void> {
    for (let edits = 0; edits <= MAX_EDITS; edits += 1)
      for (const each of edits === 0 ? [length] : [length - edits, length + edits]) yield* this.#names.get(each) ?? []
  }
}

/** Number of edits that turn one text into the other; `most` + 1 if there are more. The work is length × `most`. */
function editsBetween(from: string, to: string, most: number): number {
  if (Math.abs(from.length - to.length) > most) return most + 1
  let above: number[] = []
  let line: number[] = []
  for (let column = 0; column <= to.length; column += 1) above.push(column)
  for (let row = 1; row <= from.length; row += 1) {
    const [first, last] = [Math.max(1, row - most), Math.min(to.length, row + most)]
    line[first - 1] = first === 1 ? row : most + 1
    let fewest = line[first - 1] ?? 0
    for (let column = first; column <= last; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      const moved = Math.min(above[column] ?? most + 1, line[column - 1] ?? most + 1) + 1
      const edits = Math.min(replaced, moved)
      line[column] = edits
      fewest = Math.min(fewest, edits)
    }
    if (fewest > most) return most + 1
    line[last + 1] = most + 1
    ;[above, line] = [line, above]
  }
  return Math.min(above[to.length] ?? 0, most + 1)
}

/** Maximum number of names that a message lists, and of characters that it shows of each. */
const MAX_LISTED = 30
const MAX_SHOWN_CHARACTERS = 60

/**
 * Returns the nearest name, if there is one, and a list of all names: `; did you mean "send"? There are send, receive`.
 * It is appended to a message about an unknown name.
 */
export function alternatives(name: string, known: Iterable<string>): string {
  const names = [...known]
  if (names.length === 0) return ''
  const nearest = nearestName(name, names)
  const listed = names
    .slice(0, MAX_LISTED)
    .map((one) => (one.length > MAX_SHOWN_CHARACTERS ? `${one.slice(0, MAX_SHOWN_CHARACTERS)}…` : one))
  const list = `${listed.length === 1 ? 'there is' : 'there are'} ${listed.join(', ')}${names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : ''}`
  return nearest === null ? `; ${list}` : `; did you mean "${nearest}"? ${list.replace('t', 'T')}`
}
