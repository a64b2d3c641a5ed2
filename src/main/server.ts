// main: a server around an engine. It answers `/healthz` before the store is read, serves calls once the engine has
// started, and releases everything when a part of it fails to start.
import { readFile } from 'node:fs/promises'
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks'
import { openTokens, type Tokens } from '../access/authenticate.ts'
import { systemClock } from '../alarms/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { pause } from '../ports/periodic.ts'
import { definitionSchema } from '../definitions/editor/document.ts'
import { createApp, createWaitingApp, type About } from '../http/app.ts'
import { createInspector } from '../inspector/inspector.tsx'
import { routeFinder } from '../http/socket/observe.ts'
import { isLoopbackAddress } from '../http/request/origin-guard.ts'
import { listen, type HttpServer, type RequestHandler } from '../http/server.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/steps.ts'
import type { Settings } from '../settings.ts'
import type { Environment, WatchedSecrets } from '../settings/secrets.ts'
import { stepRunner } from '../steps/runner.ts'
import { Watchdog } from '../watchdog/watchdog.ts'
import { ServerMetrics } from '../observe/metrics.ts'
import { openTraces } from '../observe/traces.ts'
import { openEngine, deadAfterOf } from './engine.ts'
import { MAX_PARTS, memoryOf } from './limits.ts'
import { watchSecrets, loadServices, type LoadedServices } from './services.ts'

export interface Server {
  readonly url: string
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
  readonly loaded: LoadedServices
  /** Loads the services again. A service with a fault stays as it was. */
  reload(): Promise<LoadedServices>
  /**
   * Serves on for `ACTORFLUX_DRAIN_DELAY`, not ready; then answers the requests under way, for at most `grace`
   * milliseconds, and releases everything.
   */
  close(options: { grace: number }): Promise<void>
}

/**
 * Milliseconds before the end of the grace period at which waiting callers of webhooks get a 504: their contexts
 * continue.
 */
const WEBHOOK_NOTICE_MS = 1000

/** One server, as far as it has been opened. */
interface Opened {
  readonly settings: Settings
  readonly log: Log
  readonly secrets: WatchedSecrets
  readonly watchdog: Watchdog
  readonly runner: StepRunner
  /** By how much the event loop is late. */
  readonly delay: IntervalHistogram
  tokens?: Tokens
  http?: HttpServer
  engine?: Engine
}

/**
 * `paused`: it only serves what reads, until it is resumed.
 * @throws LoadError; any other Error says in one line why the server cannot start (port in use, data folder in use, …)
 */
export async function startServer(
  settings: Settings,
  {
    log: given,
    env = process.env,
    paused,
  }: { readonly log: Log; readonly env?: Environment; readonly paused?: boolean | undefined },
): Promise<Server> {
  const { secrets, log } = await watchSecrets(env, given)
  const watchdog = new Watchdog()
  const runner = stepRunner({ ...settings, log, watch: watchdog })
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const opened = { settings, log, secrets, watchdog, runner, delay }
  try {
    return await start(opened, paused)
  } catch (error) {
    await release(opened, 0)
    throw error
  }
}

async function start(opened: Opened, paused: boolean | undefined): Promise<Server> {
  const { settings, log, secrets } = opened
  const parts = await openParts(opened)
  const { catalog, report, about, authenticate, metrics, front, http, memory, engine, storage } = parts
  opened.delay.enable()
  const stopping = new AbortController()
  const health = async () => ({ ...(await engine.health()), ...healthOf(opened), store: storage })
  const pages = { api: engine.api, authenticate, log, now: systemClock.now, version: about.version, health }
  const app = createApp({
    ...settings,
    ...memory,
    maxParts: MAX_PARTS,
    inFlight: memory.requests,
    live: {
      maxReaders: settings.maxReaders,
      tagLimits: parts.tagLimits,
      feed: parts.moves,
      isSecured: ({ package: owner, fluxName }) => catalog.find(owner, fluxName)?.secured === true,
    },
    clock: systemClock,
    stopping: stopping.signal,
    about,
    fluxSchema: definitionSchema,
    log,
    api: engine.calls,
    authenticate,
    isLoopback: () => isLoopbackAddress(http.address),
    webhooks: engine.webhooks,
    secrets,
    metrics: { exposition: () => metrics.exposition(), isOpen: settings.metrics === 'open' },
    ready: () => (stopping.signal.aborted ? 'the server is stopping' : engine.trouble()),
    isPaused: engine.isPaused,
    resumeServer: engine.resume,
    skipped: () => catalog.skipped(),
    inspector: (host) => createInspector({ ...pages, ...host, requireAuth: settings.requireAuth }),
  })
  opened.watchdog.start({
    ...settings,
    after: settings.watchdog,
    kill: settings.watchdogKill,
    silence: settings.redisUrl === null ? null : deadAfterOf(settings),
    notes: parts.notes,
  })
  await engine.start({ paused })
  front.traces = openTraces()
  front.routeOf = routeFinder(app)
  front.fetch = app.fetch
  const loaded = (faults: typeof report) => ({ services: catalog.all(), report: faults })
  return {
    url: http.url,
    storage,
    loaded: loaded(report),
    reload: async () => loaded(await catalog.reload()),
    async close({ grace }) {
      stopping.abort()
      if (settings.drainDelay > 0) await pause(systemClock, settings.drainDelay)
      await release(opened, grace)
    },
  }
}

/**
 * Opens all parts. Listens before the store reads its index, which may take long, so that `/healthz` answers meanwhile.
 */
async function openParts(opened: Opened) {
  const { settings, log, secrets, watchdog, runner } = opened
  const given = { log, secrets, runner }
  const services = await loadServices(settings, given)
  const about: About = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  opened.tokens = await openTokens({
    file: settings.tokens,
    now: systemClock.now,
    onError: ({ message }) =>
      log.error("the file of tokens can't be used; the tokens that were read last stay valid", { reason: message }),
  })
  const metrics = new ServerMetrics({
    store: settings.redisUrl === null ? 'embedded' : 'redis',
    version: about.version,
    countContexts: async () => (await opened.engine?.countContexts()) ?? [],
  })
  // Until all is open, that is the answer to requests.
  const front: RequestHandler = { fetch: createWaitingApp('the server is starting').fetch }
  const { headerTimeout: headers, requestTimeout: request, answerTimeout: answer } = settings
  const http = await listen(front, { ...settings, log, signals: metrics, deadlines: { headers, request, answer } })
  opened.http = http
  const memory = memoryOf(settings)
  const own = await openEngine(settings, {
    ...given,
    ...services,
    clock: systemClock,
    memory,
    onOwner(owner) {
      watchdog.owner = owner
    },
    signals: metrics,
  })
  opened.engine = own.engine
  const { authenticate } = opened.tokens
  return { ...services, ...own, about, authenticate, metrics, front, http, memory }
}

/** Ends all that has been opened. Requests, and then steps, have at most `grace` milliseconds. */
async function release({ tokens, http, engine, runner, delay, watchdog, secrets }: Opened, grace: number) {
  tokens?.close()
  delay.disable()
  engine?.endWaits()
  const began = systemClock.now()
  const cancel = systemClock.after(Math.max(0, grace - WEBHOOK_NOTICE_MS), () => engine?.webhooks.giveUp())
  await http?.close(grace)
  cancel()
  await engine?.close({ grace: Math.max(0, grace - (systemClock.now() - began)) })
  // The check of the services may have started processes.
  runner.close()
  watchdog.close()
  secrets.close()
}

/** Milliseconds between two measurements of the event loop; it is late by what it takes longer. */
const RESOLUTION_MS = 20
const NANOSECONDS_PER_MS = 1e6

/** How the process is, for the page of the inspector. The lag is that since the page was made last. */
function healthOf({ delay }: Opened) {
  const lagMs = Math.max(0, delay.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS)
  delay.reset()
  return { uptimeMs: process.uptime() * 1000, lagMs, memoryBytes: process.memoryUsage.rss() }
}
