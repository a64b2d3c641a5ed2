// settings: reads and checks the environment variables together; every bad variable is reported at once.
import { getOwn } from './model/json/value.ts'
import type { LogLevel } from './ports/log.ts'
import { secretOf } from './settings/secrets.ts'
import type { SettingRow } from './settings/setting.ts'
import { schema, table } from './settings/table.ts'

export interface Settings {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Of the server that commands call; null: that of host and port. */
  readonly url: string | null
  /** That commands send to that server; null: none. */
  readonly token: string | null
  /** Folders of packages. */
  readonly actors: readonly string[]
  readonly redisUrl: string | null
  readonly data: string
  /** Bytes that the embedded store leaves free on its disk. */
  readonly minFree: number
  readonly namespace: string
  /** null: the default, 1 on a single Redis and 16 in a cluster. */
  readonly partitions: number | null
  readonly tokens: string
  readonly requireAuth: boolean
  /** Milliseconds. */
  readonly recovery: number
  /** Milliseconds. */
  readonly retention: number
  /** Milliseconds for which the answer to a request under a key is kept. */
  readonly idempotency: number
  /** The same for webhooks. */
  readonly webhookIdempotency: number
  /** Answers under keys, and contexts that events under keys moved, kept at once. */
  readonly maxIdempotency: number
  /** Milliseconds. */
  readonly webhookTimeout: number
  /** By which clients reach the server: what stands before the path of a request; null: it is not known. */
  readonly publicUrl: string | null
  /** Bytes. */
  readonly maxBody: number
  /** Levels of nesting of a body. */
  readonly maxDepth: number
  /** Values and names in a body. */
  readonly maxValues: number
  /**
   * Bytes of memory that requests, steps and webhooks under way may take; null: a quarter of what Node gives its heap.
   */
  readonly maxInFlight: number | null
  /** Characters of JSON that a context may have. */
  readonly maxRecord: number
  /** Milliseconds within which a client must have sent its headers, and the whole request. */
  readonly headerTimeout: number
  readonly requestTimeout: number
  /** Milliseconds after which a client that reads nothing of its answer is disconnected. */
  readonly answerTimeout: number
  /** Bytes that large answers under way may hold together. */
  readonly maxAnswers: number
  /** Connections of clients at once. */
  readonly maxConnections: number
  /** Requests at once that send many events or starts, a line each. */
  readonly maxStreams: number
  readonly maxReaders: number
  /** Contexts that may be busy at once with what calls ask for. */
  readonly maxCommits: number
  /** Broadcasts to many contexts at once. */
  readonly maxBroadcasts: number
  /** Contexts above which an event for all is accepted first, and then sent to them. */
  readonly broadcastAsync: number
  /** Requests that may be held at once until a context gets somewhere. */
  readonly maxWaits: number
  /** Events with a ttl that may be held at once until somebody waits for them. */
  readonly maxPending: number
  /** Deliveries kept of each endpoint of a webhook; 0: none. */
  readonly deliveries: number
  /** Tags of one context. */
  readonly maxTags: number
  /** Bytes of one tag. */
  readonly maxTagBytes: number
  /** Host names and addresses, as in URLs, by which clients may call, besides loopback names. */
  readonly allowedHosts: readonly string[]
  /** Origins whose pages may call; empty: CORS is off. */
  readonly origins: readonly string[]
  readonly stepConcurrency: number
  /** Isolated functions that run at once. */
  readonly isolated: number
  /** Bytes that the result of a function or script may have as JSON. */
  readonly maxResult: number
  /**
   * Milliseconds for which a function may block the event loop until the log names it, and until the process ends; 0:
   * never.
   */
  readonly watchdog: number
  readonly watchdogKill: number
  /** Milliseconds for which a server that was told to stop serves on, not ready. */
  readonly drainDelay: number
  /** Whether `Http.request` may reach addresses that aren't public. */
  readonly allowPrivate: boolean
  /** Whether the server starts without the services that have faults. */
  readonly skipFaulty: boolean
  readonly logLevel: LogLevel
  /** How the log is written: `auto` is readable on a terminal, JSON otherwise. */
  readonly logFormat: 'pretty' | 'json' | 'auto'
  /** Whether each request is logged. */
  readonly accessLog: boolean
  /** Who may read the metrics: `guarded`: this machine, and tokens that may read. */
  readonly metrics: 'guarded' | 'open'
}

/** The message has one line for each variable with a bad value. */
class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** Every setting, in the order in which help shows them. */
export const SETTINGS: readonly SettingRow[] = [...table.values()]

/**
 * The settings of an environment. An empty variable counts as not set.
 * @throws SettingsError that names every bad variable
 */
export function readSettings(environment: { readonly [variable: string]: string | undefined }): Settings {
  const given = Array.from(table, ([name, { variable }]) => [name, getOwn(environment, variable) || undefined])
  const result = schema.safeParse(Object.fromEntries(given))
  if (result.success) return result.data
  throw new SettingsError(
    result.error.issues.map(({ path, message }) => `${table.get(String(path[0]))?.variable} ${message}`).join('\n'),
  )
}

/** Variables that begin like a setting and are none; most likely they are misspelt. */
export function unknownSettings(environment: { readonly [variable: string]: string | undefined }): string[] {
  return Object.keys(environment)
    .filter(
      (variable) =>
        variable.startsWith('ACTORFLUX_') &&
        secretOf(variable) === null &&
        !SETTINGS.some((row) => row.variable === variable),
    )
    .sort()
}

/**
 * Combinations of settings that this version does not support, one line for each. With any of them, the server does not
 * start.
 */
export function unsupported({ redisUrl, partitions }: Settings): string[] {
  const isSupported = redisUrl !== null || (partitions ?? 1) === 1
  return isSupported ? [] : ['ACTORFLUX_PARTITIONS must be 1 with the embedded store']
}
