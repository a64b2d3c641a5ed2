// The bound of work: the worst that each function can be given is refused or done within the budget, by counting and
// never by the clock.
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { compileExpression } from '../../../src/definitions/expressions/compile.ts'
import { ExpressionError } from '../../../src/definitions/expressions/expression.ts'
import { MAX_TURN_STEPS, WorkBudget } from '../../../src/definitions/work-budget.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { deepFreeze, evaluate, scopeOf } from './evaluate.ts'

const MIB = 1 << 20
/** As data comes out of a request: in one piece, not put together. */
const given = <T extends Json>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

const twice = [given('x'.repeat(100_000)), given('x'.repeat(100_000))]
const data: JsonObject = deepFreeze({
  a: given('a'.repeat(MIB)),
  b: given('a'.repeat(MIB)),
  spaces: ' '.repeat(MIB),
  comma: given('a,'.repeat(MIB / 2)),
  unicode: given('é日'.repeat(MIB / 4)),
  unicode2: given('é日'.repeat(MIB / 4)),
  tail: given(`${'a'.repeat(1000)}b`),
  head: given(`b${'a'.repeat(1000)}`),
  marks: given(`a${'\u0301\u0323'.repeat(100_000)}`),
  marks2: given(`a${'\u0301\u0323'.repeat(100_000)}x`),
  ligature: given('\ufdfa'.repeat(MIB / 3)),
  letters: given('a\u0345'.repeat(MIB / 4)),
  sigma: given('Σ'.repeat(MIB / 2)),
  controls: given('\u0001'.repeat(MIB / 2)),
  digits: '1234567890'.repeat(100),
  lists: '['.repeat(MIB),
  objects: `[${'{},'.repeat(MIB / 3)}{}]`,
  keyed: `{${numbers(90_000)
    .map((key) => `"k${key}":1`)
    .join()}}`,
  indexed: `{${numbers(90_000)
    .map((key) => `"${key * 3}":1`)
    .join()}}`,
  alike: numbers(10_000).map((index) => twice[index % 2] ?? ''),
  texts: numbers(10_000).map((index) => `${'the same beginning '.repeat(5)}${index}`),
  many: given(Object.fromEntries(numbers(90_000).map((key) => [`k${key}`, key]))),
  list: numbers(300_000),
  r: numbers(1000),
  deep: given(JSON.parse('['.repeat(150) + ']'.repeat(150)) as Json),
  $request: { headers: numbers(5000).map((index) => ({ name: `X-${String(index).padStart(200, '0')}`, value: 'v' })) },
  wanted: `x-${'0'.repeat(199)}z`,
})

const WORST = [
  'a == b',
  'a === b',
  'a < b',
  'a >= b',
  'unicode == unicode2',
  'a.includes(tail)',
  'a.indexOf(head)',
  'a.lastIndexOf(tail)',
  'a.lastIndexOf(head)',
  'a.split(tail)',
  'a.replace(head, "")',
  'a.replaceAll(tail, "")',
  'comma.split(",")',
  'a.split("")',
  '[...a]',
  'comma.replaceAll(",", "")',
  'comma.replaceAll("", "-")',
  'marks.normalize()',
  'marks.normalize("NFKD")',
  'marks.localeCompare(marks2)',
  'unicode.localeCompare(unicode2)',
  'ligature.normalize("NFKC")',
  'letters.normalize()',
  'letters.localeCompare(letters)',
  'sigma.toLowerCase()',
  'unicode.toUpperCase()',
  'spaces.trim()',
  'texts.sort()',
  'alike.sort()',
  'alike.includes(a.slice(0, 100000))',
  'alike.indexOf("x")',
  'list.sort()',
  'list.sort((x, y) => y - x)',
  'list.join()',
  'list.concat(list)',
  'list.reverse()',
  'list.lastIndexOf(-1)',
  'max(...list)',
  'keys(many)',
  'values(many)',
  'entries(many)',
  'size(many)',
  '({...many})',
  'json(many)',
  'json(list)',
  'json(controls)',
  '`${many}`',
  'parseJson(lists)',
  'parseJson(objects)',
  'parseJson(keyed)',
  'parseJson(indexed)',
  'encodeUri(unicode)',
  'decodeUri(encodeUri(unicode))',
  'base64(unicode)',
  'fromBase64(base64(a))',
  'number(digits)',
  'digits * digits',
  '(5e-324).toString(2)',
  '(0.5).toFixed(100)',
  'uuid()',
  'now().toISOString()',
  '$request.headers[wanted]',
  'a.padStart(4000000)',
  'a.repeat(3)',
  'json(deep)',
  'a[a]',
  'many[a]',
  '{[a]: 1}',
  'a + b',
  'date(a)',
  'boolean(a)',
]

/** Milliseconds of processor time; a collection of garbage may fall into it. */
function effort(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user } = process.cpuUsage(before)
  return user / 1000
}

function attempt(source: string, scope = scopeOf(data)): 'done' | 'refused' {
  const expression = compileExpression(source)
  try {
    expression.evaluate(scope)
    return 'done'
  } catch (error) {
    expect(error).toBeInstanceOf(ExpressionError)
    return 'refused'
  }
}

/** The whole budget is 30 to 100 ms of a processor. What isn't paid for takes seconds. */
const STALL_MS = 600

describe('the worst of each function', () => {
  it.each(WORST)('%s, once and in a loop', (source) => {
    expect(effort(() => attempt(source))).toBeLessThan(STALL_MS)
    expect(
      effort(() => {
        expect(attempt(`r.map(x => r.map(y => r.map(z => [${source}].length)))`)).toBe('refused')
      }),
    ).toBeLessThan(STALL_MS)
  })

  it('is no walk through all pieces of a text at each look into it', () => {
    const source = 'list.reduce((text, x) => (text + "b").charAt(0) + text, "")'
    expect(effort(() => expect(attempt(source)).toBe('refused'))).toBeLessThan(200)
  })

  it('holds for all expressions of a turn together', () => {
    const scope = scopeOf(data)
    const took = effort(() => {
      const outcomes = numbers(400).map(() => attempt('r.map(x => a == b).length', scope))
      expect(outcomes.at(-1)).toBe('refused')
    })
    expect(took).toBeLessThan(STALL_MS)
    expect(scope.budget.exhausted).toBe(true)
  })
})

const text = fc.string({ unit: 'grapheme', maxLength: 2000 })
const words = fc.array(fc.string({ maxLength: 12 }), { maxLength: 300 })
const rows = fc.array(
  fc.record({
    name: fc.string({ maxLength: 20 }),
    price: fc.double({ noNaN: true }),
    tags: fc.array(fc.string({ maxLength: 8 }), { maxLength: 5 }),
  }),
  { maxLength: 300 },
)

describe('honest work', () => {
  it.each([
    'text.trim().toLowerCase().split(" ").filter(word => word != "").length',
    'text.normalize("NFC") == text',
    'text.localeCompare(text)',
    'words.sort().join(", ")',
    'words.sort((x, y) => x.localeCompare(y))[0]',
    'words.filter(word => text.includes(word)).map(word => word.toUpperCase())',
    'rows.map(row => ({...row, total: row.price * 1.2}))',
    'rows.filter(row => row.tags.includes("a")).sort((x, y) => y.price - x.price)',
    'rows.reduce((sum, row) => sum + row.price, 0).toFixed(2)',
    'json(rows)',
    'parseJson(json(rows))[0]?.name',
    'rows.flatMap(row => row.tags).length',
    'entries(rows[0]).map(entry => `${entry[0]}=${entry[1]}`).join("&")',
    'base64(encodeUri(text.toUpperCase().slice(0, 10).replaceAll("\\ud800", "")))',
  ])('%s passes with a hundred like it in one turn', (source) => {
    fc.assert(
      fc.property(text, words, rows, (text, words, rows) => {
        const scope = { ...scopeOf(given({ text, words, rows })), budget: new WorkBudget() }
        try {
          compileExpression(source).evaluate(scope)
        } catch (error) {
          expect(String(error)).toMatch(/malformed/)
        }
        expect(scope.budget.spent).toBeLessThan(MAX_TURN_STEPS / 20)
      }),
      { numRuns: 60 },
    )
  })

  it('goes through a whole request of 1 MiB', () => {
    for (const source of [
      'a.trim().length',
      'a.toUpperCase().length',
      'a.includes("something that is not there at all")',
      'comma.split(",").length',
      'parseJson(json(texts.slice(0, 3000))).length',
      'texts.map(t => t.length).length',
      'base64(a).length',
      'spaces.trim()',
    ]) {
      expect(attempt(source), source).toBe('done')
    }
  })

  it('means what JavaScript means where it searches in a way of its own', () => {
    const half = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 60 })
    const long = fc.tuple(half, fc.integer({ min: 0, max: 60 })).map(([part, times]) => part.repeat(times))
    fc.assert(
      fc.property(long, half, fc.integer({ min: -5, max: 4000 }), (text, part, from) => {
        for (const wanted of [part, part.repeat(9), text.slice(3, 800)]) {
          const scope = { text, wanted, from }
          expect(
            evaluate(
              '[text.indexOf(wanted, from), text.lastIndexOf(wanted, from), text.lastIndexOf(wanted), text.includes(wanted)]',
              scope,
            ),
          ).toEqual([
            text.indexOf(wanted, from),
            text.lastIndexOf(wanted, from),
            text.lastIndexOf(wanted),
            text.includes(wanted),
          ])
          expect(
            evaluate(
              '[text.split(wanted), text.split(wanted, 2), text.replace(wanted, "<$&>"), text.replaceAll(wanted, "-")]',
              scope,
            ),
          ).toEqual([
            text.split(wanted),
            text.split(wanted, 2),
            text.replace(wanted, () => '<$&>'),
            text.replaceAll(wanted, '-'),
          ])
        }
      }),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(1, 2, 'x')),
        fc.oneof(fc.integer({ min: -9, max: 9 }), fc.constantFrom(1.5, -1.5)),
        (list, from) => {
          expect(
            evaluate(
              '[list.lastIndexOf(1, from), list.lastIndexOf("x"), list.indexOf(2, from), list.includes("x", from)]',
              { list, from },
            ),
          ).toEqual([list.lastIndexOf(1, from), list.lastIndexOf('x'), list.indexOf(2, from), list.includes('x', from)])
        },
      ),
    )
  })
})

describe('a process that is held up', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('makes no expression fail: each look at a clock finds two seconds gone', () => {
    let passed = 0
    vi.spyOn(performance, 'now').mockImplementation(() => {
      passed += 2000
      return passed
    })
    vi.spyOn(Date, 'now').mockImplementation(() => {
      passed += 2000
      return passed
    })
    expect(evaluate('r.map(x => r.slice(0, 50).map(y => x + y).length).length', data)).toBe(1000)
  })
})
