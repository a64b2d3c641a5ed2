// What expressions and templates mean.
import { describe, expect, it } from 'vitest'
import { compileExpression, compileTemplate } from '../../../src/definitions/expressions/compile.ts'
import { ExpressionError, ExpressionFault } from '../../../src/definitions/expressions/expression.ts'
import type { Json, JsonObject } from '../../../src/model/json.ts'
import { deepFreeze, evaluate, fill, NOW, UUID } from './evaluate.ts'

const data: JsonObject = deepFreeze({
  a: 5, b: 2, text: 'Hello', empty: '', nothing: null, yes: true, list: [3, 1, 2], size: 7,
  order: { id: 'o-1', total: 12.5, lines: [{ sku: 'x', count: 2 }, { sku: 'y', count: 3 }], 'due date': '2024-02-29' },
  pairs: [{ name: 'x', value: 1 }, { name: 'X', value: 2 }, { name: 'x', value: 3 }, { name: 'bare' }, 7],
  $request: {
    headers: [{ name: 'Host', value: 'example.org' }, { name: 'x-ref', value: 'first' }, { name: 'X-Ref', value: 'second' }, { name: 'constructor', value: 'c' }],
    cookies: [{ name: 'sid', value: 'abc' }],
  },
  $response: { headers: { 'Content-Type': 'text/plain' } },
  odd: { toString: 'mine', valueOf: 1, toJSON: 'plain', constructor: 'own' },
})

const table: { readonly [topic: string]: readonly (readonly [source: string, result: Json])[] } = {
  literals: [
    ['1', 1], ['1.5e3', 1500], ['.5', 0.5], ["'it\\'s'", "it's"], ['"a\\nb"', 'a\nb'], [String.raw`'\u0041\x42\u{1F600}\0'`, 'AB😀\0'], ["'\\\n'", ''],
    ['true', true], ['null', null], ['undefined', null], ['[]', []], ['({})', {}], ['{}', {}], ["{a: 1, 'b c': [a], [text + 1]: null}", { a: 1, 'b c': [5], Hello1: null }],
    ['{a, b}', { a: 5, b: 2 }], ['{...order, id: 1}.id', 1], ['[...list, 4,]', [3, 1, 2, 4]], ["[...'a😀']", ['a', '😀']], ['{...nothing}', {}],
    ['{true: 1, null: 2, this: 3, 4: 5}', { true: 1, null: 2, this: 3, 4: 5 }], ['`${a} of ${order.id}: ${`<${b}>`}`', '5 of o-1: <2>'], ['`a\\`\\${}\\u0041`', 'a`${}A'],
    ['`{${ {a: 1}.a }}`', '{1}'], ['`$${a}$`', '$5$'],
  ],
  arithmetic: [
    ['1 + 2 * 3', 7], ['(1 + 2) * 3', 9], ['2 ** 3 ** 2', 512], ['(-2) ** 2', 4], ['-b', -2], ['+"5"', 5], ['7 % 4', 3], ["'5' * 2", 10], ["'5' + 2", '52'], ['1 / 0', null],
    ['0 / 0', null], ['-0', 0], ["'a' * 1", null], ['order * 2', null], ['[5] * 1', null], ["order.lines[0] + ''", '{"sku":"x","count":2}'], ["[1, 2] + ''", '[1,2]'],
    ['null + 1', 1], ['undefined + 1', null], ['1 - -1', 2], ['!a', false], ['!!a', true], ["list.map(x => x / 0).reduce((p, q) => p + q, 0)", null],
    ['order.lines.map(l => l.missing).reduce((p, q) => p + q, 0)', null],
  ],
  comparison: [
    ['a > b', true], ["'10' < '9'", true], ["'10' < 9", false], ['null == undefined', true], ['null === undefined', false], ["'5' == 5", true], ["'5' === 5", false],
    ['true == 1', true], ['nothing == 0', false], ['order == order', true], ['order === {...order}', false], ["odd == 'mine'", false], ['odd < 2', false], ['a !== b', true], ['a != 5', false],
    ['undefined <= undefined', false], ['null >= 0', true],
  ],
  logic: [
    ['nothing ?? a', 5], ["empty || 'x'", 'x'], ["empty ?? 'x'", ''], ['a && text', 'Hello'], ['a > 1 ? text : b', 'Hello'], ['nothing ? 1 : empty ? 2 : 3', 3],
    ['false && missing.x.trim()', false], ['true ? false ? 1 : 2 : 3', 2], ['a?.5:1', 0.5], ['(nothing ?? b) || a', 2], ['nothing ?? (empty || a)', 5], ['(a && nothing) ?? b', 2],
  ],
  reading: [
    ['order.total', 12.5], ["order['due date']", '2024-02-29'], ['order.lines[1].sku', 'y'], ["order.lines['1'].sku", 'y'], ['order.lines.length', 2], ['text[1]', 'e'], ['text.length', 5],
    ['order.missing', null], ['missing.deeper.still', null], ['nothing.x', null], ['nothing?.x.y', null], ['nothing?.x.trim()', null], ['nothing?.trim().length', null],
    ["nothing?.['x'].y.trim()", null], ['order?.lines?.[0]?.sku', 'x'], ['list[9]', null], ['list[-1]', null], ['list[0.5]', null], ["list['01']", null], ['a.b', null], ['yes.length', null],
    ['odd.constructor', 'own'], ['odd.toString', 'mine'], ['size', 7], ['size(text) + size', 12], ['order[order.id]', null], ['text.trim', null], ['text.trim?.()', 'Hello'],
    ['order.trim?.()', null],
  ],
  'named elements': [
    ["pairs['x']", 1], ['pairs.X', 2], ["pairs['bare']", null], ["pairs['missing']", null], ["$request.headers['host']", 'example.org'], ['$request.headers.HOST', 'example.org'],
    ["$request['headers']['X-REF']", 'first'], ["$request?.headers?.['x-ref']", 'first'], ["$request.headers['CONSTRUCTOR']", 'c'], ['$request.headers.length', 4],
    ['$request.headers[0].name', 'Host'], ["$request.cookies['sid']", 'abc'], ["$request.cookies['SID']", null], ["$response.headers['content-type']", 'text/plain'],
    ["$request.headers.filter(h => h.name === 'Host').length", 1], ["[{$request: 1}].map($request => $request.headers)", [null]],
  ],
  texts: [
    ['text.toUpperCase()', 'HELLO'], ["text.slice(1, -1).concat('!', a)", 'ell!5'], ["text['at'](-1)", 'o'], ["text.indexOf('l')", 2], ["text.lastIndexOf('l')", 3], ["text.includes('ell')", true],
    ["text.startsWith('He') && text.endsWith('lo')", true], ["' x '.trim()", 'x'], ["' x '.trimStart() + ' x '.trimEnd()", 'x  x'], ["'7'.padStart(3, '0')", '007'], ["'7'.padEnd(2)", '7 '],
    ["'ab'.repeat(2)", 'abab'], ["'a,b,c'.split(',', 2)", ['a', 'b']], ["'abc'.split('')", ['a', 'b', 'c']], ["'a.b.c'.replace('.', '$&$1')", 'a$&$1b.c'], ["'a.b.c'.replaceAll('.', '$&')", 'a$&b$&c'],
    ["'ab'.replaceAll('', '-')", '-a-b-'], ["'a'.charCodeAt(0) + 'a'.codePointAt(0)", 194], ["'a'.charAt(9)", ''], ["'a'.localeCompare('b')", -1], [String.raw`'e\u0301'.normalize().length`, 1],
    ["text.substring(3, 1)", 'el'], ["'abc'.split()", ['abc']],
  ],
  lists: [
    ['list.sort()', [1, 2, 3]], ['[10, 9, 1].sort()', [1, 10, 9]], ['list.sort((x, y) => y - x)', [3, 2, 1]], ['list.reverse()', [2, 1, 3]], ['list', [3, 1, 2]],
    ['list.map((x, i) => x * 10 + i)', [30, 11, 22]], ['list.filter(x => x > 1)', [3, 2]], ['list.find(x => x < 3)', 1], ['list.findIndex(x => x === 2)', 2], ['list.findLast(x => x < 3)', 2],
    ['list.some(x => x > 2) && list.every(x => x > 0)', true], ['list.reduce((sum, x) => sum + x)', 6], ['list.flatMap(x => [x, [x]])', [3, [3], 1, [1], 2, [2]]], ['[1, [2, [3]]].flat()', [1, 2, [3]]],
    ['[1, [2, [3]]].flat(9)', [1, 2, 3]], ['list.join()', '3,1,2'], ["[null, 1, undefined, order.lines[0]].join('-')", '-1--{"sku":"x","count":2}'], ['list.includes(1)', true], ['list.indexOf(9)', -1],
    ['list.lastIndexOf(2)', 2], ['list.concat(4, [5, [6]])', [3, 1, 2, 4, 5, [6]]], ['list.at(-1)', 2], ['list.slice(1)', [1, 2]], ["['b', undefined, 'a'].sort()", ['a', 'b', null]],
    ['list.map(x => ({x, big: x > 1 ? true : false}))', [{ x: 3, big: true }, { x: 1, big: false }, { x: 2, big: true }]], ['list.map(() => a ? b : 0)', [2, 2, 2]],
    ['[[1, 2], [3]].map(row => row.map(x => x * row.length))', [[2, 4], [3]]], ['order.lines.map(line => line.count).reduce((x, y) => x + y, 0)', 5], ['list.map(a => a + b)', [5, 3, 4]],
    ['[undefined, 0 / 0, -1 / 0]', [null, null, null]], ['{a: undefined, b: [0 / 0]}', { a: null, b: [null] }], ['[undefined][0] === undefined', true],
  ],
  'numbers and dates': [
    ['order.total.toFixed(2)', '12.50'], ['(255).toString(16)', 'ff'], ['order.total.toPrecision(2)', '13'], ['now()', NOW], ['now().toISOString()', '2024-02-29T12:30:15.007Z'], ['date()', NOW],
    ["date('2024-02-29')", Date.UTC(2024, 1, 29)], ["date('2024-02-29T01:00')", Date.UTC(2024, 1, 29, 1)], ["date('2024-02-29T01:00:00.5+02:00')", Date.UTC(2024, 1, 28, 23, 0, 0, 500)],
    ["date('1700000000000')", 1_700_000_000_000], ['date(5)', 5], ["date('soon')", null], ["date('2024-02-30')", null], ['date(nothing)', null], ['date(order.missing)', null],
    ['[now().getFullYear(), now().getMonth(), now().getDate(), now().getDay(), now().getHours(), now().getMinutes(), now().getSeconds(), now().getMilliseconds()]', [2024, 1, 29, 4, 12, 30, 15, 7]],
    ['now().getUTCHours() === now().getHours()', true], ['now().getTime() - date()', 0],
  ],
  functions: [
    ['uuid()', UUID], ['random()', 0.75], ['random(10)', 7], ["random('4')", 3], ['string(1.50)', '1.5'], ['string(nothing)', ''], ['string([1, {a: 2}])', '[1,{"a":2}]'], ['string(true)', 'true'],
    ["number(' 12 ')", 12], ["number('')", null], ["number('abc')", null], ['number(nothing)', null], ['number(true)', 1], ["boolean('false')", false], ["boolean(' FALSE')", false], ["boolean('no')", true], ["boolean('')", false],
    ['boolean(0)', false], ['boolean([])', true], ['json(order.lines)', '[{"sku":"x","count":2},{"sku":"y","count":3}]'], ['json(undefined)', 'null'], ['json(odd)', '{"toString":"mine","valueOf":1,"toJSON":"plain","constructor":"own"}'],
    ["parseJson('{\"a\":[1]}').a[0]", 1], ['keys({a: 1, b: 2})', ['a', 'b']], ['values({a: 1, b: 2})', [1, 2]], ['entries({a: 1})', [['a', 1]]], ['keys(nothing)', []], ['entries([7])', [['0', 7]]],
    ['size(list)', 3], ['size(order)', 4], ["size('😀')", 2], ['size(nothing)', 0], ['min(3, 1, 2)', 1], ['max(list)', 3], ['max(...list, 9)', 9], ['min()', null], ['abs(-2)', 2], ['round(2.5)', 3], ['floor(-2.5)', -3], ['ceil(2.1)', 3],
    ["encodeUri('a b/ü')", 'a%20b%2F%C3%BC'], ["decodeUri('a%20b%2F%C3%BC')", 'a b/ü'], ["base64('ü😀')", 'w7zwn5iA'], ["fromBase64('w7zwn5iA')", 'ü😀'], ["fromBase64(base64(''))", ''],
  ],
}

for (const [topic, rows] of Object.entries(table)) {
  describe(topic, () => {
    it.each(rows)('%s', (source, result) => {
      expect(evaluate(source, data)).toStrictEqual(result)
    })
  })
}

describe('templates', () => {
  it.each<[string, Json]>([
    ['', ''], ['plain', 'plain'], ['${a}', 5], ['${order.lines[0]}', { sku: 'x', count: 2 }], ['${nothing}', null], [' ${a}', ' 5'], ['${a}${b}', '52'], ['Hi ${nothing}${missing}${0 / 0}!', 'Hi !'],
    ['${list} ${order.lines[0]}', '[3,1,2] {"sku":"x","count":2}'], ["${'}'}-${`}${'{'}`}", '}-}{'], ["${'${'}x", '${x'], ['$a $ {a} }', '$a $ {a} }'], ['a\\${a}', 'a\\5'], ['${ {a: {b: 1}}.a.b }|', '1|'],
    ['${list.map(x => x + a)}', [8, 6, 7]], ['line\n${yes}', 'line\ntrue'],
  ])('%s', (source, result) => {
    expect(fill(source, data)).toStrictEqual(result)
  })

  it('tells the place of a fault by the whole text', () => {
    expect(() => compileTemplate('abc ${a b}')).toThrow("unexpected 'b' at character 9")
    expect(() => compileTemplate('${a} ${nope()}')).toThrow('at character 8')
    expect(() => compileTemplate('x ${')).toThrow("'${' isn't closed at character 5")
    expect(() => compileTemplate('x ${a +')).toThrow("'${' isn't closed at character 8")
    expect(() => compileTemplate('x ${(a')).toThrow("'(' isn't closed, it opens at character 5")
    expect(() => compileTemplate('x ${ }')).toThrow('an empty expression at character 6')
  })

  it.each(['${', '${}', '${a', '${a}}${', "${'}", '${a;}', '${a,b}', '${{}', '${a b}'])('refuses %s', (source) => {
    expect(() => compileTemplate(source)).toThrow(ExpressionFault)
  })
})

describe('names', () => {
  it.each<[string, string[]]>([
    ['1 + 2', []], ['a + b.c[d]', ['a', 'b', 'd']], ['list.map(x => x + y)', ['list', 'y']], ['list.map(x => x).concat(x)', ['list', 'x']], ['size(a)', ['a']], ['size', ['size']],
    ['list.map(size => size + other)', ['list', 'other']], ['{a, b: c, [d]: e, ...f}', ['a', 'c', 'd', 'e', 'f']], ['undefined ?? null', []], ["$request.headers['x']", ['$request']],
    ['`${a}${`${b}`}`', ['a', 'b']], ['xs.map(x => ys.map(y => x + y + z))', ['xs', 'ys', 'z']], ['NaN', ['NaN']], ['globalThis.process', ['globalThis']], ['naïve + 変数', ['naïve', '変数']],
  ])('of %s', (source, names) => {
    expect([...compileExpression(source).names].toSorted()).toStrictEqual(names.toSorted())
  })

  it('of a template are those of all its parts', () => {
    expect([...compileTemplate('${a} ${b.c} ${a}').names]).toStrictEqual(['a', 'b'])
    expect(compileTemplate('plain').names.size).toBe(0)
  })
})

describe('faults', () => {
  it.each([
    '', ' ', 'a b', 'a,b', '(a, b)', 'a;', ';', ',a', 'a,', '(a,)', '()', '1 +', '* 2', 'a = 1', 'a += 1', 'a++', '--a', 'a+++b', '[1,,2]', '[,]', '[1 2]', '{a: 1 b: 2}', '{a b}', '{,}', '{-a: 1}', '{(a): 1}', '{[a, b]: 1}',
    '{a.b: 1}', '{get a() {}}', '{a() {}}', '{true}', 'f(a b)', 'size(a,,b)', 'size(,)', "'open", '"open', "'a\nb'", '`open', '`${a', '`${}`', '`${a b}`', '`${a b}${}`', '(a', 'a)', '[a', 'a]', '{a', 'a}', '(a]', 'a.', 'a?.', 'a..b',
    'a.1', 'a[]', 'a[1, 2]', '#a', '@a', 'a\\u0062', '0x10', '010', '1_000', '10n', '1a', "'\\x4'", "'\\u12'", "'\\1'", "'\\u{110000}'", '/a/', 'a // b', 'a /* b */', 'a\u00a0+ b', 'a ? b', 'a ? : c', 'a : b',
    'a & b', 'a | b', 'a ^ b', '~a', 'a << 1', 'a >> 1', 'typeof a', 'void 0', 'delete a.b', 'new Date()', 'a in b', 'a instanceof b', 'this', 'this.a', 'function () {}', 'async x => x', 'await a', 'a`x`', 'a.b`x`', 'nope()', 'eval("1")',
    'constructor()', 'toString()', 'a()()', '(a => a)(1)', 'a.nope()', 'a.constructor()', 'a[b]()', "a['call']()", 'a.map()', 'a.map(b)', 'a.map(...b)', 'a.includes(x => x)', 'a.reduce(0, x => x)', 'size(x => x)', 'x => x', '() => 1',
    '[x => x]', '{a: x => x}', 'a ? x => x : b', 'a.map(x => y => y)', 'a.map((x, x) => x)', 'a.map(({x}) => x)', 'a.map([x] => x)', 'a.map((...x) => x)', 'a.map((x = 1) => x)', 'a.map(x => { x })', 'a.map(x => {})',
    'a.map((a, b, c, d, e) => a)', '...a', '(...a)', '1 + ...a', 'a ? ...b : c', '-2 ** 2', '-a.b ** 2', 'import("fs")', 'if (a) b', 'a => b || c', 'return a', 'a\n"b"', 'a ? b : ', '[...]', '{...}', '!', 'a !b', '(a) b', '[a] {b}',
  ])('%j is one', (source) => {
    expect(() => compileExpression(source)).toThrow(ExpressionFault)
  })

  it('tell the reason and the place', () => {
    expect(() => compileExpression('a + nope(1)')).toThrow(/unknown function 'nope' \(there are now, uuid, .*fromBase64\) at character 5/)
    expect(() => compileExpression('a = 1')).toThrow("unexpected '=' at character 3")
    expect(() => compileExpression('(a + [b)')).toThrow("unexpected ')' at character 8")
    expect(() => compileExpression('a + (b')).toThrow("'(' isn't closed, it opens at character 5")
  })

  it.each<[string, string]>([
    ['a ?? b || c', "parentheses are missing: '??' beside '||' or '&&' can be read in two ways, at character 8"], ['a && b ?? c', "parentheses are missing: '??' beside '||' or '&&' can be read in two ways, at character 8"],
    ['1 + -a ** 2', "parentheses are missing: a sign before '**' can be read in two ways, at character 8"], ['a ** ** b', "unexpected '**' at character 6"], ['a +', "nothing follows '+' at character 4"], ['  ', 'an empty expression at character 3'],
    ['b + default', "unexpected 'default' (a word of JavaScript's own) at character 5"], ['class', "unexpected 'class' (a word of JavaScript's own) at character 1"], ['a + new Date().x', "unexpected 'new' (a word of JavaScript's own) at character 5"],
    ['[typeof a]', "unexpected 'typeof' (a word of JavaScript's own) at character 2"], ['a in b', "unexpected 'in' (a word of JavaScript's own) at character 3"], ['import("fs")', "unexpected 'import' (a word of JavaScript's own) at character 1"],
    ['(a) += 1', "unexpected '+=' at character 5"], ['size((a), (b, a))', "unexpected ',' at character 13"], ['a.b++', "unexpected '++' at character 4"], ['a <<= 1', "unexpected '<<=' at character 3"], ['(a) & b', "unexpected '&' at character 5"],
    ['a /* b */ + c', "unexpected '/' at character 3"], ['a // b', "unexpected '/' at character 3"], ['a <!-- b', "unexpected '<' at character 3"], ['a\n--> b', "unexpected '--' at character 3"], ['a +\u00a0b', "unexpected '\u00a0' at character 4"],
    ['a + /b/', "there are no regular expressions here: unexpected '/' at character 5"], ['a\\u0062', "unexpected '\\' at character 2"], ['a.\\u{62}', "unexpected '\\' at character 3"], ["a + '\\1'", "an octal escape in '\\1' at character 5"],
    ['a + 0x1F', "'0x1F' is no decimal number, at character 5"], ['a + 1_000', "'1_000' is no decimal number, at character 5"], ['a + 10n', "unexpected '10n' at character 5"], ["a + 'b", 'unterminated string constant at character 5'],
    ['a.map(x => { x })', "a function's body is one expression (put an object in parentheses): unexpected '{' at character 12"], ['size(x => x)', 'a function can only be the first argument of a method such as map, at character 6'],
    ['a.map(x => y => z)', 'a function can only be the first argument of a method such as map, at character 14'], ['a + b`x`', 'a template with a tag at character 6'], ['b + a.includes(x => x)', 'a function can only be the first argument of a method such as map, at character 16'],
    ['a + b.map()', "'map' needs a function such as x => x.name at character 7"], ['a + b[c]()', "a method's name must be written out at character 7"], ['{a, get b() {}}', 'an object with a member that is no key and value, at character 5'],
    ['a + size(b)(1)', 'only functions and methods can be called, at character 5'],
  ])('of %j tell %s', (source, message) => {
    expect(() => compileExpression(source)).toThrow(expect.objectContaining({ message }))
  })

  it('are sources beyond the bounds', () => {
    const sources = ['a'.repeat(10_001), '['.repeat(65) + ']'.repeat(65), '!'.repeat(1999) + 'a', '!'.repeat(9999) + 'a', '1' + '+1'.repeat(900), '1' + '+1'.repeat(4000), 'a?'.repeat(600) + 'a' + ':a'.repeat(600), 'a' + '.b'.repeat(900), '`${'.repeat(2000), '('.repeat(9000)]
    for (const source of sources) {
      const started = performance.now()
      expect(() => compileExpression(source), source.slice(0, 20)).toThrow(ExpressionFault)
      expect(performance.now() - started).toBeLessThan(250)
    }
    expect(evaluate('1' + '+1'.repeat(150))).toBe(151)
    expect(evaluate('['.repeat(60) + ']'.repeat(60))).toHaveLength(1)
  })
})

describe('errors', () => {
  it.each([
    'nothing.trim()', 'missing.trim()', 'a.trim()', 'order.trim()', 'odd.toString()', 'text.map(x => x)', 'order.map(x => x)', 'yes.toString()', "'a'.repeat(-1)", "'a'.repeat(1 / 0)", 'a.toFixed(101)', '(0 / 0).toISOString()',
    "'a'.normalize('x')", '[].reduce((x, y) => x)', 'parseJson(text)', 'parseJson(a)', "parseJson('')", 'keys(text)', 'size(a)', "decodeUri('%')", "encodeUri('\\ud800')", "fromBase64('*')", "fromBase64('/w==')", 'random(0)', "random('x')",
    '[...nothing]', '[...a]', '{...text}', 'max(...a)', "text.at(0).map?.(x => x) + nothing.trim()",
  ])('%s', (source) => {
    expect(() => evaluate(source, data)).toThrow(ExpressionError)
  })
})

describe('what was given', () => {
  it('is handed on as it is, not copied', () => {
    expect(evaluate('order.lines', data)).toBe((data['order'] as JsonObject)['lines'])
  })

  it('comes back unharmed from a list that holds it many times', () => {
    expect(evaluate('[order, order]', data)).toStrictEqual([data['order'], data['order']])
  })
})
