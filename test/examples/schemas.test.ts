// Over HTTP, for every example: what the schemas accept is what the server accepts, of a start and of events.
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { sample } from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Report } from '../../src/definitions/report.ts'
import type { Shape } from '../../src/definitions/values/properties.ts'
import { compileShape } from '../../src/definitions/values/shapes.ts'
import { isObject, type Json, type JsonObject } from '../../src/model/json/value.ts'
import { inputsFor } from '../definitions/json-schema/generate.ts'
import { hasRough } from '../definitions/json-schema/rough.ts'
import { openLive, type Live } from '../http/live.ts'
import { ACTORS, listExamples, PACKAGE } from './examples.ts'

const TRIES = 60
const ajv = new Ajv2020({ strict: true })

let live: Live
const models: { [name: string]: JsonObject } = {}
beforeAll(async () => {
  live = await openLive({ ACTORFLUX_ACTORS: ACTORS })
  const folder = join(ACTORS, PACKAGE)
  for (const file of await readdir(folder, { recursive: true }))
    if (file.endsWith('.model'))
      models[file.slice(0, -'.model'.length).split(sep).join('.')] = JSON.parse(
        await readFile(join(folder, file), 'utf8'),
      )
})
afterAll(() => live.close())

const get = async (path: string) => (await live.call('GET', `/flux-api/${path}`)).json as JsonObject
const listOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
const shapeOf = (list: readonly JsonObject[]): Shape =>
  compileShape(list, { extra: false, models: new Map(Object.entries(models)), pointer: '', report: new Report('f') })

/** Whether the server takes the inputs; what else it finds wrong, such as a tag, plays no part. */
async function isTaken(path: string, body: object): Promise<boolean> {
  const { status, json } = await live.call('POST', path, { body })
  expect([200, 422]).toContain(status)
  const { errors = [] } = status === 422 ? (json as { errors?: { pointer: string }[] }) : {}
  return !errors.some(({ pointer }) => pointer.startsWith('/input'))
}

/** Inputs of these properties; those that the example names first. */
const inputsOf = (list: readonly JsonObject[], comment: string): JsonObject[] => {
  const named = [...comment.matchAll(/--json '(\{.*?\})' /g)].map(([, json = '']) => JSON.parse(json)['input'])
  return [...named.filter(isObject), {}, ...sample(inputsFor(list, 3, models), { numRuns: TRIES })]
}

const EXAMPLES = await listExamples(ACTORS)

test.each(EXAMPLES)('the schema of a start of %s', async (fluxName) => {
  const [{ input }, source] = [await get(`schema?fluxName=${fluxName}`), await get(`definition?fluxName=${fluxName}`)]
  const [check, list] = [ajv.compile(isObject(input) ? input : {}), listOf(source['input'])]
  for (const given of inputsOf(list, String(source['comment']))) {
    if (hasRough(shapeOf(list), given)) continue
    const taken = await isTaken(`/flux-api/${PACKAGE}/execute`, { fluxName, input: given, key: randomUUID() })
    expect({ given, taken: check(given) }).toEqual({ given, taken })
  }
})

test.each(EXAMPLES)('the schemas of the events of %s', async (fluxName) => {
  const source = await get(`definition?fluxName=${fluxName}`)
  const [input] = inputsOf(listOf(source['input']), String(source['comment']))
  for (const state of listOf(source['states']).filter(({ waiting }) => waiting === true)) {
    const request = { fluxName, startState: state['name'], input }
    const stand = async () => {
      const { json } = await live.call('POST', `/flux-api/${PACKAGE}/execute`, {
        body: { ...request, key: randomUUID() },
      })
      const { contextId } = json as { contextId: number }
      return get(`context/events?contextId=${contextId}`)
    }
    const list = listOf(state['input'])
    const { events, status } = await stand()
    // Entered first, OrderProcess does not know yet until when it waits.
    if (status === 'FAILED') continue
    expect(listOf(events)).not.toEqual([])
    for (const { event, input: schema } of listOf(events)) {
      const check = ajv.compile(isObject(schema) ? schema : {})
      for (const given of [{}, ...sample(inputsFor(list, 3, models), { numRuns: TRIES / 3 })]) {
        if (hasRough(shapeOf(list), given)) continue
        const { contextId } = await stand()
        const taken = await isTaken(`/flux-api/event?contextId=${String(contextId)}`, { event, input: given })
        expect({ given, taken: check(given) }).toEqual({ given, taken })
      }
    }
  }
})
