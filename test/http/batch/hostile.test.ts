// What strangers send as lines, over real connections.
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openLive, type Live } from '../live.ts'

vi.setConfig({ testTimeout: 60_000 })

let live: Live
afterEach(() => live.close())

/** A request whose body is still to come. */
async function open(headers: { readonly [name: string]: string } = {}) {
  const outgoing: ClientRequest = request(`${live.url}/flux-api/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson', ...headers },
  })
  outgoing.on('error', () => undefined)
  outgoing.flushHeaders()
  const [answer]: IncomingMessage[] = await once(outgoing, 'response')
  if (answer === undefined) throw new Error('no answer')
  answer.on('error', () => undefined)
  return { outgoing, answer }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  return text
}

const lastOf = (text: string): unknown => JSON.parse(text.trim().split('\n').at(-1) ?? '')

const start = async () =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Waiter' } })).json as { contextId: number })
    .contextId

describe('a stream', () => {
  test('may take longer than a request, and ends when it is idle', async () => {
    live = await openLive({ ACTORFLUX_REQUEST_TIMEOUT: '1s' })
    const { outgoing, answer } = await open()
    const text = textOf(answer)
    for (let n = 0; n < 6; n += 1) {
      outgoing.write('{"event":"x"}\n')
      await new Promise((resolve) => {
        setTimeout(resolve, 500)
      })
    }
    expect(lastOf(await text)).toEqual({
      done: false,
      lines: 6,
      ok: 6,
      failed: 0,
      problem: expect.objectContaining({ status: 408 }),
    })
    await once(outgoing, 'close')
  })

  test('gets its last line when the server stops', async () => {
    live = await openLive()
    const { outgoing, answer } = await open()
    const text = textOf(answer)
    outgoing.write('{"event":"x"}\n')
    await once(answer, 'readable')
    const closed = live.close(10_000)
    expect(lastOf(await text)).toMatchObject({ done: false, problem: { status: 503 } })
    const began = performance.now()
    await closed
    expect(performance.now() - began).toBeLessThan(5000)
  })

  test('beyond the bound is refused, until another one ends', async () => {
    live = await openLive({ ACTORFLUX_MAX_STREAMS: '2' })
    const first = await open()
    await open()
    const third = await open()
    expect([third.answer.statusCode, third.answer.headers['retry-after']]).toEqual([503, '1'])
    first.outgoing.destroy()
    await vi.waitFor(async () => expect((await open()).answer.statusCode).toBe(200), { timeout: 10_000 })
  })

  test('that is cut off leaves what it began, and nothing else', async () => {
    live = await openLive({ ACTORFLUX_MAX_STREAMS: '1' })
    const id = await start()
    const { outgoing, answer } = await open()
    answer.resume()
    for (let n = 0; n < 1000; n += 1) outgoing.write(`{"event":"hold","contextId":${id},"input":{"by":"x"}}\n`)
    outgoing.write('{"event":"close","cont')
    await once(answer, 'readable').catch(() => undefined)
    outgoing.destroy()
    await vi.waitFor(async () => expect((await open()).answer.statusCode).toBe(200), { timeout: 10_000 })
    expect((await live.call('GET', `/flux-api/context?contextId=${id}`)).json).toMatchObject({ currentState: 'open' })
  })
})

describe('what is unpacked', () => {
  test('empty lines without end are read for a while, and then the answer says why it ends', async () => {
    live = await openLive()
    const packed = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' \n\r\n'))
    const { outgoing, answer } = await open({ 'content-encoding': 'gzip' })
    outgoing.write(gzipSync('{"event":"x"}\n'))
    for (let part = 0; part < 16; part += 1) outgoing.write(packed)
    outgoing.end(gzipSync('\n{"event":"x"}\n'))
    expect(lastOf(await textOf(answer))).toMatchObject({
      done: false,
      lines: 1,
      ok: 1,
      problem: { status: 413, detail: expect.stringContaining('of empty lines') },
    })
  })

  test('a gigabyte without a line feed, packed, is one refused line', async () => {
    live = await openLive({ ACTORFLUX_MAX_BODY: '64kb' })
    const packed = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'x'))
    const { outgoing, answer } = await open({ 'content-encoding': 'gzip' })
    for (let part = 0; part < 16; part += 1) outgoing.write(packed)
    outgoing.end(gzipSync('\n{"event":"x"}\n'))
    const lines = (await textOf(answer)).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ n: 0, status: 413 }),
      expect.objectContaining({ n: 1, status: 200 }),
      { done: true, lines: 2, ok: 1, failed: 1 },
    ])
  })
})

const line = (id: number | undefined, event: string) =>
  `${JSON.stringify({ event, contextId: id, input: { by: 'x' } })}\n`

test('lines for a few contexts, interleaved, are taken in order', async () => {
  live = await openLive()
  const ids = [await start(), await start(), await start()]
  const { outgoing, answer } = await open({ prefer: 'return=minimal' })
  const text = textOf(answer)
  for (let n = 0; n < 9000; n += 1) outgoing.write(line(ids[n % 3], 'hold'))
  for (const id of ids) outgoing.write(line(id, 'close'))
  outgoing.end(line(ids[0], 'hold'))
  expect(lastOf(await text)).toEqual({ done: true, lines: 9004, ok: 9003, failed: 1 })
})
