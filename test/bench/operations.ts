// An operation for very many contexts: what others notice of it, how far apart its progress is told, and that it goes on
// after `kill -9`, on Redis at another server, with each context exactly once.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../support/server.ts'
import type { OperationView } from '../../src/api/operations.ts'
import { event, spreadContexts, type Row, type Sizes } from './cases.ts'
import { pace } from './load.ts'
import { openSite, type StoreName } from './servers.ts'
import { verdict } from './table.ts'

export interface OperationsMeasured {
  readonly rows: readonly Row[]
  /** For people: what was measured besides, and which goals are met. */
  readonly lines: readonly string[]
}

/** Contexts a second. */
const RATE = 2000
/** Events of other callers in a second, and their connections. */
const OTHERS = { perSecond: 500, connections: 16 }
/** Times of other callers beside an operation, of those without. */
const BESIDE = 3
/** Milliseconds within which progress goes on. */
const PROGRESS_MS = 1000
const LOOK_MS = 50

const viewOf = async ({ url }: Server, operationId: string): Promise<OperationView> =>
  JSON.parse(await (await fetch(`${url}/flux-api/operations?operationId=${operationId}`)).text())

export async function measureOperations(
  store: StoreName,
  { contexts, profiles, ...sizes }: Sizes & { readonly profiles: string | undefined },
): Promise<OperationsMeasured> {
  const site = await openSite(store, profiles)
  const server = await site.start()
  await start(server, contexts)
  const ids = await spreadContexts({ ...sizes, contexts, server })
  const seconds = Math.max(3, Math.min(10, contexts / RATE / 4))
  const calls = ids.map((id) => event('tick', id))
  const task = { url: server.url, calls, seconds, ...OTHERS }
  await pace({ ...task, seconds: 1 })
  const alone = await pace(task)
  const { operationId, matched } = await begin(server)
  const [beside, gapMs] = await Promise.all([pace(task), watch(server, operationId, seconds)])
  const before = await viewOf(server, operationId)

  const other = store === 'embedded' ? null : await site.start()
  await server.kill('SIGKILL')
  const next = other ?? (await site.start())
  const begun = performance.now()
  let view = await viewOf(next, operationId)
  for (; view.status === 'running'; view = await viewOf(next, operationId)) await sleep(LOOK_MS)
  const rest = ((performance.now() - begun) / 1000).toFixed(1)
  const isOnce = (await countOf(next, 'Once', 'once')) === contexts && view.changed === contexts && view.failed === 0
  await next.kill('SIGTERM')
  await site.close()
  const where = store === 'embedded' ? '' : `, Redis ${store}`
  const name = `${OTHERS.perSecond} events a second${where}`
  const lines = [
    `${matched} contexts, ${before.done} done when its server was killed; ended ${rest} s later`,
    verdict(`each exactly once, over kill -9${other ? ', at another server' : ''}`, isOnce),
    verdict(`progress each ${gapMs.toFixed(0)} ms at most, below ${PROGRESS_MS}`, gapMs < PROGRESS_MS),
    verdict(
      `${OTHERS.perSecond} events a second beside it: p99 ${beside.p99Ms.toFixed(1)} ms, at most ${BESIDE} × ${alone.p99Ms.toFixed(1)}`,
      beside.p99Ms <= BESIDE * alone.p99Ms,
    ),
  ]
  return {
    rows: [
      { name, connections: OTHERS.connections, against: sizes.connections, ...alone },
      {
        name: `the same beside an operation, ${RATE} a second${where}`,
        connections: OTHERS.connections,
        against: sizes.connections,
        ...beside,
      },
    ],
    lines: lines.map((line) => `operation${where}: ${line}`),
  }
}

/** Starts so many contexts that have to be moved once. */
async function start({ url }: Server, contexts: number): Promise<void> {
  const CHUNK = 10_000
  for (let left = contexts; left > 0; left -= CHUNK) {
    const body = '{"fluxName":"Once"}\n'.repeat(Math.min(CHUNK, left))
    const headers = { 'content-type': 'application/x-ndjson' }
    const response = await fetch(`${url}/flux-api/bench/executes`, { method: 'POST', headers, body })
    if (!response.ok || (await response.text()).includes('"failed":1')) throw new Error('contexts could not be started')
  }
}

async function begin({ url }: Server): Promise<{ operationId: string; matched: number }> {
  const request = { filter: { fluxName: 'Once' }, do: 'event', with: { event: 'move' }, rate: RATE }
  const response = await fetch(`${url}/flux-api/operations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
  if (response.status !== 202) throw new Error(`the operation was answered ${response.status}`)
  return JSON.parse(await response.text())
}

/** The longest time in milliseconds for which no progress was told. */
async function watch(server: Server, operationId: string, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000
  let [done, changedAt, longest] = [-1, performance.now(), 0]
  while (performance.now() < until) {
    const view = await viewOf(server, operationId)
    const now = performance.now()
    if (view.done !== done || view.status !== 'running') [done, changedAt] = [view.done, now]
    longest = Math.max(longest, now - changedAt)
    await sleep(LOOK_MS)
  }
  return longest
}

async function countOf({ url }: Server, fluxName: string, state: string): Promise<number> {
  const response = await fetch(`${url}/flux-api/contexts/count?by=currentState&fluxName=${fluxName}`)
  const { counts }: { counts: { [state: string]: number } } = JSON.parse(await response.text())
  return counts[state] ?? 0
}
