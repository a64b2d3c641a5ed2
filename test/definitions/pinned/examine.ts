// pinned: opens a server on what an earlier version wrote, looks at every context, and goes on with it: an event, a
// long time, the end.
import type { FluxApi } from '../../../src/api/calls.ts'
import type { ContextView } from '../../../src/api/contexts.ts'
import { CONTEXT_STATUSES } from '../../../src/model/context.ts'
import { FluxError } from '../../../src/model/failure.ts'
import { getOwn, isObject, type Json } from '../../../src/model/json/value.ts'
import { stabiliser } from '../../recorded/run.ts'
import { openServer } from '../../recorded/server.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import type { Corpus, Expected } from './corpus.ts'

/** Milliseconds that pass before the contexts are looked at again: retries, delays and time-outs end by then. */
const LONG_MS = 3 * 3_600_000

/** `folder` has a filled store. */
export async function examine({ now, records, code }: Corpus, folder: string): Promise<Expected> {
  const server = await openServer(code, {
    folder,
    clock: new SimulatedClock(now),
    stored: records.map(({ context, pokes }) => ({ context, notifies: pokes })),
  })
  const ids = records.map(({ context }) => context.id)
  const stable = stabiliser()
  const each = async (look: (contextId: number) => Promise<unknown>): Promise<unknown[]> => {
    const found: unknown[] = []
    for (const contextId of ids)
      found.push(JSON.parse(stable(JSON.stringify({ contextId, found: await orFailure(look(contextId)) }))))
    return found
  }
  const { api } = server
  const standing = (contextId: number) => api.getContext({ contextId }).then(briefly)
  try {
    await server.settle()
    const views = await each(async (contextId) => withoutVersion(await api.getContext({ contextId })))
    const states = await each((contextId) => stateOf(api, contextId))
    const definitions = await each((contextId) => api.getDefinition({ contextId }))
    const lists = await Promise.all(
      CONTEXT_STATUSES.map(async (status) => ({
        status,
        ids: (await api.listContexts({ status, limit: 1000 })).map(({ id }) => id),
      })),
    )
    const events = await each(async (contextId) => {
      const answer = await orFailure(sendNext(api, contextId))
      await server.settle()
      return { answer, standing: await standing(contextId) }
    })
    await server.advance(LONG_MS)
    const later = await each(standing)
    const ended = await each(async (contextId) => {
      const answer = await orFailure(api.terminate({ contextId }).then(() => 'terminated'))
      await server.settle()
      return { answer, standing: await standing(contextId) }
    })
    return { views, states, definitions, lists, events, later, ended }
  } finally {
    await server.close()
  }
}

/** Into how many commits a change is parted isn't what is held here, nor are the texts of answers. */
const withoutVersion = ({ version: _version, ...view }: ContextView): unknown => view

/** What came, or why it was refused. */
async function orFailure(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    if (error instanceof FluxError) return { failure: error.failure.kind }
    throw error
  }
}

async function stateOf(api: FluxApi, contextId: number): Promise<unknown> {
  const { startState: stateName } = await api.getContext({ contextId })
  return api.getStateContext({ contextId, stateName })
}

/** The first event that its state names. */
async function sendNext(api: FluxApi, contextId: number): Promise<unknown> {
  const [{ currentState }, definition] = await Promise.all([
    api.getContext({ contextId }),
    api.getDefinition({ contextId }),
  ])
  const state = list(getOwn(definition, 'states')).find((one) => isObject(one) && one['name'] === currentState)
  const names = list(isObject(state) ? state['transitions'] : undefined).flatMap((one) =>
    isObject(one) && typeof one['event'] === 'string' ? [one['event']] : [],
  )
  const { transitions } = await api.sendEvent({
    contextId,
    event: names.find((name) => !name.startsWith('$')) ?? 'any',
  })
  return transitions
}

const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

function briefly({
  id,
  currentState,
  status,
  nextRun,
  tags,
  output,
  error,
  step,
  executionHistory,
  stateContexts,
}: ContextView): unknown {
  const values = output.gloopProperties.map(({ name, value }) => [name, value ?? null])
  const transitions = stateContexts.map(({ transitionContexts }) => transitionContexts.length)
  return {
    id,
    currentState,
    status,
    nextRun,
    tags,
    values,
    error: error && { type: error.type, message: error.message },
    step: step && { attempt: step.attempt, startedAt: step.startedAt, nextAttemptAt: step.nextAttemptAt },
    entered: executionHistory.slice(-8).map(({ stateIndex, enteredAt }) => [stateIndex, enteredAt]),
    transitions,
  }
}
