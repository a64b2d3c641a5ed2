// testing/scenario: runs a scenario, each on an engine of its own.
import { FluxError } from '../../model/failure.ts'
import { messageOf } from '../../model/error-message.ts'
import { isObject, toJson, type Json } from '../../model/json/value.ts'
import { pathOf, type Coverage } from '../coverage.ts'
import { inTurn } from '../runner.ts'
import { openTestRuntime, type LoadedServices } from '../runtime.ts'
import type { TestMove, TestRuntime, WebhookAnswer } from '../types.ts'
import { mismatchesOf, type Mismatch } from './match.ts'
import { unknownService, type ReadScenario, type ScenarioFailure } from './read.ts'
import {
  COMMAND_NAMES,
  STEPS,
  type AnswerGiven,
  type OutcomeGiven,
  type Scenario,
  type ScenarioStep,
} from './schema.ts'

/** A step that has not gone as it should. */
class StepFault extends Error {
  mismatches: readonly Mismatch[] = []
}

/** @throws StepFault if they differ */
function requireSame(expected: Json, seen: Json, pointer: string, what: string) {
  const mismatches = mismatchesOf(expected, seen, pointer)
  if (mismatches.length > 0) throw Object.assign(new StepFault(what), { mismatches })
}

/** Runs it; null: all is as expected. `coverage`: to which it adds what is taken. */
export async function runScenario(
  loaded: LoadedServices,
  read: ReadScenario,
  coverage: Coverage,
): Promise<ScenarioFailure | null> {
  const { scenario } = read
  const test = await openTestRuntime(loaded, scenario, coverage)
  let pointer = '/functions'
  try {
    fakeAll(test, scenario)
    pointer = '/start'
    const { start, play } = playOn(test, read)
    if (scenario.start) await start(scenario.start)
    for (const [index, step] of scenario[STEPS].entries()) {
      pointer = `/${STEPS}/${index}`
      await play(step)
    }
    return null
  } catch (error) {
    const mismatches = error instanceof StepFault ? error.mismatches : []
    const way = test.moves().map(moveText)
    return { message: messageOf(error), pointer, ...read.placeOf(pointer), mismatches, way }
  } finally {
    await test.close()
  }
}

function fakeAll(test: TestRuntime, { functions = {}, http = {} }: Scenario) {
  for (const [name, given] of Object.entries(functions)) test.fake(name, resultsOf(given, outcomeOf, name))
  for (const [url, given] of Object.entries(http)) test.http(url, resultsOf(given, answerOf, url))
}

/** One is the result of every call, those of a list are the results of one call each. */
function resultsOf<Given>(given: Given | Given[], resultOf: (given: Given) => unknown, name: string) {
  return Array.isArray(given) ? inTurn(given.map(resultOf), name) : () => inTurn([resultOf(given)], name)()
}

/** What a function gives: an error is thrown. */
function outcomeOf({ result, error, pending }: OutcomeGiven) {
  if (pending) return new Promise<never>(() => {})
  return error ? Object.assign(new Error(error.message), { name: error.type ?? 'Error' }) : (result ?? null)
}

/** The answer, or an error of the network. */
const answerOf = ({ error, ...answer }: AnswerGiven) =>
  error === undefined ? answer : Object.assign(new Error(error), { code: error })

/** What starts the service, and plays a step. */
function playOn(test: TestRuntime, { flux, services }: ReadScenario) {
  let own: number | null = null
  let answer: WebhookAnswer | null = null

  function serviceOf(name?: string) {
    const found = name === undefined ? flux : services.get(name)
    if (!found) throw new Error(unknownService(name ?? '', services))
    return pathOf(found)
  }

  /** The context of the service; of another one, the newest. Null: there is none. */
  async function contextOf(service?: string) {
    if (service === undefined && own !== null) return own
    const [found] = await test.listContexts({ fluxName: serviceOf(service), status: 'all', order: 'desc', limit: 1 })
    if (service === undefined) own = found?.id ?? null
    return found?.id ?? null
  }

  /** For which contexts an event is. */
  async function receiverOf({ tags, key, all, service }: ScenarioStep) {
    if (tags) return { tags }
    if (key !== undefined) return { key, fluxName: serviceOf(service) }
    const contextId = all ? null : await contextOf(service)
    return contextId === null ? {} : { contextId }
  }

  /** The answer may come in a later step. */
  async function request({ path, ...more }: NonNullable<ScenarioStep['webhook']>) {
    answer = null
    const ask = async () => {
      answer = await test.webhook(path, more)
    }
    await Promise.race([ask(), test.idle().then(test.idle)])
  }

  async function perform(step: ScenarioStep) {
    const { send, service, input, state } = step
    const command = COMMAND_NAMES.find((name) => step[name] !== undefined)
    if (step.expect) return compare(test, step.expect, await contextOf(service), answer)
    if (step.webhook) return request(step.webhook)
    if (step.crash) return test.crash()
    if (send !== undefined) return test.send(send, { ...(await receiverOf(step)), input })
    if (step.advance !== undefined || command === undefined) return test.advance(step.advance ?? 0)
    const contextId = await contextOf(service)
    if (contextId === null) throw new Error('there is no context')
    return Reflect.apply(Reflect.get(test, command), null, [{ contextId, ...(step.retry && { state, input }) }])
  }

  return {
    play: (step: ScenarioStep) => refusedAs(step.refused, () => perform(step)),
    start: ({ webhook, refused, input, ...options }: NonNullable<Scenario['start']>) =>
      refusedAs(refused, async () => {
        if (webhook) return request(webhook)
        const { contextId } = await test.execute(pathOf(flux), input, options)
        own = contextId
      }),
  }
}

async function compare(
  test: TestRuntime,
  expected: NonNullable<ScenarioStep['expect']>,
  contextId: number | null,
  answer: WebhookAnswer | null,
) {
  const view = contextId === null ? null : await test.context(contextId)
  const { calls, sent } = expected
  const all: { readonly [name: string]: unknown } = {
    ...view,
    states: view?.executionHistory.map(({ stateName }) => stateName),
    nextRun: view?.nextRun == null ? null : new Date(view.nextRun).toISOString(),
    calls:
      isObject(calls) &&
      Object.fromEntries(Object.entries(calls).map(([name, each]) => [name, listOrCount(each, test.calls(name))])),
    sent: listOrCount(sent, test.sent()),
    answer,
  }
  const seen = toJson(Object.fromEntries(Object.keys(expected).map((name) => [name, all[name] ?? null])))
  const what = contextId === null ? 'there is no context' : `context ${contextId} is not as expected`
  const error = view?.error ? `; it failed with ${view.error.type}: ${view.error.message}` : ''
  requireSame(toJson(expected), seen, '/expect', what + error)
}

/** A number that is expected stands for that of a list. */
const listOrCount = (expected: Json | undefined, list: readonly unknown[]) =>
  typeof expected === 'number' ? list.length : list

/** Whether a call is refused, and how, must be as the step says. */
async function refusedAs(refused: Json = null, call: () => Promise<unknown>): Promise<void> {
  const failure = await call().then(
    () => null,
    (error: unknown) => {
      if (error instanceof FluxError) return error.failure.detail
      throw error
    },
  )
  const what = failure === null ? 'the call was not refused' : `the call was refused: ${failure}`
  requireSame(refused, failure, '/refused', what)
}

function moveText({ service, from, event, to }: TestMove) {
  const when = event === null ? '' : ` (${event})`
  return `${service}: ${from === null ? '' : `${from} → `}${to}${when}`
}
