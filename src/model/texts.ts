// model: named texts, as the parts of a stored context are.

/** Characters of all of them together. */
export function charactersOf(texts: { readonly [name: string]: string }): number {
  let count = 0
  for (const text of Object.values(texts)) count += text.length
  return count
}

/** Characters of a stored context from which on it takes milliseconds to be read, and as many again to be shown. */
const LARGE_CHARACTERS = 128 * 1024

let turn: Promise<void> = Promise.resolve()

/** Lets others be served before more is done with what is that large. Those who ask at once get a turn each. */
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
