// settings: the table of the environment variables, each with its field, default, meaning and type. Help and checks are
// derived from it, and tests compare the documents with it. The error of each type shows what a valid value looks like.
import { delimiter } from 'node:path'
import { z } from 'zod'
import { quantityOf } from '../model/quantity.ts'

/** A row of the table: `default` null means not set. */
export interface SettingRow {
  readonly variable: string
  readonly default: string | null
  readonly meaning: string
}

/** The row of each setting. */
const rows = z.registry<SettingRow>()

/** A setting with a default, which is checked like a given value; help shows an empty one as none. */
function setting<T>(
  variable: string,
  standard: string,
  meaning: string,
  type: z.ZodType<T, string>,
): z.ZodType<T, string | undefined> {
  const withDefault = z.string().default(standard).pipe(type)
  rows.add(withDefault, { variable, default: standard || null, meaning })
  return withDefault
}

/** A setting without a default: null where it is not set. `shown`: the default that help tells all the same. */
function unset<T>(variable: string, meaning: string, type: z.ZodType<T, string>, shown: string | null = null) {
  return type.nullable().default(null).register(rows, { variable, default: shown, meaning })
}

/** What `parse` makes of the text; null: the text is not valid. */
const parsed = <T>(error: string, parse: (text: string) => T | null) =>
  z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== null) return value
    context.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })

/** An integer within bounds, both included. */
const integer = (from: number, to: number) =>
  parsed(`must be an integer from ${from} to ${to}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= from && value <= to ? value : null
  })

export const TIMES = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZES = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

/** A number with one of the units, in the smallest unit, within bounds. */
const quantity = (
  units: { readonly [unit: string]: number },
  error: string,
  { from = 1, to = Number.MAX_SAFE_INTEGER } = {},
) =>
  parsed(error, (text) => {
    const value = quantityOf(text, units)
    return value >= from && value <= to ? value : null
  })

/** Milliseconds. */
const duration = quantity(TIMES, 'must be a duration such as 1500ms, 30s, 5m, 12h or 7d')
/** Milliseconds; 0 means never, or none. */
const durationOrNever = parsed('must be a duration of at least 100ms, such as 30s, 5m or 12h, or 0', (text) => {
  const time = text === '0' ? 0 : quantityOf(text, TIMES)
  return time === 0 || time >= 100 ? time : null
})
/** Bytes. */
const byteCount = quantity(SIZES, 'must be a size such as 65536, 512kb or 1mb')
/** Bytes of something that is held in memory as a whole. */
const memorySize = quantity(SIZES, 'must be a size of at most 512mb, such as 65536, 512kb or 1mb', {
  to: 1024 ** 3 / 2,
})
const trueOrFalse = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true')
/** The name of a namespace: part of a file name and of keys in Redis. */
const namespaceName = z
  .string()
  .regex(/^(?!\.+$)[\w.-]{1,64}$/, { error: 'must be letters, digits, -, _ and ., at most 64, and not only dots' })
/** Folders, separated like those in PATH. */
const folders = parsed('must name a folder', (list): readonly string[] | null => {
  const some = list.split(delimiter).filter((folder) => folder !== '')
  return some.length > 0 ? some : null
})

/** The parts of a list, separated by commas, as `read` gives each; null: one of them is not valid. Empty: none. */
function partsOf(list: string, read: (part: string) => string | null) {
  const parts = list === '' ? [] : list.split(',').map((part) => read(part.trim()))
  return parts.every((part) => part !== null) ? parts : null
}

/** Origins as browsers send them, or `*`. */
const origins = parsed('must be origins such as https://shop.example, separated by commas, or *', (list) =>
  partsOf(list, (origin) =>
    origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin) ? origin : null,
  ),
)
/** Host names as in URLs, in lower case and ASCII, or `*`. */
const hosts = parsed(
  'must be host names or addresses such as flux.example or [2001:db8::1], without ports, separated by commas, or *',
  (list) =>
    partsOf(list, (host) => {
      if (host === '*') return host
      const isHost = !/[@/\\?#\s]|^$|[^\]]:\d*$|\]:/.test(host) && URL.canParse(`http://${host}`)
      return isHost ? new URL(`http://${host}`).hostname : null
    }),
)
/**
 * A URL before which nothing else stands, and to which the path and query of a request are added. A scheme compares it
 * as text: spaces around it, which a URL may have, would never fit.
 */
const publicUrl = parsed('must be a URL such as https://flux.example, without user, query and fragment', (url) =>
  /^https?:\/\/[^\s?#\\@]+$/i.test(url) && URL.canParse(url) ? url : null,
)

/** The URL of a Redis server, or of several nodes of a cluster. */
const redisUrls = parsed(
  'must be redis://… or rediss://…, several nodes separated by commas, each with a valid port, and with user and password as a URL has them',
  (urls) => (urls.split(',').every((url) => isRedisUrl(url.trim())) ? urls : null),
)

function isRedisUrl(url: string) {
  try {
    const { username, password } = new URL(url)
    decodeURIComponent(`${username}:${password}`)
    return /^rediss?:\/\/[^\s,]+$/.test(url)
  } catch {
    return false
  }
}

const oneOf = <const T extends string>(...values: readonly T[]) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` })

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const

export const schema = z.object({
  host: setting('ACTORFLUX_HOST', '127.0.0.1', 'address to listen on', z.string()),
  port: setting('ACTORFLUX_PORT', '8080', 'port to listen on; 0: any free one', integer(0, 65_535)),
  url: unset('ACTORFLUX_URL', 'server that commands such as webhook test call; not set: the address above', publicUrl),
  token: unset('ACTORFLUX_TOKEN', 'token that commands send to that server', z.string()),
  actors: setting('ACTORFLUX_ACTORS', 'actors', `folder of packages; several are separated by ${delimiter}`, folders),
  redisUrl: unset(
    'ACTORFLUX_REDIS_URL',
    'Redis to keep contexts in, or nodes of a cluster separated by commas; not set: the embedded store',
    redisUrls,
  ),
  data: setting('ACTORFLUX_DATA', '.actorflux', 'folder of the embedded store', z.string()),
  minFree: setting(
    'ACTORFLUX_MIN_FREE',
    '64mb',
    'space that the embedded store leaves on its disk: with less, it writes nothing',
    byteCount,
  ),
  namespace: setting('ACTORFLUX_NAMESPACE', 'default', 'separates installations that share one store', namespaceName),
  partitions: unset(
    'ACTORFLUX_PARTITIONS',
    'partitions of a namespace in Redis, fixed when the namespace is created; 16 in a cluster if not set',
    integer(1, 1024),
    '1',
  ),
  recovery: setting(
    'ACTORFLUX_RECOVERY',
    '20s',
    'time within which other servers take over the steps of one that died; the same on all servers',
    quantity(TIMES, 'must be a duration of at least 1s, such as 20s or 5m', { from: 1000 }),
  ),
  tokens: setting('ACTORFLUX_TOKENS', 'tokens.json', 'file of the tokens', z.string()),
  requireAuth: setting(
    'ACTORFLUX_REQUIRE_AUTH',
    'false',
    'true: every call under /flux-api needs a token',
    trueOrFalse,
  ),
  retention: setting('ACTORFLUX_RETENTION', '7d', 'how long finished contexts can be read', duration),
  idempotency: setting(
    'ACTORFLUX_IDEMPOTENCY',
    '24h',
    'how long an Idempotency-Key, or the eventId of a sender, is remembered with its answer',
    duration,
  ),
  webhookIdempotency: setting(
    'ACTORFLUX_IDEMPOTENCY_WEBHOOKS',
    '7d',
    'how long the Idempotency-Key of a webhook is remembered with its answer',
    duration,
  ),
  maxIdempotency: setting(
    'ACTORFLUX_IDEMPOTENCY_MAX',
    '1000000',
    'answers remembered at once, and contexts that remembered events moved; beyond it requests with a key get 503',
    integer(1, 1_000_000_000),
  ),
  webhookTimeout: setting('ACTORFLUX_WEBHOOK_TIMEOUT', '30s', 'how long a webhook waits for its answer', duration),
  publicUrl: unset(
    'ACTORFLUX_PUBLIC_URL',
    'URL by which clients reach the server, before /api; for webhooks of the scheme twilio, which signs the URL',
    publicUrl,
  ),
  deliveries: setting(
    'ACTORFLUX_DELIVERIES',
    '1000',
    'deliveries kept of each endpoint of a webhook, the newest, for 30 days at most; 0: none',
    integer(0, 1_000_000),
  ),
  maxBody: setting('ACTORFLUX_MAX_BODY', '1mb', 'largest body of a request', memorySize),
  maxDepth: setting('ACTORFLUX_MAX_DEPTH', '64', 'levels of nesting of a body', integer(1, 150)),
  maxValues: setting('ACTORFLUX_MAX_VALUES', '100000', 'values and names in a body', integer(1, 10_000_000)),
  maxInFlight: unset(
    'ACTORFLUX_MAX_IN_FLIGHT',
    "memory for requests, steps and webhooks under way; beyond it requests are refused with 503; not set: a quarter of the heap's limit",
    byteCount,
  ),
  maxRecord: setting(
    'ACTORFLUX_MAX_RECORD',
    '16mb',
    'largest context, as JSON; one that outgrows it fails with RecordTooLarge',
    memorySize,
  ),
  headerTimeout: setting(
    'ACTORFLUX_HEADER_TIMEOUT',
    '10s',
    'how long a client may take to send the headers of a request',
    duration,
  ),
  requestTimeout: setting(
    'ACTORFLUX_REQUEST_TIMEOUT',
    '30s',
    'how long a client may take to send the whole request',
    duration,
  ),
  answerTimeout: setting(
    'ACTORFLUX_ANSWER_TIMEOUT',
    '30s',
    'time after which a client that reads nothing of its answer is disconnected',
    duration,
  ),
  maxAnswers: setting('ACTORFLUX_MAX_ANSWERS', '128mb', 'memory that large answers may hold together', memorySize),
  maxConnections: setting(
    'ACTORFLUX_MAX_CONNECTIONS',
    '20000',
    'connections of clients at once',
    integer(1, 1_000_000),
  ),
  maxStreams: setting(
    'ACTORFLUX_MAX_STREAMS',
    '64',
    'requests at once that send many events or starts, a line each; one token, or all callers without one, have half',
    integer(1, 100_000),
  ),
  maxReaders: setting(
    'ACTORFLUX_MAX_READERS',
    '1000',
    'streams of moves open at once; one token, or all callers without one, have half',
    integer(1, 100_000),
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
  broadcastAsync: setting(
    'ACTORFLUX_BROADCAST_ASYNC',
    '10000',
    'an event for more contexts than that is answered with 202 before it is sent to them',
    integer(0, 1_000_000_000),
  ),
  maxWaits: setting(
    'ACTORFLUX_MAX_WAITS',
    '20000',
    'requests that wait for a context at once; beyond it they are refused with 503',
    integer(1, 1_000_000),
  ),
  maxPending: setting(
    'ACTORFLUX_PENDING',
    '100000',
    'unclaimed events: events with a ttl that no context waits for yet; beyond it such events are refused with 429',
    integer(1, 100_000_000),
  ),
  maxTags: setting('ACTORFLUX_MAX_TAGS', '64', 'tags of one context', integer(1, 10_000)),
  maxTagBytes: setting('ACTORFLUX_MAX_TAG_BYTES', '256', 'bytes of one tag', integer(1, 10_000)),
  origins: setting(
    'ACTORFLUX_CORS',
    '',
    'origins whose pages may call the server, separated by commas, or *; not set: none',
    origins,
  ),
  allowedHosts: setting(
    'ACTORFLUX_ALLOWED_HOSTS',
    '',
    'names by which the server may be called besides loopback names, separated by commas, or *; not set: on a loopback address none, else any',
    hosts,
  ),
  stepConcurrency: setting(
    'ACTORFLUX_STEP_CONCURRENCY',
    '256',
    'functions that run at once in this server; others wait',
    integer(1, 1_000_000),
  ),
  isolated: setting(
    'ACTORFLUX_ISOLATED',
    '8',
    'isolated functions that run at once, each in a process of its own',
    integer(1, 1000),
  ),
  maxResult: setting('ACTORFLUX_MAX_RESULT', '1mb', 'largest result of a function or script, as JSON', memorySize),
  watchdog: setting(
    'ACTORFLUX_WATCHDOG',
    '5s',
    'how long a function may block the server until the log names it; 0: no limit',
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
    'true: Http.request, Webhooks.send and onEnd may reach addresses that are not public',
    trueOrFalse,
  ),
  skipFaulty: setting(
    'ACTORFLUX_SKIP_FAULTY',
    'false',
    'true: start without the services that have faults',
    trueOrFalse,
  ),
  logLevel: setting('ACTORFLUX_LOG_LEVEL', 'info', LEVELS.join(', '), oneOf(...LEVELS)),
  logFormat: setting(
    'ACTORFLUX_LOG_FORMAT',
    'auto',
    'pretty, json, or auto: readable lines on a terminal, JSON otherwise',
    oneOf('pretty', 'json', 'auto'),
  ),
  metrics: setting(
    'ACTORFLUX_METRICS',
    'guarded',
    'who may read /metrics: guarded: tokens with the role read and, unless ACTORFLUX_REQUIRE_AUTH is set, programs on this machine; open: anyone',
    oneOf('guarded', 'open'),
  ),
  drainDelay: setting(
    'ACTORFLUX_DRAIN_DELAY',
    '0',
    'how long a server that was told to stop still serves, with /readyz 503, so that load balancers leave it first',
    durationOrNever,
  ),
  accessLog: setting('ACTORFLUX_ACCESS_LOG', 'false', 'true: each request is logged', trueOrFalse),
})

/** The row of each setting, by the name of its field. */
export const table: ReadonlyMap<string, SettingRow> = new Map(
  Object.entries(schema.shape).flatMap(([name, type]) => {
    const row = rows.get(type)
    return row ? [[name, row] as const] : []
  }),
)
