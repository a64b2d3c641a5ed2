// Commands in tests: without a terminal, and with nothing on standard input.
import type { CliIo } from '../../src/cli/cli-io.ts'
import { run } from '../../src/cli/run.ts'

export const NO_TERMINAL: Pick<CliIo, 'input' | 'flushed' | 'ask' | 'screen' | 'progress' | 'interrupted'> = {
  input: () => Promise.resolve(''),
  flushed: () => Promise.resolve(null),
  ask: null,
  screen: null,
  progress: null,
  interrupted: () => new AbortController().signal,
}

/** Runs a command. Gives its exit code, and the lines that it wrote. */
export async function commandLines(args: readonly string[], env: CliIo['env'] = {}, more: Partial<CliIo> = {}) {
  const [out, err]: [string[], string[]] = [[], []]
  const write = { out: (line: string) => void out.push(line), err: (line: string) => void err.push(line) }
  const code = await run([...args], { ...NO_TERMINAL, env, ...write, ...more })
  return { code, out, err }
}

/** The same; what it wrote in one text each. */
export async function commandText(...given: Parameters<typeof commandLines>) {
  const { code, out, err } = await commandLines(...given)
  return { code, out: out.join('\n'), err: err.join('\n') }
}
