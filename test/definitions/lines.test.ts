import { describe, expect, it } from 'vitest'
import { getOwn, type Json, type JsonObject } from '../../src/model/json/value.ts'
import type { Scope } from '../../src/definitions/expressions/expression.ts'
import { z } from 'zod'
import type { Line, Target } from '../../src/definitions/lines/line.ts'
import { compileLines, type LineOptions } from '../../src/definitions/lines/lines.ts'
import { readBy } from '../../src/definitions/source/read.ts'
import { LINES } from '../../src/definitions/source/schema.ts'
import { LineError, writePath } from '../../src/definitions/values/paths.ts'
import { compileShape } from '../../src/definitions/values/shapes.ts'
import { WorkBudget } from '../../src/definitions/work-budget.ts'
import { Report } from '../../src/definitions/report.ts'

const NOW = 1_767_323_045_006

const outputs = compileShape(
  [
    { name: 'count', type: 'integer' },
    { name: 'text' },
    { name: 'strict', allowNull: false },
    { name: 'when', type: 'date' },
    { name: 'tags', array: true },
    { name: 'free', type: 'any' },
    {
      name: 'order',
      type: 'model',
      gloopProperties: [
        { name: 'id', type: 'long' },
        { name: 'lines', type: 'model', array: true, gloopProperties: [{ name: 'sku' }] },
      ],
    },
  ],
  { extra: false, models: new Map(), pointer: '', report: new Report('f') },
)

function resolve(name: string): Target | null {
  if (name === '$fluxEvent') return { place: 'fluxEvent', property: null }
  if (name === '$response') return { place: 'response', property: null }
  const property = outputs.properties.get(name)
  return property === undefined ? null : { place: 'stateOutput', property }
}

const scopeOf = (values: JsonObject): Scope => ({
  turn: { now: NOW, random: () => 0.5, uuid: () => 'u' },
  budget: new WorkBudget(),
  get: (name) => getOwn(values, name),
})

const linesOf = (list: JsonObject[], report: Report) =>
  readBy(z.object({ lines: LINES }), { lines: list }, report)?.lines ?? []

function compile(list: JsonObject[], options: Partial<LineOptions> = {}) {
  const report = new Report('f')
  const lines = compileLines(linesOf(list, report), {
    resolve,
    visible: null,
    pointer: '/lines',
    of: 'the action',
    report,
    ...options,
  })
  return { lines, told: report.faults.map(({ severity, pointer }) => `${severity} ${pointer}`) }
}

function only(list: JsonObject): Line {
  const {
    lines: [line],
    told,
  } = compile([list])
  if (line === undefined) throw new Error(told.join())
  return line
}

const map = (from: Json, to: Json): JsonObject => ({ from, to })
const literal = (expression: Json, to: Json): JsonObject => ({ type: 'set', expression, to })
const set = (expression: Json, to: Json): JsonObject => ({ type: 'set', evaluate: true, expression, to })
const read = (line: JsonObject, values: JsonObject = {}): Json => only(line).read(scopeOf(values))

describe('a map line', () => {
  it('carries the value at its path', () => {
    expect(read(map(['product', 'name'], ['text']), { product: { name: 'tea' } })).toBe('tea')
    expect(read({ type: 'map', from: ['list', 1], to: ['count'] }, { list: [1, 2] })).toBe(2)
    expect(
      read(map(['$request', 'headers', 'x-ID'], ['text']), { $request: { headers: [{ name: 'X-Id', value: '7' }] } }),
    ).toBe('7')
    expect(read(map(['headers', 'x-ID'], ['text']), { headers: [{ name: 'X-Id', value: '7' }] })).toBe('7')
  })
  it('carries null from a path that leads nowhere', () => {
    expect(read(map(['none'], ['text']))).toBe(null)
    expect(read(map(['a', 'b', 'c'], ['free']), { a: 5 })).toBe(null)
    expect(read(map(['constructor', 'name'], ['free']))).toBe(null)
  })
  it('fails where null is not allowed', () => {
    expect(() => read(map(['none'], ['strict']))).toThrow(LineError)
    expect(() => read(map(['none'], ['strict']))).toThrow(
      'line 1 of the action (strict = none): the value must not be null',
    )
  })
  it('holds the value to its target', () => {
    expect(read(map(['v'], ['count']), { v: '12' })).toBe(12)
    expect(read(map(['v'], ['text']), { v: 12 })).toBe('12')
    expect(read(map(['v'], ['when']), { v: '2026-01-01' })).toBe(Date.UTC(2026, 0, 1))
    expect(read(map(['v'], ['tags']), { v: 'one' })).toEqual(['one'])
    expect(read(map(['v'], ['order', 'id']), { v: '9007199254740993' })).toBe('9007199254740993')
    expect(read(map(['v'], ['order', 'lines', '0', 'sku']), { v: 5 })).toBe('5')
    expect(() => read(map(['v'], ['count']), { v: 'twelve' })).toThrow(
      "line 1 of the action (count = v): the value must be a number, and is the text 'twelve'",
    )
    expect(() => read(map(['v'], ['order']), { v: { id: 'x' } })).toThrow(
      /^line 1 of the action \(order = v\): .*\/id must be.*, and is an object$/,
    )
  })
})

describe('a set line', () => {
  it('is literal text unless it is to be evaluated', () => {
    expect(read(literal('1 + 1', ['text']))).toBe('1 + 1')
    expect(read(literal('${a}', ['text']), { a: 1 })).toBe('${a}')
    expect(read({ ...literal('a', ['text']), evaluate: false }, { a: 1 })).toBe('a')
    expect(read(literal('12', ['count']))).toBe(12)
    expect(read(literal('', ['text']))).toBe('')
  })
  it('takes a literal that is no text as it is', () => {
    expect(read(literal({ a: [1] }, ['free']))).toEqual({ a: [1] })
    expect(read(literal(5, ['count']))).toBe(5)
    expect(read({ ...literal(5, ['count']), evaluate: true })).toBe(5)
    expect(read(literal(null, ['text']))).toBe(null)
  })
  it('evaluates its expression', () => {
    expect(read(set('a + 1', ['count']), { a: 1 })).toBe(2)
    expect(read(set('a + 1', ['text']), { a: 1 })).toBe('2')
    expect(read(set('a.b', ['text']), { a: {} })).toBe(null)
    expect(read(set('now()', ['when']))).toBe(NOW)
  })
  it('fails with the target and the reason when its expression fails', () => {
    const line = set('"x".repeat(1000000000)', ['text'])
    expect(() => read(line)).toThrow(LineError)
    expect(() => read(line)).toThrow(/^line 1 of the action \(text = /)
  })
})

describe('the place a line writes to', () => {
  it.each<[Json, string, string[]]>([
    [['text'], 'stateOutput', ['text']],
    [['order', 'lines', 0, 'sku'], 'stateOutput', ['order', 'lines', '0', 'sku']],
    [['$fluxEvent'], 'fluxEvent', []],
    [['$response'], 'response', []],
    [['$response', 'headers', 'X-Id'], 'response', ['headers', 'X-Id']],
  ])('%j', (to, place, path) => expect(only(map(['v'], to))).toMatchObject({ place, path }))

  it('is reached by way of new lists where lists are declared', () => {
    expect(only(map(['v'], ['tags', '0'])).write({}, 'x')).toEqual({ tags: ['x'] })
    expect(only(map(['v'], ['order', 'lines', '1', 'sku'])).write({ order: { id: 1 } }, 'x')).toEqual({
      order: { id: 1, lines: [null, { sku: 'x' }] },
    })
    expect(only(map(['v'], ['free', '1'])).write({}, 'x')).toEqual({ free: { 1: 'x' } })
    expect(only(map(['v'], ['$response', 'content'])).write({}, 'x')).toEqual({ content: 'x' })
  })
  it('is not held to a type when it is untyped', () => {
    expect(read(map(['v'], ['$fluxEvent']), { v: true })).toBe(true)
    expect(read(map(['v'], ['$response', 'content']), { v: [1] })).toEqual([1])
  })
})

describe('lines in order', () => {
  it('see what those before them wrote, when the caller writes in between', () => {
    const { lines } = compile([set('start * 2', ['count']), set('count + 1', ['free']), map(['free'], ['text'])])
    let written: JsonObject = {}
    for (const line of lines) written = writePath(written, line.path, line.read(scopeOf({ start: 5, ...written })))
    expect(written).toEqual({ count: 10, free: 11, text: '11' })
  })
})

const visible = new Map([['seen', []]])

describe('loading reports', () => {
  it.each<[string, JsonObject, string[]]>([
    ['an unknown target', map(['v'], ['none']), ['fault /lines/0/to']],
    ['an unknown field of a model', map(['v'], ['order', 'none']), ['fault /lines/0/to']],
    ['a name where a list takes an index', map(['v'], ['order', 'lines', 'first']), ['fault /lines/0/to']],
    ['a part of text', map(['v'], ['text', 'x']), ['fault /lines/0/to']],
    ['a part of the event', map(['v'], ['$fluxEvent', 'x']), ['fault /lines/0/to']],
    ['a target that is no path', map(['v'], 'text'), ['fault /lines/0/to']],
    ['an empty target', map(['v'], []), ['fault /lines/0/to']],
    ['a target with holes', map(['v'], ['text', null]), ['fault /lines/0/to']],
    ['an origin that is no path', map('v', ['text']), ['fault /lines/0/from']],
    ['a missing origin', { to: ['text'] }, ['fault /lines/0/from']],
    ['two faults of one line', {}, ['fault /lines/0/to', 'fault /lines/0/from']],
    ['an unknown kind of line', { ...map(['v'], ['text']), type: 'copy' }, ['fault /lines/0/type']],
    ['a kind that is no text', { ...map(['v'], ['text']), type: 5 }, ['fault /lines/0/type']],
    ['an expression that does not parse', set('a +', ['text']), ['fault /lines/0/expression']],
    ['an empty expression', set('', ['text']), ['fault /lines/0/expression']],
    ['a missing expression', { type: 'set', evaluate: true, to: ['text'] }, ['fault /lines/0/expression']],
    ['a missing literal', { type: 'set', to: ['text'] }, ['warning /lines/0/expression']],
    ['a literal that never fits', literal('x', ['count']), ['warning /lines/0/expression']],
    [
      'an `evaluate` that is neither true nor false',
      { ...set('1', ['text']), evaluate: 'true' },
      ['fault /lines/0/evaluate'],
    ],
    ['nothing for a kind that is null', { ...map(['v'], ['text']), type: null }, []],
  ])('%s', (_, line, expected) => expect(compile([line]).told).toEqual(expected))

  it('names that are visible nowhere: a fault in an expression, a doubt in a path', () => {
    expect(compile([set('seen + 1', ['text']), map(['seen', 'x'], ['text'])], { visible }).told).toEqual([])
    expect(compile([set('seen + unseen', ['text']), map(['unseen'], ['text'])], { visible }).told).toEqual([
      'fault /lines/0/expression',
      'warning /lines/1/from',
    ])
    expect(compile([set('unseen', ['text'])]).told).toEqual([])
  })
  it('what is wrong; that line fails, and the others are right', () => {
    const { lines } = compile([map(['v'], ['none']), map(['v'], ['text'])])
    expect(() => lines[0]?.read(scopeOf({ v: 'x' }))).toThrow('/lines/0 has a fault')
    expect([lines[1]?.path, lines[1]?.read(scopeOf({ v: 'x' }))]).toEqual([['text'], 'x'])
  })
})

describe('a text with ${…} in a line of the Logger', () => {
  const see = { name: 'Ada', order: { id: 7, lines: [1] }, $fluxStateName: 'Ship' }
  const visible = new Map(Object.keys(see).map((name) => [name, []]))
  const logged = (line: JsonObject, more: Partial<LineOptions> = {}) => {
    const report = new Report('f')
    const options = {
      resolve: () => ({ place: 'args', property: null }) as const,
      pointer: '',
      of: 'the inputs',
      logs: true,
      visible,
    }
    const [compiled] = compileLines(linesOf([line], report), { ...options, report, ...more })
    return { text: compiled?.read(scopeOf(see)), line: compiled, told: report.faults.map(({ reason }) => reason) }
  }
  const to = ['message']

  it.each([
    ['in ${$fluxStateName}', 'in Ship'],
    ['${name} `has` ${order.id}$ \\ ${`${1}`}', 'Ada `has` 7$ \\ 1'],
    ['plain', 'plain'],
  ])('a literal: %s', (text, expected) => {
    expect(logged(literal(text, to))).toMatchObject({ text: expected, told: [] })
  })

  it.each([
    ['"Starting ${$fluxStateName}"', 'Starting Ship'],
    ['"`${name}`, \\"total\\": \\$${order.id * 2}" + \'${x}\'', '`Ada`, "total": $14${x}'],
    ['order.id > 5 ? "many ${name}" : \'few\'', 'many Ada'],
  ])('in double quotes, as the product has it: %s', (expression, expected) => {
    expect(logged(set(expression, to)).text).toBe(expected)
  })

  it('that can not be computed is logged as it stands, and told', () => {
    for (const [line, text] of [
      [literal('at ${new Date()}', to), 'at ${new Date()}'],
      [literal('of ${nobody}', to), 'of ${nobody}'],
      [set('"at ${new Date()}"', to), 'at ${new Date()}'],
    ] as const) {
      const { text: read, told } = logged(line)
      expect(read).toBe(text)
      expect(told[0]).toMatch(/^logged as it stands: /)
    }
  })

  it.each([
    [literal('of ${order.buyer.toUpperCase()}', to), 'of ${order.buyer.toUpperCase()}'],
    [set('name + ": ${order.buyer.toUpperCase()}"', to), 'Ada: ${order.buyer.toUpperCase()}'],
  ])('whose values do not fit is logged as it stands: %j', (line, text) => {
    expect(logged(line)).toMatchObject({ text, told: [] })
  })

  it.each(['${$secrets.apiKey}', "${$secrets.API ? 'yes' : 'no'}", '${$secrets}'])(
    'that can not have the secret in it is logged as it stands, and is no fault: %s',
    (text) => {
      const report = new Report('f')
      expect(logged(literal(text, to), { seesSecrets: true, report }).text).toBe(text)
      expect(report.broken).toBe(false)
      expect(logged(literal(text, to), { report }).text).toBe(text)
      expect(report.broken).toBe(false)
    },
  )

  it('is followed where secrets and requests are hidden', () => {
    const { line } = logged(literal('with ${$secrets.API} of ${order.id}', to), { seesSecrets: true })
    expect(line).toMatchObject({ secrets: ['API'], reads: [['$secrets'], ['order']] })
  })

  it('is plain text in other lines', () => {
    expect(logged(literal('in ${$fluxStateName}', to), { logs: false }).text).toBe('in ${$fluxStateName}')
    expect(logged(set('"in ${$fluxStateName}"', to), { logs: false }).text).toBe('in ${$fluxStateName}')
  })
})
