// model: what messages show: the message of a thrown value, and the start of a long text.

/** The message of an error; for any other thrown value, its text. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** A text of at most so many characters, which ends in an ellipsis where more follows. */
export const shortened = (text: string, characters: number): string =>
  text.length > characters ? `${text.slice(0, characters)}…` : text
