// What schemas say where it isn't tried at random: dates and large numbers as text, the form of the schemas, and what of
// a pinned definition can't be read any more.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { eventSchema, startSchema } from '../../../src/definitions/json-schema/values-schema.ts'
import { Report } from '../../../src/definitions/report.ts'
import { validate } from '../../../src/definitions/values/properties.ts'
import { compileShape } from '../../../src/definitions/values/shapes.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { MODELS } from './generate.ts'

const ajv = new Ajv2020({ strict: true })

const shapeOf = (list: readonly JsonObject[]) =>
  compileShape(list, { extra: false, models: new Map(Object.entries(MODELS)), pointer: '', report: new Report('f') })

const schemaOf = (...list: JsonObject[]) => startSchema({ input: shapeOf(list) })

/** Whether the server, and the schema, accept the value. */
function accepted(property: JsonObject, value: Json): { readonly server: boolean; readonly schema: boolean } {
  const shape = shapeOf([{ name: 'v', ...property }])
  const { errors } = validate(shape, { v: value }, { now: 0, unknown: 'refuse', fill: true, text: false, pointer: '' })
  return { server: errors.length === 0, schema: ajv.validate(startSchema({ input: shape }), { v: value }) }
}

const SAME: readonly (readonly [type: string, texts: readonly string[]])[] = [
  [
    'date',
    [
      '2026-02-28',
      '2026-02-28T10:15',
      '2026-02-28t10:15:30z',
      '2026-02-28T10:15:30.123456+01:00',
      '2026-02-28T10:15:30,5-0130',
      '2026-02-28T10:15+01',
      '+002026-02-28',
      '-000001-12-31',
      '1767225600000',
      '-1',
      '+5',
      '',
      'now',
      '2026-2-28',
      '2026-13-01',
      '2026-00-10',
      '2026-01-32',
      '2026-02-28T25:00',
      '2026-02-28T10:60',
      '2026-02-28T10:15:60',
      '2026-02-28T10',
      '2026-02-28 10:15',
      '2026-02-28T10:15+24:00',
      ' 2026-02-28',
      '2026-02-28\n',
      '1.5',
      '12345678901234567',
    ],
  ],
  [
    'long',
    [
      '0',
      '-9223372036854775808',
      '+12',
      '007',
      '1.0',
      '1.',
      '.0',
      '1e3',
      '1.5e1',
      '',
      '1.5',
      '.5',
      'x',
      '0x1',
      '1e',
      ' 1',
      '1 ',
      'NaN',
    ],
  ],
  ['bigInteger', ['123456789012345678901234567890', '-1.000', '1E10', '1.01', '--1', '1,000', 'Infinity']],
  ['bigDecimal', ['0.1', '.5', '5.', '-1.5e-3', '+1E2', '.', 'e5', '1.5.2', '1e5.5', '']],
]

describe('text', () => {
  test.each(SAME)('for a %s looks as the server wants it', (type, texts) => {
    const results = texts.map((text) => ({ text, ...accepted({ type }, text) }))
    expect(results.filter(({ server, schema }) => server !== schema)).toEqual([])
    expect(new Set(results.map(({ server }) => server)).size).toBe(2)
  })

  test('is where schemas are rough: whether there is the day, and whether the number is within its bounds', () => {
    const rough: readonly (readonly [JsonObject, string])[] = [
      [{ type: 'date' }, '2026-02-30'],
      [{ type: 'date', min: '2026-01-01' }, '2025-01-01'],
      [{ type: 'long' }, '9223372036854775808'],
      [{ type: 'long', max: 5 }, '6'],
      [{ type: 'bigInteger' }, '15e-1'],
    ]
    for (const [property, text] of rough) expect(accepted(property, text)).toEqual({ server: false, schema: true })
  })

  test('as a bound counts as the nearest number', () => {
    expect(schemaOf({ name: 'v', type: 'double', min: '0.10000000000000000001', max: '1e400' })).toMatchObject({
      properties: { v: { minimum: 0.1, maximum: Number.MAX_VALUE } },
    })
    expect(accepted({ type: 'double', min: '1e400' }, 1)).toEqual({ server: false, schema: false })
  })
})

describe('a schema', () => {
  test('has each model once, under its own name, also one that contains itself', () => {
    const schema = schemaOf(
      { name: 'one', type: 'model', reference: 'shop.Item', required: true, allowNull: false },
      { name: 'same', type: 'model', reference: 'other.Item', array: true },
      { name: 'in place', type: 'model', gloopProperties: [{ name: 'x', type: 'byte' }] },
    )
    expect(schema).toMatchObject({
      properties: {
        one: { $ref: '#/$defs/shop.Item' },
        'in place': { anyOf: [{ $ref: '#/$defs/in_place' }, { type: 'null' }] },
      },
      required: ['one'],
      $defs: {
        'shop.Item': {
          type: 'object',
          properties: {
            sku: { type: ['string', 'null'], minLength: 1, maxLength: 4 },
            count: { type: ['integer', 'null'], minimum: 1, maximum: 2_147_483_647, default: 1 },
            parts: { type: 'array', items: { $ref: '#/$defs/shop.Item' } },
          },
          required: ['sku'],
          additionalProperties: false,
        },
        in_place: { properties: { x: { type: ['integer', 'null'], minimum: -128, maximum: 127 } } },
      },
    })
    expect(ajv.validateSchema(schema)).toBe(true)
  })

  test('tells defaults, choices and comments where they count', () => {
    const list = [
      { name: 'size', choices: ['S', 'M'], defaultValue: 'M', comments: 'of the shirt' },
      { name: 'colour', choices: ['red'], allowOtherValues: true, allowNull: false, required: true },
      { name: 'at', type: 'date', defaultValue: 'now' },
      { name: 'raw', type: 'byte[]' },
      { name: 'rest', type: 'any', allowNull: false },
      { name: 'all', type: 'any' },
    ]
    const properties = {
      size: { description: 'of the shirt', type: ['string', 'null'], enum: ['S', 'M', null], default: 'M' },
      colour: { type: 'string', examples: ['red'] },
      raw: { type: ['string', 'null'], contentEncoding: 'base64' },
      rest: { not: { type: 'null' } },
      all: {},
    }
    const start = schemaOf(...list)
    expect(start).toMatchObject({ properties, required: ['colour'], additionalProperties: false })
    expect(start['properties']).not.toHaveProperty('at.default')
    const event = eventSchema({ input: shapeOf(list) })
    expect(event).toMatchObject({ properties: { colour: properties.colour }, required: ['colour'] })
    expect(event).not.toHaveProperty('additionalProperties')
    expect(event['properties']).not.toHaveProperty('size.default')
  })

  test('asks for what a pinned definition has no readable default for', () => {
    const shape = shapeOf([{ name: 'w', type: 'integer', defaultValue: 'x' }])
    const schema = startSchema({ input: shape })
    const tried = [{ w: 1 }, {}, { w: null }]
    const server = tried.map(
      (given) =>
        validate(shape, given, { now: 0, unknown: 'refuse', fill: true, text: false, pointer: '' }).errors.length === 0,
    )
    expect(server).toEqual([true, false, true])
    expect(tried.map((given) => ajv.validate(schema, given))).toEqual(server)
  })
})
