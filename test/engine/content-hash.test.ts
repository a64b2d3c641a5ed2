// The hash of a content under a key: always the same, and made in pieces where the content is large.
import { createHash } from 'node:crypto'
import { assert, asyncProperty, jsonValue } from 'fast-check'
import { expect, test } from 'vitest'
import { contentHashOf } from '../../src/engine/idempotency/content-hash.ts'
import { canonical, type Json } from '../../src/model/json/value.ts'

/** The same, made in one go. */
function earlierHashOf(content: object): string {
  const data: Json = JSON.parse(JSON.stringify(content))
  return createHash('sha256').update(canonical(data)).digest('hex')
}

test('stays what it is: rows have it', async () => {
  const content = {
    contextId: 7,
    key: undefined,
    event: 'päid \u{1f600} "now"\n',
    input: { b: [1, null, true, -0, 1.5e-7, { z: '', a: [] }], a: {}, '\ud800': '\udfff', 10: 'x', 9: 'y' },
    tags: ['x', 'y'],
  }
  expect(await contentHashOf(content)).toBe('e08cf8fbce31c859bac71b0421dc4c3cd4d2824bf36127778228e6036f0b87f6')
  expect(earlierHashOf(content)).toBe('e08cf8fbce31c859bac71b0421dc4c3cd4d2824bf36127778228e6036f0b87f6')
})

const check = async (data: unknown) => {
  const content = { data, left: undefined }
  expect(await contentHashOf(content)).toBe(earlierHashOf(content))
}

test('of any data equals that of its text with sorted names', async () => {
  await assert(asyncProperty(jsonValue({ noUnicodeString: false, maxDepth: 6 }), check), {
    numRuns: Number(process.env['FUZZ_RUNS'] ?? 60),
  })
  await check(JSON.parse('{"__proto__": 1, "constructor": {"__proto__": []}}'))
  await check([undefined, { a: undefined, b: 1 }])
})

test.each([1023, 1024, 1025, 2047, 4097, 10_000, 33_000])('sorts %i names in pieces', async (count) => {
  const names = Array.from({ length: count }, (_, at) => `${(at * 7919) % 10_007}-${at}`)
  const content = Object.fromEntries(names.map((name, at) => [name, at]))
  expect(await contentHashOf(content)).toBe(earlierHashOf(content))
})

test('of a large content is made in pieces, and serves the event loop in between', async () => {
  const content = { input: { list: Array.from({ length: 100_000 }, (_, at) => ({ at: String(at) })) } }
  let turns = 0
  const hash = contentHashOf(content)
  expect(hash).toBeInstanceOf(Promise)
  const count = () => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  expect(await hash).toBe(earlierHashOf(content))
  clearImmediate(next)
  expect(turns).toBeGreaterThan(20)
  expect(typeof contentHashOf({ event: 'e', input: { a: 1 } })).toBe('string')
})

test('of deep and long contents', async () => {
  let deep: Json = 'x'
  for (let depth = 0; depth < 190; depth += 1) deep = depth % 2 === 0 ? [deep] : { a: deep }
  const content = { deep, long: '\u2028"ü'.repeat(300_000) }
  expect(await contentHashOf(content)).toBe(earlierHashOf(content))
})
