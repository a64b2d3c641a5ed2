// A server is killed while clients send as fast as they can: what it answered is true afterwards, and nothing counts
// twice.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, inject, test, vi } from 'vitest'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { Client, forEach, outputOf, Refused } from './client.ts'
import { SERVICES } from './services.ts'

const COUNTERS = 24
const ROUNDS = 3
const PATIENCE_MS = 20_000
/** Entries that a history keeps. */
const HISTORY = 1000

afterAll(cleanUp)

test('every event that was answered counts once, over kills in the middle of sending', async () => {
  const place = await placeFor(SERVICES)
  const options = { program: inject('program'), ...place }
  let server = await startServer(options)
  let client = new Client(server)
  const counters = await forEach(Array.from({ length: COUNTERS }), () => client.start('Counter'))
  const answered = new Map(counters.map((id) => [id, 0]))
  const add = (id: number) => answered.set(id, (answered.get(id) ?? 0) + 1)
  const started: number[] = []

  for (let round = 1; round <= ROUNDS; round++) {
    const before = sum(answered)
    const sending = Promise.all([
      ...counters.map((id) =>
        untilGone(async () => {
          await client.event('tick', id)
          add(id)
        }),
      ),
      untilGone(async () => {
        for (const { contextId } of (await client.event('tock')).transitions)
          if (answered.has(contextId)) add(contextId)
      }),
      ...Array.from({ length: 4 }, () =>
        untilGone(async () => {
          started.push(await client.start('Waiter'))
        }),
      ),
    ])
    await sleep(1000 + 137 * round)
    await vi.waitFor(() => expect(sum(answered)).toBeGreaterThan(before + COUNTERS * 5), PATIENCE_MS)
    await server.kill('SIGKILL')
    await sending
    server = await startServer(options)
    client = new Client(server)

    for (const id of counters) {
      const view = await client.context(id)
      const count = Number(outputOf(view, 'count'))
      const sure = answered.get(id) ?? 0
      // At the kill an event of its own and a broadcast may each have been taken without an answer.
      expect(count - sure, `context ${id} answered ${sure} events`).toBeGreaterThanOrEqual(0)
      expect(count - sure, `context ${id} answered ${sure} events`).toBeLessThanOrEqual(2)
      expect(view.executionHistory).toHaveLength(Math.min(HISTORY, count + 1))
      answered.set(id, count)
    }
  }
  const views = await forEach(started, (id) => client.context(id))
  expect(new Set(started).size).toBe(started.length)
  expect(views.filter(({ currentState, version }) => currentState !== 'first' || version !== 1)).toEqual([])
}, 60_000)

const sum = (counts: ReadonlyMap<number, number>) => [...counts.values()].reduce((total, count) => total + count, 0)

/** Again and again, until there is no server any more. A refusal is a mistake. */
async function untilGone(task: () => Promise<void>): Promise<void> {
  try {
    for (;;) await task()
  } catch (error) {
    if (error instanceof Refused) throw error
  }
}
