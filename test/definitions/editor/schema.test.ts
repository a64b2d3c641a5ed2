// The JSON Schema for editors says what the validator says: of the examples, of each fault of the tests of this folder
// (`open` compares them), and of whatever becomes of files when their values and keys are changed at random.
import { join } from 'node:path'
import { array, assert, constantFrom, jsonValue, nat, oneof, property, string, tuple } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileFlux } from '../../../src/definitions/service.ts'
import { definitionSchema } from '../../../src/definitions/editor/document.ts'
import { checkProperties } from '../../../src/definitions/lint/lint.ts'
import { Report } from '../../../src/definitions/report.ts'
import { readFolders } from '../../../src/definitions/source/files.ts'
import { ModelFile } from '../../../src/definitions/source/property-schema.ts'
import { checkKeys, readBy } from '../../../src/definitions/source/read.ts'
import { compileShape } from '../../../src/definitions/values/shapes.ts'
import { isObject, type JsonObject } from '../../../src/model/json/value.ts'
import { disagreement, schemaFaults } from './agreement.ts'
import { MODEL, WHOLE } from './whole.ts'

const ROOT = join(import.meta.dirname, '../../..')
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 2000)
const TIMEOUT_MS = 600_000

function checkFlux(source: JsonObject) {
  const report = new Report('S.flux')
  compileFlux({ package: 'p', fluxName: 'S', source, models: new Map() }, report)
  return report.faults
}

function checkModel(source: JsonObject) {
  const report = new Report('M.model')
  checkKeys(ModelFile, source, report)
  checkProperties(source['gloopProperties'], '/gloopProperties', report, true)
  const list = readBy(ModelFile, source, report)?.gloopProperties ?? []
  compileShape(list, { extra: false, models: new Map(), pointer: '/gloopProperties', report })
  return report.faults
}

type Change = (value: unknown) => unknown

/** The same, with the n-th of its values replaced. */
function changed(value: unknown, count: { left: number }, by: Change): unknown {
  if (count.left-- === 0) return by(value)
  if (Array.isArray(value)) return value.map((item) => changed(item, count, by))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, changed(item, count, by)]))
    : value
}

const sizeOf = (value: unknown): number =>
  1 +
  (Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []).reduce<number>(
    (sum, item) => sum + sizeOf(item),
    0,
  )

const WORDS =
  ', ,map,set,script,invokeCode,invokeFlux,model,string,$else,$exception,duration:,duration:1, date : x,x,$secrets.KEY,' +
  '$secrets.KEY_FILE,hmac,token,github,8d,7d,0,0.5s,1.5h,0.016m,0.017m,never,accepted,https://a.b,${x}'
const NUMBERS = [-1, 0, 0.5, 1, 1e10, 1e11, 604_800, 604_801]
const PARTS = [[], {}, [[]], [{}], [null], [''], [1], ['a', 2], { name: 'x' }, { type: 'script' }, { event: 'e' }]
const ODD = constantFrom<unknown[]>(...WORDS.split(','), ...NUMBERS, ...PARTS, true, false, null)
const replace = oneof({ arbitrary: ODD, weight: 3 }, { arbitrary: jsonValue(), weight: 1 }).map(
  (by): Change =>
    () =>
      by,
)

/** Of an object: one key is lost, misspelt, or there is another one. */
const rekey = tuple(nat(), constantFrom('drop', 'misspell', 'add'), nat(), string({ maxLength: 2 }), ODD).map(
  ([at, how, place, text, odd]): Change =>
    (value) => {
      if (!isObject(value)) return value
      const entries = Object.entries(value)
      const [key, item] = entries[at % Math.max(1, entries.length)] ?? ['x', 1]
      const others = entries.filter(([name]) => name !== key)
      if (how === 'drop') return Object.fromEntries(others)
      const cut = place % (key.length + 1)
      const near = key.slice(0, cut) + text + key.slice(cut + (place % 3))
      return Object.fromEntries(how === 'add' ? [...entries, [near, odd]] : [...others, [near, item]])
    },
)

const run = (
  kind: 'flux' | 'model',
  whole: JsonObject,
  check: (source: JsonObject) => ReturnType<typeof checkFlux>,
) => {
  const size = sizeOf(whole)
  const changes = array(tuple(nat(size - 1), oneof(replace, rekey)), { minLength: 1, maxLength: 2 })
  assert(
    property(changes, (list) => {
      const source: unknown = JSON.parse(
        JSON.stringify(list.reduce<unknown>((value, [left, by]) => changed(value, { left }, by), whole)),
      )
      if (isObject(source)) expect(disagreement(kind, source, check(source))).toBeNull()
    }),
    { numRuns },
  )
}

describe('the schema and the validator agree', () => {
  test(
    'of a service with all that there is, and of whatever it is changed to',
    () => {
      expect(checkFlux(WHOLE).filter(({ severity }) => severity === 'fault')).toEqual([])
      run('flux', WHOLE, checkFlux)
    },
    TIMEOUT_MS,
  )

  test(
    'of a model, and of whatever it is changed to',
    () => {
      expect(checkModel(MODEL)).toEqual([])
      run('model', MODEL, checkModel)
    },
    TIMEOUT_MS,
  )

  test('of the examples, which the schema knows by their keys', async () => {
    const { fluxes, models } = await readFolders([
      join(ROOT, 'actors'),
      join(ROOT, 'actors/.providers/github'),
      join(ROOT, 'actors/.providers/stripe'),
    ])
    expect([fluxes.length, models.length]).toEqual([16, 3])
    for (const [kind, files] of [['flux', fluxes] as const, ['model', models] as const])
      for (const { source } of files)
        expect([schemaFaults(kind, source), schemaFaults('file', source)]).toEqual([[], []])
  })
})

describe('a file of which the kind is not known', () => {
  test.each<[string, unknown, boolean]>([
    ['is a service', { states: [{ name: 'a' }] }, true],
    ['is a service without states', {}, false],
    ['is a service with a property that is a model', { input: [{ name: 'a', type: 'model' }] }, false],
    ['is a model', { type: 'model', gloopProperties: [{ name: 'a' }] }, true],
    ['is a model that refers to another', { reference: 'a.b' }, true],
    ['is a model with a fault', { gloopProperties: [{}] }, false],
    ['is nothing', [], false],
  ])('%s', (_, source, isRight) => {
    expect(schemaFaults('file', source).length === 0).toBe(isRight)
  })
})

test('has at most 50 KB', () => {
  expect(JSON.stringify(definitionSchema()).length).toBeLessThan(50_000)
})

test('each key has a description', () => {
  const without: string[] = []
  const visit = (schema: unknown, path: string): void => {
    if (!isObject(schema)) return
    for (const [key, facts] of Object.entries(isObject(schema['properties']) ? schema['properties'] : {})) {
      const isTold = isObject(facts) && typeof facts['description'] === 'string'
      if (!isTold && !(key === 'type' && (path === 'action' || path === 'line'))) without.push(`${path}/${key}`)
    }
  }
  const { $defs } = definitionSchema()
  for (const [name, schema] of Object.entries(isObject($defs) ? $defs : {})) visit(schema, name)
  expect(without).toEqual([])
})
