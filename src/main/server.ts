// main: a server around an engine. It answers `/healthz` before the store is read, serves calls once the engine has
// started, and releases everything when a part of it fails to start.
import { readFile } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { About } from '../http/docs/home.ts'
import { openTokens, type Tokens } from '../access/authenticate.ts'
import { systemClock } from '../alarms/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { definitionSchema } from '../definitions/editor/document.ts'
import { createApp, createWaitingApp } from '../http/app.ts'
import type { ServerHealth } from '../inspector/host.ts'
import { createInspector } from '../inspector/inspector.tsx'
import { tracedFetch } from '../http/request/trace.ts'
import { routeFinder } from '../http/socket/request-times.ts'
import { isLoopbackAddress } from '../http/request/origin-guard.ts'
import { listen, type Front, type HttpServer } from '../http/server.ts'
import type { Log } from '../ports/log.ts'
import type { Settings } from '../settings.ts'
import type { Environment, WatchedSecrets } from '../settings/secrets.ts'
import { Watchdog } from '../watchdog/watchdog.ts'
import { ServerMetrics } from '../observe/metrics.ts'
import { openTraces } from '../observe/traces.ts'
import { openEngine, memoryOf, type ServerMemory, deadAfterOf } from './engine.ts'
import { watchSecrets, loadServices, type LoadedServices, type RunnableServices } from './services.ts'

export interface Server {
  readonly url: string
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
  readonly loaded: LoadedServices
  /** Loads the services again. A service with a fault stays as it was. */
  reload(): Promise<LoadedServices>
  /**
   * Serves on for `ACTORFLUX_DRAIN_DELAY`, not ready; then answers the requests under way, for at most `grace` milliseconds,
   * and releases everything.
   */
  close(options: { grace: number }): Promise<void>
}

/**
 * Milliseconds before the end of the grace period at which waiting callers of webhooks get a 504: their contexts
 * continue.
 */
const WEBHOOK_NOTICE_MS = 1000

/** Most fields of a form or a query of a webhook. */
const MAX_PARTS = 1000

/** One server, as far as it has been opened. */
interface Opened {
  readonly settings: Settings
  readonly log: Log
  readonly secrets: WatchedSecrets
  readonly watchdog: Watchdog
  readonly memory: ServerMemory
  /** Ends what goes on until somebody stops it. */
  readonly stopping: AbortController
  /** Whether it only serves what reads, until it is told to go on. */
  readonly paused: boolean | undefined
  /** Why the server does not serve calls; null when it does. */
  unready: string | null
  services?: RunnableServices
  tokens?: Tokens
  http?: HttpServer
  engine?: Engine
  health?: ReturnType<typeof healthOf>
}

interface StartOptions {
  readonly log: Log
  readonly env?: Environment
  readonly paused?: boolean | undefined
}

/**
 * @throws LoadError; any other Error says in one line why the server cannot start (port in use, data folder in use, …)
 */
export async function startServer(
  settings: Settings,
  { log: given, env = process.env, paused }: StartOptions,
): Promise<Server> {
  const { secrets, log } = await watchSecrets(env, given)
  const opened: Opened = {
    settings,
    log,
    secrets,
    paused,
    watchdog: new Watchdog(),
    memory: memoryOf(settings),
    stopping: new AbortController(),
    unready: 'the server is starting',
  }
  try {
    opened.services = await loadServices(settings, { log, secrets, watch: opened.watchdog })
    return await start(opened, opened.services)
  } catch (error) {
    await release(opened, 0)
    throw error
  }
}

async function start(opened: Opened, { catalog, runner, report }: RunnableServices): Promise<Server> {
  const { settings, log, secrets, watchdog, memory } = opened
  const front: Front = { fetch: createWaitingApp(() => opened.unready ?? 'the server is starting').fetch }
  const about = await readAbout()
  const tokens = await openTokens(tokensOptions(settings, log))
  opened.tokens = tokens
  const metrics = metricsOf(opened, about.version)
  // The server listens before the store reads its index, which may take long, so that `/healthz` answers meanwhile.
  const http = await listen(front, { ...listenOptions(settings, log), signals: metrics })
  opened.http = http
  const onOwner = (owner: string) => {
    watchdog.owner = owner
  }
  const given = { catalog, runner, clock: systemClock, log, secrets, memory, onOwner, signals: metrics }
  const { engine, storage, notes, moves } = await openEngine(settings, given)
  opened.engine = engine
  const health = healthOf(engine, storage)
  opened.health = health
  const { origins, allowedHosts, requireAuth, publicUrl } = settings
  const pages = { requireAuth, now: systemClock.now, log, version: about.version, health: health.health }
  const app = createApp({
    ...limitsOf(settings, memory),
    live: { ...readersOf(settings), feed: moves, isSecured: (service) => isSecured(catalog, service) },
    clock: systemClock,
    stopping: opened.stopping.signal,
    origins,
    allowedHosts,
    requireAuth,
    about,
    fluxSchema: definitionSchema,
    log,
    api: engine.calls,
    authenticate: tokens.authenticate,
    isLoopback: () => isLoopbackAddress(http.address),
    webhooks: engine.webhooks,
    secrets,
    metrics: { exposition: () => metrics.exposition(), isOpen: settings.metrics === 'open' },
    publicUrl,
    ready: () => opened.unready ?? engine.trouble(),
    isPaused: () => engine.isPaused(),
    resumeServer: () => engine.resume(),
    skipped: () => catalog.skipped(),
    inspector: (host) => createInspector({ ...pages, api: engine.api, authenticate: tokens.authenticate }, host),
  })
  watchdog.start({ ...watchdogOptions(settings), notes })
  await engine.start({ paused: opened.paused })
  opened.unready = null
  serve(front, app)
  return {
    url: http.url,
    storage,
    loaded: { services: catalog.all(), report },
    async reload() {
      const faults = await catalog.reload()
      return { services: catalog.all(), report: faults }
    },
    close: ({ grace }) => close(opened, grace),
  }
}

const isSecured = (
  catalog: RunnableServices['catalog'],
  { package: owner, fluxName }: { readonly package: string; readonly fluxName: string },
): boolean => catalog.find(owner, fluxName)?.secured === true

async function close(opened: Opened, grace: number): Promise<void> {
  opened.unready = 'the server is stopping'
  opened.stopping.abort()
  const { drainDelay } = opened.settings
  if (drainDelay > 0) await new Promise<void>((resolve) => void systemClock.after(drainDelay, resolve))
  await release(opened, grace)
}

/** Ends all that has been opened. Requests, and then steps, have at most `grace` milliseconds. */
async function release(opened: Opened, grace: number): Promise<void> {
  const { services, tokens, http, engine, health, watchdog, secrets } = opened
  tokens?.close()
  health?.close()
  engine?.endWaits()
  const began = systemClock.now()
  const cancel = systemClock.after(Math.max(0, grace - WEBHOOK_NOTICE_MS), () => engine?.webhooks.giveUp())
  await http?.close(grace)
  cancel()
  // The check of the services may have started processes.
  if (engine) await engine.close({ grace: Math.max(0, grace - (systemClock.now() - began)) })
  else services?.runner.close()
  watchdog.close()
  secrets.close()
}

/** Answers requests by that application from now on. */
function serve(front: Front, app: ReturnType<typeof createApp>): void {
  const [traces, routeOf] = [openTraces(), routeFinder(app)]
  front.routeOf = routeOf
  front.fetch = traces === null ? app.fetch : tracedFetch(app, traces, routeOf)
}

function limitsOf(settings: Settings, memory: ServerMemory) {
  const { maxBody, maxDepth, maxValues, maxAnswers, webhookTimeout, requestTimeout, maxStreams } = settings
  const bodies = { maxBody, maxDepth, maxValues, maxParts: MAX_PARTS, inFlight: memory.requests }
  const budgets = { waiting: memory.waiting, unverified: memory.unverified }
  return { ...bodies, maxAnswers, webhookTimeout, requestTimeout, maxStreams, ...budgets }
}

const readersOf = ({ maxReaders, maxTags: count, maxTagBytes: bytes }: Settings) => ({
  maxReaders,
  tagLimits: { count, bytes },
})

const metricsOf = (opened: Opened, version: string) =>
  new ServerMetrics({
    store: opened.settings.redisUrl === null ? 'embedded' : 'redis',
    version,
    countContexts: async () => (await opened.engine?.countContexts()) ?? [],
  })

/** What a server says of itself: name and version. */
async function readAbout(): Promise<About> {
  const { name, version }: About = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  return { name, version }
}

/** Milliseconds between two measurements of the event loop; it is late by what it takes longer. */
const RESOLUTION_MS = 20
const NANOSECONDS_PER_MS = 1e6

/** How the server is, for the page of the inspector. The lag is that since the page was made last. */
function healthOf(engine: Engine, storage: string): { health(): Promise<ServerHealth>; close(): void } {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  return {
    async health() {
      const lagMs = Math.max(0, delay.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS)
      delay.reset()
      return {
        ...(await engine.health()),
        store: storage,
        uptimeMs: process.uptime() * 1000,
        lagMs,
        memoryBytes: process.memoryUsage.rss(),
      }
    },
    close: () => delay.disable(),
  }
}

/** What the settings say to each part. */
const tokensOptions = (settings: Settings, log: Log) => ({
  file: settings.tokens,
  now: systemClock.now,
  onError: ({ message }: Error) =>
    log.error("the file of tokens can't be used; the tokens that were read last stay valid", { reason: message }),
})

const listenOptions = (settings: Settings, log: Log) => ({
  host: settings.host,
  port: settings.port,
  log,
  accessLog: settings.accessLog,
  maxConnections: settings.maxConnections,
  deadlines: { headers: settings.headerTimeout, request: settings.requestTimeout, answer: settings.answerTimeout },
})

const watchdogOptions = (settings: Settings) => ({
  after: settings.watchdog,
  kill: settings.watchdogKill,
  silence: settings.redisUrl === null ? null : deadAfterOf(settings),
  logLevel: settings.logLevel,
  logFormat: settings.logFormat,
})
