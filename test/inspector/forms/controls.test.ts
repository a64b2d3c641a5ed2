// The controls of a form: which a property gets, and that what they give is what the server accepts.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { startSchema } from '../../../src/definitions/json-schema/values-schema.ts'
import { Report } from '../../../src/definitions/report.ts'
import { validate, type Shape } from '../../../src/definitions/values/properties.ts'
import { compileShape } from '../../../src/definitions/values/shapes.ts'
import { controlsOf, emptyBoxOf, fieldNameOf, inputOf, type Control } from '../../../src/inspector/forms/controls.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../../src/model/json/value.ts'
import { declarations, inputsFor, MODELS } from '../../definitions/json-schema/generate.ts'

const shapeOf = (list: readonly JsonObject[]): Shape =>
  compileShape(list, { extra: false, models: new Map(Object.entries(MODELS)), pointer: '', report: new Report('f') })

const schemaOf = (shape: Shape): JsonObject => JSON.parse(JSON.stringify(startSchema({ input: shape })))

/** As the server reads inputs: of JSON, or of texts whose types are coerced, as of a form. */
const read = (shape: Shape, given: JsonObject, text: boolean) =>
  validate(shape, given, { unknown: 'refuse', reserved: 'refuse', fill: true, now: 1e12, text, pointer: '' })

const controls = (...list: JsonObject[]) => controlsOf(schemaOf(shapeOf(list)))

describe('the control of', () => {
  test.each<[declaration: JsonObject, expected: Partial<Control>]>([
    [{}, { kind: 'text', takesEmpty: true, isRequired: false }],
    [{ required: true }, { kind: 'text', isRequired: true }],
    [{ minLength: 1 }, { kind: 'text', takesEmpty: false }],
    [
      { type: 'integer', comments: 'how many' },
      { kind: 'number', takesEmpty: false, description: 'how many' },
    ],
    [{ type: 'long' }, { kind: 'number' }],
    [
      { type: 'double', defaultValue: 600 },
      { kind: 'number', initial: '600' },
    ],
    [{ type: 'boolean' }, { kind: 'flag' }],
    [{ choices: ['low', 'high'] }, { kind: 'choice', choices: ['low', 'high'], takesEmpty: false }],
    [{ choices: ['', 'low'] }, { kind: 'choice', choices: ['low'], takesEmpty: true }],
    [{ type: 'object' }, { kind: 'json' }],
    [{ type: 'integer', array: true }, { kind: 'json' }],
    [{ type: 'model', reference: 'shop.Item' }, { kind: 'json' }],
  ])('%j is %j', (declaration, expected) => {
    expect(controls({ name: 'a', ...declaration })).toEqual([expect.objectContaining({ name: 'a', ...expected })])
  })

  test('nothing is none, whatever the schema', () => {
    for (const schema of [{}, { properties: [] }, { properties: null }]) expect(controlsOf(schema)).toEqual([])
    expect(controlsOf({ properties: { a: true } })).toMatchObject([{ kind: 'json' }])
  })
})

const form = (fields: { readonly [name: string]: string }) =>
  new Map(Object.entries(fields).map(([name, value]) => [name, [value]]))

const skeletonIn = (property: JsonObject, models: JsonObject = {}): Json | undefined => {
  const [control] = controlsOf({ properties: { it: property }, $defs: models })
  return control?.skeleton == null ? undefined : JSON.parse(control.skeleton)
}

describe('a model', () => {
  const SHOWN = {
    Order: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1 },
        items: { type: 'array', items: { $ref: '#/$defs/Item' } },
        note: { type: ['string', 'null'] },
        level: { type: 'string', enum: ['low', 'high'] },
        isGift: { type: 'boolean' },
      },
      required: ['id', 'items'],
    },
    Item: { type: 'object', properties: { quantity: { type: 'integer', minimum: 2 }, price: { type: 'number' } } },
    Tree: { type: 'object', properties: { left: { $ref: '#/$defs/Tree' }, right: { $ref: '#/$defs/Tree' } } },
  }

  test('is shown with its fields', () => {
    const order = { id: '', items: [{ quantity: 2, price: 0 }], note: null, level: 'low', isGift: false }
    expect(skeletonIn({ $ref: '#/$defs/Order' }, SHOWN)).toEqual(order)
    expect(skeletonIn({ anyOf: [{ $ref: '#/$defs/Order' }, { type: 'null' }] }, SHOWN)).toEqual(order)
    expect(skeletonIn({ type: 'array', items: { $ref: '#/$defs/Item' } }, SHOWN)).toEqual([{ quantity: 2, price: 0 }])
    for (const other of [{}, { type: 'object' }, { type: 'string' }, { type: 'array', items: {} }])
      expect(skeletonIn(other, SHOWN)).toBeUndefined()
  })

  test('has an end, also one that contains itself', () => {
    expect(JSON.stringify(skeletonIn({ $ref: '#/$defs/Tree' }, SHOWN)).length).toBeLessThan(10_000)
    expect(skeletonIn({ $ref: '#/$defs/missing' }, SHOWN)).toBeNull()
  })
})

describe('an input', () => {
  test('has no value for an empty field, and an empty text for its box', () => {
    const [one] = controls({ name: 'a' })
    if (!one) throw new Error('there is no control')
    expect(inputOf([one], form({ 'input.a': '' }))).toEqual({})
    expect(inputOf([one], form({}))).toEqual({})
    expect(inputOf([one], form({ 'input.a': '', 'empty.a': 'on' }))).toEqual({ a: '' })
    expect(inputOf([one], form({ 'input.a': 'x', 'empty.a': 'on' }))).toEqual({ a: 'x' })
  })

  test('tells which field is no JSON, by a pointer of RFC 6901', () => {
    const list = controls({ name: 'a/b~c', type: 'object' }, { name: '__proto__', type: 'object' })
    const own = { 'input.__proto__': '{"x":1}' }
    expect(() => inputOf(list, form({ 'input.a/b~c': '{', ...own }))).toThrow(
      expect.objectContaining({
        failure: expect.objectContaining({ errors: [{ pointer: '/input/a~1b~0c', detail: 'must be JSON' }] }),
      }),
    )
    const input = inputOf(list, form(own))
    expect(Object.getOwnPropertyNames(input)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype)
  })
})

/** What somebody types who wants this value. undefined: no form says it. */
function typed({ kind, name, choices, takesEmpty }: Control, value: Json): [string, string][] | undefined {
  if (kind === 'json') return [[fieldNameOf(name), JSON.stringify(value)]]
  if (value === null || isObject(value) || Array.isArray(value)) return undefined
  const text = String(value)
  if (text === '') return takesEmpty ? [[emptyBoxOf(name), 'on']] : undefined
  return kind === 'choice' && !choices.includes(text) ? undefined : [[fieldNameOf(name), text]]
}

/** Nobody types a date as a fraction of a millisecond, which JSON may have. */
const isPartOfMillisecond = (list: readonly JsonObject[], name: string, value: Json | undefined): boolean =>
  typeof value === 'number' &&
  !Number.isInteger(value) &&
  list.some((declaration) => declaration['name'] === name && declaration['type'] === 'date')

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 1000)

test('what a form gives for values that the server accepts is accepted, and is the same', () => {
  let compared = 0
  const cases = declarations().chain((list) => fc.record({ list: fc.constant(list), given: inputsFor(list) }))
  fc.assert(
    fc.property(cases, ({ list, given }) => {
      const shape = shapeOf(list)
      const direct = read(shape, given, false)
      if (direct.errors.length > 0) return
      const own = controlsOf(schemaOf(shape))
      const fields = own.map((control) => {
        const value = getOwn(given, control.name)
        if (isPartOfMillisecond(list, control.name, value)) return undefined
        return value === undefined ? [] : typed(control, value)
      })
      if (fields.includes(undefined)) return
      const filled = new Map(fields.flatMap((pairs) => (pairs ?? []).map(([name, text]) => [name, [text]] as const)))
      const told = read(shape, inputOf(own, filled), true)
      // JSON knows no negative zero.
      expect(JSON.stringify({ given, ...told })).toBe(JSON.stringify({ given, ...direct }))
      compared += 1
    }),
    { numRuns: RUNS },
  )
  expect(compared).toBeGreaterThan(RUNS / 20)
}, 120_000)
