// The processes that are measured: servers, each on a new data folder or a Redis of its own, and the handler that they
// are held against.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { placeFor, startServer, type Place, type Server } from '../support/server.ts'
import { sizeOf } from './footprint.ts'
import { SECRET, SERVICES } from './services.ts'

const ROOT = resolve(import.meta.dirname, '../..')
export const JITI = resolve(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs')

/** Redis would rewrite its log in the middle of a case, whenever it has grown: the case before would be paid by this one. */
const NO_REWRITE = ['--auto-aof-rewrite-percentage', '0']

/** Where contexts are kept: in the embedded store, or in Redis with that `appendfsync`. */
export const STORES = ['embedded', 'everysec', 'always'] as const
export type StoreName = (typeof STORES)[number]

/** Node's options that `npm start` gives. */
const AS_STARTED = ['--max-semi-space-size=64']

/** Services, and where their contexts are kept. */
export interface Site {
  readonly place: Place
  /** Null: the embedded store. */
  readonly redis: RedisServer | null
  /** Bytes of the embedded store's files, or keys of Redis. */
  storeSize(): Promise<number>
  /** A server for it. Only one at a time on the embedded store. */
  start(): Promise<Server>
  close(): Promise<void>
}

/** `profiles`: the folder for a processor profile of each server. */
export async function openSite(store: StoreName, profiles: string | undefined): Promise<Site> {
  const place = await placeFor(SERVICES)
  const redis = store === 'embedded' ? null : await startRedis({ appendfsync: store, args: NO_REWRITE })
  const secrets = { ACTORFLUX_SECRET_BENCH: SECRET }
  return {
    place,
    redis,
    storeSize: () => (redis ? keysOf(redis) : sizeOf(place.data)),
    start: () =>
      startServer({
        program: resolve(ROOT, 'dist/cli/actorflux.js'),
        ...place,
        env: redis ? { ...secrets, ACTORFLUX_REDIS_URL: redis.url } : secrets,
        node: [...AS_STARTED, ...(profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profiles)}`])],
      }),
    close: async () => redis?.close(),
  }
}

async function keysOf({ url }: RedisServer): Promise<number> {
  const redis = new Redis(url)
  try {
    return await redis.dbsize()
  } finally {
    redis.disconnect()
  }
}

export interface Handler {
  readonly url: string
  readonly pid: number
  readonly stop: () => void
}

export async function startHandler(): Promise<Handler> {
  const child = spawn(process.execPath, [JITI, resolve(import.meta.dirname, 'handler.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.on('exit', () => child.kill('SIGKILL'))
  const [line]: string[] = await once(createInterface(child.stdout), 'line')
  return {
    url: line?.split(/\s+/)[1] ?? '',
    pid: child.pid ?? 0,
    stop: () => {
      child.kill()
    },
  }
}
