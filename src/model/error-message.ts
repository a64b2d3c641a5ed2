// model: what messages show: the message of a thrown value, and the start of a long text.

/** The message of an error; for any other thrown value, its text. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** A text of at most so many characters, which ends in an ellipsis where more follows. */
export const shortened = (text: string, characters: number): string =>
  text.length > characters ? `${text.slice(0, characters)}…` : text

/** The first lines of a text that have at most so many bytes together. */
export function linesWithin(bytes: number, lines: readonly string[]): string {
  let text = ''
  for (const line of lines) {
    const longer = text === '' ? line : `${text}\n${line}`
    if (Buffer.byteLength(longer) > bytes) break
    text = longer
  }
  return text
}
