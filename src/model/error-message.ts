// model: the message of whatever was thrown.

/** The message of an error; for anything else that was thrown, its text. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
