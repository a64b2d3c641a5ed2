// cli: the environment of a command in a real process.
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import type { World } from './command.ts'

export function processWorld(): World {
  const { env, stdin, stdout, stderr } = process
  const hasColour = !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  let interruption: AbortController | null = null
  return {
    env,
    out: (line) => console.log(line),
    err: (line) => console.error(line),
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

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}
