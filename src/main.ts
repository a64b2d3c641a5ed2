// The only place where the parts are wired: a runtime in this process, and a server around one.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { openTokens, type Tokens } from './access/authenticate.ts'
import { stepRunner } from './steps/runner.ts'
import { systemClock } from './alarms/clock.ts'
import { localAlarm } from './alarms/local.ts'
import { openCatalog, type Catalog } from './definitions/catalog.ts'
import type { CompiledFlux } from './definitions/flux.ts'
import type { Fault } from './definitions/report.ts'
import { asksForToken, easiest, startCommand } from './definitions/start-command.ts'
import { createApp, createWaitingApp } from './http/app.ts'
import type { About } from './http/docs/home.ts'
import { isLoopbackAddress } from './http/request/origin-guard.ts'
import { listen, type HttpServer } from './http/server.ts'
import { ByteBudget } from './model/byte-budget.ts'
import type { FluxApi } from './api/flux-api.ts'
import { createLog } from './observe/log.ts'
import type { Clock } from './ports/clock.ts'
import type { Log } from './ports/log.ts'
import type { StepRunner } from './ports/step-runner.ts'
import type { NotesPlace, StepWatch } from './ports/step-watch.ts'
import type { MemoryLimits } from './engine/context-loader.ts'
import { createEngine, type Engine, type EngineParts } from './engine/engine.ts'
import { readSettings, type Settings } from './settings.ts'
import { diagnose, salvage, type Findings } from './store/lmdb/salvage/salvage.ts'
import { openLmdbStore } from './store/lmdb/store.ts'
import { Watchdog } from './watchdog/watchdog.ts'

export type { FluxApi } from './api/flux-api.ts'
export { FluxError, type Failure } from './model/failure.ts'
export type { Flux } from './ports/step-runner.ts'
export type { Findings } from './store/lmdb/salvage/salvage.ts'

export interface RuntimeOptions {
  /** Folders of packages; `actors` if left out. */
  readonly actors?: readonly string[]
  /** Folder of the embedded store; `.actorflux` if left out. */
  readonly data?: string
  /** Redis to keep contexts in, or nodes of a cluster separated by commas; the embedded store if left out. */
  readonly redisUrl?: string
  /** Keeps apart what shares one store; `default` if left out. */
  readonly namespace?: string
  /** Partitions of the namespace in Redis; 1 if left out, 16 in a cluster. */
  readonly partitions?: number
  /** Milliseconds for which finished contexts stay readable; 7 days if left out. */
  readonly retention?: number
  /** Steps at once; 256 if left out. */
  readonly stepConcurrency?: number
  /** Whether `Http.request` may reach addresses that aren't public; false if left out. */
  readonly allowPrivate?: boolean
  readonly log?: Log
  /** The embedded store's: with Redis, its time is all servers'. */
  readonly clock?: Clock
}

/** Milliseconds before the end in which callers of webhooks are still told that their contexts run on. */
const LAST_WORDS_MS = 1000

/** Fields of a form or a query of a webhook. */
const MAX_PARTS = 1000

/** Partitions of a namespace in a cluster, if nothing else is said. */
const CLUSTER_PARTITIONS = 16

/** The calls in process, and the end of it. */
export interface FluxRuntime extends FluxApi {
  /** Lets steps under way finish for at most `grace` milliseconds (10 s if left out), and releases everything. */
  close(options?: { readonly grace?: number }): Promise<void>
}

/**
 * Runs services in this process.
 * @throws LoadError when a service has a fault; Error when the data folder is taken, or Redis can't be used
 */
export async function createRuntime({ log, clock = systemClock, ...given }: RuntimeOptions = {}): Promise<FluxRuntime> {
  const standard = readSettings({})
  const settings: Settings = {
    ...standard,
    actors: given.actors ?? standard.actors,
    data: given.data ?? standard.data,
    redisUrl: given.redisUrl ?? null,
    namespace: given.namespace ?? standard.namespace,
    partitions: given.partitions ?? null,
    retention: given.retention ?? standard.retention,
    stepConcurrency: given.stepConcurrency ?? standard.stepConcurrency,
    allowPrivate: given.allowPrivate ?? standard.allowPrivate,
  }
  const logger = log ?? createLog({ level: settings.logLevel, format: settings.logFormat })
  const { catalog, runner } = await loadServices(settings, logger)
  const { engine } = await openEngine(settings, { catalog, runner, clock, log: logger, memory: memoryOf(settings) })
  try {
    await engine.start()
  } catch (error) {
    await engine.close({ grace: 0 })
    throw error
  }
  return { ...engine.local(), close: (options) => engine.close(options) }
}

export interface LoadedServices {
  readonly services: readonly Pick<CompiledFlux, 'package' | 'fluxName' | 'triggers' | 'webhooks' | 'source'>[]
  /** Faults and warnings, in any order. */
  readonly report: readonly Fault[]
}

export interface Server {
  readonly url: string
  /** Where contexts are kept, for people. */
  readonly storage: string
  readonly loaded: LoadedServices
  /** Reads the services again. One with a fault stays as it was. */
  reload(): Promise<LoadedServices>
  /** Answers what is under way within `grace` milliseconds, then releases everything. */
  close(options: { grace: number }): Promise<void>
}

/** The server does not start: there are faults in the services. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
  readonly report: readonly Fault[]
  constructor(report: readonly Fault[]) {
    super('the services have faults')
    this.report = report
  }
}

/** @throws LoadError; any other Error tells in one line why it can't start (port in use, data folder taken, …) */
export async function startServer(settings: Settings, { log }: { log: Log }): Promise<Server> {
  const watchdog = new Watchdog()
  const { catalog, runner, report } = await loadServices(settings, log, watchdog)
  const memory = memoryOf(settings)
  let unready: string | null = 'the server is starting'
  const front = { fetch: createWaitingApp(() => unready ?? 'the server is starting').fetch }
  let [server, opened, follows]: [HttpServer | null, Engine | null, Tokens | null] = [null, null, null]
  // What was checked with the services may have started processes: whatever goes wrong from here on, they end.
  try {
    const about = await aboutOf(catalog, settings.requireAuth)
    const tokens = await openTokens({
      file: settings.tokens,
      now: systemClock.now,
      onError: ({ message }) => log.error('the tokens read last stay in force', { reason: message }),
    })
    follows = tokens
    // First of all, so that whoever asks is told that it lives while the store reads its index.
    const listening = await listen(front, {
      host: settings.host,
      port: settings.port,
      log,
      accessLog: settings.accessLog,
      maxConnections: settings.maxConnections,
      deadlines: { headers: settings.headerTimeout, request: settings.requestTimeout, answer: settings.answerTimeout },
    })
    server = listening
    const onOwner = (owner: string) => {
      watchdog.owner = owner
    }
    const { engine, storage, notes } = await openEngine(settings, {
      catalog,
      runner,
      clock: systemClock,
      log,
      memory,
      onOwner,
    })
    opened = engine
    const { maxBody, maxDepth, maxValues, requireAuth, origins, allowedHosts, webhookTimeout } = settings
    const app = createApp({
      api: engine.api,
      authenticate: tokens.authenticate,
      requireAuth,
      maxBody,
      maxDepth,
      maxValues,
      maxParts: MAX_PARTS,
      origins,
      allowedHosts,
      maxAnswers: settings.maxAnswers,
      inFlight: memory.requests,
      waiting: memory.waiting,
      isLoopback: () => isLoopbackAddress(listening.address),
      about,
      webhooks: engine.webhooks,
      webhookTimeout,
      ready: () => unready ?? engine.trouble(),
      skipped: () => catalog.skipped(),
      log,
    })
    watchdog.start({
      after: settings.watchdog,
      kill: settings.watchdogKill,
      silence: settings.redisUrl === null ? null : silenceOf(settings),
      logLevel: settings.logLevel,
      logFormat: settings.logFormat,
      notes,
    })
    await engine.start()
    unready = null
    front.fetch = app.fetch
    return {
      url: listening.url,
      storage,
      loaded: { services: catalog.all(), report },
      async reload() {
        const faults = await catalog.reload()
        return { services: catalog.all(), report: faults }
      },
      async close({ grace }) {
        unready = 'the server is stopping'
        tokens.close()
        engine.endWaits()
        const began = systemClock.now()
        const callOff = systemClock.after(Math.max(0, grace - LAST_WORDS_MS), () => engine.webhooks.giveUp())
        await listening.close(grace)
        callOff()
        await engine.close({ grace: Math.max(0, grace - (systemClock.now() - began)) })
        watchdog.close()
      },
    }
  } catch (error) {
    follows?.close()
    watchdog.close()
    await server?.close(0)
    if (opened === null) runner.close()
    await opened?.close({ grace: 0 })
    throw error
  }
}

/** What the server tells of itself at `/`. Where every call needs a token, no service is named to who may have none. */
async function aboutOf(catalog: Catalog, requireAuth: boolean): Promise<About> {
  const { name, version }: { name: string; version: string } = JSON.parse(
    await readFile(new URL('../package.json', import.meta.url), 'utf8'),
  )
  return {
    name,
    version,
    services: () => catalog.all().length,
    command(url) {
      const service = requireAuth ? undefined : easiest(catalog.all().filter((each) => !asksForToken(each)))
      return service ? startCommand(service, { url, withToken: false }) : null
    },
  }
}

/** Loads and checks the services and starts nothing. */
export async function checkServices(settings: Settings, { log }: { log: Log }): Promise<LoadedServices> {
  const runner = stepRunner({ log, allowPrivate: settings.allowPrivate })
  try {
    const { catalog, report } = await openCatalog({ folders: settings.actors, runner, log })
    return { services: catalog.all(), report }
  } finally {
    runner.close()
  }
}

/**
 * Looks at the data of the embedded store; with `into`, writes what can be read into that new folder.
 * @throws Error in one line when there is no data, or a server has it open, or the new folder has something in it
 */
export function examineData(
  { data, namespace }: Settings,
  { into, log }: { readonly into: string | null; readonly log: Log },
): Promise<Findings> {
  const place = { folder: data, namespace }
  return into === null ? diagnose(place) : salvage(place, { into, log })
}

async function loadServices(
  settings: Settings,
  log: Log,
  watch?: StepWatch,
): Promise<{ catalog: Catalog; runner: StepRunner; report: readonly Fault[] }> {
  const runner = stepRunner({
    log,
    allowPrivate: settings.allowPrivate,
    maxResult: settings.maxResult,
    isolated: settings.isolated,
    ...(watch && { watch }),
  })
  try {
    const { catalog, report, complete } = await openCatalog({ folders: settings.actors, runner, log })
    const isBroken = report.some(({ severity }) => severity === 'fault')
    if (isBroken && !(settings.skipFaulty && complete)) throw new LoadError(report)
    const skipped = catalog.skipped()
    if (skipped.length > 0) log.warn('services with faults are skipped', { skipped })
    return { catalog, runner, report }
  } catch (error) {
    runner.close()
    throw error
  }
}

/**
 * Of the heap, what may be in flight and what contexts kept in memory may take; of what is in flight, requests, callers
 * of webhooks who wait, and steps, as well as contexts that are decided on.
 */
const PARTS = { inFlight: 1 / 4, cache: 1 / 3, requests: 3 / 8, waiting: 1 / 8, steps: 1 / 4 }

function memoryOf({ maxInFlight, maxRecord }: Settings): MemoryLimits & { readonly waiting: ByteBudget } {
  const heap = getHeapStatistics().heap_size_limit
  const inFlight = maxInFlight ?? heap * PARTS.inFlight
  return {
    requests: new ByteBudget({ bytes: inFlight * PARTS.requests, what: 'requests' }),
    waiting: new ByteBudget({ bytes: inFlight * PARTS.waiting, what: 'webhooks that wait' }),
    steps: inFlight * PARTS.steps,
    cache: heap * PARTS.cache,
    record: maxRecord,
  }
}

interface Surroundings {
  readonly catalog: Catalog
  readonly runner: StepRunner
  readonly clock: Clock
  readonly log: Log
  readonly memory: MemoryLimits
  readonly onOwner?: EngineParts['onOwner']
}

interface Opened {
  readonly engine: Engine
  readonly storage: string
  readonly notes: NotesPlace
}

async function openEngine(
  settings: Settings,
  { catalog, runner, clock, log, memory, onOwner }: Surroundings,
): Promise<Opened> {
  const { retention, stepConcurrency, maxTags, maxTagBytes } = settings
  const opening =
    settings.redisUrl === null ? openEmbedded(settings, clock, log) : openRedis(settings, settings.redisUrl, log)
  const { storage, ...parts } = await opening.catch((error: unknown) => {
    runner.close()
    throw error
  })
  const tagLimits = { count: maxTags, bytes: maxTagBytes }
  const engine = createEngine({
    ...parts,
    catalog,
    runner,
    log,
    retention,
    stepConcurrency,
    isolated: settings.isolated,
    tagLimits,
    memory,
    bounds: { commits: settings.maxCommits, broadcasts: settings.maxBroadcasts, waits: settings.maxWaits },
    onOwner,
  })
  return { storage, engine, notes: parts.store.notes }
}

/** What depends on where contexts are kept. */
type Storage = Pick<EngineParts, 'store' | 'alarm' | 'clock' | 'others'> & { readonly storage: string }

async function openEmbedded({ data, namespace, minFree }: Settings, clock: Clock, log: Log): Promise<Storage> {
  const store = await openLmdbStore({ folder: data, namespace, minFree, log, clock })
  return { store, alarm: localAlarm({ clock, log }), clock, others: null, storage: resolve(data) }
}

/**
 * Milliseconds without heartbeat after which a server is dead: most of the time for recovery. Then two beats are left
 * to find that out and to take over.
 */
const silenceOf = ({ recovery }: Settings) => beatOf(recovery) * 7

const beatOf = (recovery: number) => recovery / 10

/** Its modules are loaded only here: they would make each start without Redis a fifth longer. */
async function openRedis(settings: Settings, redisUrl: string, log: Log): Promise<Storage> {
  const [{ bullAlarm }, { connect, explore }, { redisFeed }, { openRedisStore }] = await Promise.all([
    import('./alarms/bullmq.ts'),
    import('./store/redis/connection.ts'),
    import('./store/redis/feed.ts'),
    import('./store/redis/store.ts'),
  ])
  const { namespace, partitions, recovery } = settings
  const address = await explore(redisUrl)
  const beat = beatOf(recovery)
  const store = await openRedisStore({
    address,
    namespace,
    partitions: partitions ?? (address.cluster ? CLUSTER_PARTITIONS : 1),
    deadAfterMs: silenceOf(settings),
    log,
  })
  const clock: Clock = { now: () => store.now(), after: systemClock.after }
  const alarm = bullAlarm({ connect: (role) => connect(address, role), namespace, clock, log })
  const feed = redisFeed({
    listening: connect(address, 'feed'),
    publish: (channel, text) => store.publish(channel, text),
    namespace,
    log,
  })
  return {
    store,
    alarm,
    clock,
    others: { beat, feed },
    storage: `${address.cluster ? 'Redis Cluster' : 'Redis'} at ${address.place}, namespace '${namespace}'`,
  }
}
