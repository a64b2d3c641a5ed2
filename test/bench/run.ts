// `npm run bench`: what a server does in a second on this machine, beside a handler that does nothing, with the same
// client in the same run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus, loadavg } from 'node:os'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { startRedis } from '../support/redis.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { CALLS, LISTS, populate, type Row, type Sizes } from './cases.ts'
import { footprint, type Footprint } from './footprint.ts'
import { measure } from './load.ts'
import { SERVICES } from './services.ts'
import { goals, table } from './table.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const CASES = [...Object.keys(CALLS), ...Object.keys(LISTS), 'memory']

const HELP = `npm run bench -- [case…] [options]
  cases: ${CASES.join(', ')}; all if none is named
  --seconds 6         of each measurement; without it, batch sends a million events however long that takes
  --connections 64
  --contexts 100000   among which pages are listed, and which are due within one second
  --stores embedded,everysec,always   where contexts are kept: in the embedded store, or in Redis with that appendfsync
  --cpu-prof <folder> writes a profile of each server there`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    stores: { type: 'string', default: 'embedded,everysec,always' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    contexts: { type: 'string', default: '100000' },
    'cpu-prof': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const sizes: Sizes = {
  seconds: Number(values.seconds ?? '6'),
  whole: values.seconds === undefined,
  connections: Number(values.connections),
  contexts: Number(values.contexts),
}
const wanted = (name: string) => positionals.length === 0 || positionals.includes(name)

/** Node's options that `npm start` gives. */
const AS_STARTED = ['--max-semi-space-size=32']
const STORES = ['embedded', 'everysec', 'always'] as const
type StoreName = (typeof STORES)[number]
const stores = STORES.filter((name) => values.stores.split(',').includes(name))

/** The handler, each time it was measured. */
const yardstick: Row[] = []
const rows: Row[] = []
const weights: [when: string, weight: Footprint][] = []

async function main(): Promise<void> {
  const unknown = positionals.filter((name) => !CASES.includes(name))
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `there is no case ${unknown.join(', ')}\n\n${HELP}` : HELP)
    process.exitCode = unknown.length > 0 ? 2 : 0
    return
  }
  console.log(
    `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, load average ${loadavg()[0]?.toFixed(2)} at the start`,
  )
  const handler = await startHandler()
  try {
    await measureHandler(handler)
    for (const store of Object.keys(CALLS).some(wanted) ? stores : []) {
      await measureCalls(store)
      await measureHandler(handler)
    }
    if (wanted('list') || wanted('memory')) {
      await measureMany()
      await measureHandler(handler)
    }
  } finally {
    handler.stop()
  }
  console.log(`\n${table(rows, yardstick).join('\n')}`)
  for (const [when, { memory, disk }] of weights)
    console.log(`${when}: ${memory.toFixed(0)} MB of memory (RSS), ${disk.toFixed(0)} MB on disk`)
  console.log(`\n${goals(rows, yardstick).join('\n')}`)
}

async function measureHandler({ url, pid }: Handler): Promise<void> {
  for (const connections of wanted('list') ? [1, sizes.connections] : [sizes.connections]) {
    tell(`handler, ${connections} connections`)
    const seconds = Math.min(sizes.seconds, 4) / (connections === 1 ? 2 : 1)
    const until = { warmUp: yardstick.length === 0 ? 2 : 0.5, seconds }
    yardstick.push({
      name: 'a handler that does nothing',
      connections,
      ...(await measure({
        url,
        pid,
        connections,
        until,
        call: () => ({ method: 'POST', path: '/', body: { event: 'tick' } }),
      })),
    })
  }
}

async function measureCalls(store: StoreName): Promise<void> {
  const { server, stop } = await openServer(store)
  for (const [name, run] of Object.entries(CALLS)) {
    if (!wanted(name)) continue
    tell(`${name}, ${store}`)
    const measured = await run({ ...sizes, server })
    rows.push(
      ...measured.map((row) => ({ ...row, name: `${row.name}${store === 'embedded' ? '' : `, Redis ${store}`}` })),
    )
  }
  await stop()
}

async function measureMany(): Promise<void> {
  const { server, stop, restart, data } = await openServer()
  const weigh = async (when: string, { pid }: Server) => weights.push([when, await footprint(pid, data)])
  await weigh('a server without contexts', server)
  tell(`${sizes.contexts} contexts`)
  await populate({ ...sizes, server })
  await weigh(`with ${sizes.contexts} waiting contexts, just started`, server)
  if (wanted('list')) {
    tell('list')
    for (const run of Object.values(LISTS)) rows.push(...(await run({ ...sizes, server })))
  }
  const begun = performance.now()
  const again = await restart()
  await weigh(`the same after a restart (ready in ${((performance.now() - begun) / 1000).toFixed(1)} s)`, again)
  await stop()
}

/** A server on a new data folder, or a Redis of its own. */
async function openServer(
  store: StoreName = 'embedded',
): Promise<{ server: Server; data: string; restart: () => Promise<Server>; stop: () => Promise<void> }> {
  const place = await placeFor(SERVICES)
  const profile = values['cpu-prof']
  const redis = store === 'embedded' ? null : await startRedis({ appendfsync: store })
  const env: { [variable: string]: string } = redis ? { ACTORFLUX_REDIS_URL: redis.url } : {}
  const options = {
    program: resolve(ROOT, 'dist/cli/actorflux.js'),
    ...place,
    env,
    node: [...AS_STARTED, ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`])],
  }
  let server = await startServer(options)
  return {
    server,
    data: place.data,
    async restart() {
      await server.kill('SIGTERM')
      server = await startServer(options)
      return server
    },
    async stop() {
      await server.kill('SIGTERM')
      await redis?.close()
    },
  }
}

interface Handler {
  readonly url: string
  readonly pid: number
  readonly stop: () => void
}

async function startHandler(): Promise<Handler> {
  const child = spawn(
    process.execPath,
    [resolve(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs'), resolve(import.meta.dirname, 'handler.ts')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
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

const tell = (what: string) => process.stderr.write(`… ${what}\n`)

try {
  await main()
} finally {
  await cleanUp()
}
