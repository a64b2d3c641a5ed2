// `npm run bench`: what a server does in a second on this machine, beside a handler that does nothing, with the same
// client in the same run.
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cleanUp, type Server } from '../support/server.ts'
import { CALLS as PLAIN_CALLS, LISTS, populate, type Row, type Sizes } from './cases.ts'
import { footprintOf, type Footprint } from './footprint.ts'
import { CLIENT, measure } from './load.ts'
import { measureMillion } from './million.ts'
import { measureOperations } from './operations.ts'
import { measureSignals } from './signals.ts'
import { openSite, startHandler, STORES, type Handler, type StoreName } from './servers.ts'
import { goals, table } from './table.ts'
import { WEBHOOKS } from './webhooks.ts'

const CALLS = { ...PLAIN_CALLS, ...WEBHOOKS }
/** Takes many minutes, and is run only when it is named. */
const MILLION = 'million'
const CASES = [...Object.keys(CALLS), ...Object.keys(LISTS), 'memory', 'signals', 'operations', MILLION]
/** Contexts of `million`, if nothing else is said. */
const MANY = 1_000_000

const HELP = `npm run bench -- [case…] [options]
  cases: ${CASES.join(', ')}; all but ${MILLION} if none is named
  --seconds 4         of each round; the median of three counts; without it, batch sends a million events
  --connections 64
  --contexts 100000   among which pages are listed, which are due within one second, and of an operation; of ${MILLION}, ${MANY}
  --stores embedded,everysec,always   where contexts are kept: in the embedded store, or in Redis with that appendfsync;
                      list and memory use the first of them
  --cpu-prof <folder> writes a profile of each server there`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    stores: { type: 'string', default: 'embedded,everysec,always' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    contexts: { type: 'string' },
    'cpu-prof': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const sizes: Sizes = {
  seconds: Number(values.seconds ?? '4'),
  whole: values.seconds === undefined,
  connections: Number(values.connections),
  contexts: Number(values.contexts ?? 100_000),
  rounds: 3,
}
const wanted = (name: string) => (positionals.length === 0 && name !== MILLION) || positionals.includes(name)

const stores = STORES.filter((name) => values.stores.split(',').includes(name))

/** The handler, each time it was measured. */
const yardstick: Row[] = []
const rows: Row[] = []
const weights: [when: string, weight: Footprint][] = []
/** What `signals` and `million` tell. */
const notes: string[] = []

async function main(): Promise<void> {
  const unknown = positionals.filter((name) => !CASES.includes(name))
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `there is no case ${unknown.join(', ')}\n\n${HELP}` : HELP)
    process.exitCode = unknown.length > 0 ? 2 : 0
    return
  }
  console.log(
    `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, load average ${loadavg()[0]?.toFixed(2)} at the start; client: ${CLIENT}`,
  )
  const handler = await startHandler()
  try {
    await measureHandler(handler)
    for (const store of Object.keys(CALLS).some(wanted) ? stores : []) {
      await measureCalls(store)
      await measureHandler(handler)
    }
    for (const store of wanted('list') || wanted('memory') ? stores.slice(0, 1) : []) {
      await measureMany(store)
      await measureHandler(handler)
    }
    if (wanted('signals')) {
      tell('signals')
      notes.push(...(await measureSignals()))
    }
    for (const store of wanted('operations') ? stores : []) {
      tell(`operations, ${store}`)
      const measured = await measureOperations(store, { ...sizes, profiles: values['cpu-prof'] })
      rows.push(...measured.rows)
      notes.push(...measured.lines)
    }
    for (const store of wanted(MILLION) ? stores : []) {
      tell(`${MILLION}, ${store}`)
      const many = { ...sizes, contexts: Number(values.contexts ?? MANY), profiles: values['cpu-prof'] }
      const measured = await measureMillion(store, many)
      rows.push(...measured.rows)
      notes.push(...measured.lines)
      await measureHandler(handler)
    }
  } finally {
    handler.stop()
  }
  console.log(`\n${table(rows, yardstick).join('\n')}`)
  for (const [when, { memory, disk }] of weights)
    console.log(`${when}: ${memory.toFixed(0)} MB of memory, ${disk.toFixed(0)} MB on disk`)
  for (const { name, memory = [] } of rows)
    if (memory.length > 0)
      console.log(`\n${name}: the highest memory in each third of the time\n  ${memory.join('\n  ')}`)
  console.log(`\n${[...notes, ...goals(rows, yardstick)].join('\n')}`)
}

async function measureHandler({ url, pid }: Handler): Promise<void> {
  for (const connections of wanted('list') ? [1, sizes.connections] : [sizes.connections]) {
    tell(`handler, ${connections} connections`)
    const seconds = Math.min(sizes.seconds, 4) / (connections === 1 ? 2 : 1)
    const warmUpSeconds = yardstick.length === 0 ? 2 : 0.5
    const calls = [{ method: 'POST', path: '/', body: { event: 'tick' } }] as const
    const measured = await measure({ url, pid, connections, calls, warmUpSeconds, seconds, rounds: sizes.rounds })
    yardstick.push({ name: 'a handler that does nothing', connections, ...measured })
  }
}

async function measureCalls(store: StoreName): Promise<void> {
  const site = await openSite(store, values['cpu-prof'])
  const server = await site.start()
  for (const [name, run] of Object.entries(CALLS)) {
    if (!wanted(name)) continue
    tell(`${name}, ${store}`)
    const measured = await run({ ...sizes, server, storeSize: site.storeSize })
    rows.push(
      ...measured.map((row) => ({ ...row, name: `${row.name}${store === 'embedded' ? '' : `, Redis ${store}`}` })),
    )
  }
  await server.kill('SIGTERM')
  await site.close()
}

async function measureMany(store: StoreName): Promise<void> {
  const site = await openSite(store, values['cpu-prof'])
  const server = await site.start()
  const weigh = async (when: string, served: Server) => weights.push([when, await footprintOf(site, served)])
  await weigh('a server without contexts', server)
  tell(`${sizes.contexts} contexts`)
  await populate({ ...sizes, server })
  await weigh(`with ${sizes.contexts} waiting contexts, just started`, server)
  if (wanted('list')) {
    tell('list')
    for (const run of Object.values(LISTS)) rows.push(...(await run({ ...sizes, server, storeSize: site.storeSize })))
  }
  await server.kill('SIGTERM')
  const begun = performance.now()
  const again = await site.start()
  await weigh(`the same after a restart (ready in ${((performance.now() - begun) / 1000).toFixed(1)} s)`, again)
  await again.kill('SIGTERM')
  await site.close()
}

const tell = (what: string) => process.stderr.write(`… ${what}\n`)

try {
  await main()
} finally {
  await cleanUp()
}
