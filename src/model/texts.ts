// model: the texts of the parts of a stored context, and how their size affects scheduling.

/** Number of characters of all texts together, or of those with these names. */
export function charactersOf(
  texts: { readonly [name: string]: string },
  names: readonly string[] = Object.keys(texts),
): number {
  let count = 0
  for (const name of names) count += texts[name]?.length ?? 0
  return count
}

/** Characters of small texts that are parsed in one turn of the event loop: a few milliseconds of work. */
const CHARACTERS_A_TURN = 64 * 1024

/** What work on a large text is for. */
export type Work = 'acting' | 'reading'
type Waiting = { readonly characters: number; readonly resume: () => void }
const waiting: { readonly [work in Work]: Waiting[] } = { acting: [], reading: [] }
let last: Work = 'reading'
let left = CHARACTERS_A_TURN
let isCounting = false

/**
 * To be awaited before work on a text of that many characters. All callers share a turn of the event loop: they go on
 * until the characters of a turn are used up, so a turn has one large text at most. Those that act and those that read
 * go on alternately, so that many readers do not keep calls and turns of contexts waiting; small texts are among those
 * that act. Each kind keeps its order.
 */
export function breathe(characters: number, work: Work = 'reading'): Promise<void> | undefined {
  if (!isCounting) setImmediate(beginTurn)
  isCounting = true
  if (waiting.acting.length === 0 && characters <= left) {
    left -= characters
    return undefined
  }
  return new Promise((resume) => {
    waiting[characters > CHARACTERS_A_TURN ? work : 'acting'].push({ characters, resume })
  })
}

function beginTurn() {
  left = CHARACTERS_A_TURN
  isCounting = false
  while (left > 0) {
    const other = last === 'acting' ? 'reading' : 'acting'
    if (waiting[other].length > 0) last = other
    const next = waiting[last].shift()
    if (!next) break
    isCounting = true
    left -= next.characters
    next.resume()
  }
  if (isCounting) setImmediate(beginTurn)
}
