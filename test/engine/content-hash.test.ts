// The hash of a content under a key: always the same.
import { createHash } from 'node:crypto'
import { assert, property, jsonValue } from 'fast-check'
import { expect, test } from 'vitest'
import { contentHashOf } from '../../src/engine/idempotency/kept-answer.ts'
import { canonical, type Json } from '../../src/model/json/value.ts'

/** The same, of a sorted copy. */
function earlierHashOf(content: object): string {
  const data: Json = JSON.parse(JSON.stringify(content))
  return createHash('sha256').update(canonical(data)).digest('hex')
}

test('stays what it is: rows have it', () => {
  const content = {
    contextId: 7,
    key: undefined,
    event: 'päid \u{1f600} "now"\n',
    input: { b: [1, null, true, -0, 1.5e-7, { z: '', a: [] }], a: {}, '\ud800': '\udfff', 10: 'x', 9: 'y' },
    tags: ['x', 'y'],
  }
  expect(contentHashOf(content)).toBe('e08cf8fbce31c859bac71b0421dc4c3cd4d2824bf36127778228e6036f0b87f6')
  expect(earlierHashOf(content)).toBe('e08cf8fbce31c859bac71b0421dc4c3cd4d2824bf36127778228e6036f0b87f6')
})

const check = (data: unknown) => {
  const content = { data, left: undefined }
  expect(contentHashOf(content)).toBe(earlierHashOf(content))
}

test('of any data equals that of its text with sorted names', () => {
  assert(property(jsonValue({ noUnicodeString: false, maxDepth: 6 }), check), {
    numRuns: Number(process.env['FUZZ_RUNS'] ?? 60),
  })
  check(JSON.parse('{"__proto__": 1, "constructor": {"__proto__": []}}'))
  check([undefined, { a: undefined, b: 1 }])
})

test('of many names', () => {
  const names = Array.from({ length: 33_000 }, (_, at) => `${(at * 7919) % 10_007}-${at}`)
  const content = Object.fromEntries(names.map((name, at) => [name, at]))
  expect(contentHashOf(content)).toBe(earlierHashOf(content))
})

test('of deep and long contents', () => {
  let deep: Json = 'x'
  for (let depth = 0; depth < 190; depth += 1) deep = depth % 2 === 0 ? [deep] : { a: deep }
  const content = { deep, long: '\u2028"ü'.repeat(300_000) }
  expect(contentHashOf(content)).toBe(earlierHashOf(content))
})
