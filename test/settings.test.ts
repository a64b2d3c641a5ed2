import { expect, test } from 'vitest'
import { readSettings, SETTINGS, unknownSettings } from '../src/settings.ts'

const read = (name: string, value: string) => readSettings({ [`ACTORFLUX_${name}`]: value })

test('have defaults', () => {
  expect(readSettings({})).toEqual({
    host: '127.0.0.1',
    port: 8080,
    url: null,
    token: null,
    actors: ['actors'],
    redisUrl: null,
    data: '.actorflux',
    namespace: 'default',
    partitions: null,
    publicUrl: null,
    tokens: 'tokens.json',
    requireAuth: false,
    recovery: 20_000,
    retention: 604_800_000,
    idempotency: 86_400_000,
    webhookIdempotency: 604_800_000,
    maxIdempotency: 1_000_000,
    webhookTimeout: 30_000,
    maxBody: 1_048_576,
    stepConcurrency: 256,
    logLevel: 'info',
    logFormat: 'auto',
    accessLog: false,
    metrics: 'guarded',
    answerTimeout: 30_000,
    maxAnswers: 134_217_728,
    maxConnections: 20_000,
    maxStreams: 64,
    maxReaders: 1000,
    maxCommits: 1024,
    maxBroadcasts: 16,
    maxWaits: 20_000,
    maxPending: 100_000,
    deliveries: 1000,
    broadcastAsync: 10_000,
    minFree: 67_108_864,
    allowedHosts: [],
    skipFaulty: false,
    maxDepth: 64,
    maxValues: 100_000,
    headerTimeout: 10_000,
    requestTimeout: 30_000,
    maxTags: 64,
    maxTagBytes: 256,
    origins: [],
    allowPrivate: false,
    maxInFlight: null,
    maxRecord: 16_777_216,
    isolated: 8,
    maxResult: 1_048_576,
    watchdog: 5_000,
    watchdogKill: 30_000,
    drainDelay: 0,
  })
})

test('that are empty count as not set', () => {
  expect(readSettings(Object.fromEntries(SETTINGS.map(({ variable }) => [variable, ''])))).toEqual(readSettings({}))
})

test.each([
  ['HOST', '::1', { host: '::1' }],
  ['PORT', '0', { port: 0 }],
  ['PORT', '65535', { port: 65_535 }],
  ['WATCHDOG', '0', { watchdog: 0 }],
  ['WATCHDOG', '0s', { watchdog: 0 }],
  ['WATCHDOG', '100ms', { watchdog: 100 }],
  ['WATCHDOG_KILL', '90s', { watchdogKill: 90_000 }],
  ['ACTORS', 'a:/b c::d', { actors: ['a', '/b c', 'd'] }],
  ['PUBLIC_URL', 'https://flux.example', { publicUrl: 'https://flux.example' }],
  ['PUBLIC_URL', 'http://[::1]:8080/behind/', { publicUrl: 'http://[::1]:8080/behind/' }],
  ['REDIS_URL', 'redis://a:1,rediss://u:p@b', { redisUrl: 'redis://a:1,rediss://u:p@b' }],
  ['REDIS_URL', 'redis://u%40:p%2f@a:1/3', { redisUrl: 'redis://u%40:p%2f@a:1/3' }],
  ['REDIS_URL', 'redis://[::1]:1', { redisUrl: 'redis://[::1]:1' }],
  ['NAMESPACE', '.a.', { namespace: '.a.' }],
  ['REQUIRE_AUTH', 'true', { requireAuth: true }],
  ['MIN_FREE', '10gb', { minFree: 10_737_418_240 }],
  ['MAX_IN_FLIGHT', '2gb', { maxInFlight: 2 * 1024 ** 3 }],
  ['MAX_RECORD', '64mb', { maxRecord: 64 * 1024 ** 2 }],
  ['RETENTION', '1500ms', { retention: 1500 }],
  ['RETENTION', '12h', { retention: 43_200_000 }],
  ['RETENTION', '5m', { retention: 300_000 }],
  ['IDEMPOTENCY', '1h', { idempotency: 3_600_000 }],
  ['IDEMPOTENCY_WEBHOOKS', '2h', { webhookIdempotency: 7_200_000 }],
  ['IDEMPOTENCY_MAX', '10', { maxIdempotency: 10 }],
  ['WEBHOOK_TIMEOUT', '1.5s', { webhookTimeout: 1500 }],
  ['RECOVERY', '5s', { recovery: 5000 }],
  ['MAX_BODY', '512kb', { maxBody: 524_288 }],
  ['MAX_BODY', '2MB', { maxBody: 2_097_152 }],
  ['MAX_BODY', '1000', { maxBody: 1000 }],
  ['MAX_DEPTH', '150', { maxDepth: 150 }],
  ['MAX_VALUES', '1000', { maxValues: 1000 }],
  ['CORS', 'https://a.example, http://localhost:3000', { origins: ['https://a.example', 'http://localhost:3000'] }],
  ['CORS', '*', { origins: ['*'] }],
  [
    'ALLOWED_HOSTS',
    'Flux.Example, [2001:db8::0:1],10.0.0.1',
    { allowedHosts: ['flux.example', '[2001:db8::1]', '10.0.0.1'] },
  ],
  ['ALLOWED_HOSTS', '*', { allowedHosts: ['*'] }],
  ['STEP_CONCURRENCY', '1', { stepConcurrency: 1 }],
  ['LOG_LEVEL', 'trace', { logLevel: 'trace' }],
])('%s=%s', (name, value, settings) => expect(read(name, value)).toMatchObject(settings))

test.each([
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80a'],
  ['PORT', '8e1'],
  ['ACTORS', ':'],
  ['PUBLIC_URL', 'flux.example'],
  ['PUBLIC_URL', 'ftp://flux.example'],
  ['PUBLIC_URL', 'https://flux.example/?a=b'],
  ['PUBLIC_URL', 'https://flux.example#a'],
  ['PUBLIC_URL', 'https://u:p@flux.example'],
  ['PUBLIC_URL', 'https://'],
  ['PUBLIC_URL', 'https://flux.example:x'],
  ['REDIS_URL', 'http://a'],
  ['REDIS_URL', 'redis://a,b'],
  ['REDIS_URL', 'redis://a,redis://h:notaport'],
  ['REDIS_URL', 'redis://h:65536'],
  ['REDIS_URL', 'redis://%zz:a@h'],
  ['REDIS_URL', 'redis://a:%@h'],
  ['REQUIRE_AUTH', 'yes'],
  ['PARTITIONS', '0'],
  ['NAMESPACE', 'a b'],
  ['NAMESPACE', '.'],
  ['NAMESPACE', '...'],
  ['NAMESPACE', '{a}'],
  ['RETENTION', '7'],
  ['RETENTION', '7w'],
  ['RETENTION', '0s'],
  ['RETENTION', '-1s'],
  ['RETENTION', 'd'],
  ['WEBHOOK_TIMEOUT', '1 s'],
  ['MAX_BODY', '1tb'],
  ['MAX_BODY', '0'],
  ['MAX_BODY', '1constructor'],
  ['MAX_BODY', '513mb'],
  ['STEP_CONCURRENCY', '0'],
  ['LOG_LEVEL', 'INFO'],
  ['MAX_DEPTH', '151'],
  ['CORS', 'a.example'],
  ['ALLOWED_HOSTS', 'a.example:80'],
  ['ALLOWED_HOSTS', 'https://a.example'],
  ['ALLOWED_HOSTS', '::1'],
  ['ALLOWED_HOSTS', '[::1]:80'],
  ['ALLOWED_HOSTS', 'a,,b'],
  ['ALLOWED_HOSTS', 'a b'],
  ['CORS', 'https://a.example/'],
  ['MAX_TAGS', '0'],
  ['HEADER_TIMEOUT', '5'],
  ['WATCHDOG', '5'],
  ['WATCHDOG', '99ms'],
  ['RECOVERY', '500ms'],
])('%s=%s is refused by name', (name, value) =>
  expect(() => read(name, value)).toThrow(new RegExp(`^ACTORFLUX_${name} must `)),
)

test('that are bad are told all at once, a line each, without their values', () => {
  const bad = { ACTORFLUX_PORT: 'x', ACTORFLUX_LOG_LEVEL: 'loud', ACTORFLUX_REDIS_URL: 'secret' }
  expect(() => readSettings(bad)).toThrow(/^ACTORFLUX_PORT .*\nACTORFLUX_REDIS_URL .*\nACTORFLUX_LOG_LEVEL .*$/)
  expect(() => readSettings(bad)).not.toThrow(/secret/)
})

test('that nobody knows are told by name', () => {
  expect(
    unknownSettings({
      ACTORFLUX_REQIRE_AUTH: 'true',
      ACTORFLUX_PORT: '1',
      actorflux_port: '1',
      ACTORFLUX_: '',
      PATH: '/',
    }),
  ).toEqual(['ACTORFLUX_', 'ACTORFLUX_REQIRE_AUTH'])
  expect(unknownSettings(Object.fromEntries(SETTINGS.map(({ variable }) => [variable, 'x'])))).toEqual([])
})

test('several partitions need Redis', () => {
  expect(readSettings({ ACTORFLUX_PARTITIONS: '16', ACTORFLUX_REDIS_URL: 'redis://h' })).toMatchObject({
    partitions: 16,
  })
  expect(read('PARTITIONS', '1')).toMatchObject({ partitions: 1 })
  expect(() => read('PARTITIONS', '2')).toThrow(/^ACTORFLUX_PARTITIONS must be 1 with the embedded store$/)
})
