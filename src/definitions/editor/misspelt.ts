// definitions: a pattern for the names that count as misspelt, since a JSON Schema can't count edits. It says what
// `nearestName` does: at most two edits, and at most a third of the name's length.

const ANY = '[\\s\\S]'

/** The pattern of the names that are near to a known one, and not known themselves. */
export function misspeltPattern(known: readonly string[]): string {
  const once = known.filter((name) => name.length <= 6).map(withinOne)
  const twice = known.filter((name) => name.length >= 4).map(withinTwo)
  const near = [
    ...(once.length > 0 ? [`(?=${ANY}{3,5}$)(?:${once.join('|')})`] : []),
    ...(twice.length > 0 ? [`(?=${ANY}{6})(?:${twice.join('|')})`] : []),
  ]
  return `^(?!(?:${known.map(exactly).join('|')})$)(?:${near.join('|')})$`
}

const exactly = (text: string): string => text.replaceAll('$', '\\$')

/** Texts that are an edit away at most. */
function withinOne(text: string): string {
  const [first, rest] = [exactly(text.slice(0, 1)), text.slice(1)]
  return text === '' ? `${ANY}?` : `(?:${first}${withinOne(rest)}|${ANY}?${first}?${exactly(rest)})`
}

/** Texts that are two edits away at most: after the first difference, or with two letters put there. */
function withinTwo(text: string): string {
  const [first, rest] = [exactly(text.slice(0, 1)), text.slice(1)]
  return text === ''
    ? `${ANY}{0,2}`
    : `(?:${first}${withinTwo(rest)}|${ANY}?${first}?${withinOne(rest)}|${ANY}{2}${first}?${exactly(rest)})`
}
