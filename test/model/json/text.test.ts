import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { setOwn, toJson } from '../../../src/model/json/value.ts'
import { excessOf } from '../../../src/model/json/text.ts'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const valuesIn = (value: unknown): number =>
  1 + (isObject(value) ? Object.values(value).reduce<number>((sum, item) => sum + valuesIn(item), 0) : 0)
const namesIn = (value: unknown): number =>
  isObject(value)
    ? (Array.isArray(value) ? 0 : Object.keys(value).length) +
      Object.values(value).reduce<number>((sum, item) => sum + namesIn(item), 0)
    : 0
const depthOf = (value: unknown): number =>
  isObject(value) ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const data = fc.jsonValue({ maxDepth: 5 })

describe('JSON text, before it is parsed', () => {
  test('is found to hold as many values and names as its data does, however it is laid out', () => {
    fc.assert(
      fc.property(data, fc.constantFrom(0, 1, '\t', ' \r\n'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const count = valuesIn(value) + namesIn(value)
        expect(excessOf(text, { maxDepth: 100, maxValues: count })).toBeNull()
        expect(excessOf(text, { maxDepth: 100, maxValues: count - 1 })).toBe('values')
      }),
    )
  })

  test('is found to nest as deep as its data does', () => {
    fc.assert(
      fc.property(data, (value) => {
        const text = JSON.stringify(value)
        expect(excessOf(text, { maxDepth: depthOf(value), maxValues: Infinity })).toBeNull()
        if (isObject(value)) expect(excessOf(text, { maxDepth: depthOf(value) - 1, maxValues: Infinity })).toBe('depth')
      }),
    )
  })

  test.each([
    ['[{},{},{}]', 4],
    ['{}', 1],
    ['[ ]', 1],
    ['"a,b:c[{\\"]"', 1],
    ['{"a": [1, 2]}', 5],
    ['[[[]]]', 3],
  ])('%s holds %i', (text, count) => {
    expect(excessOf(text, { maxDepth: 9, maxValues: count })).toBeNull()
    expect(excessOf(text, { maxDepth: 9, maxValues: count - 1 })).toBe('values')
  })
})

describe('data', () => {
  test('is counted while it is copied', () => {
    fc.assert(
      fc.property(data, (value) => {
        let count = 0
        expect(JSON.stringify(toJson(value, undefined, () => (count += 1)))).toBe(JSON.stringify(value))
        expect(count).toBe(valuesIn(value) + namesIn(value))
      }),
    )
  })

  test('is made of objects and maps alike', () => {
    const given = {
      a: 1,
      b: undefined,
      c: () => 1,
      d: Symbol('d'),
      ['__proto__']: { e: 1 },
      f: new Map<unknown, unknown>([
        [1, new Date(5)],
        ['g', undefined],
      ]),
      h: { toJSON: () => 'own' },
    }
    expect(JSON.stringify(toJson(given))).toBe('{"a":1,"__proto__":{"e":1},"f":{"1":5},"h":"own"}')
  })

  test('takes no more room where names are numbers', () => {
    const given: unknown = JSON.parse(`[${Array(5000).fill('{"1000":1}').join()}]`)
    const before = process.memoryUsage().heapUsed
    const copy = toJson(given)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000)
    expect(copy).toEqual(given)
  })

  test('has plain properties, whatever their names', () => {
    const object: { [key: string]: number } = {}
    for (const name of ['a', '1000', '__proto__', '10', '1-a']) {
      setOwn(object, name, 1)
      setOwn(object, name, 2)
      expect(Object.getOwnPropertyDescriptor(object, name)).toEqual({
        value: 2,
        writable: true,
        enumerable: true,
        configurable: true,
      })
    }
    expect(Object.keys(object)).toEqual(['10', '1000', 'a', '__proto__', '1-a'])
  })
})
