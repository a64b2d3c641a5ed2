// Whatever comes as lines, however its bytes are cut and packed: each line has one answer, in order, and the last one
// counts them.
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EventRequest } from '../../../src/api/events.ts'
import type { FluxApi } from '../../../src/api/calls.ts'
import { notFound } from '../../../src/model/failure.ts'
import { nextTurn } from '../../support/held.ts'
import { testApp } from '../support.ts'

const RUNS = Math.max(100, Number(process.env['FUZZ_RUNS'] ?? 0) / 20)
/** Bytes of a line. */
const MAX_LINE_BYTES = 120

/** A line, and the status of its answer; null: it is none. */
interface Given {
  readonly bytes: Buffer
  readonly status: number | null
}

type Path = '/flux-api/events' | '/flux-api/p/executes'

/** What refuses it is the call itself. */
const lineOf = (path: Path, isTaken: boolean, nr: number): object =>
  path === '/flux-api/events'
    ? { event: isTaken ? 'taken' : 'refused', ...(nr > 0 && { contextId: nr }) }
    : { fluxName: isTaken ? 'taken' : 'refused', ...(nr > 0 && { key: `k${nr}` }) }

const spaces = fc.string({ unit: fc.constantFrom(' ', '\t', '\r'), maxLength: 4 })
const given = (path: Path): fc.Arbitrary<Given> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(fc.boolean(), fc.nat(4), spaces).map(([isTaken, nr, more]) => ({
        bytes: Buffer.from(JSON.stringify(lineOf(path, isTaken, nr)) + more),
        status: isTaken ? 200 : 404,
      })),
    },
    { weight: 2, arbitrary: spaces.map((text) => ({ bytes: Buffer.from(text), status: null })) },
    // No JSON, since it begins so.
    fc.string({ unit: 'binary', maxLength: 60 }).map((text) => broken(Buffer.from(`'${text.replaceAll('\n', '')}`))),
    fc
      .uint8Array({ maxLength: 60 })
      .map((bytes) => broken(Buffer.from([0xff, ...bytes.filter((byte) => byte !== 10)]))),
    fc
      .constantFrom('{}', '[]', 'null', '7', '""', '{"event":', '{"fluxName":"x","event":"x"}')
      .map((text) => broken(Buffer.from(text))),
    fc.integer({ min: MAX_LINE_BYTES + 1, max: 5 * MAX_LINE_BYTES }).map((length) => broken(Buffer.alloc(length, 'x'))),
  )

const broken = (bytes: Buffer): Given => {
  const { length } = bytes.at(-1) === 13 ? bytes.subarray(1) : bytes
  return { bytes, status: length > MAX_LINE_BYTES ? 413 : 400 }
}

/** The bytes in pieces of those lengths, in turn. */
function cut(bytes: Buffer, lengths: readonly number[]): Uint8Array[] {
  const pieces = []
  for (let [at, nr] = [0, 0]; at < bytes.length; nr += 1) {
    const length = lengths[nr % lengths.length] ?? bytes.length
    pieces.push(new Uint8Array(bytes.subarray(at, at + length)))
    at += length
  }
  return pieces
}

interface Answer {
  readonly n?: number
  readonly status?: number
  readonly [field: string]: unknown
}

/** Calls that are answered some turns later. */
function openApp() {
  const seen: (EventRequest | Parameters<FluxApi['execute']>[0])[] = []
  const answerTo = async <A>(
    request: EventRequest | Parameters<FluxApi['execute']>[0],
    name: string,
    answer: A,
  ): Promise<A> => {
    seen.push(request)
    for (let turns = seen.length % 4; turns > 0; turns -= 1) await nextTurn()
    if (name === 'refused') throw notFound('there is none')
    return answer
  }
  const event = { message: '', eventId: 'e', transitions: [], executions: [], ignored: [], pending: [] }
  const { app } = testApp(
    {
      sendEvent: (request) => answerTo(request, request.event, event),
      execute: (request) => answerTo(request, request.fluxName, { message: '', contextId: 1, started: true }),
    },
    { maxBody: MAX_LINE_BYTES },
  )
  return { app, seen }
}

async function send(path: Path, pieces: readonly Uint8Array[], headers: { readonly [name: string]: string }) {
  const { app, seen } = openApp()
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-ndjson', ...headers },
    duplex: 'half',
  })
  const text = await (await app.fetch(request)).text()
  expect(text.endsWith('\n')).toBe(true)
  const lines: Answer[] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { lines, seen }
}

describe.each(['/flux-api/events', '/flux-api/p/executes'] as const)('lines to %s', (path) => {
  const body = fc.record({
    lines: fc.array(given(path), { maxLength: 30 }),
    ends: fc.array(fc.constantFrom('\n', '\r\n'), { minLength: 1, maxLength: 5 }),
    isEnded: fc.boolean(),
    lengths: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 6 }),
    packed: fc.boolean(),
    minimal: fc.boolean(),
    /** Bytes that are missing at its end, if it is packed. */
    missing: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 200 })),
  })

  test('are answered one by one, in order', async () => {
    await fc.assert(
      fc.asyncProperty(body, async ({ lines, ends, isEnded, lengths, packed, minimal, missing }) => {
        const plain = Buffer.concat(
          lines.flatMap(({ bytes }, nr) => {
            const isLast = nr === lines.length - 1 && !isEnded
            return isLast ? [bytes] : [bytes, Buffer.from(ends[nr % ends.length] ?? '\n')]
          }),
        )
        const whole = packed ? gzipSync(plain) : plain
        const isCut = packed && missing > 0
        const sent = isCut ? whole.subarray(0, Math.max(1, whole.length - missing)) : whole
        const { lines: answers, seen } = await send(path, cut(sent, lengths), {
          ...(packed && { 'content-encoding': 'gzip' }),
          ...(minimal && { prefer: 'return=minimal' }),
        })
        const expected = lines.flatMap(({ status }) => status ?? [])
        const last = answers.at(-1)
        const told = answers.slice(0, -1)
        // Of one that breaks off, what came whole is answered.
        const count = Number(last?.['lines'])
        if (isCut) expect(count).toBeLessThanOrEqual(expected.length)
        else expect(count).toBe(expected.length)
        const dealt = expected.slice(0, count).map((status, n) => ({ n, status }))
        const failed = dealt.filter(({ status }) => status !== 200)
        expect(told.map(({ n, status }) => ({ n, status }))).toEqual(minimal ? failed : dealt)
        expect(last).toMatchObject({ done: !isCut, ok: count - failed.length, failed: failed.length })
        expect(last?.['problem'] === undefined).toBe(!isCut)
        expect(seen).toHaveLength(dealt.filter(({ status }) => status === 200 || status === 404).length)
      }),
      { numRuns: RUNS },
    )
  })
})
