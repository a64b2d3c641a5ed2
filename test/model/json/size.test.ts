import { assert, jsonValue, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ResultTooLarge } from '../../../src/model/json/value.ts'
import { toBoundedJson, toJson } from '../../../src/model/json/value.ts'
import { effortOf } from '../../support/effort.ts'

const MIB = 1024 * 1024

test('a value is let through with as many bytes as allowed, and refused with one fewer', () => {
  assert(
    property(jsonValue(), (value) => {
      const data = toJson(value)
      const bytes = Buffer.byteLength(JSON.stringify(data))
      expect(toBoundedJson(value, bytes)).toEqual(data)
      expect(() => toBoundedJson(value, bytes - 1)).toThrow(ResultTooLarge)
    }),
    { numRuns: 500 },
  )
})

test.each([
  ['"quotes"\n\\', '\u{1f600}é', '\ud800'],
  [new Date(5), 12n, 2n ** 70n, NaN, undefined, () => 1],
  new Map([['a', { b: [] }]]),
  { a: undefined, b: 1 },
  new Uint8Array(10),
  new Float32Array([0.5, NaN]),
  new BigInt64Array([1n, 2n ** 60n]),
  { toJSON: () => ({ a: [1, 2] }) },
  new Set(['x']),
  new Float64Array([1.5, 2]),
])('data that is made of something else is counted as what it becomes: %#', (value) => {
  const bytes = Buffer.byteLength(JSON.stringify(toJson(value)))
  expect(toBoundedJson(value, bytes)).toEqual(toJson(value))
  expect(() => toBoundedJson(value, bytes - 1)).toThrow(`the result has more than ${bytes - 1} bytes as JSON`)
})

test('numbers in a typed array become a list, and bytes base64', () => {
  const { buffer } = new Uint8Array([1, 2, 3, 4])
  expect(
    toJson({
      floats: new Float32Array([0.5, -2, NaN]),
      doubles: new Float64Array([1e300]),
      signed: new Int8Array([-1]),
      clamped: new Uint8ClampedArray([300]),
      words: new Uint16Array(buffer),
      large: new BigUint64Array([5n, 2n ** 60n]),
      none: new Int32Array(0),
      bytes: new Uint8Array(buffer, 1, 2),
      node: Buffer.from('hi'),
      raw: buffer,
      view: new DataView(buffer, 2),
    }),
  ).toEqual({
    floats: [0.5, -2, null],
    doubles: [1e300],
    signed: [-1],
    clamped: [255],
    words: [0x0201, 0x0403],
    large: [5, '1152921504606846976'],
    none: [],
    bytes: 'AgM=',
    node: 'aGk=',
    raw: 'AQIDBA==',
    view: 'AwQ=',
  })
})

/** 2 to the power of 60 leaves, in 60 lists. */
function shared(): unknown[] {
  let list: unknown[] = ['leaf']
  for (let level = 0; level < 60; level += 1) list = [list, list]
  return list
}

describe('what is far too large is refused without being built', () => {
  test.each<[string, () => unknown]>([
    ['shared parts', shared],
    ['a sparse list', () => Object.assign([], { length: 2 ** 32 - 1 })],
    ['bytes', () => new Uint8Array(2 ** 30)],
    ['numbers', () => new Float64Array(2 ** 27)],
    ['a text', () => 'x'.repeat(2 ** 28)],
    ['shared parts with a toJSON', () => ({ toJSON: shared })],
  ])('%s', (_, make) => {
    const value = make()
    expect(effortOf(() => expect(() => toBoundedJson(value, MIB)).toThrow(ResultTooLarge))).toBeLessThan(2000)
  })

  test('while a cycle is told as one', () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    expect(() => toBoundedJson(cycle, MIB)).toThrow('cyclic or nested deeper than 200')
  })
})
