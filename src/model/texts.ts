// model: named texts, as the parts of a stored context are.

/** Characters of all of them together. */
export function charactersOf(texts: { readonly [name: string]: string }): number {
  let count = 0
  for (const text of Object.values(texts)) count += text.length
  return count
}
