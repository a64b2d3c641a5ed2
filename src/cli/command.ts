// cli: the type of a command, and the parts of its environment that a test replaces.

export interface World {
  readonly env: { readonly [variable: string]: string | undefined }
  /** Writes a line to stdout. */
  out(line: string): void
  /** Writes a line to stderr. */
  err(line: string): void
  /** Resolves once the readers of stdout and stderr have taken all that was written; with the error, if one can't. */
  flushed(): Promise<Error | null>
  /** All of standard input. */
  input(): Promise<string>
  /** Asks the person at the terminal; resolves with the line that they type. Null: nobody is there. */
  readonly ask: ((question: string) => Promise<string>) | null
  /** What stdout is written to; null: no terminal. */
  readonly screen: Screen | null
  /** Where progress is shown; null: stderr is no terminal. */
  readonly progress: NodeJS.WriteStream | null
  /** Aborted at SIGINT, once somebody has asked for it. */
  interrupted(): AbortSignal
}

export interface Screen {
  readonly columns: number
  readonly hasColour: boolean
}

/** Resolves with the exit code. */
export type Command = (args: string[], world: World) => Promise<number>

/** A mistake on the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Told where no server answers. */
export const IS_IT_RUNNING = 'is it running? actorflux serve starts it; --url or ACTORFLUX_URL names another one'

/** Exit codes. `again`: the watchdog ended the server because a function blocked its event loop; start it again. */
export const EXIT = { fine: 0, failed: 1, usage: 2, again: 70 } as const
