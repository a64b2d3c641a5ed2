// model: the known name that a misspelt one was most likely meant to be.

/** Edits by which a name may differ from the one that was meant, and the share of its length that they may be. */
const MOST_EDITS = 2
const MOST_SHARE = 1 / 3

/**
 * The known name nearest to `name`: at most 2 edits (insertions, deletions, substitutions) and a third of its length away, letters compared without regard to case.
 * Null if none is near, or if `name` itself is known.
 */
export function nearestName(name: string, known: Iterable<string>): string | null {
  let nearest: string | null = null
  let fewest = Math.min(MOST_EDITS, Math.floor(name.length * MOST_SHARE)) + 1
  for (const candidate of known) {
    if (candidate === name) return null
    const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase(), fewest - 1)
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
