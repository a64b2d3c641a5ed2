// testing: `actorflux/test`: services on the real engine, on a store in memory and a clock that a test moves.
import { METHODS, type FluxApi } from '../api/calls.ts'
import { momentOf } from '../api/fields.ts'
import { serviceOver, type AnyServices, type ServicesOf } from '../client/services.ts'
import { openCatalog, type Catalog } from '../definitions/catalog.ts'
import { shownPlace, type Fault } from '../definitions/report.ts'
import { NO_SIGNALS } from '../engine/contexts/deps.ts'
import type { ModelDescriptor } from '../model/context.ts'
import { quantityOf } from '../model/quantity.ts'
import { atEachLevel, type Log } from '../ports/log.ts'
import type { Signals } from '../ports/signals.ts'
import type { StepRunner } from '../ports/steps.ts'
import { TIMES } from '../settings/table.ts'
import { webhookSender } from '../steps/builtin/webhooks.ts'
import { stepRunner } from '../steps/runner.ts'
import { Coverage, pathOf } from './coverage.ts'
import { fakeNetwork } from './network.ts'
import { testRunner } from './runner.ts'
import { SimulatedClock } from './simulated-clock.ts'
import type { SendOptions, TestMove, TestOptions, TestRuntime } from './types.ts'
import { webhookCaller } from './webhooks.ts'
import { openWorld, secretsOf, type World } from './world.ts'

export type * from './types.ts'

const SILENT: Log = atEachLevel(() => () => {})

/** Services that several tests share. */
export interface LoadedServices {
  readonly catalog: Catalog
  readonly runner: StepRunner
  readonly report: readonly Fault[]
}

/** Loads and checks the services. */
export async function loadServices(folders: readonly string[], log: Log = SILENT): Promise<LoadedServices> {
  const runner = stepRunner({ log })
  return { runner, ...(await openCatalog({ folders, runner, log })) }
}

/**
 * Runs services in this process, for a test: in memory, at a time that stands still.
 * @throws Error that tells all faults of the services, with file, line and column
 */
export async function createTestRuntime<Services extends ServicesOf<Services> = AnyServices>({
  actors = 'actors',
  ...options
}: TestOptions = {}): Promise<TestRuntime<Services>> {
  const loaded = await loadServices([actors].flat(), options.log)
  const unload = () => loaded.runner.close()
  try {
    const faults = loaded.report.filter(({ severity }) => severity === 'fault')
    const lines = faults.map((fault) => `${shownPlace(fault)}: ${fault.reason}`)
    if (lines.length > 0) throw new Error(`the services have faults:\n${lines.join('\n')}`)
    const runtime = await openTestRuntime<Services>(loaded, options)
    return { ...runtime, close: () => runtime.close().finally(unload) }
  } catch (error) {
    unload()
    throw error
  }
}

/** A runtime with services that are loaded already. `coverage`: to which it adds what is taken. */
export async function openTestRuntime<Services extends ServicesOf<Services> = AnyServices>(
  { catalog, runner: real }: LoadedServices,
  { now = Date.UTC(2026, 0, 1), seed = 1, secrets: values = {}, log = SILENT }: Omit<TestOptions, 'actors'> = {},
  coverage = new Coverage(),
): Promise<TestRuntime<Services>> {
  const begin = momentOf(now)
  if (begin === null) throw new TypeError(`now must be a time in ISO 8601 or epoch milliseconds, not ${now}`)
  const clock = new SimulatedClock(begin)
  const network = fakeNetwork(() => clock.now())
  const { exchange } = network
  const http = { allowPrivate: true, exchange, now: () => clock.now(), lateAfter: (ms: number) => clock.lateAfter(ms) }
  const { steps, underWay, fake, calls } = testRunner({ services: catalog.all(), runner: real, clock, http })
  clock.underWay.add(underWay)
  const moves: TestMove[] = []
  const signals: Signals = {
    ...NO_SIGNALS,
    moves(service, made) {
      coverage.note(service, made)
      for (const { from, event, to, at } of made) moves.push({ service: pathOf(service), from, event, to, at })
    },
  }
  const parts = { catalog, clock, log, seed, signals, runner: steps, webhookSender: webhookSender(http) }
  const world = await openWorld({ ...parts, secrets: secretsOf(values) })
  const api = apiOf(world, clock)
  await clock.idle()
  return {
    ...api,
    async execute(...[service, ...given]: [unknown, ...unknown[]]) {
      const isNamed = typeof service === 'string'
      return isNamed
        ? Reflect.apply(serviceOver(api, service).execute, null, given)
        : Reflect.apply(api.execute, null, [service])
    },
    async send(event, ...given) {
      const [options]: readonly [options?: SendOptions & { readonly input?: unknown }] = given
      return Reflect.apply(api.sendEvent, null, [{ ...options, event }])
    },
    service: (name) => serviceOver(api, name),
    async context(contextId) {
      const view = await api.getContext({ contextId })
      return { ...view, state: view.currentState, input: valuesOf(view.input), output: valuesOf(view.output) }
    },
    webhook: webhookCaller(world, clock),
    fake,
    calls,
    http: network.http,
    sent: network.sent,
    moves: () => moves,
    now: () => clock.now(),
    async advance(time) {
      const milliseconds = typeof time === 'number' ? time : quantityOf(time, TIMES)
      if (!(milliseconds >= 0)) throw new TypeError(`${time} is no duration such as 90s, 15m, 1h or 3d`)
      await clock.advance(milliseconds, () => clock.idle())
    },
    idle: () => clock.idle(),
    crash: world.crash,
    coverage: () => Object.fromEntries(catalog.all().map((flux) => [pathOf(flux), coverage.of(flux)])),
    close: world.close,
  }
}

/** The calls of the present engine, each of which waits until nothing is left to do. */
function apiOf(world: World, clock: SimulatedClock): FluxApi {
  const entries: unknown[][] = Object.keys(METHODS).map((name) => [
    name,
    async (...given: unknown[]) => {
      const answer: unknown = await Reflect.apply(Reflect.get(world.present().api, name), null, given)
      await clock.idle()
      return answer
    },
  ])
  return Object.fromEntries(entries)
}

/** The values of a model, by name. */
function valuesOf<Values>({ gloopProperties }: ModelDescriptor): Values {
  const entries: unknown[][] = gloopProperties.map(({ name, value }) => [name, value ?? null])
  return Object.fromEntries(entries)
}
