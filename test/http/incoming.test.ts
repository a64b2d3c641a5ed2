// Requests read from Node's own: one that has broken off is refused at once, and one that is too large is read no more.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { readBytes, type Env } from '../../src/http/request/incoming.ts'

const LIMIT = 10

/** What reading such a request comes to. */
async function read(incoming: IncomingMessage): Promise<unknown> {
  let outcome: unknown = null
  const app = new Hono<Env>()
  app.post('/', async (c) => {
    outcome = await readBytes(c, { limit: LIMIT, charge: () => {} }, (bytes) => bytes.length).catch(
      (error: unknown) => error,
    )
    return c.text('')
  })
  await app.request('/', { method: 'POST' }, { incoming })
  return outcome
}

function incomingWith(headers: IncomingMessage['headers']): IncomingMessage {
  const incoming = new IncomingMessage(new Socket())
  Object.assign(incoming.headers, headers)
  return incoming
}

test('a request that broke off before it is read', async () => {
  const incoming = incomingWith({ 'content-length': '5' })
  incoming.destroy()
  expect(await read(incoming)).toMatchObject({ failure: { kind: 'malformed', detail: 'the body ended early' } })
})

test('a body that is too large is left where it is', async () => {
  const incoming = incomingWith({ 'transfer-encoding': 'chunked' })
  for (let chunk = 0; chunk < 3; chunk += 1) incoming.push(Buffer.alloc(LIMIT))
  expect(await read(incoming)).toMatchObject({ failure: { kind: 'tooLarge' } })
  expect([incoming.isPaused(), incoming.readableLength, incoming.listenerCount('data')]).toEqual([true, LIMIT, 0])
})

test('a body that comes whole', async () => {
  const incoming = incomingWith({ 'transfer-encoding': 'chunked' })
  incoming.push(Buffer.alloc(LIMIT))
  incoming.push(null)
  expect(await read(incoming)).toBe(LIMIT)
})
