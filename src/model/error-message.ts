// model: the message of a thrown value.

/** The message of an error; for any other thrown value, its text. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
