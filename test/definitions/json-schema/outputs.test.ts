// The JSON Schema of outputs accepts what lines and defaults make of them.
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { outputSchema } from '../../../src/definitions/json-schema/values-schema.ts'
import { compileFlux } from '../../../src/definitions/service.ts'
import { Report } from '../../../src/definitions/report.ts'
import { writePath } from '../../../src/definitions/values/paths.ts'
import { coerce, defaults, type Shape } from '../../../src/definitions/values/properties.ts'
import { compileShape } from '../../../src/definitions/values/shapes.ts'
import { getOwn, setOwn, type Json, type JsonObject } from '../../../src/model/json/value.ts'
import { declarations, inputsFor, MODELS } from './generate.ts'

const ajv = new Ajv2020({ strict: true, strictRequired: false, ownProperties: true })

/** What lines that set these values make of the outputs: whole ones, and those of models also part by part. */
function written(shape: Shape, values: JsonObject, isWhole: boolean): JsonObject {
  let outputs = defaults(shape, Date.now())
  for (const [name, property] of shape.properties) {
    const value = getOwn(values, name)
    if (value === undefined) continue
    const fields = property.type === 'model' && !property.array && !isWhole ? property.fields() : null
    const parts: [string[], typeof property, Json][] =
      fields === null || typeof value !== 'object' || value === null || Array.isArray(value)
        ? [[[name], property, value]]
        : [...fields.properties].map(([part, field]) => [[name, part], field, getOwn(value, part) ?? null])
    for (const [path, target, given] of parts) {
      const coerced = coerce(target, given, Date.now())
      const parent = path.length === 1 ? {} : getOwn(outputs, name)
      if (coerced.ok && (typeof parent === 'object' || parent === undefined))
        outputs = writePath(outputs, path, coerced.value)
    }
  }
  const all: JsonObject = {}
  for (const name of shape.properties.keys()) setOwn(all, name, getOwn(outputs, name) ?? null)
  return all
}

test('accepts all values that outputs can have', () => {
  const services = declarations().chain((list) =>
    fc.record({ list: fc.constant(list), values: fc.array(inputsFor(list), { minLength: 5, maxLength: 5 }) }),
  )
  let filled = 0
  fc.assert(
    fc.property(services, fc.boolean(), ({ list, values }, isWhole) => {
      const report = new Report('f')
      const shape = compileShape(list, {
        extra: false,
        models: new Map(Object.entries(MODELS)),
        pointer: '',
        report,
      })
      fc.pre(!report.broken)
      const check = ajv.compile(JSON.parse(JSON.stringify(outputSchema({ output: shape, states: [] }))))
      ajv.removeSchema()
      for (const given of values) {
        const outputs = written(shape, given, isWhole)
        filled += Object.values(outputs).filter((value) => value !== null).length
        expect({ outputs, valid: check(outputs) }).toEqual({ outputs, valid: true })
      }
    }),
    { numRuns: 500 },
  )
  expect(filled).toBeGreaterThan(500)
})

test('lets an output that holds $response be anything, and refuses other types', () => {
  const source: JsonObject = {
    output: [{ name: 'answer' }, { name: 'count', type: 'integer', comments: 'how many' }],
    states: [{ name: 'a', action: { lines: [{ from: ['$response'], to: ['answer'] }] } }],
  }
  const flux = compileFlux({ package: 'p', fluxName: 'F', source, models: new Map() }, new Report('f'))
  if (flux === null) throw new Error('it has a fault')
  const schema = outputSchema(flux)
  expect(schema).toMatchObject({
    properties: { answer: {}, count: { type: ['integer', 'null'], description: 'how many' } },
    required: ['answer', 'count'],
  })
  const check = ajv.compile(schema)
  expect([
    check({ answer: { responseCode: 201 }, count: 1 }),
    check({ answer: null, count: null }),
    check({ answer: null, count: '1' }),
    check({ answer: null }),
  ]).toEqual([true, true, false, false])
})
