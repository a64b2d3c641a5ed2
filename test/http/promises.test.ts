// A small request costs few promises until the call is made: each is a turn of the microtask queue and garbage.
import { createHook } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { listen } from '../../src/http/server.ts'
import { raw } from './live.ts'
import { callsBy, fakeApi, memoryLog, testApp } from './support.ts'

/** Five of them are Hono's and the adapter's for any handler that answers later. */
const MOST = 7

test('an event whose body comes with its headers costs at most seven promises until the call', async ({
  onTestFinished,
}) => {
  let promises: number | null = null
  const hook = createHook({
    init(_, type) {
      if (type === 'PROMISE' && promises !== null) promises += 1
    },
  }).enable()
  onTestFinished(() => {
    hook.disable()
  })
  const counts: (number | null)[] = []
  const { api } = fakeApi({
    sendEvent() {
      counts.push(promises)
      promises = null
      return Promise.resolve({
        message: 'sent',
        transitions: [],
        executions: [],
        ignored: [],
        pending: [],
        eventId: 'e',
      })
    },
  })
  const calls = callsBy(api)
  const { app } = testApp(
    {},
    {
      api() {
        promises = 0
        return calls
      },
    },
  )
  const server = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    log: memoryLog().log,
    deadlines: { headers: 9000, request: 9000, answer: 9000 },
    maxConnections: 9,
  })
  onTestFinished(() => server.close(0))
  const body = JSON.stringify({ event: 'paid', contextId: 5, input: { amount: 3 }, tags: ['a'] })
  const request = `POST /flux-api/event HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  for (let nr = 0; nr < 3; nr++) expect(await raw(server.url, request)).toMatch(/^HTTP\/1\.1 200 /)
  for (const count of counts) expect(count).toBeLessThanOrEqual(MOST)
  expect(counts).toHaveLength(3)
})
