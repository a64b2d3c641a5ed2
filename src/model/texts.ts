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

const small: { readonly characters: number; readonly resume: () => void }[] = []
/** What work on a large text is for. */
export type Work = 'acting' | 'reading'
const large: { readonly [work in Work]: (() => void)[] } = { acting: [], reading: [] }
let lastLarge: Work = 'reading'
let left = CHARACTERS_A_TURN
let isCounting = false

/**
 * To be awaited before work on a text of that many characters. All callers share a turn of the event loop: small texts
 * go on as long as their sum fits, and one large text a turn, which is one of those that act and one of those that read
 * alternately, so that many readers do not keep calls and turns of contexts waiting. Each kind keeps its order.
 */
export function breathe(characters: number, work: Work = 'reading'): Promise<void> | undefined {
  if (!isCounting) setImmediate(beginTurn)
  isCounting = true
  if (small.length === 0 && characters <= left) {
    left -= characters
    return undefined
  }
  return new Promise((resume) => {
    if (characters > CHARACTERS_A_TURN) large[work].push(resume)
    else small.push({ characters, resume })
  })
}

function beginTurn() {
  left = CHARACTERS_A_TURN
  const other = lastLarge === 'acting' ? 'reading' : 'acting'
  if (large[other].length > 0) lastLarge = other
  const next = large[lastLarge].shift()
  next?.()
  for (let first = small[0]; first && first.characters <= left; first = small[0]) {
    small.shift()
    left -= first.characters
    first.resume()
  }
  isCounting = next !== undefined || left < CHARACTERS_A_TURN
  if (isCounting) setImmediate(beginTurn)
}
