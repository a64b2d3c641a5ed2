// model: suggests the known name that a misspelt name was probably meant to be.

import { shortened } from './error-message.ts'

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
    if (Math.abs(candidate.length - name.length) >= fewest) continue
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

/**
 * Number of edits that turn one text into the other; more than `most` if there are more. What both begin with never
 * needs an edit, so the work is their length for each way to spend at most 2 edits.
 */
function editsBetween(from: string, to: string, most: number): number {
  let same = 0
  while (same < from.length && from[same] === to[same]) same += 1
  const [one, other] = [from.slice(same), to.slice(same)]
  if (one === '' || other === '') return one.length + other.length
  if (most === 0) return 1
  const [oneLess, otherLess] = [one.slice(1), other.slice(1)]
  const rests = [
    [oneLess, otherLess],
    [oneLess, other],
    [one, otherLess],
  ] as const
  return 1 + Math.min(...rests.map(([left, right]) => editsBetween(left, right, most - 1)))
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
  const listed = names.slice(0, MAX_LISTED).map((one) => shortened(one, MAX_SHOWN_CHARACTERS))
  const rest = names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : ''
  const list = `here ${names.length === 1 ? 'is' : 'are'} ${listed.join(', ')}${rest}`
  return nearest === null ? `; t${list}` : `; did you mean "${nearest}"? T${list}`
}
