// cli: what a command reads and writes: its environment, standard input and output, and the terminal. Tests replace it.
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'

export type CliIo = ReturnType<typeof processIo>

export function processIo() {
  const { env, stdin, stdout, stderr } = process
  const [output, errors] = [outputTo(stdout), outputTo(stderr)]
  const hasColour = !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  return {
    env,
    /** Writes a line to stdout. */
    out: output.write,
    /** Writes a line to stderr. */
    err: errors.write,
    /** Resolves once the readers of stdout and stderr have taken all that was written; with the error, if one can't. */
    flushed: async () => (await output.flushed()) ?? errors.flushed(),
    /** All of standard input. */
    input: () => text(stdin),
    /** Asks a question on the terminal; resolves with the line of the answer. Null: there is no terminal. */
    ask: stdin.isTTY && stdout.isTTY ? ask : null,
    /** What stdout is written to; null: no terminal. */
    screen: stdout.isTTY ? { columns: stdout.columns, hasColour } : null,
    /** Where progress is shown; null: stderr is no terminal. */
    progress: stderr.isTTY ? stderr : null,
    /** The signal is aborted at SIGINT, from the first call on. */
    interrupted(): AbortSignal {
      const controller = new AbortController()
      process.once('SIGINT', () => controller.abort())
      return controller.signal
    },
  }
}

async function ask(question: string) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}

/** Writes to a stream of the process. A pipe takes 64 KB at once, and the rest as its reader reads. */
function outputTo(stream: NodeJS.WriteStream) {
  // What is written here goes there, also `withPrintsAside`.
  const write = stream.write.bind(stream)
  let fault: Error | null = null
  const fail = (error: unknown) => {
    fault ??= error instanceof Error ? error : new Error(String(error))
  }
  stream.on('error', fail)
  return {
    write(line: string) {
      try {
        write(`${line}\n`)
      } catch (error) {
        // Writes to a file are synchronous.
        fail(error)
      }
    },
    async flushed() {
      if (fault === null) await new Promise<void>((resolve) => stream.write('', () => resolve()))
      return fault
    },
  }
}

/** What modules and functions of services print to stdout meanwhile goes to stderr. */
export async function withPrintsAside<Result>(run: () => Promise<Result>): Promise<Result> {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  return run().finally(() => {
    stdout.write = write
  })
}
