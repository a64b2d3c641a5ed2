// Scripts for tests, in the sandbox that services have.
import { stepRunner } from '../../src/steps/runner.ts'
import type { Json, JsonObject } from '../../src/model/json/value.ts'
import { silent } from '../support/silent.ts'

export const runner = stepRunner({ log: silent })
/** Runs a script, and gives what it returns. */
export const run = (
  script: string,
  names: JsonObject = {},
  options: { signal?: AbortSignal; timeout?: number } = {},
): Promise<Json> =>
  runner.runScript({
    script,
    names: async () => JSON.stringify(names),
    signal: new AbortController().signal,
    timeout: 1000,
    ...options,
  })

/** `name: message` of what it throws. */
export const thrown = (script: string, options: { timeout?: number } = {}): Promise<string> =>
  run(script, {}, options).then(
    (value) => `returned ${JSON.stringify(value)}`,
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : 'no error'),
  )
