// cli: what a command is, and the parts of its world that a test replaces.

export interface World {
  readonly env: { readonly [variable: string]: string | undefined }
  /** A line on stdout. */
  out(line: string): void
  /** A line on stderr. */
  err(line: string): void
}

/** Gives the exit code. */
export type Command = (args: string[], world: World) => Promise<number>

/** A mistake on the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** `again`: the server asks to be started again, since its event loop stood still. */
export const EXIT = { fine: 0, failed: 1, usage: 2, again: 70 } as const
