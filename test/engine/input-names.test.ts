// Inputs whose names mean something to expressions or to scripts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SPECIAL_NAMES } from '../../src/definitions/lines/names.ts'
import type { Json } from '../../src/model/json/value.ts'
import { LANGUAGE_NAMES } from '../../src/engine/interpreter/scope.ts'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (name: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [name] })
const SEEN = ['$request', '$response', '$fluxContextId', '$trackerId', '$fluxException']
const sees = (...names: string[]) => ({ type: 'map', lines: [set('seen', `[${names.join()}]`)] })
const SEES = sees(...SEEN, '$other')
const OUT = { output: [{ name: 'seen', type: 'any' }] }
const SCRIPT =
  'return { keys: Object.keys({ a: 1 }), list: Array.isArray([]), text: JSON.stringify([undefined === void 0]), sum: eval("1 + 1"), count: arguments.length, own: names.own, seen: typeof $other }'
const scripted = (script: string) => ({
  output: [{ name: 'seen', type: 'any' }],
  states: [{ name: 's', action: { type: 'script', script, outputs: [set('seen', '$result')] } }],
})
const HIDING = [
  'Object',
  'Array',
  'JSON',
  'undefined',
  'arguments',
  'eval',
  'Promise',
  'globalThis',
  'names',
  'Reflect',
  'Proxy',
  '__proto__',
  'constructor',
  'then',
]

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Open.flux': {
      allowExtraProperties: true,
      triggers: ['begin'],
      tags: ['${$request}', 'all'],
      ...OUT,
      states: [{ name: 's', action: SEES }],
    },
    'p/Closed.flux': { triggers: ['begin'], tags: ['all'], ...OUT, states: [{ name: 's', action: sees(...SEEN) }] },
    'p/Declared.flux': {
      input: [
        { name: '$trackerId' },
        { name: '$request' },
        { name: '$other' },
        { name: 'm', type: 'model', allowExtraProperties: true, gloopProperties: [] },
      ],
      output: [
        { name: 'seen', type: 'any' },
        { name: 'm', type: 'any' },
      ],
      states: [{ name: 's', action: { type: 'map', lines: [...SEES.lines, { from: ['m'], to: ['m'] }] } }],
    },
    'p/Waits.flux': {
      allowExtraProperties: true,
      ...OUT,
      states: [
        { name: 'w', waiting: true, action: SEES, input: [{ name: 'n' }], transitions: [{ event: 'go', to: 'end' }] },
        { name: 'end' },
      ],
    },
    'p/Parent.flux': {
      states: [{ name: 's', action: { type: 'invokeFlux', name: 'Open', inputs: [set('$request', '1')] } }],
    },
    'p/Script.flux': { allowExtraProperties: true, ...scripted(SCRIPT) },
    'p/Hides.flux': { input: HIDING.map((name) => ({ name })), ...scripted('return [Object, Array, JSON, this.eval]') },
    'p/Survives.flux': { input: HIDING.map((name) => ({ name })), ...scripted('return 1') },
    'p/Language.flux': scripted('return Object.getOwnPropertyNames(globalThis)'),
  })
})
afterAll(() => bench.close())

const ended = async (contextId: number) => outputs(await bench.until(contextId, ({ status }) => status === 'COMPLETED'))
const seenBy = async (fluxName: string, input: object = {}) => (await ended(await bench.run(fluxName, input)))['seen']

describe('an input that is not declared', () => {
  test.each(['$request', '$response', '$fluxContextId', '$trackerId', '$', '$anything'])(
    "can't be called %s",
    async (name) => {
      await expect(bench.run('Open', { [name]: 1, fine: 2 })).rejects.toMatchObject({
        failure: {
          kind: 'invalid',
          errors: [{ pointer: `/input/${name}`, detail: 'is not declared, and begins with $' }],
        },
      })
    },
  )

  test('is not taken from an event under such a name', async () => {
    const { executions } = await bench.sendEvent({
      event: 'begin',
      input: { $request: 'fake', $other: 'fake', kept: 1 },
      tags: ['all'],
    })
    expect(executions).toHaveLength(2)
    for (const { contextId } of executions) {
      const view = await bench.getContext({ contextId })
      expect(outputs(view)).toEqual({
        seen: [
          null,
          null,
          contextId,
          expect.stringMatching(/^[\da-f-]{36}$/),
          null,
          ...(view.fluxName === 'Open' ? [null] : []),
        ],
      })
      expect(view.input.gloopProperties.map(({ name }) => name)).toEqual(view.fluxName === 'Open' ? ['kept'] : [])
      expect(view.tags).not.toContain('fake')
    }
    const contextId = await bench.run('Waits')
    await bench.sendEvent({ contextId, event: 'go', input: { $request: 'fake', $response: 'fake', $other: 'fake' } })
    expect((await ended(contextId))['seen']).toEqual([null, null, contextId, expect.any(String), null, null])
  })

  test('nor from the service that starts another', async () => {
    const view = await bench.until(await bench.run('Parent'), ({ status }) => status === 'FAILED')
    expect(view.error?.message).toContain('/input/$request is not declared, and begins with $')
  })

  test("hides nothing of JavaScript's from a script", async () => {
    const hiding = JSON.parse(`{${HIDING.map((name) => `"${name}":7`).join()},"own":1}`)
    expect(await seenBy('Script', hiding)).toEqual({
      keys: ['a'],
      list: true,
      text: '[true]',
      sum: 2,
      count: 0,
      own: 1,
      seen: 'undefined',
    })
  })
})

describe('an input that is declared', () => {
  test('may have any name', async () => {
    const contextId = await bench.run('Declared', { $trackerId: 't', $request: 'r', $other: 'o', m: { $request: 1 } })
    expect(await ended(contextId)).toEqual({ seen: ['r', null, contextId, 't', null, 'o'], m: { $request: 1 } })
  })

  test("may be called like something of JavaScript's: then a script sees it, and runs", async () => {
    const hiding = Object.fromEntries(HIDING.map((name) => [name, name]))
    expect(await seenBy('Hides', hiding)).toEqual(['Object', 'Array', 'JSON', 'eval'])
    expect(await seenBy('Survives', JSON.parse(`{${HIDING.map((name) => `"${name}":"x"`).join()}}`))).toBe(1)
  })
})

test('what JavaScript calls its things is known', async () => {
  const seen: Json = JSON.parse(JSON.stringify(await seenBy('Language')))
  const names = Array.isArray(seen) ? seen.map(String) : []
  expect(names.length).toBeGreaterThan(50)
  expect(names.filter((name) => !LANGUAGE_NAMES.has(name) && !SPECIAL_NAMES.has(name) && name !== 'seen')).toEqual([])
})
