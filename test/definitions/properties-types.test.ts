import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/model/json/value.ts'
import { validate, coerce, type Property } from '../../src/definitions/values/properties.ts'
import { compileShape } from '../../src/definitions/values/shapes.ts'
import { Report } from '../../src/definitions/report.ts'
import { effortOf } from '../support/effort.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const REFUSED = Symbol('refused')
type Expected = Json | typeof REFUSED

const shapeOf = (declaration: object) =>
  compileShape([{ name: 'v', ...declaration }], {
    extra: false,
    models: new Map(),
    pointer: '',
    report: new Report('f'),
  })

function property(declaration: object): Property {
  const found = shapeOf(declaration).properties.get('v')
  if (found === undefined) throw new Error('no property')
  return found
}

function read(mode: 'json' | 'text', declaration: object, given: Json): Expected {
  const { value, errors } = validate(
    shapeOf(declaration),
    { v: given },
    { now: NOW, unknown: 'refuse', fill: true, text: mode === 'text', pointer: '' },
  )
  return errors.length > 0 ? REFUSED : (value['v'] ?? null)
}

function line(declaration: object, given: Json): Expected {
  const held = coerce(property(declaration), given, NOW)
  return held.ok ? held.value : REFUSED
}

/** Type, given value, and what it becomes as JSON, as text of a query, and from a line. */
const TABLE: [string, Json, Expected, Expected, Expected][] = [
  ['string', 'x', 'x', 'x', 'x'],
  ['string', '', '', '', ''],
  ['string', '007', '007', '007', '007'],
  ['string', 7, REFUSED, REFUSED, '7'],
  ['string', true, REFUSED, REFUSED, 'true'],
  ['string', [], REFUSED, REFUSED, REFUSED],
  ['string', {}, REFUSED, REFUSED, REFUSED],
  ['character', 'a', 'a', 'a', 'a'],
  ['character', '😀', '😀', '😀', '😀'],
  ['character', '', REFUSED, REFUSED, REFUSED],
  ['character', 'ab', REFUSED, REFUSED, REFUSED],
  ['character', '😀!', REFUSED, REFUSED, REFUSED],
  ['character', 5, REFUSED, REFUSED, REFUSED],
  ['boolean', true, true, true, true],
  ['boolean', 'true', REFUSED, true, true],
  ['boolean', 'FALSE', REFUSED, false, false],
  ['boolean', 'yes', REFUSED, REFUSED, REFUSED],
  ['boolean', '', REFUSED, REFUSED, REFUSED],
  ['boolean', 1, REFUSED, REFUSED, REFUSED],
  ['boolean', '1', REFUSED, REFUSED, REFUSED],
  ['byte', 127, 127, 127, 127],
  ['byte', -128, -128, -128, -128],
  ['byte', 128, REFUSED, REFUSED, REFUSED],
  ['byte', '-129', REFUSED, REFUSED, REFUSED],
  ['short', 32767, 32767, 32767, 32767],
  ['short', -32769, REFUSED, REFUSED, REFUSED],
  ['integer', 2147483647, 2147483647, 2147483647, 2147483647],
  ['integer', 2147483648, REFUSED, REFUSED, REFUSED],
  ['integer', '2147483648', REFUSED, REFUSED, REFUSED],
  ['integer', '007', REFUSED, 7, 7],
  ['integer', '+7', REFUSED, 7, 7],
  ['integer', '-0', REFUSED, 0, 0],
  ['integer', '7.0', REFUSED, 7, 7],
  ['integer', '1e3', REFUSED, 1000, 1000],
  ['integer', 1.5, REFUSED, REFUSED, REFUSED],
  ['integer', '1.5', REFUSED, REFUSED, REFUSED],
  ['integer', '1.00000000000000000000001', REFUSED, REFUSED, REFUSED],
  ['integer', '', REFUSED, REFUSED, REFUSED],
  ['integer', ' 7', REFUSED, 7, REFUSED],
  ['boolean', '\ntrue ', REFUSED, true, REFUSED],
  ['string', ' x ', ' x ', ' x ', ' x '],
  ['integer', '0x10', REFUSED, REFUSED, REFUSED],
  ['integer', '7n', REFUSED, REFUSED, REFUSED],
  ['integer', '٧', REFUSED, REFUSED, REFUSED],
  ['integer', true, REFUSED, REFUSED, REFUSED],
  ['integer', [7], REFUSED, REFUSED, REFUSED],
  ['long', 9007199254740991, 9007199254740991, 9007199254740991, 9007199254740991],
  ['long', 9007199254740992, REFUSED, REFUSED, REFUSED],
  ['long', -9007199254740992, REFUSED, REFUSED, REFUSED],
  ['long', '12', 12, 12, 12],
  ['long', '9007199254740993', '9007199254740993', '9007199254740993', '9007199254740993'],
  ['long', '9007199254740992', '9007199254740992', '9007199254740992', '9007199254740992'],
  ['long', '+0009007199254740993', '9007199254740993', '9007199254740993', '9007199254740993'],
  ['long', '9223372036854775807', '9223372036854775807', '9223372036854775807', '9223372036854775807'],
  ['long', '9223372036854775808', REFUSED, REFUSED, REFUSED],
  ['long', '-9223372036854775808', '-9223372036854775808', '-9223372036854775808', '-9223372036854775808'],
  ['long', '-9223372036854775809', REFUSED, REFUSED, REFUSED],
  ['long', '12.5', REFUSED, REFUSED, REFUSED],
  ['long', 'twelve', REFUSED, REFUSED, REFUSED],
  ['float', 1.5, 1.5, 1.5, 1.5],
  ['float', 0.1, 0.1, 0.1, 0.1],
  ['float', 3.4e38, 3.4e38, 3.4e38, 3.4e38],
  ['float', 3.5e38, REFUSED, REFUSED, REFUSED],
  ['float', '-3.5e38', REFUSED, REFUSED, REFUSED],
  ['double', 1e308, 1e308, 1e308, 1e308],
  ['double', '1e400', REFUSED, REFUSED, REFUSED],
  ['double', '.5', REFUSED, 0.5, 0.5],
  ['double', 'NaN', REFUSED, REFUSED, REFUSED],
  ['double', 'Infinity', REFUSED, REFUSED, REFUSED],
  ['double', '.', REFUSED, REFUSED, REFUSED],
  [
    'bigInteger',
    '123456789012345678901234567890',
    '123456789012345678901234567890',
    '123456789012345678901234567890',
    '123456789012345678901234567890',
  ],
  ['bigInteger', '1e20', '100000000000000000000', '100000000000000000000', '100000000000000000000'],
  ['bigInteger', '1e1000000000', REFUSED, REFUSED, REFUSED],
  ['bigInteger', 1e21, REFUSED, REFUSED, REFUSED],
  ['bigInteger', '0.5', REFUSED, REFUSED, REFUSED],
  ['bigDecimal', '1.50', 1.5, 1.5, 1.5],
  ['bigDecimal', '0.1', 0.1, 0.1, 0.1],
  [
    'bigDecimal',
    '0.10000000000000000001',
    '0.10000000000000000001',
    '0.10000000000000000001',
    '0.10000000000000000001',
  ],
  [
    'bigDecimal',
    '-00012345678901234567890.5000',
    '-12345678901234567890.5',
    '-12345678901234567890.5',
    '-12345678901234567890.5',
  ],
  ['bigDecimal', '1e-400', `0.${'0'.repeat(399)}1`, `0.${'0'.repeat(399)}1`, `0.${'0'.repeat(399)}1`],
  ['bigDecimal', '0e999999999', 0, 0, 0],
  ['bigDecimal', 2.5, 2.5, 2.5, 2.5],
  ['bigDecimal', '1,5', REFUSED, REFUSED, REFUSED],
  ['date', 0, 0, 0, 0],
  ['date', 1.9, 1, 1, 1],
  ['date', '1767225600000', 1767225600000, 1767225600000, 1767225600000],
  ['date', '-5', -5, -5, -5],
  ['date', '2026-01-01', Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1)],
  ['date', '2026-01-01T10:00', Date.UTC(2026, 0, 1, 10), Date.UTC(2026, 0, 1, 10), Date.UTC(2026, 0, 1, 10)],
  [
    'date',
    '2026-01-01T10:00:00.1239+02:00',
    Date.UTC(2026, 0, 1, 8, 0, 0, 123),
    Date.UTC(2026, 0, 1, 8, 0, 0, 123),
    Date.UTC(2026, 0, 1, 8, 0, 0, 123),
  ],
  ['date', '0001-01-01', -62135596800000, -62135596800000, -62135596800000],
  ['date', '2024-02-29', Date.UTC(2024, 1, 29), Date.UTC(2024, 1, 29), Date.UTC(2024, 1, 29)],
  ['date', '2026-02-29', REFUSED, REFUSED, REFUSED],
  ['date', '2026-02-31', REFUSED, REFUSED, REFUSED],
  ['date', '2026-13-01', REFUSED, REFUSED, REFUSED],
  ['date', '2026-01-01T25:00', REFUSED, REFUSED, REFUSED],
  ['date', '2026-01-01T24:00:00Z', Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 2)],
  ['date', '2026-01-01T24:00:01Z', REFUSED, REFUSED, REFUSED],
  ['date', '2026-01-01T10:00+25:00', REFUSED, REFUSED, REFUSED],
  ['date', '+275760-09-13T00:00:00.001Z', REFUSED, REFUSED, REFUSED],
  ['date', 8.64e15 + 1, REFUSED, REFUSED, REFUSED],
  ['date', 'now', REFUSED, REFUSED, REFUSED],
  ['date', 'yesterday', REFUSED, REFUSED, REFUSED],
  ['date', '', REFUSED, REFUSED, REFUSED],
  ['date', true, REFUSED, REFUSED, REFUSED],
  ['byte[]', 'aGk=', 'aGk=', 'aGk=', 'aGk='],
  ['byte[]', '', '', '', ''],
  ['byte[]', 'aGk', REFUSED, REFUSED, REFUSED],
  ['byte[]', 'a_-=', REFUSED, REFUSED, REFUSED],
  ['byte[]', 5, REFUSED, REFUSED, REFUSED],
  ['object', { a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }],
  ['object', '{"a":1}', REFUSED, { a: 1 }, { a: 1 }],
  ['object', '[1]', REFUSED, REFUSED, REFUSED],
  ['object', '{', REFUSED, REFUSED, REFUSED],
  // An empty element of XML.
  ['object', '', REFUSED, {}, REFUSED],
  ['object', ' \n', REFUSED, {}, REFUSED],
  ['object', [], REFUSED, REFUSED, REFUSED],
  ['object', 1, REFUSED, REFUSED, REFUSED],
  ['model', { a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }],
  ['any', 'x', 'x', 'x', 'x'],
  ['any', '{"a":1}', '{"a":1}', '{"a":1}', '{"a":1}'],
  ['any', [1, { a: null }], [1, { a: null }], [1, { a: null }], [1, { a: null }]],
  ['any', 7, 7, 7, 7],
]

describe.each(TABLE)('a %s given %j', (type, given, asJson, asText, asLine) => {
  it('is read as JSON', () => expect(read('json', { type }, given)).toEqual(asJson))
  it('is read as text', () => expect(read('text', { type }, given)).toEqual(asText))
  it('is held by a line', () => expect(line({ type }, given)).toEqual(asLine))
})

describe('a value of any type', () => {
  it('is a string unless a type is said', () => expect(read('json', {}, 'x')).toBe('x'))
  it('may be null, unless allowNull is false', () => {
    for (const type of ['string', 'integer', 'date', 'model', 'any']) {
      expect(read('json', { type }, null)).toBe(null)
      expect(read('json', { type, allowNull: false }, null)).toBe(REFUSED)
      expect(line({ type, allowNull: false }, null)).toBe(REFUSED)
      expect(line({ type }, null)).toBe(null)
    }
  })
})

describe('a list property', () => {
  it('takes a list of its type only', () => {
    expect(read('json', { type: 'integer', array: true }, [1, 2])).toEqual([1, 2])
    expect(read('json', { type: 'integer', array: true }, [])).toEqual([])
    expect(read('json', { type: 'integer', array: true }, [1, 'x'])).toBe(REFUSED)
    expect(read('json', { type: 'integer', array: true }, 1)).toBe(REFUSED)
    expect(read('json', { type: 'integer', array: true }, [[1]])).toBe(REFUSED)
  })
  it('makes a list of one out of a single text, but not in JSON', () => {
    expect(read('text', { type: 'integer', array: true }, '5')).toEqual([5])
    expect(line({ type: 'string', array: true }, 'x')).toEqual(['x'])
    expect(read('json', { type: 'string', array: true }, 'x')).toBe(REFUSED)
  })
  it('coerces each text of a list', () =>
    expect(read('text', { type: 'boolean', array: true }, ['true', 'FALSE'])).toEqual([true, false]))
  it('judges null elements by allowNull', () => {
    expect(read('json', { type: 'integer', array: true }, [null])).toEqual([null])
    expect(read('json', { type: 'integer', array: true, allowNull: false }, [null])).toBe(REFUSED)
  })
})

describe('bounds, lengths and choices', () => {
  it.each<[object, Json, boolean]>([
    [{ type: 'integer', min: 1, max: 3 }, 1, true],
    [{ type: 'integer', min: 1, max: 3 }, 3, true],
    [{ type: 'integer', min: 1, max: 3 }, 0, false],
    [{ type: 'integer', min: 1, max: 3 }, 4, false],
    [{ type: 'integer', min: '1' }, 0, false],
    [{ type: 'long', max: '9007199254740993' }, '9007199254740993', true],
    [{ type: 'long', max: '9007199254740993' }, '9007199254740994', false],
    [{ type: 'bigDecimal', min: '-0.10000000000000000001' }, '-0.10000000000000000002', false],
    [{ type: 'bigDecimal', min: '-0.10000000000000000001' }, '-0.1', true],
    [{ type: 'integer', array: true, max: 3 }, [1, 4], false],
    [{ type: 'date', min: '2026-01-01' }, '2025-12-31T23:59:59.999Z', false],
    [{ type: 'date', min: '2026-01-01' }, '2026-01-01', true],
    [{ type: 'date', max: 1000 }, 1001, false],
    [{ minLength: 2 }, '😀', false],
    [{ minLength: 1, maxLength: 1 }, '😀', true],
    [{ maxLength: 2 }, 'abc', false],
    [{ choices: ['a', 'b'] }, 'a', true],
    [{ choices: ['a', 'b'] }, 'c', false],
    [{ choices: ['a', 'b'], allowOtherValues: true }, 'c', true],
    [{ choices: [] }, 'c', true],
    [{ type: 'integer', choices: ['1', 2] }, 1, true],
    [{ type: 'integer', choices: ['1', 2] }, 3, false],
    [{ type: 'date', choices: ['2026-01-01'] }, Date.UTC(2026, 0, 1), true],
    [{ type: 'bigDecimal', choices: ['1.50'] }, '1.5', true],
    [{ choices: ['a'], array: true }, ['a', 'b'], false],
    [{ choices: ['a'] }, null, true],
  ])('%j given %j: %s', (declaration, given, fits) => {
    expect(read('json', declaration, given) !== REFUSED).toBe(fits)
    expect(line(declaration, given) !== REFUSED).toBe(fits)
  })
})

describe('numbers as text', () => {
  it('are refused when their plain notation has more than 10,000 digits, at once', () => {
    const effort = effortOf(() => {
      expect(read('text', { type: 'bigInteger' }, '9'.repeat(10_000))).toBe('9'.repeat(10_000))
      expect(read('text', { type: 'bigInteger' }, '9'.repeat(1_000_000))).toBe(REFUSED)
      expect(read('text', { type: 'bigDecimal' }, `1${'0'.repeat(9000)}1e-9999999999`)).toBe(REFUSED)
    })
    expect(effort).toBeLessThan(500)
  })
  it('keep what they hold when read again', () => {
    const small = line({ type: 'bigDecimal' }, '-1e-10000')
    expect(line({ type: 'bigDecimal' }, small === REFUSED ? null : small)).toBe(`-0.${'0'.repeat(9999)}1`)
  })
})

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

describe('JSON text for an object', () => {
  it('is refused when it is nested too deeply', () => {
    expect(read('text', { type: 'object' }, nested(64))).not.toBe(REFUSED)
    expect(read('text', { type: 'object' }, nested(65))).toBe(REFUSED)
    expect(read('text', { type: 'object' }, nested(100_000))).toBe(REFUSED)
  })
})
