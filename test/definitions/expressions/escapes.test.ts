// Ways out of the language, as attackers know them: each must read and change nothing but the data given, make no host
// object, and end soon.
import { describe, expect, it } from 'vitest'
import { compileExpression, compileTemplate } from '../../../src/definitions/expressions/compile.ts'
import { ExpressionError, ExpressionFault } from '../../../src/definitions/expressions/expression.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { deepFreeze, evaluate, scopeOf } from './evaluate.ts'
import { effortOf } from '../../support/effort.ts'

const BUILT_IN: readonly object[] = [
  Object,
  Array,
  String,
  Number,
  Boolean,
  Function,
  Symbol,
  RegExp,
  Date,
  Map,
  Set,
  Promise,
  Error,
  JSON,
  Math,
  Reflect,
  globalThis,
]

/** Every own key of every built-in thing an attacker would change, with what stands there. */
function worldOf(): unknown[] {
  return BUILT_IN.flatMap((thing) => [thing, 'prototype' in thing ? thing.prototype : thing]).flatMap((thing) =>
    Reflect.ownKeys(thing as object).flatMap((key) => [
      key,
      Reflect.getOwnPropertyDescriptor(thing as object, key)?.value as unknown,
    ]),
  )
}

function expectPlain(value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    expect(['string', 'number', 'boolean', 'object']).toContain(typeof value)
    return
  }
  expect([Object.prototype, Array.prototype]).toContain(Object.getPrototypeOf(value))
  expect(BUILT_IN).not.toContain(value)
  for (const key of Reflect.ownKeys(value)) {
    const property = Reflect.getOwnPropertyDescriptor(value, key)
    expect(property).not.toHaveProperty('get')
    expectPlain(property?.value)
  }
}

// On Node 24 the first look at some globals loads what they stand for, which adds names of its own.
worldOf()

type Outcome = 'fault' | 'error' | { value: Json }

function attempt(source: string, data: JsonObject): Outcome {
  const world = worldOf()
  let outcome: Outcome = 'fault'
  const evaluateIt = () => {
    try {
      outcome = { value: compileExpression(source).evaluate(scopeOf(data)) }
      expectPlain(outcome.value)
    } catch (error) {
      if (!(error instanceof ExpressionFault) && !(error instanceof ExpressionError)) throw error
      outcome = error instanceof ExpressionFault ? 'fault' : 'error'
    }
  }
  expect(effortOf(evaluateIt), 'milliseconds of work').toBeLessThan(250)
  expect(
    worldOf().every((thing, index) => Object.is(thing, world[index])),
    'the world is as it was',
  ).toBe(true)
  expect(Reflect.ownKeys({})).toEqual([])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  return outcome
}

// Frozen to its depth, so a change of it would be an error, which no row with a value expects.
const data: JsonObject = deepFreeze({
  a: { b: 1 },
  k: 'constructor',
  p: '__proto__',
  text: 'text',
  list: [1, 2, 3],
  n: 5,
  big: 'a'.repeat(500_000),
  needle: `${'a'.repeat(100_000)}b${'a'.repeat(100_000)}`,
  evil: JSON.parse(
    '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "toString": "x", "valueOf": 1, "toJSON": {}, "then": 1, "length": 1e9, "Symbol.iterator": 1}',
  ) as Json,
  $request: { headers: [{ name: 'Host', value: 'h' }], cookies: [], body: null },
  spaces: ' '.repeat(500_000),
  many: Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index])),
  wide: Array.from({ length: 2000 }, (_, index) => index),
})

const nothing: Outcome = { value: null }

const reads: readonly (readonly [source: string, outcome: Outcome])[] = [
  ['a.constructor', nothing],
  ["a['constructor']", nothing],
  ['a[k]', nothing],
  ["a['const' + 'ructor']", nothing],
  ['a[`${k}`]', nothing],
  ['a[[k]]', nothing],
  ['a[{toString: k}]', nothing],
  ['a.__proto__', nothing],
  ['a[p]', nothing],
  ['a[p].polluted', nothing],
  ["a['__pro' + 'to__']", nothing],
  ['a.prototype', nothing],
  ['a.hasOwnProperty', nothing],
  ['a.toString', nothing],
  ['a.valueOf', nothing],
  ['a.__lookupGetter__', nothing],
  ['a.__defineGetter__', nothing],
  ["''['constructor']", nothing],
  ["''.constructor.constructor", nothing],
  ["''.__proto__", nothing],
  ["text['sub']", nothing],
  ['text.split', nothing],
  ['(5).constructor', nothing],
  ['n.__proto__.constructor', nothing],
  ['true.constructor', nothing],
  ['[].constructor', nothing],
  ['[].map.constructor', nothing],
  ["[]['filter']['constructor']", nothing],
  ["[]['at']['constructor']('return process')", 'fault'],
  ['list.__proto__', nothing],
  ['list.concat.call', nothing],
  ["list['constructor']", nothing],
  ['{}.constructor.constructor', nothing],
  ["{}['__proto__']", nothing],
  ['{__proto__: {polluted: 1}}.polluted', nothing],
  ['{__proto__: null}.toString', nothing],
  ['size.constructor', nothing],
  ['json.constructor', nothing],
  ['now.constructor.prototype', nothing],
  ['undefined.constructor', nothing],
  ['null.__proto__', nothing],
  ["$request.headers['constructor']", nothing],
  ["$request.headers['__proto__']", nothing],
  ['$request.headers.map', nothing],
  ["$request.cookies['constructor']", nothing],
  ['$request.__proto__', nothing],
  ["$request.headers['toString']", nothing],
  ["$request['headers']['CONSTRUCTOR']['name']", nothing],
  ['globalThis', nothing],
  ['process', nothing],
  ['process.env.PATH', nothing],
  ['require', nothing],
  ['arguments', nothing],
  ['arguments[0]', nothing],
  ['window', nothing],
  ['module', nothing],
  ['Function', nothing],
  ['Object.prototype', nothing],
  ['Symbol.iterator', nothing],
  ["list['Symbol.iterator']", nothing],
  ['list[Symbol.iterator]', nothing],
  ['Reflect', nothing],
  ['eval', nothing],
  ['run', nothing],
  ['run.scope', nothing],
  ['scope.turn', nothing],
  ['turn', nothing],
  ['$turn', nothing],
  ['text[-1]', nothing],
  ['list[1e99]', nothing],
  ['a?.constructor?.constructor', nothing],
  ["a?.['constructor']?.prototype", nothing],
  ['[a][0].constructor', nothing],
  ['parseJson(\'{"a": 1}\').constructor', nothing],
  ["'x'.concat.name", nothing],
  ['list.length.constructor', nothing],
  ['list.map(x => x.constructor)', { value: [null, null, null] }],
  ['list.map((x, i, all) => all.constructor)', { value: [null, null, null] }],
  ['list.reduce((sum, x, i, all) => all.__proto__, 0)', nothing],
  ['entries(a).constructor', nothing],
  ['values(evil)[1].prototype.polluted', { value: 1 }],
]

const calls: readonly (readonly [source: string, outcome: Outcome])[] = [
  ["a.constructor('x')", 'fault'],
  ["a.constructor.constructor('return process')()", 'fault'],
  ["''.sub.constructor('x')()", 'fault'],
  ["a['constructor']('x')", 'fault'],
  ['a[k](1)', 'fault'],
  ['text[k]()', 'fault'],
  ['a.__defineGetter__("b", x => 1)', 'fault'],
  ['a.__lookupGetter__("__proto__")', 'fault'],
  ['a.hasOwnProperty("b")', 'fault'],
  ['a.isPrototypeOf(a)', 'fault'],
  ['list.map.call(list, x => x)', 'fault'],
  ['list.map.apply(a)', 'fault'],
  ['list.map.bind(a)', 'fault'],
  ['size.call(a)', 'fault'],
  ['size.constructor("x")', 'fault'],
  ['(x => x).constructor', 'fault'],
  ['(x => x).constructor("return this")()', 'fault'],
  ['(() => 1)()', 'fault'],
  ['list.map(x => x).constructor("x")', 'fault'],
  ['list.map((x => x).constructor)', 'fault'],
  ['list.map(eval)', 'fault'],
  ['list.map(size)', 'fault'],
  ['list.map(Function)', 'fault'],
  ['[eval][0]("1")', 'fault'],
  ['eval("1")', 'fault'],
  ['Function("return this")()', 'fault'],
  ['require("fs")', 'fault'],
  ['import("fs")', 'fault'],
  ['process.exit()', 'fault'],
  ['setTimeout(x => x)', 'fault'],
  ['constructor("x")', 'fault'],
  ['__proto__()', 'fault'],
  ['hasOwnProperty("x")', 'fault'],
  ['valueOf()', 'fault'],
  ['a.valueOf()', 'fault'],
  ['list.forEach(x => x)', 'fault'],
  ['list.push(1)', 'fault'],
  ['list.splice(0)', 'fault'],
  ['list.fill(1)', 'fault'],
  ['list.copyWithin(0)', 'fault'],
  ['Object.assign(a, {b: 2})', 'fault'],
  ['Object.keys(a)', 'fault'],
  ['Symbol()', 'fault'],
  ['Symbol.for("x")', 'fault'],
  ['evil.toString()', 'error'],
  ['evil.then(x => x)', 'fault'],
  ['evil.valueOf()', 'fault'],
  ['evil.toJSON()', 'fault'],
  ['text.matchAll("a")', 'fault'],
  ['text.match("(a+)+$")', 'fault'],
  ['text.search("x")', 'fault'],
  ['text.anchor("x")', 'fault'],
  ['text.at.constructor("x")', 'fault'],
  ['json(x => x)', 'fault'],
  ['text.replace("t", x => x)', 'fault'],
  ['list.join(x => x)', 'fault'],
  ['list.includes(x => x)', 'fault'],
  ["parseJson('{}', (k, v) => v)", 'fault'],
  ['list.map(x => y => y)', 'fault'],
  ['list.map(x => [y => y])', 'fault'],
  ['list.reduce((f, x) => f, y => y)', 'fault'],
  ['[x => x][0]', 'fault'],
  ['{f: x => x}.f(1)', 'fault'],
  ["{map: 'x'}.map(x => x)", 'error'],
  ['n.toString.constructor("x")', 'fault'],
  ['n.toLocaleString()', 'fault'],
  ['text.toString(evil)', { value: 'text' }],
  ['now().constructor("x")', 'fault'],
  ['size?.("abc")', { value: 3 }],
  ['a.b?.()', 'fault'],
]

const syntax = [
  'a.b = 2',
  'a["b"] = 2',
  'a.b += 1',
  'a ??= 1',
  'a.__proto__.polluted = 1',
  'a.b++',
  '--a.b',
  'delete a.b',
  'void 0',
  'typeof a',
  'new Date',
  'new a.constructor',
  'a in a',
  'a instanceof Object',
  'this',
  'this.constructor',
  'a, process',
  '(1, eval)("1")',
  'a; process',
  'a`x`',
  'size`x`',
  'a.constructor`return process`',
  '`${a`',
  '`${a}}${`',
  '/(a+)+$/',
  '/x/.constructor',
  'function () {}',
  'function* () {}',
  'class {}',
  'async () => 1',
  'yield a',
  'await a',
  '{get x() { return 1 }}',
  '{set x(v) {}}',
  '{async x() {}}',
  '{[x => x]: 1}',
  '[...x => x]',
  'var x = 1',
  'let x',
  'throw a',
  'while (1) {}',
  'for (;;) {}',
  'label: a',
  '#a',
  'a.#b',
  'a\\u002econstructor',
  'import.meta(1)',
  'new.target',
  'import.meta',
  'super.x()',
  'with (a) b',
  'a <!-- b',
  'a ||= b',
  '(a) => { while (true) {} }',
  'list.map(({constructor}) => constructor)',
  'list.map(([x]) => x)',
  'list.map((x = process) => x)',
  'list.map(this => 1)',
  'list.map(undefined => 1)',
  'list.map(...[x => x])',
  '1n',
  '0b1',
  '~a',
  'a & b',
  '🦄',
]

const endless: readonly string[] = [
  'wide.map(x => big + x).sort()',
  'wide.map(x => big + x).filter(t => t == big).length',
  'wide.map(x => wide.map(y => spaces.trim()).length).length',
  'wide.map(x => wide.map(y => size({...many})).length).length',
  'wide.map(x => wide.map(y => size(many)).length).length',
  "'a'.repeat(1e9)",
  "'a'.repeat(1e15)",
  "'x'.padStart(1e12)",
  "'x'.padEnd(4294967296, text)",
  'big.repeat(9)',
  '`${big}${big}${big}${big}${big}${big}${big}${big}${big}`',
  '[big, big, big, big, big, big, big, big, big]',
  'big.split("").map(x => big)',
  "big.replaceAll('a', big)",
  "big.replaceAll('', 'xxxxxxxx')",
  'wide.map(x => big)',
  'wide.map(x => wide.map(y => wide.map(z => 1)))',
  'wide.map(x => wide.map(y => wide.map(z => 1).length).length).length',
  'wide.flatMap(x => wide.flatMap(y => wide))',
  'wide.reduce((sum, x) => sum + sum, text)',
  'wide.reduce((all, x) => [...all, ...all], [1])',
  'wide.reduce((all, x) => [all, all], 1)',
  'wide.reduce((all, x) => ({all, x: all}), 1)',
  'wide.reduce((all, x) => [all], 1)',
  'json(wide.reduce((all, x) => [all, all], 1))',
  'wide.reduce((all, x) => [all], 1) + ""',
  'wide.reduce((all, x) => [all, all], 1).flat(1e9)',
  'wide.reduce((all, x) => [all, all], 1).join()',
  'wide.reduce((all, x) => [...all, ...wide], []).sort((x, y) => wide.includes(x) ? 1 : -1)',
  'wide.map(x => wide.map(y => big == big + x))',
  'wide.map(x => wide.map(y => big.includes(needle)).length).length',
  'wide.map(x => wide.map(y => wide.includes(y + 0.5)).length).length',
  'wide.map(x => big.toUpperCase()).length',
  'wide.map(x => wide.map(y => big.toUpperCase()).length).length',
  'wide.map(x => encodeUri(big)).length',
  'wide.map(x => json(wide)).length',
  'wide.map(x => wide.map(y => json(wide)))',
  'wide.map(x => wide.join(big)).length',
  'wide.map(x => wide.sort()).length + wide.map(x => wide.sort()).length',
  'wide.map(x => parseJson(json(wide)))',
  'wide.map(x => [...wide, ...wide])',
  'wide.map(x => entries(wide))',
  'wide.map(x => max(...wide, ...wide))',
  'wide.map(x => [...big])',
  'wide.map(x => ({...{a: wide}, b: wide}))',
  'wide.map(x => wide.map(y => wide.at(x).toString(2).padStart(1e6)))',
  "parseJson('['.repeat(100000) + ']'.repeat(100000))",
  "parseJson('['.repeat(1e6))",
  "'9'.repeat(1e6) * 1 + wide.map(x => wide.map(y => big == big + x + y).length).length",
  'wide.map(x => wide.reverse().map(y => x)).length * wide.map(x => wide.reverse().map(y => x)).length',
]

describe('reading', () => {
  it.each(reads)('%s', (source, outcome) => {
    expect(attempt(source, data)).toEqual(outcome)
  })
})

describe('calling', () => {
  it.each(calls)('%s', (source, outcome) => {
    expect(attempt(source, data)).toEqual(outcome)
  })
})

describe('syntax', () => {
  it.each(syntax)('%s', (source) => {
    expect(attempt(source, data)).toBe('fault')
  })
})

describe('size and time', () => {
  it.each(endless)('%s', (source) => {
    expect(attempt(source, data)).toBe('error')
  })

  it('do not stop honest work', () => {
    expect(
      evaluate(
        'wide.map(x => ({id: x, text: `no. ${x}`})).filter(row => row.id % 2 == 0).sort((x, y) => y.id - x.id).map(row => row.text).join().length',
        data,
      ),
    ).toBe(8444)
    expect(evaluate('wide.map(x => number(spaces)).length', data)).toBe(2000)
    expect(evaluate("wide.reduce((sum, x) => sum + x + ',', '').length", data)).toBe(8890)
    expect(evaluate('json({big, all: [big]}).includes(\'"all"\')', data)).toBe(true)
    expect(evaluate('{body: big, copy: big.toUpperCase()}.copy.length', data)).toBe(500_000)
  })
})

describe('keys that mean something to JavaScript', () => {
  it.each([
    '{__proto__: {polluted: 1}}',
    "{'__proto__': {polluted: 1}}",
    '{[p]: {polluted: 1}}',
    '{["__pro" + "to__"]: {polluted: 1}}',
    'parseJson(\'{"__proto__": {"polluted": 1}}\')',
    '{...parseJson(\'{"__proto__": {"polluted": 1}}\')}',
  ])('%s is data', (source) => {
    attempt(source, data)
    const value = evaluate(source, data)
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.entries(value ?? {})).toEqual([['__proto__', { polluted: 1 }]])
  })

  it.each<[string, Json]>([
    ['{...evil}.toString', 'x'],
    ["evil + ''", JSON.stringify(data['evil'])],
    ['`${evil}`.length > 0', true],
    ['evil == 1', false],
    ['evil * 1', null],
    ['evil < 2', false],
    ["[evil, 'b'].sort().length", 2],
    ['[evil].join() == json(evil)', true],
    ['{[evil]: 1}[evil]', 1],
    ['a[evil]', null],
    ['text.includes(evil)', false],
    ['text.at(evil)', 't'],
    ['text.repeat(evil)', ''],
    ['max(evil, 1)', null],
    ['size(evil)', 8],
    ['keys(evil)[0]', '__proto__'],
    ['entries(evil)[0][1].polluted', 1],
    ['evil.length', 1e9],
    ['[evil].flat().length', 1],
    ['string(evil) == json(evil)', true],
    ['number(evil)', null],
    ['date(evil)', null],
    ['boolean(evil)', true],
    ['evil.then', 1],
    ["evil['Symbol.iterator']", 1],
    ['[evil].includes(evil)', true],
  ])('%s', (source, value) => {
    expect(attempt(source, data)).toEqual({ value })
  })

  it('and are so in templates', () => {
    expect(compileTemplate('${evil}').evaluate(scopeOf(data))).toBe(data['evil'])
    expect(compileTemplate('<${a.constructor}${a.__proto__}>').evaluate(scopeOf(data))).toBe('<>')
  })
})
