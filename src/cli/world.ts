// cli: the environment of a command in a real process.
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import type { World } from './command.ts'

export function processWorld(): World {
  const { env, stdin, stdout, stderr } = process
  const [output, errors] = [outputTo(stdout), outputTo(stderr)]
  const hasColour = !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  return {
    env,
    out: output.write,
    err: errors.write,
    flushed: async () => (await output.flushed()) ?? errors.flushed(),
    input: () => text(stdin),
    ask: stdin.isTTY && stdout.isTTY ? ask : null,
    screen: stdout.isTTY ? { columns: stdout.columns, hasColour } : null,
    progress: stderr.isTTY ? stderr : null,
    interrupted() {
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
  let fault: Error | null = null
  const fail = (error: unknown) => {
    fault ??= error instanceof Error ? error : new Error(String(error))
  }
  stream.on('error', fail)
  return {
    write(line: string) {
      try {
        stream.write(`${line}\n`)
      } catch (error) {
        // Writes to a file are synchronous.
        fail(error)
      }
    },
    /** Resolves once all that was written is taken, with the error if it can not be. */
    async flushed(): Promise<Error | null> {
      if (fault === null) await new Promise<void>((resolve) => stream.write('', () => resolve()))
      return fault
    },
  }
}
