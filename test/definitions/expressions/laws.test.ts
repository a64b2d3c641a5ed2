// Laws that hold for every expression: JavaScript's own answers, nothing changed, no failure but its own.
import { runInThisContext, Script } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileExpression, compileTemplate } from '../../../src/definitions/expressions/compile.ts'
import { ExpressionError, ExpressionFault } from '../../../src/definitions/expressions/expression.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { deepFreeze, evaluate, scopeOf } from './evaluate.ts'
import { character } from '../../support/character.ts'

/** As many, or fewer where the random tests are to try little. */
const runs = (count: number) => Math.min(count, 10 * Number(process.env['FUZZ_RUNS'] ?? count))

const primitive = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, 1, -1, '', '0', '1', ' ', 'a', 'null', 'NaN', '1e3'),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.string({ maxLength: 6 }),
)
const operators = ['+', '-', '*', '/', '%', '===', '!==', '==', '!=', '<', '<=', '>', '>=', '&&', '||'] as const

/** Sources over the names a, b and c in which everything is in parentheses or safe without. */
const formula = fc.letrec<{ formula: string }>((tie) => ({
  formula: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom(
      'a',
      'b',
      'c',
      'undefined',
      'null',
      'true',
      '0',
      '2',
      '.5',
      "'x'",
      "'7'",
      '""',
      'o.p',
      'o.q.r',
      'l[1]',
      'l.length',
      'a.length',
    ),
    fc
      .tuple(tie('formula'), fc.constantFrom(...operators), tie('formula'))
      .map(([left, operator, right]) => `${left} ${operator} ${right}`),
    fc.tuple(tie('formula'), tie('formula')).map(([left, right]) => `((${left}) ?? (${right}))`),
    fc.tuple(tie('formula'), tie('formula')).map(([left, right]) => `((${left}) ** (${right}))`),
    fc.tuple(tie('formula'), tie('formula'), tie('formula')).map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
    fc.tuple(fc.constantFrom('!', '-', '+'), tie('formula')).map(([operator, operand]) => `${operator} (${operand})`),
    tie('formula').map((inner) => `(${inner})`),
    tie('formula').map((inner) => '`<${' + inner + '}>`'),
    fc.tuple(tie('formula'), tie('formula')).map(([left, right]) => `[${left}, ${right}].map((x, i) => x + i)[0]`),
    tie('formula').map((inner) => `{a: ${inner}}.a`),
  ),
})).formula

const plain = (value: unknown) =>
  typeof value === 'number' ? (Number.isFinite(value) ? value + 0 : null) : (value ?? null)

describe('on primitives', () => {
  it('means what JavaScript means', () => {
    const o = { p: 4, q: { r: 'deep' } }
    fc.assert(
      fc.property(formula, primitive, primitive, primitive, (source, a, b, c) => {
        fc.pre(!/\ba\.length/.test(source) || a !== null)
        const names = { a, b, c, o, l: [9, '8', null] }
        const expected: unknown = runInThisContext(`(a, b, c, o, l) => (${source})`)(a, b, c, o, names.l)
        expect(evaluate(source, names)).toStrictEqual(plain(expected))
      }),
      { numRuns: runs(3000) },
    )
  })
})

/** Anything that JavaScript's parser takes as one expression. */
function parses(source: string): boolean {
  try {
    return [`[\n${source}\n]`, `(\n${source}\n)`].every((text) => new Script(text))
  } catch {
    return false
  }
}

const token = fc.constantFrom(
  'a',
  'b',
  'c',
  'l',
  'x',
  'y',
  'o',
  'size',
  'map',
  'filter',
  'length',
  'constructor',
  '__proto__',
  'prototype',
  'toString',
  'this',
  'new',
  'typeof',
  'undefined',
  'null',
  'true',
  '1',
  '2.5',
  "'t'",
  '"u"',
  '`v`',
  '`${a}`',
  '`${',
  '}`',
  '+',
  '-',
  '*',
  '/',
  '%',
  '**',
  '=',
  '==',
  '===',
  '!=',
  '<',
  '>=',
  '&&',
  '||',
  '??',
  '?',
  ':',
  '?.',
  '.',
  ',',
  ';',
  '!',
  '...',
  '=>',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  'a.map(x => x)',
  'l.map(x =>',
  'size(a)',
  'a.length',
  '[a]',
  '{a: 1}',
  '(a)',
  'l[0]',
  '()',
  ' ',
  '\n',
  '++',
  '--',
  '#',
  '\\',
)
const soup = fc.array(token, { maxLength: 14 }).map((tokens) => tokens.join(' '))
const denseSoup = fc.array(token, { maxLength: 14 }).map((tokens) => tokens.join(''))

function attempt(source: string, data: JsonObject): void {
  let expression
  try {
    expression = compileExpression(source)
  } catch (error) {
    expect(error, source).toBeInstanceOf(ExpressionFault)
    return
  }
  try {
    const result = expression.evaluate(scopeOf(data))
    expect(JSON.parse(JSON.stringify(result)), source).toEqual(result)
  } catch (error) {
    expect(error, source).toBeInstanceOf(ExpressionError)
  }
}

describe('whatever the source', () => {
  const data = deepFreeze<JsonObject>({
    a: 'text',
    b: 3,
    c: { a: [1], constructor: 'own', length: 9 },
    l: [1, 'b', { x: null }],
    o: JSON.parse('{"__proto__": {"x": 1}}'),
  })

  it('fails with its own errors alone, and changes nothing', () => {
    const before = JSON.stringify(data)
    fc.assert(
      fc.property(fc.oneof(soup, denseSoup, formula), (source) => attempt(source, data)),
      { numRuns: runs(20_000) },
    )
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: character })), (source) => attempt(source, data)),
      { numRuns: runs(5000) },
    )
    expect(JSON.stringify(data)).toBe(before)
  })

  it('compiles nothing that JavaScript would not parse', () => {
    fc.assert(
      fc.property(fc.oneof(soup, denseSoup), (source) => {
        try {
          compileExpression(source)
        } catch {
          return
        }
        expect(parses(source), source).toBe(true)
      }),
      { numRuns: runs(20_000) },
    )
  })

  it('holds for templates too', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(token, fc.constantFrom('${', '}', '$')), { maxLength: 12 }).map((parts) => parts.join('')),
        (source) => {
          try {
            compileTemplate(source).evaluate(scopeOf(data))
          } catch (error) {
            expect(error instanceof ExpressionFault || error instanceof ExpressionError, source).toBe(true)
          }
        },
      ),
      { numRuns: runs(5000) },
    )
  })
})

describe('on any data', () => {
  const sources = [
    'd',
    '[d, d]',
    '{...d}',
    'json(d)',
    '`${d}`',
    'd == d',
    'd + d',
    'd < 1',
    'd.a',
    "d['name']",
    'entries(d)',
    'values(d)',
    'size(d)',
    'd.sort()',
    'd.reverse()',
    'd.flat(5)',
    'd.join()',
    'd.map(x => [x])',
    'd.concat(d)',
    'd.toUpperCase()',
    'd[d]',
    '{[d]: d}',
    'd.filter(x => x == d)',
    'string(d)',
    'number(d)',
    'date(d)',
    'boolean(d)',
    'max(d)',
    'd.split(d)',
    'd.replaceAll(d, d)',
    'd.padEnd(20, d)',
    'd.toISOString()',
    '$request.headers[d]',
    'parseJson(d)',
    'parseJson(json(d))',
    'base64(json(d))',
    'fromBase64(d)',
    'encodeUri(d)',
    'decodeUri(d)',
  ].map((source) => compileExpression(source))

  it('never changes it, and gives plain data or its own error', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(sources.length - 1), (value, index) => {
        const d = deepFreeze(JSON.parse(JSON.stringify(value)) as Json)
        try {
          const result = sources[index]?.evaluate(scopeOf({ d, $request: { headers: d } }))
          expect(JSON.parse(JSON.stringify(result))).toEqual(result)
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError)
        }
      }),
      { numRuns: runs(5000) },
    )
  })

  it('reads back as JSON what was written as JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const d = JSON.parse(JSON.stringify(value)) as Json
        expect(evaluate('parseJson(json(d))', { d })).toEqual(d)
      }),
    )
  })
})
