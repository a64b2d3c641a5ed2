// Whatever the text, its compilation ends soon, in work that grows with its length, and with a fault of the language's
// own.
import { describe, expect, it } from 'vitest'
import { compileExpression, compileTemplate } from '../../../src/definitions/expressions/compile.ts'
import { ExpressionFault } from '../../../src/definitions/expressions/expression.ts'
import { effortOf } from '../../support/effort.ts'

const MIB = 1 << 20
const LONGEST_EXPRESSION = 10_000
const LONGEST_TEMPLATE = 100_000

const PARTS = [
  '(',
  '((a',
  '[',
  '{',
  '{a:',
  '{[',
  '`',
  '`${',
  '`${a}',
  '${',
  'a?.',
  'a?.[',
  'a.',
  'a[',
  'a(',
  'a ?',
  'a ? b : ',
  '!',
  '- ',
  '+ ',
  'a ** ',
  'a + ',
  'a ?? ',
  'a || ',
  'a, ',
  'x => ',
  '() => ',
  'a.map(x => ',
  '...',
  '[...',
  'f(',
  ')',
  ']',
  '}',
  '/*',
  '/**/',
  '//',
  '// \n',
  '/',
  '/a/',
  '/(',
  '/[',
  '/(?<a>',
  '(?',
  '<!--',
  '-->',
  '\n-->',
  '#!',
  '\\',
  '\\u0061',
  '\\u{61}',
  'a\\u0061',
  "'",
  '"',
  "'\\",
  "'a' ",
  "'use strict';",
  "''\n",
  '\n',
  ' ',
  '\u00a0',
  '\u2028',
  '#a',
  'a.#b',
  'import(',
  'import.meta',
  'await ',
  'yield ',
  'async ',
  'async x => ',
  'async (',
  'new ',
  'new.target',
  'typeof ',
  'this.',
  'super.',
  'class {',
  'class a extends ',
  'function () {',
  'if (a) ',
  'a: ',
  'var a',
  'let [',
  'in ',
  'a = ',
  '(a = ',
  '({a} = ',
  '[[a], ',
  '1',
  '1.',
  '1e',
  '0x',
  '1_',
  '1n',
  '9'.repeat(400),
  '🦄',
  '\ud800',
  '\0',
  'a`',
  'a``',
  '``',
  '\\`',
  '`\\u`',
  '{get a() {',
  '{__proto__: 1, ',
  'a'.repeat(50),
  'x1, x2, ',
  ';',
  ';;',
  'a; ',
]

/** Milliseconds of processor time until it is refused, or compiled. */
const effort = (compile: () => unknown): number =>
  effortOf(() => {
    try {
      compile()
    } catch (error) {
      expect(error).toBeInstanceOf(ExpressionFault)
      if (error instanceof ExpressionFault) expect(error.message).toMatch(/^\S.* at character \d+$/s)
    }
  })

const repeated = (part: string, length: number) => part.repeat(Math.ceil(length / part.length)).slice(0, length)

describe('a source of the most characters', () => {
  it.each(PARTS)('%j repeated', (part) => {
    const source = repeated(part, LONGEST_EXPRESSION)
    expect(effort(() => compileExpression(source))).toBeLessThan(250)
    expect(
      effort(() => compileExpression(`a.map(x => ${source.slice(20)}`)),
      'in a call',
    ).toBeLessThan(250)
    expect(
      effort(() => compileTemplate(`\${${repeated(part, LONGEST_TEMPLATE - 2)}`)),
      'in a placeholder',
    ).toBeLessThan(250)
    expect(
      effort(() => compileTemplate(repeated(`\n\${a}\${${part}}`, LONGEST_TEMPLATE / 5))),
      'in many',
    ).toBeLessThan(400)
  })

  it('1 MiB of anything', () => {
    for (const part of PARTS) {
      const source = repeated(part, MIB)
      expect(
        effort(() => compileExpression(source)),
        part,
      ).toBeLessThan(150)
      expect(
        effort(() => compileTemplate(`\${${source}}`)),
        part,
      ).toBeLessThan(150)
    }
  })
})

describe('a template of many placeholders', () => {
  it.each(['${a}', '\n${a}', "${'a'}\r\n", '${`${a}`}'])('%j takes work in proportion to its length', (unit) => {
    const [half = '', whole = ''] = [LONGEST_TEMPLATE / 4, LONGEST_TEMPLATE / 2].map((length) =>
      unit.repeat(Math.floor(length / unit.length)),
    )
    compileTemplate(half)
    expect(effort(() => compileTemplate(whole))).toBeLessThan(effort(() => compileTemplate(half)) * 4 + 20)
  })
})

const DEEP = [
  '!'.repeat(1900),
  'new '.repeat(1900),
  `${'('.repeat(64)}${'!'.repeat(1800)}`,
  `${'{a:'.repeat(64)}${'-!'.repeat(850)}`,
  'a?'.repeat(900),
  'a**'.repeat(900),
  `${'('.repeat(64)}${'a?b:'.repeat(440)}`,
  `${'`${'.repeat(64)}${'!'.repeat(1700)}`,
  `async () => ${'await '.repeat(1400)}`,
]

describe('depth', () => {
  it.each(DEEP)('within the bounds leaves room on the stack: %s', (source) => {
    for (const nested of [source, `${source}a`]) {
      expect(() => compileExpression(nested)).toThrow(ExpressionFault)
      expect(() => compileExpression(nested)).not.toThrow(/not enough stack/)
    }
  })

  it('beyond what is left of the stack is a fault, too', () => {
    const dive = (depth: number, run: () => void): void => (depth === 0 ? run() : dive(depth - 1, run))
    let deepest = 0
    const measure = (): void => {
      deepest += 1
      measure()
    }
    expect(measure).toThrow(RangeError)
    expect(() =>
      dive(Math.floor(deepest / 2), () => compileExpression(`${'('.repeat(64)}${'!'.repeat(1800)}a`)),
    ).toThrow(/not enough stack space to parse input at character \d+/)
  })
})
