// What was once accepted loads, and means what it meant then.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFlux, recompile } from '../../../src/definitions/compile/service.ts'
import { compileExpression, compileTemplate } from '../../../src/definitions/expressions/compile.ts'
import { ExpressionFault } from '../../../src/definitions/expressions/expression.ts'
import { Report } from '../../../src/definitions/report.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { scopeOf } from './evaluate.ts'

const data: JsonObject = {
  a: 5,
  b: 2,
  no: null,
  off: false,
  empty: '',
  list: [1, 2],
  class: 'first',
  default: { new: 1 },
  in: [3],
  new: 4,
  enum: 6,
  package: 'p',
  await: 7,
}

/** Each in JavaScript's own grammar is none, or another. */
const OLD: readonly (readonly [source: string, value: Json])[] = [
  ['no ?? off || a', 5],
  ['no ?? a || b', 5],
  ['off || no ?? a', 5],
  ['a || no ?? b', 5],
  ['no ?? a && b', 2],
  ['a ?? no && b', 5],
  ['a && no ?? b', 2],
  ['off && a ?? b', false],
  ['no ?? empty || no ?? b', 2],
  ['off || no ?? a && b', 2],
  ['a ? no ?? off || b : 1', 2],
  ['[no ?? off || a]', [5]],
  ['`${no ?? off || a}`', '5'],
  ['list.map(x => no ?? off || x)', [1, 2]],
  ["'??' + (no ?? off || '||')", '??||'],
  ['class', 'first'],
  ['default.new', 1],
  ['default?.new', 1],
  ['in[0] + new', 7],
  ['class + enum', 'first6'],
  ['{class, in}', { class: 'first', in: [3] }],
  ['{new: new, in}.new', 4],
  ['list.map(new => new + 1)', [2, 3]],
  ['list.map((in, do) => in + do)', [1, 3]],
  ['new / 2 / 2', 1],
  ['class ? new : in', 4],
  ['new.target', null],
  ['-new', -4],
  ['!delete', true],
  ['typeof', null],
  ['void ?? 3', 3],
  ['await + 1', 8],
  ['package', 'p'],
  ['list.map(x\n => x)', [1, 2]],
  ['list.map((x)\n\n=> x)', [1, 2]],
  ['{__proto__: 1, a, __proto__: 2}.a', 5],
]

const service = (expression: string): JsonObject => ({
  output: [{ name: 'out', type: 'any' }],
  input: [{ name: 'a' }, { name: 'class' }],
  tags: [`\${${expression}}`],
  states: [{ name: 'end', action: { lines: [{ type: 'set', expression, evaluate: true, to: ['out'] }] } }],
})

const meaning = (source: string, pinned: boolean): unknown => {
  const compiled = compileExpression(source, { pinned })
  try {
    return [[...compiled.names], compiled.evaluate(scopeOf(data))]
  } catch (error) {
    return String(error)
  }
}

describe('pinned', () => {
  it.each(OLD)('%s', (source, value) => {
    expect(compileExpression(source, { pinned: true }).evaluate(scopeOf(data))).toStrictEqual(value)
    expect(compileTemplate(`\${${source}}`, { pinned: true }).evaluate(scopeOf(data))).toStrictEqual(value)
  })

  it.each(OLD.filter(([source]) => !/package|await/.test(source)))('not taken any more: %s', (source) => {
    expect(() => compileExpression(source)).toThrow(ExpressionFault)
    expect(() => compileTemplate(`\${${source}}`)).toThrow(ExpressionFault)
  })

  it('names are those of the old words, too', () => {
    expect([...compileExpression('class + list.map(new => new + in)', { pinned: true }).names]).toEqual([
      'class',
      'list',
      'in',
    ])
  })

  it.each(['a b', 'a = 1', 'nope()', '2.5()', '(', 'this', '/a/', "'\\1'", '0x10', 'a'.repeat(20_000)])(
    '%j, which nothing ever took, is refused',
    (source) => {
      expect(() => compileExpression(source, { pinned: true })).toThrow(ExpressionFault)
      expect(() => compileTemplate(`x \${${source}}`, { pinned: true })).toThrow(ExpressionFault)
    },
  )

  it('in a stored definition', () => {
    for (const [expression, value] of [
      ['a ?? class || 1', 'A'],
      ['class', 'C'],
      ['nope(a)', null],
    ] as const) {
      const unit = { package: 'p', fluxName: 'S', source: service(expression), models: new Map() }
      expect(compileFlux(unit, new Report('S.flux')), expression).toBeNull()
      const flux = recompile(JSON.stringify({ ...unit, models: {} }))
      const [line] = flux.states[0]?.action.outputs ?? []
      const read = () => line?.read(scopeOf({ a: 'A', class: 'C' }))
      if (value === null) expect(read).toThrow("unknown function 'nope'")
      else expect(read()).toBe(value)
      expect(flux.tags).toHaveLength(1)
    }
  })
})

describe('what is taken now', () => {
  const part = fc.constantFrom(
    'a',
    'b',
    'no',
    'off',
    'list',
    'x',
    '1',
    "'t'",
    '`${a}`',
    '(',
    ')',
    '[',
    ']',
    '{a: ',
    '}',
    '.',
    '?.',
    '?',
    ':',
    ',',
    ' ?? ',
    ' || ',
    ' && ',
    ' + ',
    ' - ',
    '!',
    '...',
    'list.map(x => ',
    ')',
    '.class',
    '{new: 1}',
    '.in',
    'size(',
    '\n',
  )

  it('means the same when it is pinned', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')),
        (source) => {
          let now: unknown
          try {
            now = meaning(source, false)
          } catch {
            return
          }
          expect(meaning(source, true), source).toStrictEqual(now)
        },
      ),
      { numRuns: 20_000 },
    )
  })
})
