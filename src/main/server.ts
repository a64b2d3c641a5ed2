// main: a server around an engine. It answers `/healthz` before the store is read, serves calls once the engine has
// started, and releases everything when a part of it fails to start.
import { openTokens, type Tokens } from '../access/authenticate.ts'
import { systemClock } from '../alarms/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { createApp, createWaitingApp } from '../http/app.ts'
import { createInspector } from '../inspector/inspector.tsx'
import { isLoopbackAddress } from '../http/request/origin-guard.ts'
import { listen, type HttpServer } from '../http/server.ts'
import type { Log } from '../ports/log.ts'
import type { Settings } from '../settings.ts'
import type { Environment, WatchedSecrets } from '../settings/secrets.ts'
import { Watchdog } from '../watchdog/watchdog.ts'
import { readAbout } from './about.ts'
import { openEngine } from './engine.ts'
import { memoryOf, type ServerMemory } from './memory.ts'
import { watchSecrets } from './secrets.ts'
import { loadServices, type LoadedServices, type RunnableServices } from './services.ts'
import { deadAfterOf } from './storage.ts'

export interface Server {
  readonly url: string
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
  readonly loaded: LoadedServices
  /** Loads the services again. A service with a fault stays as it was. */
  reload(): Promise<LoadedServices>
  /** Answers the requests under way, for at most `grace` milliseconds, then releases everything. */
  close(options: { grace: number }): Promise<void>
}

/**
 * Milliseconds before the end of the grace period at which waiting callers of webhooks get a 504: their contexts
 * continue.
 */
const WEBHOOK_NOTICE_MS = 1000

/** Most fields of a form or a query of a webhook. */
const MAX_PARTS = 1000

/** What has been opened so far. */
interface Opened {
  tokens?: Tokens
  http?: HttpServer
  engine?: Engine
}

/** What the steps of starting one server share. */
interface Start {
  /** Ends what goes on until somebody stops it. */
  readonly stopping: AbortController
  readonly settings: Settings
  readonly log: Log
  readonly secrets: WatchedSecrets
  readonly watchdog: Watchdog
  readonly services: RunnableServices
  readonly memory: ServerMemory
  readonly opened: Opened
  /** Why the server does not serve calls; null when it does. */
  unready: string | null
}

/**
 * @throws LoadError; any other Error says in one line why the server cannot start (port in use, data folder in use, …)
 */
export async function startServer(
  settings: Settings,
  { log: given, env = process.env }: { readonly log: Log; readonly env?: Environment },
): Promise<Server> {
  const { secrets, log } = await watchSecrets(env, given)
  try {
    const watchdog = new Watchdog()
    const services = await loadServices(settings, { log, secrets, watch: watchdog })
    return await startWith(settings, { log, secrets, watchdog, services })
  } catch (error) {
    secrets.close()
    throw error
  }
}

async function startWith(
  settings: Settings,
  given: Pick<Start, 'log' | 'secrets' | 'watchdog' | 'services'>,
): Promise<Server> {
  const { watchdog, services } = given
  const opened: Opened = {}
  const unready = 'the server is starting'
  try {
    return await start({
      ...given,
      settings,
      memory: memoryOf(settings),
      opened,
      unready,
      stopping: new AbortController(),
    })
  } catch (error) {
    opened.tokens?.close()
    watchdog.close()
    await opened.http?.close(0)
    // The check of the services may have started processes.
    if (!opened.engine) services.runner.close()
    await opened.engine?.close({ grace: 0 })
    throw error
  }
}

async function start(parts: Start): Promise<Server> {
  const { settings, log, secrets, watchdog, memory, opened } = parts
  const { catalog, runner, report } = parts.services
  const front = { fetch: createWaitingApp(() => parts.unready ?? 'the server is starting').fetch }
  const about = await readAbout()
  const tokens = await openTokens({
    file: settings.tokens,
    now: systemClock.now,
    onError: ({ message }) =>
      log.error("the file of tokens can't be used; the tokens that were read last stay valid", { reason: message }),
  })
  opened.tokens = tokens
  // The server listens before the store reads its index, which may take long, so that `/healthz` answers meanwhile.
  const http = await listen(front, listenOptions(settings, log))
  opened.http = http
  const onOwner = (owner: string) => {
    watchdog.owner = owner
  }
  const clock = systemClock
  const given = { catalog, runner, clock, log, secrets, memory, onOwner }
  const { engine, storage, notes } = await openEngine(settings, given)
  opened.engine = engine
  const { origins, allowedHosts, requireAuth, maxBody, maxDepth, maxValues, maxAnswers, webhookTimeout } = settings
  const { requestTimeout, maxStreams, publicUrl } = settings
  const bodies = { maxBody, maxDepth, maxValues, maxParts: MAX_PARTS, inFlight: memory.requests }
  const limits = { ...bodies, maxAnswers, webhookTimeout, requestTimeout, maxStreams, waiting: memory.waiting }
  const inspectorOptions = {
    api: engine.api,
    authenticate: tokens.authenticate,
    requireAuth,
    now: clock.now,
    log,
    version: about.version,
  }
  const app = createApp({
    ...limits,
    clock,
    stopping: parts.stopping.signal,
    origins,
    allowedHosts,
    requireAuth,
    about,
    log,
    api: engine.api,
    authenticate: tokens.authenticate,
    isLoopback: () => isLoopbackAddress(http.address),
    webhooks: engine.webhooks,
    secrets,
    publicUrl,
    ready: () => parts.unready ?? engine.trouble(),
    skipped: () => catalog.skipped(),
    inspector: (host) => createInspector(inspectorOptions, host),
  })
  watchdog.start({ ...watchdogOptions(settings), notes })
  await engine.start()
  parts.unready = null
  front.fetch = app.fetch
  return {
    url: http.url,
    storage,
    loaded: { services: catalog.all(), report },
    async reload() {
      const faults = await catalog.reload()
      return { services: catalog.all(), report: faults }
    },
    close: ({ grace }) => close(parts, { tokens, http, engine, grace }),
  }
}

async function close(
  parts: Start,
  { tokens, http, engine, grace }: Required<Opened> & { readonly grace: number },
): Promise<void> {
  parts.unready = 'the server is stopping'
  parts.stopping.abort()
  tokens.close()
  engine.endWaits()
  const began = systemClock.now()
  const cancel = systemClock.after(Math.max(0, grace - WEBHOOK_NOTICE_MS), () => engine.webhooks.giveUp())
  await http.close(grace)
  cancel()
  await engine.close({ grace: Math.max(0, grace - (systemClock.now() - began)) })
  parts.watchdog.close()
  parts.secrets.close()
}

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
