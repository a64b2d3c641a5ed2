// cli: the environment of a command in a real process.
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import type { World } from './command.ts'

export function processWorld(): World {
  const { env, stdin, stdout, stderr } = process
  const [output, errors] = [new Output(stdout), new Output(stderr)]
  const hasColour = !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  let interruption: AbortController | null = null
  return {
    env,
    out: (line) => output.write(line),
    err: (line) => errors.write(line),
    async flushed() {
      const faults = [await output.flushed(), await errors.flushed()]
      return faults.find((fault) => fault !== null) ?? null
    },
    input: () => text(stdin),
    ask: stdin.isTTY && stdout.isTTY ? ask : null,
    screen: stdout.isTTY ? { columns: stdout.columns, hasColour } : null,
    progress: stderr.isTTY ? stderr : null,
    interrupted() {
      if (interruption === null) {
        const controller = new AbortController()
        interruption = controller
        process.once('SIGINT', () => controller.abort())
      }
      return interruption.signal
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

/** A stream of the process. A pipe takes 64 KB at once, and the rest as its reader reads. */
class Output {
  readonly #stream: NodeJS.WriteStream
  #fault: Error | null = null

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    stream.on('error', (error) => this.#fail(error))
  }

  write(line: string) {
    try {
      this.#stream.write(`${line}\n`)
    } catch (error) {
      // Writes to a file are synchronous.
      this.#fail(error)
    }
  }

  /** Resolves once all that was written is taken, with the error if it can not be. */
  async flushed(): Promise<Error | null> {
    if (this.#fault === null) await new Promise<void>((resolve) => this.#stream.write('', () => resolve()))
    return this.#fault
  }

  #fail(error: unknown) {
    this.#fault ??= error instanceof Error ? error : new Error(String(error))
  }
}
