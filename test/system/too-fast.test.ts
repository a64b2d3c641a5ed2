// A sender that is ten times too fast for what a service does with its events, over real sockets: what is too much is
// refused at once, the server's memory stays bounded, and what was acknowledged is done.
import { afterAll, expect, inject, test } from 'vitest'
import { ownMemory } from '../bench/footprint.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { Client, outputOf } from './client.ts'

const EVENTS = 600
const SENDERS = 100
/** Functions at once, of 50 ms each: 160 events a second. The senders wait for nothing but the answers. */
const FUNCTIONS = 8
/** Commits under way at once. */
const COMMITS = 8
/** What the server may take more than before, with the young generation below, kilobytes. */
const MAX_GROWTH_KB = 96 * 1024

const WORK = `
import { setTimeout as sleep } from 'node:timers/promises'
export async function work(): Promise<{ done: boolean }> {
  await sleep(50)
  return { done: true }
}
`
const SERVICES = {
  'slow/Steps.ts': WORK,
  'slow/Worker.flux': {
    output: [{ name: 'done', type: 'boolean' }],
    states: [
      { name: 'open', waiting: true, transitions: [{ to: 'work', event: 'go' }] },
      {
        name: 'work',
        action: {
          type: 'invokeCode',
          className: 'Steps',
          methodName: 'work',
          inputs: [],
          outputs: [{ from: ['done'], to: ['done'] }],
        },
        transitions: [{ to: 'shut' }],
      },
      { name: 'shut' },
    ],
  },
}

afterAll(cleanUp)

const linesOf = (text: string): { readonly [field: string]: unknown }[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('what is too much is refused at once, and what was acknowledged is done', async () => {
  const server = await startServer({
    program: inject('program'),
    ...(await placeFor(SERVICES)),
    env: { ACTORFLUX_STEP_CONCURRENCY: String(FUNCTIONS), ACTORFLUX_MAX_COMMITS: String(COMMITS) },
    node: ['--max-semi-space-size=8'],
  })
  const post = (path: string, body: string, type: string) =>
    fetch(server.url + path, { method: 'POST', body, headers: { 'content-type': type } })
  const starts = await post('/flux-api/slow/executes', '{"fluxName":"Worker"}\n'.repeat(EVENTS), 'application/x-ndjson')
  const ids = linesOf(await starts.text()).flatMap(({ contextId }) =>
    typeof contextId === 'number' ? [contextId] : [],
  )
  expect(ids).toHaveLength(EVENTS)

  const before = await ownMemory(server.pid)
  let most = before
  const weigh = async () => {
    most = Math.max(most, await ownMemory(server.pid))
  }
  const timer = setInterval(() => void weigh(), 50)
  const [acknowledged, refused]: [Set<number>, Set<number>] = [new Set(), new Set()]
  const queue = ids.values()
  const send = async () => {
    for (const id of queue) {
      const answer = await post(`/flux-api/event?contextId=${id}`, '{"event":"go"}', 'application/json')
      await answer.text()
      expect([200, 429, 503]).toContain(answer.status)
      if (answer.status !== 200) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      ;(answer.status === 200 ? acknowledged : refused).add(id)
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, send))
  expect(acknowledged.size).toBeGreaterThan(0)
  expect(refused.size).toBeGreaterThan(0)

  const client = new Client(server)
  for (const id of acknowledged)
    expect(outputOf(await client.wait(id, 'status=COMPLETED&timeout=60'), 'done')).toBe(true)
  for (const id of refused) expect(await client.context(id)).toMatchObject({ currentState: 'open', status: 'WAITING' })
  clearInterval(timer)
  await weigh()
  expect(most - before).toBeLessThan(MAX_GROWTH_KB)
})
