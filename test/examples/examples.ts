// Runs the example services as they are in the repository, by the test kit.
import { readdir } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import type { ContextView } from '../../src/api/contexts.ts'
import type { ModelDescriptor } from '../../src/model/context.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/runtime.ts'

export const ACTORS = resolve(import.meta.dirname, '../../actors')
/** Examples that need secrets, so that the server does not load them unless it is told to: a folder for each provider. */
export const PROVIDERS = ['github', 'stripe'].map((name) =>
  resolve(import.meta.dirname, '../../actors/.providers', name),
)
export const PACKAGE = 'examples'
export const NOW = Date.UTC(2026, 0, 1, 12)

export interface Examples extends TestRuntime {
  /** Starts an example; gives its id. */
  run(fluxName: string, input: JsonObject): Promise<number>
  /** The context, which must satisfy the condition. */
  until(contextId: number, done: (view: ContextView) => boolean): Promise<ContextView>
  /** The context, which must rest in that state. */
  untilIn(contextId: number, state: string): Promise<ContextView>
  /** The clock goes on by so many seconds; with 0, what is due already rings. */
  pass(seconds: number): Promise<void>
}

export async function openExamples(): Promise<Examples> {
  const runtime = await createTestRuntime({ actors: ACTORS, now: NOW })
  const until: Examples['until'] = async (contextId, done) => {
    const view = await runtime.getContext({ contextId })
    if (done(view)) return view
    const { status, currentState, error } = view
    throw new Error(
      `context ${contextId} did not get there: it is ${status} in ${currentState} (${error?.message ?? 'no error'})`,
    )
  }
  return {
    ...runtime,
    until,
    run: async (fluxName, input) => (await runtime.execute({ package: PACKAGE, fluxName, input })).contextId,
    untilIn: (contextId, state) =>
      until(contextId, ({ currentState, status }) => currentState === state && status !== 'RUNNING'),
    pass: (seconds) => runtime.advance(Math.round(seconds * 1000)),
  }
}

/** The values of a descriptor, by name. */
export const values = ({ gloopProperties }: ModelDescriptor): JsonObject =>
  Object.fromEntries(gloopProperties.map(({ name, value }) => [String(name), value ?? null]))

export const outputs = ({ output }: ContextView): JsonObject => values(output)

/** The states it was in, in order. */
export const path = ({ executionHistory }: ContextView): string[] => executionHistory.map(({ stateName }) => stateName)

/** The names of the services in the folder. */
export async function listExamples(folder: string): Promise<string[]> {
  const files = await readdir(join(folder, PACKAGE), { recursive: true })
  return files
    .filter((file) => file.endsWith('.flux'))
    .map((file) => file.slice(0, -'.flux'.length).split(sep).join('.'))
    .sort()
}
