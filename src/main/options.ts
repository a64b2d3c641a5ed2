// main: what the settings say to each part of a server.
import { systemClock } from '../alarms/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Settings } from '../settings.ts'
import { deadAfterOf } from './storage.ts'

export const tokensOptions = (settings: Settings, log: Log) => ({
  file: settings.tokens,
  now: systemClock.now,
  onError: ({ message }: Error) =>
    log.error("the file of tokens can't be used; the tokens that were read last stay valid", { reason: message }),
})

export const listenOptions = (settings: Settings, log: Log) => ({
  host: settings.host,
  port: settings.port,
  log,
  accessLog: settings.accessLog,
  maxConnections: settings.maxConnections,
  deadlines: { headers: settings.headerTimeout, request: settings.requestTimeout, answer: settings.answerTimeout },
})

export const watchdogOptions = (settings: Settings) => ({
  after: settings.watchdog,
  kill: settings.watchdogKill,
  silence: settings.redisUrl === null ? null : deadAfterOf(settings),
  logLevel: settings.logLevel,
  logFormat: settings.logFormat,
})
