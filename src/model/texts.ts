// model: the texts of the parts of a stored context, and how their size affects scheduling.

/** Number of characters of all texts together. */
export function charactersOf(texts: { readonly [name: string]: string }): number {
  let count = 0
  for (const text of Object.values(texts)) count += text.length
  return count
}

/** From this size on, parsing a stored context takes milliseconds, and so does making a view of it. */
const LARGE_CHARACTERS = 128 * 1024

let turn: Promise<void> = Promise.resolve()

/**
 * Yields to the event loop before work on a text of that many characters, if it is large. Concurrent callers continue
 * in separate turns of the event loop.
 */
export async function breathe(characters: number): Promise<void> {
  if (characters < LARGE_CHARACTERS) return
  turn = turn.then(
    () =>
      new Promise((resolve) => {
        setImmediate(resolve)
      }),
  )
  await turn
}
