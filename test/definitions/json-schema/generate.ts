// Declared properties of all kinds, and values for them: some that fit, some that just don't, some that are far off.
import * as fc from 'fast-check'
import { PROPERTY_TYPES, type PropertyType } from '../../../src/definitions/values/types.ts'
import { isObject, type Json, type JsonObject } from '../../../src/model/json/value.ts'

type Models = { readonly [name: string]: JsonObject }

/** Models that refer to themselves and to each other. */
export const MODELS: Models = {
  'shop.Item': {
    gloopProperties: [
      { name: 'sku', required: true, minLength: 1, maxLength: 4 },
      { name: 'count', type: 'integer', defaultValue: '1', min: 1 },
      { name: 'parts', type: 'model', reference: 'shop.Item', array: true, allowNull: false },
      { name: 'box', type: 'model', reference: 'shop.Box' },
    ],
  },
  'shop.Box': {
    allowExtraProperties: true,
    gloopProperties: [
      { name: 'item', type: 'model', reference: 'shop.Item', allowExtraProperties: true },
      { name: 'at', type: 'date', defaultValue: 'now' },
      { name: 'a', type: 'boolean', required: true, defaultValue: true },
    ],
  },
  'other.Item': { reference: 'shop.Item' },
}

// The validator can't compare choices that have fields `toString`, `valueOf` or `constructor`.
const NAMES = ['a', 'b', '$c', 'isPrototypeOf', 'x y', 'ü', 'hasOwnProperty']
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  0.1,
  1.5,
  127,
  128,
  -128,
  -129,
  32_767,
  32_768,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  2 ** 53 - 1,
  2 ** 53,
  1e21,
  -1e21,
  3.5e38,
  -3.5e38,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  8.64e15,
  8.64e15 + 1,
  -8.64e15,
  -8.64e15 - 1,
]
const TEXT_BOUNDS = ['0.1', '-0.1', '+1.5', '-2', '1e3']

const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    '😀',
    'ab',
    'a😀',
    'YQ==',
    'YWI=',
    'YWJj',
    'YQ=',
    'YQ',
    '=',
    'true',
    '12',
    '007',
    '.5',
    '5.',
    '-1.5',
    '2026-02-28',
    '2026-02-28T10:15:30.5+01:00',
    '2026-13-01',
    'now',
    '\ud800',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const scalar = fc.oneof(fc.constantFrom<Json>(null, true, false), number, text)
const anything: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom('a', 'b', '$c', 'x y'), scalar, { maxKeys: 3, noNullPrototype: true }),
  },
)

export const declarations = (depth = 2): fc.Arbitrary<JsonObject[]> =>
  fc.uniqueArray(
    fc
      .record({
        name: fc.constantFrom(...NAMES),
        type: fc.constantFrom(...PROPERTY_TYPES, undefined, 'model', 'model'),
      })
      .chain(({ name, type }) => declarationOf(name, type, depth)),
    { maxLength: 4, selector: ({ name }) => name },
  )

function declarationOf(name: string, type: PropertyType | undefined, depth: number): fc.Arbitrary<JsonObject> {
  const fields =
    type !== 'model'
      ? fc.constant({})
      : fc.oneof(
          fc.record({ reference: fc.constantFrom(...Object.keys(MODELS)) }),
          fc.record({ reference: fc.constantFrom(...Object.keys(MODELS)), allowExtraProperties: fc.boolean() }),
          depth === 0
            ? fc.constant({})
            : fc.record({ gloopProperties: declarations(depth - 1), allowExtraProperties: fc.boolean() }),
        )
  return fields
    .chain((inner) => {
      const bare = { name, ...(type !== undefined && { type }), ...inner }
      const near = valueOf(bare, 2)
      return fc.record(
        {
          bare: fc.constant(bare),
          array: fc.boolean(),
          required: fc.boolean(),
          allowNull: fc.boolean(),
          allowOtherValues: rarely(fc.constant(true)),
          defaultValue: rarely(near),
          choices: rarely(fc.array(near, { maxLength: 3 })),
          min: rarely(fc.oneof(number, fc.constantFrom(...TEXT_BOUNDS))),
          max: rarely(fc.oneof(number, fc.constantFrom(...TEXT_BOUNDS))),
          minLength: rarely(fc.integer({ min: 0, max: 3 })),
          maxLength: rarely(fc.integer({ min: 0, max: 3 })),
          comments: rarely(fc.constant('what it is for')),
        },
        { requiredKeys: ['bare'] },
      )
    })
    .map(({ bare, ...more }) => {
      const set = Object.entries(more).filter(([, value]) => value !== undefined)
      const declaration: JsonObject = { ...bare, ...Object.fromEntries(set) }
      // A default of a list is a list, most times.
      const { defaultValue } = declaration
      if (declaration['array'] === true && defaultValue !== undefined) declaration['defaultValue'] = [defaultValue]
      return declaration
    })
}

const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

/** Values for the inputs of these declarations. `models`: those that they refer to. */
export const inputsFor = (list: readonly JsonObject[], depth = 3, models = MODELS): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(
      fc.tuple(
        ...list.map((declaration) =>
          fc.oneof(
            { weight: 1, arbitrary: fc.constant(undefined) },
            { weight: 4, arbitrary: valuesOf(declaration, depth, models) },
          ),
        ),
      ),
      fc.oneof(
        { weight: 4, arbitrary: fc.constant({}) },
        {
          weight: 1,
          arbitrary: fc.dictionary(fc.constantFrom(...NAMES, 'other', '$other', ''), anything, {
            maxKeys: 1,
            noNullPrototype: true,
          }),
        },
      ),
    )
    .map(([values, more]) => {
      const given: [string, Json][] = list.flatMap(({ name }, index) => {
        const value = values[index]
        return value === undefined ? [] : [[String(name), value]]
      })
      return Object.fromEntries([...Object.entries(more), ...given])
    })

function valuesOf(declaration: JsonObject, depth: number, models: Models): fc.Arbitrary<Json> {
  const one = valueOf(declaration, depth, models)
  const fit = declaration['array'] === true ? fc.array(one, { maxLength: 3 }) : one
  return fc.oneof({ weight: 8, arbitrary: fit }, { weight: 1, arbitrary: anything }, { weight: 1, arbitrary: one })
}

/** A single value: mostly of the type, often at a bound or a choice. */
function valueOf(declaration: JsonObject, depth: number, models = MODELS): fc.Arbitrary<Json> {
  const { choices, min, max, defaultValue } = declaration
  const known = [
    ...(Array.isArray(choices) ? choices : []),
    ...[min, max, defaultValue].filter((one) => one !== undefined),
  ]
  const fit = fittingOf(declaration, depth, models)
  return fc.oneof(
    { weight: 6, arbitrary: fit },
    ...(known.length > 0 ? [{ weight: 3, arbitrary: fc.constantFrom<Json>(...known) }] : []),
    { weight: 1, arbitrary: scalar },
  )
}

function fittingOf(
  { type, gloopProperties, reference }: JsonObject,
  depth: number,
  models: Models,
): fc.Arbitrary<Json> {
  switch (type) {
    case 'boolean':
      return fc.boolean()
    case 'character':
      return fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })
    case undefined:
    case 'string':
    case 'byte[]':
      return text
    case 'object':
      return fc.dictionary(fc.constantFrom('a', 'b'), scalar, { maxKeys: 2, noNullPrototype: true })
    case 'any':
      return anything
    case 'model': {
      if (depth === 0) return fc.constant({})
      const fields =
        typeof reference === 'string'
          ? models[reference === 'other.Item' ? 'shop.Item' : reference]?.['gloopProperties']
          : gloopProperties
      const list = Array.isArray(fields) ? fields.filter(isObject) : []
      return inputsFor(list, depth - 1, models)
    }
    default:
      return number
  }
}
