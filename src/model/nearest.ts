// model: the known name that a misspelt one was most likely meant to be.

/** Edits by which a name may differ from the one that was meant, and the share of its length that they may be. */
const MOST_EDITS = 2
const MOST_SHARE = 1 / 3

/**
 * The known name nearest to `name`: at most 2 edits (insertions, deletions, substitutions) and a third of its length
 * away, letters compared without regard to case unless `matchCase`. Null if none is near, or if `name` itself is known.
 */
export function nearestName(
  name: string,
  known: Iterable<string>,
  { matchCase = false }: { readonly matchCase?: boolean } = {},
): string | null {
  const folded = (text: string) => (matchCase ? text : text.toLowerCase())
  let nearest: string | null = null
  let fewest = Math.min(MOST_EDITS, Math.floor(name.length * MOST_SHARE)) + 1
  for (const candidate of known) {
    if (candidate === name) return null
    const edits = editsBetween(folded(name), folded(candidate), fewest - 1)
    if (edits < fewest) [nearest, fewest] = [candidate, edits]
  }
  return nearest
}

/** `; did you mean 'contextId'?` or nothing: to follow a message about an unknown name. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known)
  return nearest === null ? '' : `; did you mean '${nearest}'?`
}

/** The edits that turn one text into the other, `most` + 1 if they are more: work is bounded by length × `most`. */
function editsBetween(from: string, to: string, most: number): number {
  if (Math.abs(from.length - to.length) > most) return most + 1
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const line = [row, ...Array<number>(to.length).fill(most + 1)]
    const last = Math.min(to.length, row + most)
    for (let column = Math.max(1, row - most); column <= last; column++) {
      const replaced = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      line[column] = Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1)
    }
    above = line
  }
  return Math.min(above[to.length] ?? 0, most + 1)
}

/** Names that a message lists at most, and characters that it shows of each. */
const MOST_LISTED = 30
const MOST_SHOWN = 60

/**
 * `; did you mean "send"? There are send, receive`: the nearest name, if there is one, and all that there are; to
 * follow a message about an unknown name.
 */
export function alternatives(name: string, known: Iterable<string>): string {
  const names = [...known]
  if (names.length === 0) return ''
  const nearest = nearestName(name, names)
  const listed = names
    .slice(0, MOST_LISTED)
    .map((one) => (one.length > MOST_SHOWN ? `${one.slice(0, MOST_SHOWN)}…` : one))
  const list = `${listed.length === 1 ? 'there is' : 'there are'} ${listed.join(', ')}${names.length > MOST_LISTED ? `, and ${names.length - MOST_LISTED} more` : ''}`
  return nearest === null ? `; ${list}` : `; did you mean "${nearest}"? ${list.replace('t', 'T')}`
}
