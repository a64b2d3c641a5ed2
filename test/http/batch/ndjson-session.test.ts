// A session of lines, its source and its reader in the hands of the test.
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { MAX_REFUSED_LINES, NdjsonSession, type SessionOptions } from '../../../src/http/batch/ndjson-session.ts'
import type { LineRequest } from '../../../src/http/batch/event-line.ts'
import { nextTurn } from '../../../src/http/request/turns.ts'
import { ByteBudget } from '../../../src/model/byte-budget.ts'
import { FluxError, malformed, type Failure } from '../../../src/model/failure.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'

const BUDGET_BYTES = 10_000_000

const failureOf = (error: unknown): Failure =>
  error instanceof FluxError ? error.failure : { kind: 'internal', detail: String(error) }

const settle = async () => {
  for (let turn = 0; turn < 50; turn += 1) await nextTurn()
}

function open(read: SessionOptions['read'], more: Partial<SessionOptions> = {}) {
  const clock = new SimulatedClock()
  const inFlight = new ByteBudget({ bytes: BUDGET_BYTES, what: 'requests' })
  const bytes = new PassThrough()
  let lines = 0
  const stream = new NdjsonSession({
    read(line) {
      lines += 1
      return read(line)
    },
    source: { chunks: bytes, breakOff: (error) => void bytes.destroy(error) },
    failureOf,
    minimal: false,
    maxBody: 1000,
    inFlight,
    clock,
    idleMs: 30_000,
    ...more,
  })
  return {
    stream,
    clock,
    inFlight,
    settle,
    /** Lines that were read. */
    lines: () => lines,
    isPaused: () => bytes.writableNeedDrain,
    isClosed: () => bytes.destroyed,
    feed: async (text: string) => {
      bytes.write(text)
      await settle()
    },
    end: () => bytes.end(),
    fault: () => bytes.destroy(malformed('broken')),
    async rest(): Promise<{ [field: string]: unknown }[]> {
      let text = ''
      for (let piece = await stream.take(); piece !== null; piece = await stream.take()) text += piece.toString()
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    },
  }
}

const at = (orderingKey: LineRequest['orderingKey'], run: () => Promise<unknown>, isPlaced = false) => ({
  orderingKey,
  key: null,
  run: async (placed: () => void) => {
    if (isPlaced) placed()
    await run()
    return { answer: { status: 200 } }
  },
})

describe('order', () => {
  test('10,000 lines of 50 contexts are answered in order, and each context sees its own in order', async () => {
    const seen = new Map<number, number[]>()
    let random = 1
    const place = open((line) => {
      const { id, nr }: { id: number; nr: number } = JSON.parse(line.toString())
      return at(id, async () => {
        random = (random * 16_807) % 2_147_483_647
        for (let turn = 0; turn < random % 5; turn += 1) await nextTurn()
        seen.set(id, [...(seen.get(id) ?? []), nr])
      })
    })
    const answers = place.rest()
    for (let n = 0; n < 10_000; n += 500) {
      const chunk = Array.from({ length: 500 }, (_, k) => `${JSON.stringify({ id: ((n + k) * 7) % 50, nr: n + k })}\n`)
      await place.feed(chunk.join(''))
    }
    place.end()
    const lines = await answers
    expect(lines.slice(0, -1).map(({ n }) => n)).toEqual(Array.from({ length: 10_000 }, (_, n) => n))
    expect(lines.at(-1)).toEqual({ done: true, lines: 10_000, ok: 10_000, failed: 0 })
    expect(seen.size).toBe(50)
    for (const numbers of seen.values()) expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
    expect(place.inFlight.held).toBe(0)
  })

  test('what concerns everything runs alone', async () => {
    const log: string[] = []
    let running = 0
    const place = open((line) => {
      const name = line.toString()
      return at(name.startsWith('all') ? 'everything' : name, async () => {
        running += 1
        if (name.startsWith('all')) expect(running).toBe(1)
        await nextTurn()
        running -= 1
        log.push(name)
      })
    })
    const answers = place.rest()
    await place.feed('a\nb\nall1\nall2\nc\nd\nall3\n')
    place.end()
    await answers
    expect([log.slice(0, 2).sort(), log.slice(2, 4), log.slice(4, 6).sort(), log[6]]).toEqual([
      ['a', 'b'],
      ['all1', 'all2'],
      ['c', 'd'],
      'all3',
    ])
  })

  test('those that take their place as they are called are called together, and the others one by one', async () => {
    let [running, most] = [0, 0]
    const run = async () => {
      most = Math.max(most, (running += 1))
      await nextTurn()
      running -= 1
    }
    for (const [isPlaced, expected] of [
      [true, 300],
      [false, 1],
    ] as const) {
      most = 0
      const place = open(() => at(1, run, isPlaced))
      const answers = place.rest()
      await place.feed('x\n'.repeat(300))
      place.end()
      await answers
      expect(most).toBe(expected)
    }
  })

  test('one that takes its place as it is called does not pass one that has no place yet', async () => {
    const { gate, go } = waiting()
    const begun: string[] = []
    const place = open((line) => {
      const name = line.toString()
      return at(1, () => Promise.resolve(begun.push(name)).then(() => gate), name !== 'slow')
    })
    const answers = place.rest()
    await place.feed('first\nslow\nlast\n')
    expect(begun).toEqual(['first', 'slow'])
    place.end()
    go()
    await answers
    expect(begun).toEqual(['first', 'slow', 'last'])
  })

  test('one that takes its place later holds up those behind it until then, or until it is refused', async () => {
    for (const isRefused of [false, true]) {
      const [first, all] = [waiting(), waiting()]
      const begun: string[] = []
      const place = open((line) => {
        const name = line.toString()
        const run = async (placed: () => void) => {
          begun.push(name)
          if (name === 'slow') await first.gate
          if (name === 'slow' && isRefused) throw malformed('refused')
          placed()
          await all.gate
          return { answer: { status: 200 } }
        }
        return { orderingKey: 1, key: null, run }
      })
      const answers = place.rest()
      await place.feed('early\nslow\nnext\nlast\n')
      expect(begun).toEqual(['early', 'slow'])
      first.go()
      await place.settle()
      expect(begun).toEqual(['early', 'slow', 'next', 'last'])
      place.end()
      all.go()
      expect((await answers).at(-1)).toMatchObject({ done: true, failed: isRefused ? 1 : 0 })
    }
  })

  test('one that repeats a key waits for the one before it, and for no other', async () => {
    const [first, other] = [waiting(), waiting()]
    const begun: string[] = []
    const place = open((line) => {
      const name = line.toString()
      const run = () => Promise.resolve(begun.push(name)).then(() => (name === 'first' ? first.gate : other.gate))
      return { ...at(1, run, true), key: name === 'other' ? null : 'same' }
    })
    const answers = place.rest()
    await place.feed('first\nother\nagain\n')
    expect(begun).toEqual(['first', 'other'])
    first.go()
    await place.settle()
    expect(begun).toEqual(['first', 'other', 'again'])
    place.end()
    other.go()
    await answers
  })
})

describe('memory', () => {
  test('a client that does not read stops the reading', async () => {
    const place = open(() => at(null, () => Promise.resolve()))
    let fed = 0
    for (; fed < 100_000 && (fed === 0 || !place.isPaused()); fed += 1000)
      await place.feed('{"event":"x"}\n'.repeat(1000))
    expect(place.isPaused()).toBe(true)
    expect(fed).toBeLessThan(20_000)
    expect(place.lines()).toBeLessThanOrEqual(2048)
    place.end()
    expect((await place.rest()).at(-1)).toEqual({ done: true, lines: fed, ok: fed, failed: 0 })
  })

  test('lines wait for memory that others hold', async () => {
    const place = open(() => at(null, () => Promise.resolve()))
    const release = place.inFlight.take(BUDGET_BYTES)
    const answers = place.rest()
    await place.feed('x\ny\n')
    expect(place.lines()).toBe(0)
    release()
    place.end()
    expect((await answers).at(-1)).toMatchObject({ done: true, ok: 2 })
    expect(place.inFlight.held).toBe(0)
  })
})

/** What waits until it is let go. */
function waiting() {
  const opened: (() => void)[] = []
  const gate = new Promise<void>((resolve) => {
    opened.push(resolve)
  })
  return { gate, go: () => opened[0]?.() }
}

describe('the end', () => {
  test('comes when no line came for too long, unless the server itself holds the stream', async () => {
    const { gate, go } = waiting()
    const place = open(() => at('everything', () => gate))
    const answers = place.rest()
    await place.feed('x\n')
    await place.clock.advance(100_000)
    go()
    await place.settle()
    await place.clock.advance(29_000)
    // An empty line is a sign of life; what begins a line isn't.
    await place.feed('\n')
    await place.clock.advance(29_000)
    expect(place.isClosed()).toBe(false)
    await place.feed('{"half')
    await place.clock.advance(2000)
    expect((await answers).at(-1)).toEqual({
      done: false,
      lines: 1,
      ok: 1,
      failed: 0,
      problem: expect.objectContaining({ status: 408 }),
    })
    expect([place.isClosed(), place.inFlight.held]).toEqual([true, 0])
  })

  test('does not come while as many lines as may be are under way, also if half a line has come', async () => {
    const { gate, go } = waiting()
    const place = open(() => at(null, () => gate))
    const answers = place.rest()
    await place.feed('x\n'.repeat(512))
    await place.clock.advance(100_000)
    await place.feed('ha')
    await place.clock.advance(100_000)
    go()
    await place.feed('lf\n')
    place.end()
    expect((await answers).at(-1)).toEqual({ done: true, lines: 513, ok: 513, failed: 0 })
  })

  test('comes when the server stops: what has begun is answered, and nothing else begins', async () => {
    const { gate, go } = waiting()
    const place = open(() => at('everything', () => gate))
    const answers = place.rest()
    await place.feed('x\ny\nz\n')
    place.stream.stop()
    go()
    expect(await answers).toEqual([
      { n: 0, status: 200 },
      { done: false, lines: 1, ok: 1, failed: 0, problem: expect.objectContaining({ status: 503 }) },
    ])
  })

  test('says that lines were dropped, also when the server stops after the whole request has come', async () => {
    const { gate, go } = waiting()
    const stopping = expect.objectContaining({ status: 503, detail: expect.stringContaining('stopping') })
    const place = open(() => at(null, () => gate))
    const answers = place.rest()
    await place.feed('x\n'.repeat(1100))
    place.end()
    await place.settle()
    place.stream.stop()
    go()
    expect((await answers).at(-1)).toEqual({ done: false, lines: 512, ok: 512, failed: 0, problem: stopping })

    const unread = open(() => at(null, () => gate))
    unread.feed('only one')
    unread.end()
    unread.stream.stop()
    expect(await unread.rest()).toEqual([{ done: false, lines: 0, ok: 0, failed: 0, problem: stopping }])
  })

  test('says that all is done when the server stops after the last line has begun', async () => {
    const { gate, go } = waiting()
    const place = open(() => at(null, () => gate))
    const answers = place.rest()
    await place.feed('x\ny\n')
    place.end()
    await place.settle()
    place.stream.stop()
    go()
    expect((await answers).at(-1)).toEqual({ done: true, lines: 2, ok: 2, failed: 0 })
  })

  test('comes when the source breaks: whole lines are dealt with, half of one is not', async () => {
    const place = open(() => at(null, () => Promise.resolve()))
    const answers = place.rest()
    await place.feed('x\nhalf')
    place.fault()
    expect(await answers).toEqual([
      { n: 0, status: 200 },
      { done: false, lines: 1, ok: 1, failed: 0, problem: expect.objectContaining({ status: 400 }) },
    ])
    expect(place.inFlight.held).toBe(0)
  })
})

const refuse = () => {
  throw malformed('no event')
}

describe('lines that are refused before their call is made', () => {
  test('end the request when they outnumber the others by too many', async () => {
    const place = open(refuse)
    const answers = place.rest()
    await place.feed('[]\n'.repeat(300_000))
    place.end()
    const lines = await answers
    expect(lines).toHaveLength(MAX_REFUSED_LINES + 2)
    expect([place.lines(), place.isClosed(), place.inFlight.held]).toEqual([MAX_REFUSED_LINES + 1, true, 0])
    expect(lines.at(-1)).toEqual({
      done: false,
      lines: MAX_REFUSED_LINES + 1,
      ok: 0,
      failed: MAX_REFUSED_LINES + 1,
      problem: expect.objectContaining({ status: 400, detail: expect.stringMatching(/^10000 lines more .*no event$/) }),
    })
  })

  test('do not, where there are as many others', async () => {
    let n = 0
    const place = open(() => ((n += 1) % 2 === 0 ? refuse() : at(null, () => Promise.resolve())))
    const answers = place.rest()
    for (let part = 0; part < 50; part += 1) await place.feed('x\n'.repeat(100))
    place.end()
    expect((await answers).at(-1)).toEqual({ done: true, lines: 5000, ok: 2500, failed: 2500 })
  })
})
