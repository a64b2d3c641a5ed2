// recorded: random properties of all types, and random values for them, most of which fit.
import type { Json, JsonObject } from '../../src/model/json/value.ts'
import { object, type Random } from './random.ts'

const TYPES = [
  'string',
  'string',
  'string',
  'character',
  'boolean',
  'byte',
  'short',
  'integer',
  'integer',
  'long',
  'float',
  'double',
  'double',
  'bigInteger',
  'bigDecimal',
  'date',
  'byte[]',
  'object',
  'model',
  'any',
  'any',
] as const
type Type = (typeof TYPES)[number]

export interface Property {
  readonly name: string
  readonly type: Type
  readonly array: boolean
  /** Its declaration. */
  readonly source: JsonObject
}

/** What `reference` leads to: a .model file of the package. */
export const MODEL_FILE: JsonObject = {
  gloopProperties: [
    { name: 'id', type: 'string', required: true },
    { name: 'size', type: 'integer', min: 0 },
    { name: 'parts', type: 'model', array: true, gloopProperties: [{ name: 'n', type: 'long' }] },
  ],
}

const DATES = ['2026-01-01T00:00:05Z', '2026-01-01T00:00:09.250+00:00', 1_767_225_607_000, '2025-12-31', 'now'] as const

const VALUES: { readonly [type in Type]: (random: Random) => Json } = {
  string: (random) =>
    random.pick(['', 'x', 'Ada', 'ü€😀', 'a,b', '<b>&amp;</b>', '12', 'true', ' lead', 'line\nbreak', 'toString']),
  character: (random) => random.pick(['c', 'ß', '😀', ' ']),
  boolean: (random) => random.chance(0.5),
  byte: (random) => random.between(-128, 127),
  short: (random) => random.between(-400, 400),
  integer: (random) => random.between(-3, 12),
  long: (random) => random.pick([0, 7, -9, 9_007_199_254_740_991, '9223372036854775807']),
  float: (random) => random.pick([0, 1.5, -0.25, 3e10]),
  double: (random) => random.pick([0, 0.1, -2.75, 1e21, 6]),
  bigInteger: (random) => random.pick([1, '123456789012345678901234567890', -5]),
  bigDecimal: (random) => random.pick([1.25, '0.1000000000000000000001', '-7.50', 3]),
  date: (random) => random.pick(DATES.slice(0, 4)),
  'byte[]': (random) => random.pick(['', 'AAEC', 'aGVsbG8=']),
  object: (random) =>
    random.pick<Json>([{}, { a: 1, b: [true, null] }, { a: { a: 'deep' }, 'odd name': 'x' }, { toString: 4 }]),
  model: (random) =>
    object({
      id: random.chance(0.9) ? `m${random.between(1, 9)}` : undefined,
      size: random.chance(0.7) ? random.between(-1, 9) : undefined,
      parts: random.chance(0.4) ? [{ n: 4 }, { n: null }] : undefined,
    }),
  any: (random) => random.pick<Json>([null, 0, 5, 'any', false, [], [1, 'two', { three: 3 }], { a: 2 }]),
}

export function randomProperty(random: Random, name: string): Property {
  const type = random.pick(TYPES)
  const array = random.chance(0.15)
  const plain = !array
  const numeric = ['byte', 'short', 'integer', 'float', 'double'].includes(type)
  const source = object({
    name,
    type: type === 'string' && random.chance(0.5) ? undefined : type,
    array: array || undefined,
    ...(type === 'model' &&
      (random.chance(0.5)
        ? { reference: 'models.Thing' }
        : {
            gloopProperties: MODEL_FILE['gloopProperties'] ?? [],
            allowExtraProperties: random.chance(0.3) || undefined,
          })),
    required: random.chance(0.15) || undefined,
    allowNull: random.chance(0.15) ? random.chance(0.5) : undefined,
    comments: random.chance(0.1) ? 'a comment' : undefined,
    defaultValue:
      plain && type !== 'object' && type !== 'model' && type !== 'any' && random.chance(0.3)
        ? defaultOf(random, type)
        : undefined,
    ...(plain && numeric && random.chance(0.2) && { min: -500, max: 500 }),
    ...(plain && type === 'string' && random.chance(0.2) && { maxLength: 6 }),
    ...(plain &&
      type === 'string' &&
      random.chance(0.1) && { choices: ['x', 'Ada', 'go', 'stop'], allowOtherValues: random.chance(0.7) }),
  })
  return { name, type, array, source }
}

function defaultOf(random: Random, type: Type): Json {
  if (type === 'date') return random.pick(DATES)
  if (type === 'string') return random.pick(['x', 'Ada', 'go'])
  return VALUES[type](random)
}

export function valueFor(random: Random, { type, array }: Property): Json {
  return array ? random.list(random.between(0, 3), () => VALUES[type](random)) : VALUES[type](random)
}

/** Inputs for the properties: mostly whole and right, now and then with a gap, a stranger or a wrong value. */
export function inputFor(random: Random, properties: readonly Property[]): JsonObject {
  const given = properties.filter(({ source }) => random.chance(source['required'] === true ? 0.97 : 0.7))
  const input = Object.fromEntries(given.map((property) => [property.name, valueFor(random, property)]))
  const [first] = properties
  if (first && random.chance(0.06))
    input[first.name] = random.pick<Json>([null, 'wrong', 99_999, [[]], { no: 'model' }])
  if (random.chance(0.04)) input['stranger'] = 'unknown'
  return input
}
