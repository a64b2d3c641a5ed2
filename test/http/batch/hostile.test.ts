// What strangers send as lines, over real connections.
import { setTimeout as sleep } from 'node:timers/promises'
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { openLive, tokenOf, type Live } from '../live.ts'

vi.setConfig({ testTimeout: 60_000 })

let live: Live

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
      await sleep(500)
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
    // Longer than this test may take.
    const closed = live.close(120_000)
    expect(lastOf(await text)).toMatchObject({ done: false, problem: { status: 503 } })
    await closed
  })

  test('beyond the bound is refused, until another one ends', async () => {
    live = await openLive({ ACTORFLUX_MAX_STREAMS: '4' }, undefined, { sender: 'invoke' })
    const asSender = () => open({ authorization: `Bearer ${tokenOf('sender')}` })
    const first = await open()
    await open()
    const third = await open()
    expect([third.answer.statusCode, third.answer.headers['retry-after']]).toEqual([503, '1'])
    // Others have their half.
    for (const status of [200, 200, 503]) expect((await asSender()).answer.statusCode).toBe(status)
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

/** Repeated, it is packed to less than a 200th. */
const LONG = `{"event":"x","input":{"text":"${'a'.repeat(1000)}"}}\n`

const dataLine = (n: number) => `{"event":"nobody","input":{"n":${n},"text":"${'the same text again '.repeat(20)}"}}\n`

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

  test.each([
    ['lines', LONG, '64kb'],
    ['bytes without a line feed', 'x', '64kb'],
  ])(
    '%s that are packed to a thousandth are read for a while, and then the answer says why it ends',
    async (_, fill, max) => {
      live = await openLive({ ACTORFLUX_MAX_BODY: max })
      const packed = gzipSync(Buffer.alloc(64 * 1024 * 1024, fill))
      const { outgoing, answer } = await open({ 'content-encoding': 'gzip', prefer: 'return=minimal' })
      for (let part = 0; part < 16; part += 1) outgoing.write(packed)
      outgoing.end()
      const last = lastOf(await textOf(answer))
      expect(last).toMatchObject({
        done: false,
        problem: { status: 413, detail: 'the body unpacks to more than 200 times its size' },
      })
      // Of a million.
      expect(Object(last).lines).toBeLessThan(2500)
    },
  )

  test('lines of data, which are packed to a fiftieth, and a MiB of whatever there is are read whole', async () => {
    live = await openLive()
    const body = Buffer.from(Array.from({ length: 5000 }, (_, n) => dataLine(n)).join(''))
    for (const [text, least, lines] of [
      [body, 30, 5000],
      [Buffer.from(LONG.repeat(1000)), 200, 1000],
    ] as const) {
      const packed = gzipSync(text)
      expect(text.length / packed.length).toBeGreaterThan(least)
      const { outgoing, answer } = await open({ 'content-encoding': 'gzip', prefer: 'return=minimal' })
      outgoing.end(packed)
      expect(lastOf(await textOf(answer))).toMatchObject({ done: true, lines })
    }
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
