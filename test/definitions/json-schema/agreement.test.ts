// The JSON Schemas of inputs accept what the server accepts, and refuse what it refuses.
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventSchema, startSchema } from '../../../src/definitions/json-schema/values-schema.ts'
import { Report } from '../../../src/definitions/report.ts'
import { validate, type Shape } from '../../../src/definitions/values/properties.ts'
import { compileShape } from '../../../src/definitions/values/shapes.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { declarations, inputsFor, MODELS } from './generate.ts'
import { hasRough } from './rough.ts'

const ajv = new Ajv2020({ strict: true, strictRequired: false, ownProperties: true })

const shapeOf = (list: readonly JsonObject[], extra = false): Shape =>
  compileShape(list, { extra, models: new Map(Object.entries(MODELS)), pointer: '', report: new Report('f') })

type Use = 'start' | 'event'

const RULES = {
  start: { unknown: 'refuse', reserved: 'refuse', fill: true },
  event: { unknown: 'ignore', fill: false },
} as const

/** As the server reads inputs that are sent as JSON. */
const isAccepted = (shape: Shape, use: Use, given: JsonObject): boolean =>
  validate(shape, given, { ...RULES[use], now: Date.now(), text: false, pointer: '' }).errors.length === 0

function compiled(shape: Shape, use: Use): (given: Json) => boolean {
  const schema = use === 'start' ? startSchema({ input: shape }) : eventSchema({ input: shape })
  const check = ajv.compile(JSON.parse(JSON.stringify(schema)))
  ajv.removeSchema()
  return (given) => check(given)
}

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 600)
const VALUES = 10

describe('a schema of inputs', () => {
  test.each(['start', 'event'] as const)(
    'agrees with the server: %s',
    (use) => {
      const counts = { accepted: 0, refused: 0, rough: 0 }
      const services = declarations().chain((list) =>
        fc.record({
          list: fc.constant(list),
          extra: fc.boolean().map((extra) => extra && use === 'start'),
          inputs: fc.array(inputsFor(list), { minLength: VALUES, maxLength: VALUES }),
        }),
      )
      fc.assert(
        fc.property(services, ({ list, extra, inputs }) => {
          const shape = shapeOf(list, extra)
          const check = compiled(shape, use)
          for (const given of inputs) {
            const [server, schema] = [isAccepted(shape, use, given), check(given)]
            if (hasRough(shape, given)) counts.rough += 1
            else {
              counts[server ? 'accepted' : 'refused'] += 1
              expect({ given, accepted: schema }).toEqual({ given, accepted: server })
            }
          }
        }),
        { numRuns: RUNS },
      )
      expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(RUNS * VALUES)
      expect(counts.accepted).toBeGreaterThan(RUNS)
      expect(counts.refused).toBeGreaterThan(RUNS)
    },
    120_000,
  )
})
