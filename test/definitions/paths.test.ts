import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/model/json/value.ts'
import { LineError, readPath, writePath } from '../../src/definitions/values/paths.ts'

function frozen<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}

describe('reading a path', () => {
  const data: Json = {
    a: { b: [10, { c: 'x' }] },
    n: null,
    text: 'word',
    list: [{ name: 'X-Id', value: '1' }, { name: 'x-id', value: '2' }, { name: 'empty' }],
  }
  it.each<[string[], Json | undefined]>([
    [[], data],
    [['a', 'b', '0'], 10],
    [['a', 'b', '1', 'c'], 'x'],
    [['a', 'b', '2'], undefined],
    [['a', 'b', '-1'], undefined],
    [['a', 'b', '00'], undefined],
    [['a', 'b', 'length'], undefined],
    [['n'], null],
    [['n', 'x'], undefined],
    [['text', '0'], undefined],
    [['text', 'length'], undefined],
    [['constructor'], undefined],
    [['__proto__', 'constructor'], undefined],
    [['list', 'X-Id'], '1'],
    [['list', 'x-id'], '2'],
    [['list', 'X-ID'], undefined],
    [['list', 'empty'], undefined],
    [['list', '0', 'value'], '1'],
  ])('%j', (path, expected) => expect(readPath(data, path)).toEqual(expected))

  it('finds headers without regard to case, wherever the list is called that', () => {
    const headers = [{ name: 'Content-Type', value: 'text/plain' }]
    expect(readPath({ headers }, ['headers', 'content-type'])).toBe('text/plain')
    expect(readPath(headers, ['CONTENT-TYPE'], 'headers')).toBe('text/plain')
    expect(readPath({ cookies: headers }, ['cookies', 'content-type'])).toBeUndefined()
  })
  it('reads own keys of any name', () =>
    expect(readPath(JSON.parse('{"__proto__": {"x": 1}}'), ['__proto__', 'x'])).toBe(1))
  it('leads nowhere from nothing', () => expect(readPath(undefined, ['a'])).toBeUndefined())
})

describe('writing a path', () => {
  it.each<[JsonObject, string[], Json, JsonObject]>([
    [{}, ['a'], 1, { a: 1 }],
    [{}, ['a', 'b', 'c'], 1, { a: { b: { c: 1 } } }],
    [{ a: null }, ['a', 'b'], 1, { a: { b: 1 } }],
    [{ a: { x: 1 } }, ['a', 'b'], 2, { a: { x: 1, b: 2 } }],
    [{ a: [1, 2] }, ['a', '1'], 5, { a: [1, 5] }],
    [{ a: [1] }, ['a', '3'], 5, { a: [1, null, null, 5] }],
    [{ a: [{ x: 1 }] }, ['a', '0', 'x'], 2, { a: [{ x: 2 }] }],
    [{ a: [] }, ['a', '1', 'x'], 2, { a: [null, { x: 2 }] }],
    [{ a: {} }, ['a', '1'], 2, { a: { 1: 2 } }],
    [{ a: 'old' }, ['a'], { b: 1 }, { a: { b: 1 } }],
    [{ a: 1 }, [], { b: 1 }, { b: 1 }],
    [{}, ['', ''], 1, { '': { '': 1 } }],
  ])('%j at %j', (root, path, value, expected) => expect(writePath(frozen(root), path, value)).toEqual(expected))

  it('begins a list where one is declared', () => {
    expect(writePath({}, ['a', '1', 'x'], 5, new Set([1]))).toEqual({ a: [null, { x: 5 }] })
    expect(writePath({ a: null }, ['a', '0'], 5, new Set([1]))).toEqual({ a: [5] })
  })
  it.each<[JsonObject, string[]]>([
    [{ a: 'text' }, ['a', 'b']],
    [{ a: 5 }, ['a', 'b']],
    [{ a: false }, ['a', 'b', 'c']],
    [{ a: [] }, ['a', 'b']],
    [{ a: [] }, ['a', '-1']],
    [{ a: [] }, ['a', '1.5']],
    [{ a: [] }, ['a', '10000']],
    [{ a: [] }, ['a', '99999999999999999999']],
    [{}, []],
  ])('fails on %j at %j', (root, path) => expect(() => writePath(root, path, 1)).toThrow(LineError))
  it('lengthens a list to 10,000 elements and still changes a longer one', () => {
    expect(writePath({ a: [] }, ['a', '9999'], 1)['a']).toHaveLength(10_000)
    const long = { a: Array.from({ length: 20_000 }, () => 0) }
    expect(readPath(writePath(long, ['a', '15000'], 1), ['a', '15000'])).toBe(1)
  })
  it('writes `__proto__` as a key', () => {
    const written = writePath({}, ['__proto__', 'polluted'], true)
    expect(JSON.stringify(written)).toBe('{"__proto__":{"polluted":true}}')
    expect(Object.getPrototypeOf(written)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
    expect(JSON.stringify(writePath(written, ['a'], 1))).toBe('{"__proto__":{"polluted":true},"a":1}')
  })
  it('shares what it does not touch', () => {
    const root: JsonObject = { kept: { deep: [1] }, a: { kept: {}, b: 1 } }
    const written = writePath(root, ['a', 'b'], 2)
    expect(written['kept']).toBe(root['kept'])
    expect(readPath(written, ['a', 'kept'])).toBe(readPath(root, ['a', 'kept']))
  })
  it('never changes what it is given, and what was written is read back', () => {
    const segment = fc.oneof(fc.string(), fc.constantFrom('a', '0', '2', '__proto__', 'constructor'))
    const tree = fc.object({ key: segment, values: [fc.string(), fc.integer(), fc.constant(null)], maxDepth: 3 })
    fc.assert(
      fc.property(tree, fc.array(segment, { minLength: 1, maxLength: 4 }), fc.jsonValue(), (given, path, value) => {
        const root: JsonObject = JSON.parse(JSON.stringify(given))
        const plain: Json = JSON.parse(JSON.stringify(value))
        frozen(root)
        try {
          expect(readPath(writePath(root, path, plain), path)).toEqual(plain)
        } catch (error) {
          if (!(error instanceof LineError)) throw error
        }
      }),
    )
  })
})
