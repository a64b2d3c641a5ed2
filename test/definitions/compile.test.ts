import { describe, expect, test } from 'vitest'
import { compileFlux, recompile } from '../../src/definitions/service.ts'
import { pinnedText, type FluxUnit } from '../../src/definitions/pinned/text.ts'
import type { CompiledAction, CompiledFlux, CompiledState } from '../../src/definitions/flux.ts'
import { Report } from '../../src/definitions/report.ts'
import type { JsonObject } from '../../src/model/json/value.ts'

function compile(source: JsonObject, more: Partial<FluxUnit> = {}): CompiledFlux {
  const report = new Report('S.flux')
  const flux = compileFlux({ package: 'p', fluxName: 'S', models: new Map(), ...more, source }, report)
  if (flux === null) throw new Error(JSON.stringify(report.faults))
  return flux
}

const end = { name: 'end' }

const to = (event: string | null, wait: string | null = null): JsonObject => ({ to: 'end', event, wait })
function choiceOf(transitions: JsonObject[], waiting = false): CompiledState['choice'] | undefined {
  return compile({ states: [{ name: 'a', waiting, transitions }, end] }).states[0]?.choice
}
const actionOf = (action: JsonObject): CompiledAction | undefined =>
  compile({ states: [{ ...end, action }] }).states[0]?.action
const set = (...to: string[]) => ({ type: 'set', expression: 'v', to })

describe('what follows the action of a state', () => {
  const none = {
    events: new Map(),
    internal: new Map(),
    otherwise: null,
    exception: null,
    lone: null,
    timed: [],
    end: false,
  }

  test.each<[string, JsonObject[], boolean, Partial<CompiledState['choice']>]>([
    ['nothing: an end', [], false, { end: true }],
    ['only $exception: an end', [to('$exception')], false, { end: true, exception: 0 }],
    ['a lone transition', [to(null)], false, { lone: 0 }],
    ['an empty event is none', [to('')], false, { lone: 0 }],
    ['a lone transition with a wait', [to(null, 'duration:1')], false, { lone: 0 }],
    ["$exception beside a lone one doesn't count", [to('$exception'), to(null)], false, { lone: 1, exception: 0 }],
    [
      'named ones',
      [to('x'), to('$else'), to('y'), to('$exception')],
      false,
      {
        events: new Map([
          ['x', 0],
          ['y', 2],
        ]),
        otherwise: 1,
        exception: 3,
      },
    ],
    ['$else alone', [to('$else')], false, { otherwise: 0 }],
    [
      'an event-less one beside a named one is never taken',
      [to(null), to('x')],
      false,
      { events: new Map([['x', 1]]) },
    ],
    [
      'internal ones are no events',
      [to('x'), { ...to('y'), internal: true }, { ...to('z'), internal: false }],
      true,
      {
        events: new Map([
          ['x', 0],
          ['z', 2],
        ]),
        internal: new Map([['y', 1]]),
      },
    ],
    [
      "timed ones of a waiting state don't count",
      [to(null, 'duration:9'), to('x'), to(null, 'date:2030-01-01')],
      true,
      { events: new Map([['x', 1]]), timed: [0, 2] },
    ],
    ['only timed ones in a waiting state', [to(null, 'duration:9')], true, { timed: [0], end: true }],
    [
      'names that JavaScript knows',
      [to('__proto__'), to('constructor')],
      true,
      {
        events: new Map([
          ['__proto__', 0],
          ['constructor', 1],
        ]),
      },
    ],
  ])('%s', (_, transitions, waiting, expected) => {
    expect(choiceOf(transitions, waiting)).toEqual({ ...none, ...expected })
  })
})

describe('the service as a whole', () => {
  test('starts in its first state unless it says otherwise, and knows its states by name', () => {
    const states = [{ name: 'a', transitions: [{ to: 'end' }] }, end]
    expect(compile({ states }).startState).toBe(0)
    expect(compile({ states, startState: '' }).startState).toBe(0)
    const flux = compile({ states, startState: 'end' })
    expect(flux.startState).toBe(1)
    expect([...flux.stateIndex]).toEqual([
      ['a', 0],
      ['end', 1],
    ])
    expect(flux.states[0]?.transitions).toMatchObject([{ event: null, to: 1, wait: null }])
  })

  test('keeps its source untouched, with keys that nobody knows', () => {
    const source = { mystery: { a: [1] }, states: [{ ...end, icon: 'x' }] }
    expect(compile(source).source).toBe(source)
  })

  test('only the root may let extra inputs in', () => {
    const flux = compile({ allowExtraProperties: true, states: [{ ...end, input: [{ name: 'i' }] }] })
    expect([flux.input.extra, flux.output.extra, flux.states[0]?.input.extra]).toEqual([true, false, false])
  })
})

describe('actions', () => {
  const code = { type: 'invokeCode', className: 'm', methodName: 'f' }

  test('a call may be isolated', () => {
    expect(actionOf({ ...code, isolate: true })).toMatchObject({ code: { isolate: true } })
  })

  test('a call has one attempt and a minute unless it says otherwise', () => {
    expect(actionOf(code)).toEqual({
      type: 'invokeCode',
      effect: 'step',
      code: { className: 'm', methodName: 'f', isolate: false },
      secrets: [],
      script: null,
      child: null,
      inputs: [],
      outputs: [],
      timeoutMs: 60_000,
      retry: { maxAttempts: 1, delay: 0, factor: 1, maxDelay: 3_600_000 },
    })
  })

  test('seconds in the file are milliseconds inside', () => {
    expect(
      actionOf({ ...code, timeout: 0.25, retry: { maxAttempts: 3, delay: 1.5, factor: 2, maxDelay: 10 } }),
    ).toMatchObject({
      timeoutMs: 250,
      retry: { maxAttempts: 3, delay: 1500, factor: 2, maxDelay: 10_000 },
    })
    expect(actionOf({ ...code, retry: { maxAttempts: 3, delay: 7200 } })).toMatchObject({
      retry: { delay: 7_200_000, maxDelay: 7_200_000 },
    })
  })

  test("a script has a minute, if it doesn't say how long it takes", () => {
    expect(actionOf({ type: 'script', script: 'return 1' })).toMatchObject({ timeoutMs: 60_000 })
    expect(actionOf({ type: 'script', script: 'return 1', timeout: 5 })).toMatchObject({ timeoutMs: 5000 })
  })

  test('a child has no timeout of its own', () => {
    expect(actionOf({ type: 'invokeFlux', name: 'x.Y' })).toMatchObject({
      type: 'invokeFlux',
      effect: 'child',
      child: 'x.Y',
      inputs: [],
      outputs: [],
      timeoutMs: null,
    })
    expect(actionOf({ type: 'invokeFlux', name: 'x.Y', timeout: 5 })).toMatchObject({ timeoutMs: 5000 })
  })

  test('the nearest output of a name is written, and arguments are whatever is set', () => {
    const [state] = compile({
      output: [{ name: 'near' }, { name: 'far' }],
      states: [
        {
          ...end,
          output: [{ name: 'near' }],
          action: {
            ...code,
            inputs: [set('any', 'thing')],
            outputs: [set('near'), set('far'), set('$fluxEvent'), set('$response', 'content')],
          },
        },
      ],
    }).states
    const action = state?.action
    expect(action?.outputs).toMatchObject([
      { place: 'stateOutput', path: ['near'] },
      { place: 'serviceOutput', path: ['far'] },
      { place: 'fluxEvent', path: [] },
      { place: 'response', path: ['content'] },
    ])
    expect(action?.inputs).toMatchObject([{ place: 'args', path: ['any', 'thing'] }])
  })
})

describe('waits', () => {
  test.each([
    ['duration:1.5', { kind: 'duration', value: { source: '1.5' } }],
    [' date : 2030-01-01T00:00:00Z ', { kind: 'date', value: { source: '2030-01-01T00:00:00Z' } }],
    ['date:1893456000000', { kind: 'date', value: { source: '1893456000000' } }],
    ['duration:${$fluxEvent}', { kind: 'duration', value: { source: '${$fluxEvent}' } }],
    ['', null],
  ])('"%s"', (wait, expected) => {
    const [state] = compile({ states: [{ name: 'a', transitions: [{ to: 'end', wait }] }, end] }).states
    const compiled = state?.transitions[0]?.wait
    if (expected === null) expect(compiled).toBeNull()
    else expect(compiled).toMatchObject(expected)
  })
})

describe('a pinned definition', () => {
  const item = {
    type: 'model',
    gloopProperties: [
      { name: 'kind', type: 'model', reference: 'Kind' },
      { name: 'n', type: 'integer' },
    ],
  }
  const kind = { type: 'model', gloopProperties: [{ name: 'id', type: 'long' }] }
  const source = { input: [{ name: 'item', type: 'model', reference: 'data.Item' }], states: [end] }
  const models = new Map<string, JsonObject>([
    ['data.Item', item],
    ['Kind', kind],
    ['Other', { type: 'model' }],
  ])

  test('is compiled again from its text, models and all', () => {
    const flux = compile(source, { models })
    const again = recompile(flux.text)
    expect(again).toMatchObject({ hash: flux.hash, text: flux.text, package: 'p', fluxName: 'S', source })
    expect([...(again.input.properties.get('item')?.fields()?.properties.keys() ?? [])]).toEqual(['kind', 'n'])
  })

  test('has a hash that covers package, name, source and the models it reaches, and nothing else', () => {
    const hash = compile(source, { models }).hash
    expect(hash).toMatch(/^[\da-f]{64}$/)
    expect(
      compile(source, { models: new Map([...models, ['Other', { type: 'model', comments: 'changed' }]]) }).hash,
    ).toBe(hash)
    const others = [
      compile(source, { models: new Map([...models, ['Kind', { ...kind, comments: 'changed' }]]) }),
      compile(source, { models, package: 'q' }),
      compile(source, { models, fluxName: 'T' }),
      compile({ ...source, comment: 'changed' }, { models }),
    ]
    expect(new Set([hash, ...others.map((flux) => flux.hash)]).size).toBe(5)
  })

  test('that no longer compiles says why', () => {
    const text = pinnedText({ package: 'p', fluxName: 'S', source: { states: [] }, models: new Map() })
    expect(() => recompile(text)).toThrow('the definition of p/S no longer compiles: /states: there are no states')
    expect(() => recompile('{}')).toThrow()
  })

  test('survives keys that JavaScript knows', () => {
    const odd: JsonObject = JSON.parse(
      '{ "__proto__": { "states": [] }, "states": [{ "name": "__proto__", "transitions": [{ "to": "constructor" }] }, { "name": "constructor" }] }',
    )
    const flux = compile(odd, { models: new Map([['__proto__', kind]]) })
    expect(recompile(flux.text).states.map(({ name }) => name)).toEqual(['__proto__', 'constructor'])
    const named = compile(
      { input: [{ name: 'x', type: 'model', reference: '__proto__' }], states: [end] },
      { models: new Map([['__proto__', kind]]) },
    )
    expect(recompile(named.text).input.properties.get('x')?.fields()?.properties.has('id')).toBe(true)
  })
})
