// inspector/parts: texts that are cut.
/** By characters as people see them. */
export function cutText(text: string, most: number): string {
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, Math.max(1, most - 1)).join('')}…`
}
