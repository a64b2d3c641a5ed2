// Lines out of bytes, however they are cut.
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { LineSplitter } from '../../../src/http/batch/line-splitter.ts'
import { overloaded, type FluxError } from '../../../src/model/failure.ts'

const LIMIT = 20

/** What comes of the chunks, and the most that was charged. */
function split(chunks: readonly Buffer[], limit = LIMIT) {
  let charged = 0
  const splitter = new LineSplitter({
    limit,
    charge: (bytes) => {
      charged = Math.max(charged, bytes)
    },
  })
  const lines = chunks.flatMap((chunk) => shown(splitter.take(chunk)))
  return { lines: [...lines, ...shown([splitter.end()])], charged }
}

/** Their texts; of a refusal the length of its kind. */
const shown = (lines: Iterable<Buffer | FluxError | null>): (string | number)[] =>
  [...lines].flatMap((line) => {
    if (line === null) return []
    return [Buffer.isBuffer(line) ? line.toString('latin1') : line.failure.kind.length]
  })

/** The same, without any care for memory. A refused line is shown as the length of its kind. */
function plainly(bytes: Buffer): (string | number)[] {
  const text = bytes.toString('latin1')
  return text
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => !/^[ \t\r]*$/.test(line) || line.length > LIMIT)
    .map((line) => (line.length > LIMIT ? 'tooLarge'.length : line))
}

const piece = fc.oneof(
  fc.constantFrom('\n', '\r\n', '\n\n\n', ' ', '\t', '\r', '{}'),
  fc.string({ maxLength: 30 }),
  fc.string({ minLength: 19, maxLength: 22 }),
)

test('lines are the same however the bytes are cut', () => {
  const cases = fc.tuple(fc.array(piece), fc.array(fc.integer({ min: 1, max: 40 })))
  fc.assert(
    fc.property(cases, ([pieces, cuts]) => {
      const bytes = Buffer.from(pieces.join(''), 'latin1')
      const chunks: Buffer[] = []
      for (let at = 0, n = 0; at < bytes.length; n += 1) {
        const length = cuts[n % Math.max(1, cuts.length)] ?? bytes.length
        chunks.push(bytes.subarray(at, at + length))
        at += length
      }
      expect(split(chunks).lines).toEqual(plainly(bytes))
    }),
    { numRuns: 2000 },
  )
})

describe('memory', () => {
  test('a line without an end is refused once, and then nothing of it is held', () => {
    const chunk = Buffer.alloc(65_536, 'x')
    const { lines, charged } = split([...Array.from({ length: 16_384 }, () => chunk), Buffer.from('\n{}\n')], 1_000_000)
    expect(lines).toEqual(['tooLarge'.length, '{}'])
    expect(charged).toBeLessThan(1_100_000)
  })

  test('a line that comes byte by byte is charged what it has, and copied now and then', () => {
    const copies = vi.spyOn(Buffer, 'concat')
    const { lines, charged } = split(
      Array.from({ length: 100_000 }, () => Buffer.from('x')),
      1_000_000,
    )
    expect(lines).toEqual(['x'.repeat(100_000)])
    expect(charged).toBe(100_000)
    expect(copies.mock.calls.length).toBeLessThan(500)
    copies.mockRestore()
  })

  test('a line that there is no room for is refused, and the next one is read', () => {
    const splitter = new LineSplitter({
      limit: 1_000_000,
      charge: (bytes) => {
        if (bytes > 10_000) throw overloaded('no room')
      },
    })
    const [refusal, ...others] = splitter.take(Buffer.alloc(20_000, 'x'))
    expect([refusal, others]).toMatchObject([{ failure: { kind: 'overloaded' } }, []])
    expect(shown(splitter.take(Buffer.from('xxx\n{}\n')))).toEqual(['{}'])
  })
})

describe('blank lines', () => {
  test.each(['\n', '\r\n', ' \n', '\t\r\n'])('are no lines: %j', (blank) => {
    const chunk = Buffer.alloc(65_536, blank)
    const chunks = Array.from({ length: 15 }, () => chunk)
    const line = Buffer.from('\n{}\n')
    expect(split([...chunks, line, ...chunks, line]).lines).toEqual(['{}', '{}'])
  })

  test('of more than a MiB between two lines end the request', () => {
    const chunk = Buffer.alloc(65_536, ' \r\n')
    expect(() => split(Array.from({ length: 17 }, () => chunk))).toThrow('more than 1048576 bytes of empty lines')
  })
})
