// The settings: environment variables with their defaults and meanings in one table, read and checked together.
import { delimiter } from 'node:path'
import { z } from 'zod'
import { getOwn } from './model/json/value.ts'
import type { LogLevel } from './ports/log.ts'

export interface Settings {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Folders of packages. */
  readonly actors: readonly string[]
  readonly redisUrl: string | null
  readonly data: string
  /** Bytes that the embedded store leaves free on its disk. */
  readonly minFree: number
  readonly namespace: string
  /** null: as many as are usual for what Redis is there. */
  readonly partitions: number | null
  readonly tokens: string
  readonly requireAuth: boolean
  /** Milliseconds. */
  readonly recovery: number
  /** Milliseconds. */
  readonly retention: number
  /** Milliseconds. */
  readonly webhookTimeout: number
  /** Bytes. */
  readonly maxBody: number
  /** Levels of nesting of a body. */
  readonly maxDepth: number
  /** Values and names in a body. */
  readonly maxValues: number
  /** Bytes of memory that what is in flight may take; null: a part of what Node gives the process. */
  readonly maxInFlight: number | null
  /** Characters of JSON that a context may have. */
  readonly maxRecord: number
  /** Milliseconds in which a client must have sent its headers, and the whole request. */
  readonly headerTimeout: number
  readonly requestTimeout: number
  /** Milliseconds after which a client that takes nothing of its answer is cut off. */
  readonly answerTimeout: number
  /** Bytes that large answers under way may hold together. */
  readonly maxAnswers: number
  /** Connections of clients at once. */
  readonly maxConnections: number
  /** Contexts that may be busy at once with what calls ask for. */
  readonly maxCommits: number
  /** Broadcasts to many contexts at once. */
  readonly maxBroadcasts: number
  /** Requests that may be held at once until a context gets somewhere. */
  readonly maxWaits: number
  /** Tags of one context. */
  readonly maxTags: number
  /** Bytes of one tag. */
  readonly maxTagBytes: number
  /** Names and addresses, as URLs have them, by which clients may call besides loopback ones. */
  readonly allowedHosts: readonly string[]
  /** Origins of pages that may call; none: CORS is off. */
  readonly origins: readonly string[]
  readonly stepConcurrency: number
  /** Isolated functions at once. */
  readonly isolated: number
  /** Bytes that what a function or script returns may have as JSON. */
  readonly maxResult: number
  /**
   * Milliseconds for which the event loop may stand still until it is named in the log why, and until the process ends;
   * 0: never.
   */
  readonly watchdog: number
  readonly watchdogKill: number
  /** Whether `Http.request` may reach addresses that aren't public. */
  readonly allowPrivate: boolean
  /** Whether the server starts without the services that have faults. */
  readonly skipFaulty: boolean
  readonly logLevel: LogLevel
  /** How the log is written: `auto` is readable on a terminal, JSON otherwise. */
  readonly logFormat: 'pretty' | 'json' | 'auto'
  /** Whether each request is logged. */
  readonly accessLog: boolean
}

/** Tells every setting that is wrong, a line each. */
class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** A row of the table: `default` null means not set. */
export interface SettingRow {
  readonly variable: string
  readonly default: string | null
  readonly meaning: string
}

const FORMATS = ['pretty', 'json', 'auto'] as const
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const

const integer = (from: number, to: number) => {
  const error = `must be an integer from ${from} to ${to}`
  return z
    .string()
    .regex(/^\d{1,15}$/, { error })
    .transform(Number)
    .refine((value) => value >= from && value <= to, { error })
}

/** A number with one of the units. */
const quantity = (units: { readonly [unit: string]: number }, error: string, least = 1) =>
  z.string().transform((text, context) => {
    const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text.toLowerCase()) ?? []
    const value = Math.round(Number(number) * (getOwn(units, unit) ?? Number.NaN))
    if (Number.isSafeInteger(value) && value >= least) return value
    context.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })

const TIMES = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const duration = quantity(TIMES, 'must be a duration such as 1500ms, 30s, 5m, 12h or 7d')
const durationOrNever = quantity(
  { ...TIMES, '': 0 },
  'must be a duration such as 1500ms, 30s, 5m or 12h, or 0',
  0,
).refine((time) => time === 0 || time >= 100, { error: 'must be at least 100ms, or 0' })
const room = quantity(
  { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 },
  'must be a size such as 65536, 512kb or 1mb',
)
const size = room.refine((bytes) => bytes <= 1024 ** 3 / 2, { error: 'must not be more than 512mb' })
const text = z.string()
const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true')
const name = z
  .string()
  .regex(/^(?!\.+$)[\w.-]{1,64}$/, { error: 'must be letters, digits, -, _ and ., at most 64, and not only dots' })
const folders = z
  .string()
  .transform((list) => list.split(delimiter).filter((folder) => folder !== ''))
  .refine((list) => list.length > 0, { error: 'must name a folder' })
/** As browsers send them: without a path. */
const origins = z
  .string()
  .transform((list) => list.split(',').map((origin) => origin.trim()))
  .refine(
    (list) => list.every((origin) => origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)),
    {
      error: 'must be origins such as https://shop.example, separated by commas, or *',
    },
  )
/** As URLs have them, in lower case and ASCII. */
const hosts = z.string().transform((list, context) =>
  list.split(',').map((entry) => {
    const host = entry.trim()
    if (host === '*') return host
    if (!/[@/\\?#\s]|^$|[^\]]:\d*$|\]:/.test(host) && URL.canParse(`http://${host}`))
      return new URL(`http://${host}`).hostname
    context.addIssue({
      code: 'custom',
      message:
        'must be host names or addresses such as flux.example or [2001:db8::1], without ports, separated by commas, or *',
    })
    return z.NEVER
  }),
)
const nodes = z.string().refine((urls) => urls.split(',').every((url) => isNode(url.trim())), {
  error:
    'must be redis://… or rediss://…, several nodes separated by commas, each with a valid port, and with user and password as a URL has them',
})

function isNode(url: string): boolean {
  if (!/^rediss?:\/\/[^\s,]+$/.test(url) || !URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return isEscaped(username) && isEscaped(password)
}

/** Whether every % is followed by what it stands for. */
function isEscaped(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const rows = z.registry<SettingRow>()

function setting<T>(
  variable: string,
  standard: string,
  meaning: string,
  type: z.ZodType<T, string>,
): z.ZodType<T, string | undefined> {
  const withDefault = z.string().default(standard).pipe(type)
  rows.add(withDefault, { variable, default: standard, meaning })
  return withDefault
}

const schema = z.object({
  host: setting('ACTORFLUX_HOST', '127.0.0.1', 'address to listen on', text),
  port: setting('ACTORFLUX_PORT', '8080', 'port to listen on; 0: any free one', integer(0, 65_535)),
  actors: setting('ACTORFLUX_ACTORS', 'actors', `folder of packages; several are separated by ${delimiter}`, folders),
  redisUrl: nodes.nullable().default(null).register(rows, {
    variable: 'ACTORFLUX_REDIS_URL',
    default: null,
    meaning: 'Redis to keep contexts in, or nodes of a cluster separated by commas; not set: the embedded store',
  }),
  data: setting('ACTORFLUX_DATA', '.actorflux', 'folder of the embedded store', text),
  minFree: setting(
    'ACTORFLUX_MIN_FREE',
    '64mb',
    'room that the embedded store leaves on its disk: with less, it writes nothing',
    room,
  ),
  namespace: setting('ACTORFLUX_NAMESPACE', 'default', 'keeps apart what shares one store', name),
  partitions: integer(1, 1024).nullable().default(null).register(rows, {
    variable: 'ACTORFLUX_PARTITIONS',
    default: '1',
    meaning: 'partitions of a namespace in Redis, fixed when it is made; 16 in a cluster if not set',
  }),
  recovery: setting(
    'ACTORFLUX_RECOVERY',
    '20s',
    'within which time other servers take over the steps of one that died',
    duration.refine((time) => time >= 1000, { error: 'must be at least 1s' }),
  ),
  tokens: setting('ACTORFLUX_TOKENS', 'tokens.json', 'file of the tokens', text),
  requireAuth: setting('ACTORFLUX_REQUIRE_AUTH', 'false', 'true: every call under /flux-api needs a token', flag),
  retention: setting('ACTORFLUX_RETENTION', '7d', 'how long finished contexts can be read', duration),
  webhookTimeout: setting('ACTORFLUX_WEBHOOK_TIMEOUT', '30s', 'how long a webhook waits for its answer', duration),
  maxBody: setting('ACTORFLUX_MAX_BODY', '1mb', 'largest body of a request', size),
  maxDepth: setting('ACTORFLUX_MAX_DEPTH', '64', 'levels of nesting of a body', integer(1, 150)),
  maxValues: setting('ACTORFLUX_MAX_VALUES', '100000', 'values and names in a body', integer(1, 10_000_000)),
  maxInFlight: room.nullable().default(null).register(rows, {
    variable: 'ACTORFLUX_MAX_IN_FLIGHT',
    default: null,
    meaning:
      "memory for requests, steps and webhooks under way; beyond it requests are refused with 503; not set: a quarter of the heap's limit",
  }),
  maxRecord: setting('ACTORFLUX_MAX_RECORD', '16mb', 'largest context, as JSON; one that outgrows it fails', size),
  headerTimeout: setting(
    'ACTORFLUX_HEADER_TIMEOUT',
    '10s',
    'how long a client may take to send the headers of a request',
    duration,
  ),
  requestTimeout: setting('ACTORFLUX_REQUEST_TIMEOUT', '30s', 'how long it may take to send all of it', duration),
  answerTimeout: setting(
    'ACTORFLUX_ANSWER_TIMEOUT',
    '30s',
    'after which time a client that takes nothing of its answer is cut off',
    duration,
  ),
  maxAnswers: setting('ACTORFLUX_MAX_ANSWERS', '128mb', 'what large answers may hold in memory together', size),
  maxConnections: setting(
    'ACTORFLUX_MAX_CONNECTIONS',
    '20000',
    'connections of clients at once',
    integer(1, 1_000_000),
  ),
  maxCommits: setting(
    'ACTORFLUX_MAX_COMMITS',
    '1024',
    'commits of calls under way at once; beyond it calls are refused with 503',
    integer(1, 1_000_000),
  ),
  maxBroadcasts: setting(
    'ACTORFLUX_MAX_BROADCASTS',
    '16',
    'events for more than 64 contexts under way at once; beyond it they are refused with 503',
    integer(1, 10_000),
  ),
  maxWaits: setting(
    'ACTORFLUX_MAX_WAITS',
    '20000',
    'requests that wait for a context at once; beyond it they are refused with 503',
    integer(1, 1_000_000),
  ),
  maxTags: setting('ACTORFLUX_MAX_TAGS', '64', 'tags of one context', integer(1, 10_000)),
  maxTagBytes: setting('ACTORFLUX_MAX_TAG_BYTES', '256', 'bytes of one tag', integer(1, 10_000)),
  origins: origins.default([]).register(rows, {
    variable: 'ACTORFLUX_CORS',
    default: null,
    meaning: 'origins whose pages may call the server, separated by commas, or *; not set: none',
  }),
  allowedHosts: hosts.default([]).register(rows, {
    variable: 'ACTORFLUX_ALLOWED_HOSTS',
    default: null,
    meaning:
      'names by which the server may be called besides loopback ones, separated by commas, or *; not set: on a loopback address none, else any',
  }),
  stepConcurrency: setting('ACTORFLUX_STEP_CONCURRENCY', '256', 'functions that run at once', integer(1, 1_000_000)),
  isolated: setting(
    'ACTORFLUX_ISOLATED',
    '8',
    'isolated functions that run at once, each in a process of its own',
    integer(1, 1000),
  ),
  maxResult: setting('ACTORFLUX_MAX_RESULT', '1mb', 'largest result of a function or script, as JSON', size),
  watchdog: setting(
    'ACTORFLUX_WATCHDOG',
    '5s',
    'how long a function may hold up the server until the log names it; 0: for ever',
    durationOrNever,
  ),
  watchdogKill: setting(
    'ACTORFLUX_WATCHDOG_KILL',
    '30s',
    'how long until the process ends with code 70, to be started again; 0: never',
    durationOrNever,
  ),
  allowPrivate: setting(
    'ACTORFLUX_ALLOW_PRIVATE_ADDRESSES',
    'false',
    'true: Http.request may reach addresses that are not public',
    flag,
  ),
  skipFaulty: setting('ACTORFLUX_SKIP_FAULTY', 'false', 'true: start without the services that have faults', flag),
  logLevel: setting(
    'ACTORFLUX_LOG_LEVEL',
    'info',
    LEVELS.join(', '),
    z.enum(LEVELS, { error: `must be one of ${LEVELS.join(', ')}` }),
  ),
  logFormat: setting(
    'ACTORFLUX_LOG_FORMAT',
    'auto',
    'pretty, json, or auto: readable lines on a terminal, JSON otherwise',
    z.enum(FORMATS, {
      error: `must be one of ${FORMATS.join(', ')}`,
    }),
  ),
  accessLog: setting('ACTORFLUX_ACCESS_LOG', 'false', 'true: each request is logged', flag),
})

const table = new Map(
  Object.entries(schema.shape).flatMap(([name, type]) => {
    const row = rows.get(type)
    return row ? [[name, row] as const] : []
  }),
)

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

/** Variables that look like a setting and are none: misspelt, most likely. */
export function unknownSettings(environment: { readonly [variable: string]: string | undefined }): string[] {
  return Object.keys(environment)
    .filter((variable) => variable.startsWith('ACTORFLUX_') && !SETTINGS.some((row) => row.variable === variable))
    .sort()
}

/** What is asked for that this version can't do, a line each: better refused than silently left out. */
export function unsupported({ redisUrl, partitions }: Settings): string[] {
  return [
    redisUrl !== null || (partitions ?? 1) === 1 ? [] : 'ACTORFLUX_PARTITIONS must be 1 with the embedded store',
  ].flat()
}
