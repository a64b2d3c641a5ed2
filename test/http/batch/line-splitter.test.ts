// Lines out of bytes, however they are cut.
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { LineSplitter } from '../../../src/http/batch/line-splitter.ts'
import { overloaded } from '../../../src/model/failure.ts'

const LIMIT = 20

/** What comes of the chunks; the most that was charged, and held. */
function split(chunks: readonly Buffer[], limit = LIMIT) {
  let [charged, held] = [0, 0]
  const splitter = new LineSplitter({
    limit,
    charge: (bytes) => {
      charged = Math.max(charged, bytes)
    },
  })
  const lines: (string | number)[] = []
  const read = () => {
    for (let line = splitter.next(); line !== null; line = splitter.next())
      lines.push(Buffer.isBuffer(line) ? line.toString('latin1') : line.failure.kind.length)
    held = Math.max(held, splitter.held)
  }
  for (const chunk of chunks) {
    splitter.feed(chunk)
    read()
  }
  splitter.end()
  read()
  return { lines, charged, held }
}

/** The same, without any care for memory. A refused line is shown as the length of its kind. */
function plainly(bytes: Buffer): (string | number)[] {
  const text = bytes.toString('latin1')
  return (text.startsWith('\u00ef\u00bb\u00bf') ? text.slice(3) : text)
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => !/^[ \t\r]*$/.test(line) || line.length > LIMIT)
    .map((line) => (line.length > LIMIT ? 'tooLarge'.length : line))
}

const piece = fc.oneof(
  fc.constantFrom('\n', '\r\n', '\n\n\n', ' ', '\t', '\r', '{}', '\u00ef\u00bb\u00bf'),
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

test('of lines that were broken off those that came whole are given, and nothing of the rest is held', () => {
  const splitter = new LineSplitter({ limit: LIMIT, charge: () => {} })
  splitter.feed(Buffer.from('{"a'))
  expect(splitter.next()).toBeNull()
  for (const text of ['":1}\n', '{"b":2}\n{"c', '":3']) splitter.feed(Buffer.from(text))
  splitter.breakOff()
  expect([splitter.next()?.toString(), splitter.next()?.toString()]).toEqual(['{"a":1}', '{"b":2}'])
  expect([splitter.next(), splitter.held]).toEqual([null, 0])
})

describe('memory', () => {
  test('a line without an end is refused once, and then nothing of it is held', () => {
    const chunk = Buffer.alloc(65_536, 'x')
    const { lines, charged, held } = split(
      [...Array.from({ length: 16_384 }, () => chunk), Buffer.from('\n{}\n')],
      1_000_000,
    )
    expect(lines).toEqual(['tooLarge'.length, '{}'])
    expect(charged).toBeLessThan(1_100_000)
    expect(held).toBeLessThan(1_100_000)
  })

  test('a line that comes byte by byte is held about once', () => {
    const { lines, held } = split(
      Array.from({ length: 100_000 }, () => Buffer.from('x')),
      1_000_000,
    )
    expect(lines).toEqual(['x'.repeat(100_000)])
    expect(held).toBeLessThan(160_000)
  })

  test.each(['\n', '\r\n', ' \n', '\t\r\n'])('10 MiB of blank lines are no lines: %j', (blank) => {
    const chunk = Buffer.alloc(65_536, blank)
    expect(split([...Array.from({ length: 160 }, () => chunk), Buffer.from('\n{}')]).lines).toEqual(['{}'])
  })

  test('one call passes over all the blank lines of a chunk', () => {
    const splitter = new LineSplitter({ limit: LIMIT, charge: () => {} })
    const chunk = Buffer.alloc(65_536, ' \r\n')
    const looks = vi.spyOn(chunk, 'indexOf')
    splitter.feed(chunk)
    expect(splitter.next()).toBeNull()
    expect(looks.mock.calls.length).toBeLessThan(3)
    expect(splitter.ends).toBe(21_845)
  })

  test('a line that there is no room for is refused, and the next one is read', () => {
    const splitter = new LineSplitter({
      limit: 1_000_000,
      charge: (bytes) => {
        if (bytes > 10_000) throw overloaded('no room')
      },
    })
    splitter.feed(Buffer.alloc(20_000, 'x'))
    expect(splitter.next()).toMatchObject({ failure: { kind: 'overloaded' } })
    splitter.feed(Buffer.from('xxx\n{}\n'))
    expect(splitter.next()?.toString()).toBe('{}')
    expect(splitter.next()).toBeNull()
    // What isn't whole is given up at once where nothing is to be read.
    splitter.feed(Buffer.from('xxx'))
    expect([splitter.next(), splitter.held > 0]).toEqual([null, true])
    splitter.breakOff()
    expect(splitter.held).toBe(0)
  })
})

test('bytes of empty lines are counted from one line to the next', () => {
  const splitter = new LineSplitter({ limit: LIMIT, charge: () => {} })
  const blanks: number[] = []
  for (const chunk of ['{}\n\n\n', ' \r\n', '\n\n', '\t\n{', '}\n', '\n\n']) {
    splitter.feed(Buffer.from(chunk))
    while (splitter.next() !== null);
    blanks.push(splitter.blank)
  }
  expect(blanks).toEqual([2, 5, 7, 9, 0, 2])
})
