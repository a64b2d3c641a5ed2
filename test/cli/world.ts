// What a command in a test has besides what the test gives it: no terminal, and nothing on standard input.
import type { CliIo } from '../../src/cli/cli-io.ts'

export const NO_TERMINAL: Pick<CliIo, 'input' | 'flushed' | 'ask' | 'screen' | 'progress' | 'interrupted'> = {
  input: () => Promise.resolve(''),
  flushed: () => Promise.resolve(null),
  ask: null,
  screen: null,
  progress: null,
  interrupted: () => new AbortController().signal,
}
