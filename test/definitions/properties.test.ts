import * as fc from 'fast-check'
import { describe as suite, expect, it } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../src/model/json/value.ts'
import {
  validate,
  defaults,
  describeValues,
  coerce,
  descend,
  type ValidateOptions,
  type Property,
  type Shape,
} from '../../src/definitions/values/properties.ts'
import { compileShape } from '../../src/definitions/values/shapes.ts'
import { Report } from '../../src/definitions/report.ts'

const NOW = 1_767_323_045_006

interface Compiled {
  readonly shape: Shape
  readonly report: Report
}

function compile(
  list: readonly JsonObject[],
  options: { extra?: boolean; models?: Record<string, JsonObject> } = {},
): Compiled {
  const report = new Report('f')
  const models = new Map(Object.entries(options.models ?? {}))
  const shape = compileShape(list, {
    extra: options.extra ?? false,
    models,
    pointer: '/input',
    report,
  })
  return { shape, report }
}

/** What a line does with a value for a path below a property. */
function coerceAt(property: Property, path: readonly string[], value: Json, now: number) {
  const target = descend(property, path)
  if (!target.ok) return { ok: false, reason: target.reason }
  return target.property === null ? { ok: true, value } : coerce(target.property, value, now)
}

/** Compiles a list that must be free of faults and warnings. */
function shapeOf(...list: JsonObject[]): Shape {
  const { shape, report } = compile(list)
  expect(report.faults).toEqual([])
  return shape
}

const take = (shape: Shape, given: JsonObject, options: Partial<ValidateOptions> = {}) =>
  validate(shape, given, { now: NOW, unknown: 'refuse', fill: true, text: false, pointer: '/input', ...options })

const told = ({ report }: Compiled) => report.faults.map(({ severity, pointer }) => `${severity} ${pointer}`)

function only(shape: Shape): Property {
  const [property] = shape.properties.values()
  if (property === undefined) throw new Error('no property')
  return property
}

const parsed = (text: string): JsonObject => {
  const value: unknown = JSON.parse(text)
  if (!isObject(value)) throw new Error('no object')
  return value
}

suite('absence and null', () => {
  const shape = shapeOf(
    { name: 'must', required: true },
    { name: 'may' },
    { name: 'preset', required: true, defaultValue: 'd' },
    { name: 'never', allowNull: false, defaultValue: 'n' },
  )
  it('judges absence by required alone, once defaults are filled in', () => {
    expect(take(shape, {}).errors).toEqual([{ pointer: '/input/must', detail: 'is required' }])
    expect(take(shape, { must: 'x' })).toEqual({ value: { must: 'x', preset: 'd', never: 'n' }, errors: [] })
  })
  it('judges an explicit null by allowNull alone, and gives it no default', () => {
    expect(take(shape, { must: null, preset: null }).value).toEqual({ must: null, preset: null, never: 'n' })
    expect(take(shape, { must: null, never: null }).errors).toEqual([
      { pointer: '/input/never', detail: 'must not be null' },
    ])
  })
  it('leaves absent ones absent, and asks for the required ones, when nothing is to be filled in', () => {
    expect(take(shape, { must: 'x', preset: 'p' }, { fill: false }).value).toEqual({ must: 'x', preset: 'p' })
    expect(take(shape, { must: 'x' }, { fill: false }).errors.map(({ pointer }) => pointer)).toEqual(['/input/preset'])
  })
})

suite('names that are not declared', () => {
  const list = [{ name: 'a' }]
  it.each([
    ['refuse', false, { a: 'x' }, 1],
    ['ignore', false, { a: 'x' }, 0],
    ['keep', false, { a: 'x', b: 1 }, 0],
    ['refuse', true, { a: 'x', b: 1 }, 0],
    ['ignore', true, { a: 'x', b: 1 }, 0],
  ] as const)('%s, extra %s', (unknown, extra, value, errors) => {
    const taken = take(compile(list, { extra }).shape, { a: 'x', b: 1 }, { unknown })
    expect(taken.value).toEqual(value)
    expect(taken.errors).toHaveLength(errors)
  })
  it('are kept, or not, by a rule of their own where they begin with $', () => {
    const given = { a: 'x', $b: 1, $a: 2, c: 3 }
    const { shape } = compile([...list, { name: '$a' }], { extra: true })
    expect(take(shape, { ...given, $a: 'y' }, { reserved: 'ignore' })).toEqual({
      value: { a: 'x', $a: 'y', c: 3 },
      errors: [],
    })
    expect(take(shape, { ...given, $a: 'y' }, { reserved: 'refuse' }).errors).toEqual([
      { pointer: '/input/$b', detail: 'is not declared, and begins with $' },
    ])
    expect(take(shape, { ...given, $a: 'y' }).value).toEqual({ a: 'x', $a: 'y', $b: 1, c: 3 })
  })
  it('are looked at no longer once enough of them are told', () => {
    let looked = 0
    const given = new Proxy<JsonObject>(
      Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 1])),
      {
        get: (target, key) => {
          looked += 1
          return Reflect.get(target, key)
        },
      },
    )
    expect(take(shapeOf(...list), given).errors).toHaveLength(100)
    expect(looked).toBeLessThan(200)
  })
  it('are told in part where they are long', () => {
    const [error] = take(shapeOf(...list), { ['~/'.repeat(400_000)]: 1 }).errors
    expect(error?.pointer.length).toBeLessThan(3000)
  })
  it('are told by a pointer that escapes its segments', () => {
    expect(take(shapeOf(...list), { 'x/y~z': 1 }).errors).toEqual([
      { pointer: '/input/x~1y~0z', detail: 'is not declared' },
    ])
  })
})

suite('an object as JSON text', () => {
  const thing = shapeOf({ name: 'thing', type: 'object' })
  const errorOf = (text: string) => take(thing, { thing: text }, { text: true }).errors[0]?.detail
  it('nests and holds as much as a body', () => {
    expect(errorOf(`{"a":[${Array(99_990).fill('1').join()}]}`)).toBeUndefined()
    expect(errorOf(`{"a":[${Array(100_000).fill('1').join()}]}`)).toBe('holds more than 100000 values and names')
    expect(errorOf(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`)).toBeUndefined()
    expect(errorOf(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`)).toBe('is nested deeper than 64')
  })
})

suite('models', () => {
  const order = shapeOf({
    name: 'order',
    type: 'model',
    gloopProperties: [
      { name: 'id', type: 'long', required: true },
      { name: 'at', type: 'date', defaultValue: 'now' },
      {
        name: 'lines',
        type: 'model',
        array: true,
        gloopProperties: [
          { name: 'count', type: 'integer', defaultValue: 1 },
          { name: 'sku', required: true, allowNull: false },
        ],
      },
      { name: 'notes', type: 'model', allowExtraProperties: true, gloopProperties: [{ name: 'by' }] },
    ],
  })
  it('hold their fields to their types, with defaults inside a given model only', () => {
    expect(take(order, {}).value).toEqual({})
    expect(
      take(order, { order: { id: '5', lines: [{ sku: 'a' }], notes: { by: 'me', more: [1] } } }, { fill: false }),
    ).toEqual({
      value: { order: { id: 5, at: NOW, lines: [{ count: 1, sku: 'a' }], notes: { by: 'me', more: [1] } } },
      errors: [],
    })
  })
  it('tell every error, each with its place', () => {
    const { errors } = take(
      order,
      { order: { at: 'x', lines: [{ sku: null }, 5, { sku: 's', extra: 1 }], other: 1 } },
      { unknown: 'ignore' },
    )
    expect(errors.map(({ pointer }) => pointer)).toEqual([
      '/input/order/id',
      '/input/order/at',
      '/input/order/lines/0/sku',
      '/input/order/lines/1',
      '/input/order/lines/2/extra',
      '/input/order/other',
    ])
  })
  it('are read from XML that tells no types, where one that has only item looks like a list, and a list of one like a model', () => {
    const shape = shapeOf(
      { name: 'thing', type: 'object' },
      { name: 'box', type: 'model', gloopProperties: [{ name: 'item', type: 'integer', array: true }] },
      { name: 'boxes', type: 'model', array: true, gloopProperties: [{ name: 'item', type: 'integer' }] },
    )
    expect(take(shape, { thing: ['a'], box: ['1', '2'], boxes: { item: '3' } }, { text: true })).toEqual({
      value: { thing: { item: 'a' }, box: { item: [1, 2] }, boxes: [{ item: 3 }] },
      errors: [],
    })
    expect(take(shape, { boxes: [['4'], { item: '5' }] }, { text: true }).value).toEqual({
      boxes: [{ item: 4 }, { item: 5 }],
    })
    expect(take(shape, { thing: ['a'], box: [1], boxes: { item: 3 } }).errors.map(({ detail }) => detail)).toEqual([
      'must be an object',
      'must be an object',
      'must be a list',
    ])
    expect(take(shape, { box: ['x'], thing: [] }, { text: true }).errors.map(({ pointer }) => pointer)).toEqual([
      '/input/thing',
      '/input/box/item/0',
    ])
  })
  it('are read from text: untyped leaves are coerced, JSON text is read as JSON', () => {
    expect(
      take(order, { order: { id: '5', at: '0', lines: [{ count: '2', sku: 's' }] } }, { text: true }).value,
    ).toEqual({ order: { id: 5, at: 0, lines: [{ count: 2, sku: 's' }] } })
    expect(take(order, { order: '{"id":5,"at":0}' }, { text: true }).value).toEqual({ order: { id: 5, at: 0 } })
    expect(
      take(order, { order: '{"id":5,"lines":[{"sku":"s","count":"2"}]}' }, { text: true }).errors.map(
        ({ pointer }) => pointer,
      ),
    ).toEqual(['/input/order/lines/0/count'])
  })
  it('without fields take anything; with an empty list of them nothing', () => {
    expect(take(shapeOf({ name: 'm', type: 'model' }), { m: { a: [1] } }).value).toEqual({ m: { a: [1] } })
    expect(take(shapeOf({ name: 'm', type: 'model', gloopProperties: [] }), { m: { a: 1 } }).errors).toHaveLength(1)
  })
})

suite('referenced models', () => {
  const tree: JsonObject = {
    type: 'model',
    gloopProperties: [
      { name: 'value', type: 'integer', required: true },
      { name: 'children', type: 'model', array: true, reference: 'shop.Tree' },
    ],
  }
  it('give their fields, and may contain themselves', () => {
    const { shape, report } = compile([{ name: 'root', type: 'model', reference: 'shop.Tree' }], {
      models: { 'shop.Tree': tree },
    })
    expect(report.faults).toEqual([])
    expect(take(shape, { root: { value: 1, children: [{ value: 2, children: [] }] } }).errors).toEqual([])
    expect(
      take(shape, { root: { value: 1, children: [{ children: [{ value: 'x' }] }] } }).errors.map(
        ({ pointer }) => pointer,
      ),
    ).toEqual(['/input/root/children/0/value', '/input/root/children/0/children/0/value'])
  })
  it('may contain one another', () => {
    const models = {
      A: { gloopProperties: [{ name: 'b', type: 'model', reference: 'B' }] },
      B: { gloopProperties: [{ name: 'a', type: 'model', reference: 'A' }] },
    }
    const { shape, report } = compile([{ name: 'a', type: 'model', reference: 'A' }], { models })
    expect(report.faults).toEqual([])
    expect(take(shape, { a: { b: { a: { c: 1 } } } }).errors.map(({ pointer }) => pointer)).toEqual(['/input/a/b/a/c'])
  })
  it('allow extra properties as they say, unless the property says otherwise', () => {
    const models = { Open: { allowExtraProperties: true, gloopProperties: [] } }
    const { shape } = compile(
      [
        { name: 'a', type: 'model', reference: 'Open' },
        { name: 'b', type: 'model', reference: 'Open', allowExtraProperties: false },
      ],
      { models },
    )
    expect(take(shape, { a: { x: 1 }, b: { x: 1 } }).errors.map(({ pointer }) => pointer)).toEqual(['/input/b/x'])
  })
  it('may stand for another, but not for themselves', () => {
    const models = {
      Alias: { reference: 'Real' },
      Real: { gloopProperties: [{ name: 'x' }] },
      Loop: { reference: 'Loop' },
    }
    const { shape } = compile([{ name: 'a', type: 'model', reference: 'Alias' }], { models })
    expect(take(shape, { a: { y: 1 } }).errors).toHaveLength(1)
    expect(told(compile([{ name: 'a', type: 'model', reference: 'Loop' }], { models }))).toEqual([
      'fault /input/0/reference',
    ])
  })
  it('that are missing are a fault of a model, and a doubt elsewhere', () => {
    expect(told(compile([{ name: 'a', type: 'model', reference: 'No' }]))).toEqual(['fault /input/0/reference'])
    expect(told(compile([{ name: 'a', type: 'model', reference: 'No', gloopProperties: [] }]))).toEqual([
      'warning /input/0/reference',
    ])
    expect(told(compile([{ name: 'a', type: 'object', reference: 'com.example.Type' }]))).toEqual([
      'warning /input/0/reference',
    ])
  })
  it('have their own faults reported where they are referred to', () => {
    const { report } = compile([{ name: 'a', type: 'model', reference: 'M' }], {
      models: { M: { gloopProperties: [{ name: 'x', type: 'number' }] } },
    })
    expect(report.faults).toMatchObject([
      { severity: 'fault', pointer: '/input/0/reference', reason: expect.stringContaining('/gloopProperties/0/type') },
    ])
  })
})

suite('defaults', () => {
  it('are given in their stored form, `now` being the moment of use', () => {
    const { shape } = compile([
      { name: 'n', type: 'integer', defaultValue: '5' },
      { name: 'd', type: 'date', defaultValue: 'now' },
      { name: 's', defaultValue: 'now' },
      { name: 'e', defaultValue: '' },
      { name: 'l', type: 'date', array: true, defaultValue: ['now', 0] },
      { name: 'none' },
      { name: 'nil', defaultValue: null },
      { name: 'no', type: 'boolean', defaultValue: false },
      {
        name: 'm',
        type: 'model',
        gloopProperties: [{ name: 'at', type: 'date', defaultValue: 'now' }],
        defaultValue: {},
      },
    ])
    expect(defaults(shape, NOW)).toEqual({ n: 5, d: NOW, s: 'now', e: '', l: [NOW, 0], no: false, m: { at: NOW } })
    expect(defaults(shape, NOW + 1)['d']).toBe(NOW + 1)
    expect(take(shape, {}).value).toEqual(defaults(shape, NOW))
  })
  it('are never shared between two uses of a declared model', () => {
    const shape = shapeOf({ name: 'm', type: 'model', gloopProperties: [{ name: 'a' }], defaultValue: { a: 'x' } })
    expect(defaults(shape, NOW)['m']).not.toBe(defaults(shape, NOW)['m'])
  })
  it.each<[JsonObject, string[]]>([
    [{ type: 'integer', defaultValue: 5 }, []],
    [{ type: 'integer', defaultValue: '5' }, ['warning /input/0/defaultValue']],
    [{ type: 'integer', defaultValue: 'five' }, ['fault /input/0/defaultValue']],
    [{ type: 'integer', defaultValue: '' }, []],
    [{ type: 'integer', defaultValue: 9, max: 5 }, ['warning /input/0/defaultValue']],
    [{ defaultValue: 'c', choices: ['a'] }, ['warning /input/0/defaultValue']],
    [{ type: 'date', defaultValue: 'now' }, []],
    [{ type: 'date', defaultValue: 'then' }, ['fault /input/0/defaultValue']],
    [
      { type: 'model', gloopProperties: [{ name: 'x', type: 'byte' }], defaultValue: { x: 'y' } },
      ['fault /input/0/defaultValue/x'],
    ],
    [
      { type: 'model', gloopProperties: [{ name: 'x', required: true }], defaultValue: {} },
      ['fault /input/0/defaultValue/x'],
    ],
    [{ array: true, defaultValue: 'a' }, ['warning /input/0/defaultValue']],
  ])('are checked: %j', (declaration, expected) =>
    expect(told(compile([{ name: 'v', ...declaration }]))).toEqual(expected),
  )
  it('that contain themselves are a fault', () => {
    const models = { M: { gloopProperties: [{ name: 'm', type: 'model', reference: 'M', defaultValue: {} }] } }
    expect(told(compile([{ name: 'top', type: 'model', reference: 'M' }], { models }))).toEqual([
      'fault /input/0/reference',
    ])
  })
  it('that break a bound are used all the same', () => {
    expect(defaults(compile([{ name: 'v', type: 'integer', max: 5, defaultValue: 9 }]).shape, NOW)).toEqual({ v: 9 })
  })
})

suite('a list of declarations', () => {
  it.each<[JsonObject[], string[]]>([
    [[{}], ['fault /input/0/name']],
    [[{ name: '' }], ['fault /input/0/name']],
    [[{ name: 5 }], ['fault /input/0/name']],
    [[{ name: 'a' }, { name: 'b' }, { name: 'a' }], ['fault /input/2/name']],
    [[{ name: 'a', type: 'number' }], ['fault /input/0/type']],
    [[{ name: 'a', type: 5 }], ['fault /input/0/type']],
    [[{ name: 'a', type: null }], []],
    [[{ name: 'a', type: 'constructor' }], ['fault /input/0/type']],
    [[{ name: 'a', array: 'true' }], ['fault /input/0/array']],
    [[{ name: 'a', required: 1 }], ['fault /input/0/required']],
    [[{ name: 'a', required: null, choices: null, min: null, reference: '', gloopProperties: null }], []],
    [[{ name: 'a', type: 'integer', min: 2, max: 1 }], ['warning /input/0/min']],
    [[{ name: 'a', type: 'integer', min: 'x' }], ['warning /input/0/min']],
    [[{ name: 'a', min: 1 }], ['warning /input/0/min']],
    [[{ name: 'a', minLength: 2, maxLength: '1' }], ['warning /input/0/minLength']],
    [[{ name: 'a', maxLength: -1 }], ['warning /input/0/maxLength']],
    [[{ name: 'a', type: 'integer', maxLength: 1 }], ['warning /input/0/maxLength']],
    [[{ name: 'a', type: 'date', min: '2026-02-31' }], ['warning /input/0/min']],
    [[{ name: 'a', choices: 'x' }], ['warning /input/0/choices']],
    [
      [{ name: 'a', type: 'integer', choices: [1, 'x', null] }],
      ['warning /input/0/choices/1', 'warning /input/0/choices/2'],
    ],
    [[{ name: 'a', type: 'model', gloopProperties: 'x' }], ['fault /input/0/gloopProperties']],
    [
      [{ name: 'a', type: 'model', gloopProperties: [5, { name: 'b', type: 'x' }] }],
      ['fault /input/0/gloopProperties/0', 'fault /input/0/gloopProperties/1/type'],
    ],
    [[{ name: 'a', gloopProperties: [{ name: 'b' }] }], ['warning /input/0/gloopProperties']],
    [
      [
        { name: 'X-Client-Ref' },
        { name: '$trackerId' },
        { name: '__proto__' },
        { name: 'constructor' },
        { name: 'ö/~' },
      ],
      [],
    ],
  ])('is checked: %j', (list, expected) => expect(told(compile(list))).toEqual(expected))
})

suite('what a line writes to a model', () => {
  const model = only(
    shapeOf({
      name: 'm',
      type: 'model',
      gloopProperties: [
        { name: 'n', type: 'integer', allowNull: false },
        { name: 's' },
        { name: 'tags', array: true },
        { name: 'free', type: 'any' },
        { name: 'items', type: 'model', array: true, gloopProperties: [{ name: 'q', type: 'integer' }] },
      ],
    }),
  )
  it('is held field by field', () => {
    expect(coerce(model, { n: '5', s: 5, tags: 'x', items: [{ q: '1' }] }, NOW)).toEqual({
      ok: true,
      value: { n: 5, s: '5', tags: ['x'], items: [{ q: 1 }] },
    })
    expect(coerce(model, { n: 'x', z: 1 }, NOW)).toEqual({ ok: false, reason: '/n must be a number (and 1 more)' })
  })
  it('is held to what is declared at a place inside', () => {
    expect(coerceAt(model, ['n'], '5', NOW)).toEqual({ ok: true, value: 5 })
    expect(coerceAt(model, ['n'], null, NOW)).toEqual({ ok: false, reason: 'must not be null' })
    expect(coerceAt(model, ['items', '0', 'q'], '7', NOW)).toEqual({ ok: true, value: 7 })
    expect(coerceAt(model, ['items', '0'], { q: '7' }, NOW)).toEqual({ ok: true, value: { q: 7 } })
    expect(coerceAt(model, ['tags', '3'], 7, NOW)).toEqual({ ok: true, value: '7' })
    expect(coerceAt(model, ['free', 'a', '0'], 7, NOW)).toEqual({ ok: true, value: 7 })
  })
  it.each([['z'], ['s', 'x'], ['tags', 'x'], ['tags', '-1'], ['items', '0', 'z'], ['constructor']])(
    'has no place %s %s %s',
    (...path) => {
      expect(
        coerceAt(
          model,
          path.filter((segment) => segment !== undefined),
          1,
          NOW,
        ).ok,
      ).toBe(false)
    },
  )
})

suite('a descriptor', () => {
  it('shows each declaration untouched with its value, then what is not declared', () => {
    const source = { name: 'a', type: 'long', comments: 'c', value: 'old', 'my key': [1] }
    const { shape } = compile([source, { name: 'b' }], { extra: true })
    expect(describeValues('input', shape, { a: '9007199254740993', $request: { method: 'GET' } })).toEqual({
      name: 'input',
      type: 'model',
      allowExtraProperties: true,
      gloopProperties: [
        { name: 'a', type: 'long', comments: 'c', 'my key': [1], value: '9007199254740993' },
        { name: 'b', type: 'string', value: null },
        { name: '$request', type: 'any', value: { method: 'GET' } },
      ],
    })
    expect(source.value).toBe('old')
  })
  it('has null for what was never set, inherited names too', () => {
    const shape = shapeOf({ name: 'constructor' }, { name: '__proto__' })
    expect(describeValues('output', shape, {}).gloopProperties.map((each) => each['value'])).toEqual([null, null])
  })
})

suite('hostile data', () => {
  const hostile = shapeOf(
    { name: '__proto__', type: 'integer' },
    {
      name: 'm',
      type: 'model',
      allowExtraProperties: true,
      gloopProperties: [{ name: 'constructor', type: 'integer' }],
    },
  )
  it('keeps `__proto__` and `constructor` as data', () => {
    const { value, errors } = take(
      hostile,
      parsed('{"__proto__": 5, "m": {"constructor": 6, "__proto__": {"polluted": true}}}'),
    )
    expect(errors).toEqual([])
    expect(JSON.stringify(value)).toBe('{"__proto__":5,"m":{"constructor":6,"__proto__":{"polluted":true}}}')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(value['m'])).toBe(Object.prototype)
  })
  it('is required even where a prototype has the name', () => {
    const { errors } = take(shapeOf({ name: 'toString', required: true }), {})
    expect(errors).toHaveLength(1)
  })
  it('gives at most 100 errors, and no answer much larger than itself', () => {
    const wide: JsonObject = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, 1]))
    expect(take(hostile, wide).errors).toHaveLength(100)
    const nested = shapeOf({ name: 'l', type: 'model', array: true, gloopProperties: [] })
    const long = take(nested, { l: Array.from({ length: 200 }, () => ({ ['k'.repeat(60_000)]: 1 })) }).errors
    expect(long.length).toBeLessThan(5)
    expect(long.length).toBeGreaterThan(0)
  })
})

const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'a', 'm', 'l', 'd', 'n'))
const json = fc.letrec<{ json: Json; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string(),
    fc.array(tie('json')),
    tie('object'),
  ),
  object: fc.array(fc.tuple(key, tie('json'))).map((entries) => Object.fromEntries(entries)),
}))

suite('any JSON', () => {
  const models = {
    M: {
      gloopProperties: [
        { name: 'm', type: 'model', reference: 'M' },
        { name: 'n', type: 'bigDecimal', defaultValue: '1.5', min: -5 },
        { name: 'a', type: 'any' },
      ],
    },
  }
  const { shape } = compile(
    [
      { name: 'a', type: 'long' },
      { name: 'm', type: 'model', reference: 'M' },
      { name: 'l', type: 'boolean', array: true },
      { name: 'd', type: 'date' },
      { name: 'n', choices: ['x'], maxLength: 3 },
      { name: '__proto__', type: 'object' },
    ],
    { models },
  )
  const options = fc.record({
    unknown: fc.constantFrom('refuse', 'ignore', 'keep'),
    fill: fc.boolean(),
    text: fc.boolean(),
  })

  it('is accepted or refused, never thrown at, and never changed', () => {
    fc.assert(
      fc.property(json.object, options, (given, chosen) => {
        const before = structuredClone(given)
        const { errors } = take(shape, given, chosen)
        expect(given).toEqual(before)
        for (const { pointer } of errors) expect(pointer).toMatch(/^\/input\//)
      }),
    )
  })
  it('once accepted, is accepted again unchanged as JSON', () => {
    const digits = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)
    const fitting = fc.record(
      {
        a: fc.oneof(fc.maxSafeInteger(), digits),
        d: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        n: fc.constantFrom('x', null),
        m: fc.record(
          {
            n: fc.oneof(
              fc.double({ min: -5, max: 1e15, noNaN: true }),
              fc.tuple(fc.nat(), digits).map(([whole, part]) => `${whole}.${part.replace('-', '')}`),
            ),
            a: json.json,
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fitting, options, (given, chosen) => {
        const first = take(shape, given, chosen)
        expect(first.errors).toEqual([])
        expect(take(shape, first.value, { unknown: 'keep', fill: false })).toEqual({ value: first.value, errors: [] })
      }),
    )
  })
  it('is held or refused by every type', () => {
    const types = [
      'string',
      'character',
      'boolean',
      'byte',
      'long',
      'float',
      'double',
      'bigInteger',
      'bigDecimal',
      'date',
      'byte[]',
      'object',
      'model',
      'any',
    ]
    const properties = types.flatMap((type) => [false, true].map((array) => only(shapeOf({ name: 'v', type, array }))))
    fc.assert(
      fc.property(json.json, fc.constantFrom(...properties), (value, property) => {
        const held = coerce(property, value, NOW)
        if (held.ok) expect(coerce(property, held.value, NOW)).toEqual(held)
      }),
    )
  })
})
