// A store with very many waiting contexts: what each of them takes, what an event to any of them costs beside an event
// to one that is in memory, and how long a server takes to start.
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Server } from '../support/server.ts'
import { event, run, type Row, type Sizes } from './cases.ts'
import { footprintOf, type Footprint } from './footprint.ts'
import { medianOf, percentiles } from './load.ts'
import { JITI, openSite, type Site, type StoreName } from './servers.ts'
import { SECRET } from './services.ts'
import { verdict } from './table.ts'

export interface Million {
  readonly rows: readonly Row[]
  /** For people: what was measured besides, and which goals are met. */
  readonly lines: readonly string[]
}

/** Contexts that stay in memory, at equal distances among all ids. */
const HOT = 1000
/** Events to any context, in the order in which they are sent: more than are sent in two rounds. */
const COLD_CALLS = 200_000

/** Throughput of events to any context, as a share of that of events to those in memory. */
const SHARE = 0.6
/** From the start of the process of an embedded server until it is ready. */
const READY_MS = 5000

const MEGABYTE = 1024 ** 2

export async function measureMillion(
  store: StoreName,
  { contexts, profiles, ...sizes }: Sizes & { readonly profiles: string | undefined },
): Promise<Million> {
  const site = await openSite(store, profiles)
  const empty = await weigh(site)
  const begun = performance.now()
  const ids = await fill(site, contexts)
  const lines = [`filled with ${contexts} contexts in ${seconds(performance.now() - begun)}`]
  const full = await weigh(site)
  lines.push(
    `a context takes ${bytesEach(full.memory - empty.memory, contexts)} of memory (${store === 'embedded' ? 'of the server' : 'of Redis'}), ` +
      `and ${bytesEach(full.disk - empty.disk, contexts)} on disk`,
    `ready ${seconds(full.readyMs)} after the start of the process`,
  )
  const server = await site.start()
  const { hot, cold } = await compare({ ...sizes, contexts, server }, ids)
  await server.kill('SIGTERM')
  await site.close()
  const share = cold.perSecond / hot.perSecond
  lines.push(`cold events reach ${share.toFixed(2)} of the throughput of hot ones`)
  lines.push(verdict(`cold events: at least ${SHARE} of hot ones`, share >= SHARE))
  if (store === 'embedded') lines.push(verdict(`ready within ${READY_MS / 1000} s`, full.readyMs <= READY_MS))
  const where = store === 'embedded' ? '' : `, Redis ${store}`
  return {
    rows: [hot, cold].map((row) => ({ ...row, name: `${row.name}${where}` })),
    lines: lines.map((line) => `${contexts} contexts${where}: ${line}`),
  }
}

/** By turns, so that what else the machine does concerns both. */
async function compare(
  subject: Sizes & { readonly server: Server },
  ids: Float64Array,
): Promise<{ readonly hot: Row; readonly cold: Row }> {
  const { contexts, rounds } = subject
  const hotCalls = Array.from({ length: HOT }, (_, n) => event('tick', ids[Math.floor((n / HOT) * contexts)]))
  const hot: Row[] = []
  const cold: Row[] = []
  for (let round = 0; round < rounds; round += 1) {
    const coldCalls = Array.from({ length: COLD_CALLS }, () => event('tick', ids[Math.floor(Math.random() * contexts)]))
    const once = { ...subject, rounds: 1 }
    hot.push(await run(`hot events, ${HOT} of ${contexts} contexts`, once, hotCalls))
    cold.push(await run(`cold events, any of ${contexts} contexts`, once, coldCalls))
  }
  return { hot: together(hot), cold: together(cold) }
}

function together(rows: readonly Row[]): Row {
  const [first] = rows
  if (!first) throw new Error('there was no round')
  return { ...first, ...medianOf(rows) }
}

/** Gives the ids. @throws Error when there are not as many as contexts */
async function fill({ place, redis }: Site, contexts: number): Promise<Float64Array> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--max-semi-space-size=64',
      JITI,
      resolve(import.meta.dirname, 'fill.ts'),
      place.actors[0] ?? '',
      place.data,
      redis?.url ?? '',
      String(contexts),
    ],
    { env: { ...process.env, ACTORFLUX_LOG_LEVEL: 'warn', ACTORFLUX_SECRET_BENCH: SECRET } },
  )
  const ranges: [first: number, last: number][] = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  const ids = new Float64Array(contexts)
  let count = 0
  for (const [first, last] of ranges) for (let id = first; id <= last; id += 1) ids[count++] = id
  if (count !== contexts) throw new Error(`${contexts} contexts were started, and there are ${count} ids`)
  return ids
}

/** Servers that are started one after the other, each measured as soon as it is ready. */
const STARTS = 3

/** What the store takes, and how long a server takes to start on it: the median of some starts. */
async function weigh(site: Site): Promise<Footprint & { readonly readyMs: number }> {
  const times: number[] = []
  let memory = 0
  let disk = 0
  for (let start = 0; start < STARTS; start += 1) {
    const begun = performance.now()
    const server = await site.start()
    times.push(performance.now() - begun)
    ;({ memory, disk } = await footprintOf(site, server))
    await server.kill('SIGTERM')
  }
  return { memory, disk, readyMs: percentiles(times).p50 }
}

const bytesEach = (megabytes: number, count: number) => `${((megabytes * MEGABYTE) / count).toFixed(0)} bytes`
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
