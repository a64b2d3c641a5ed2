// The types of services compile, whatever the properties are, and accept all that the server accepts.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Report } from '../../src/definitions/report.ts'
import { serviceTypes, type TypedService } from '../../src/definitions/typescript/service-types.ts'
import { validate } from '../../src/definitions/values/properties.ts'
import { compileShape } from '../../src/definitions/values/shapes.ts'
import { isObject, type Json, type JsonObject } from '../../src/model/json/value.ts'
import { compile } from '../client/built.ts'
import { declarations, inputsFor, MODELS } from './json-schema/generate.ts'

const SERVICES = 150
const VALUES = 6

const cases = declarations().chain((list) =>
  fc.record({
    list: fc.constant(list),
    extra: fc.boolean(),
    inputs: fc.array(inputsFor(list), { minLength: VALUES, maxLength: VALUES }),
  }),
)

const hasFraction = (value: Json): boolean =>
  typeof value === 'number'
    ? !Number.isInteger(value)
    : (Array.isArray(value) || isObject(value)) && Object.values(value).some(hasFraction)

test('of random services', async () => {
  const services: TypedService[] = []
  const uses: string[] = []
  for (const [index, { list, extra, inputs }] of fc.sample(cases, SERVICES).entries()) {
    const report = new Report('f')
    const shape = compileShape(list, { extra, models: new Map(Object.entries(MODELS)), pointer: '', report })
    const name = `F ${index} \u2028"'\`\${x}`
    services.push({ package: 'p', fluxName: name, input: shape, output: shape, states: [], triggers: [], source: {} })
    const isAccepted = (given: JsonObject) =>
      validate(shape, given, { unknown: 'refuse', reserved: 'refuse', fill: true, now: 0, text: false, pointer: '' })
        .errors.length === 0
    // A date is whole milliseconds, so 0.5 is one of the choices where 0 is: its type doesn't say so.
    const isDated = JSON.stringify(list).includes('"date"')
    const type = `Services[${JSON.stringify(`p/${name}`)}]['input']`
    for (const given of inputs.filter((each) => isAccepted(each) && !(isDated && hasFraction(each))))
      uses.push(`const v${uses.length}: ${type} = ${JSON.stringify(given)}`)
  }
  expect(uses.length).toBeGreaterThan(SERVICES)
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-types-'))
  try {
    const file = join(folder, 'services.ts')
    await writeFile(file, `${serviceTypes(services)}\n${uses.join('\n')}\n`)
    const options = [
      '--strict',
      '--noEmit',
      '--target',
      'es2023',
      '--module',
      'esnext',
      '--types',
      '',
      '--ignoreConfig',
    ]
    expect(await compile(...options, file)).toBe('')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}, 60_000)
