import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeWebhookBody } from '../../src/http/webhooks/body.ts'
import { decodeXml } from '../../src/http/formats/xml/decode.ts'
import { encodeXml } from '../../src/http/formats/xml/encode.ts'
import { FluxError } from '../../src/model/failure.ts'
import { character } from '../support/character.ts'
import { effortOf } from '../support/effort.ts'

const DEPTH = 64
const LIMITS = { maxDepth: DEPTH, maxValues: 1_000_000 }
const encode = (value: unknown) => encodeXml(value, 'response')
const decode = (text: string) => decodeXml(text, LIMITS)
const decodeForeign = (text: string) => decodeXml(text, { ...LIMITS, foreign: true })
/** Data as JSON knows it: no -0, and keys in the order in which an object keeps them. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const line = (text: string) => text.replace('<?xml version="1.0" encoding="UTF-8"?>\n', '')

const unit = fc.constantFrom(
  'a',
  'é',
  '\u0000',
  '\u0008',
  '\t',
  '\n',
  '\r',
  '\u001f',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ud800',
  '\udfff',
  '\ufffe',
  '\uffff',
  '😀',
  ' ',
  '<',
  '>',
  '&',
  '"',
  "'",
  '\\',
  '\\u0041',
  ']]>',
  '<![CDATA[',
  '<!--',
  '&amp;',
  '&#65;',
  'xml',
  ':',
  '-',
  '1',
)
const text = fc.oneof(fc.string({ unit: character }), fc.string({ unit }), fc.string())
const key = fc.oneof(
  text,
  fc.constantFrom(
    'item',
    'entry',
    'type',
    'name',
    'escaped',
    '',
    '#text',
    '#cdata',
    ':@',
    '@type',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'preț',
    '㐀',
    'አማርኛ',
    '𠀀',
    'a'.repeat(1000),
    'a'.repeat(1001),
    'a\u1680',
    '\u1680',
    'a\uFEFFb',
    'xml',
    'XmlThing',
    'xmlns',
    'a:b',
    '1a',
    'a b',
    '-',
    '.',
    'é',
    '0',
    '17',
    '<',
  ),
)
const leaf = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('true', 'null', '007', '1', '', ' ', '\n', 5e-324, 1.7976931348623157e308, 0.1, 1e21),
)
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 6 }, leaf, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
})).value

/** Values that are written and read again. */
const VALUES = 5 * Number(process.env['FUZZ_RUNS'] ?? 400)

describe('XML', () => {
  test('gives back the JSON that it was made of, whatever that is', { timeout: 30_000 + 5 * VALUES }, async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const expected = asJson(value)
        expect(JSON.stringify(decode(encode(expected)))).toBe(JSON.stringify(expected))
      }),
      { numRuns: VALUES },
    )
  })

  test('of a long list, and of a large object, is the same', () => {
    const list = Array.from({ length: 1000 }, (_, index) => ({ index, text: 'x'.repeat(200), list: [{ a: null }, []] }))
    const text = encodeXml(list, 'contexts')
    expect(decode(text)).toEqual(list)
    const whole = encode({ list })
    expect(line(text)).toBe(
      line(whole).replace('<response><list', '<contexts').replace('</list></response>', '</contexts>'),
    )
    const object = {
      a: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, { b: [index] }])),
    }
    expect(decode(encode(object))).toEqual(object)
  })

  test('is written however deep it nests', async () => {
    let deep: unknown = 1
    for (let level = 0; level < 190; level++) deep = [deep]
    expect(decodeXml(encode({ deep }), { maxDepth: 200, maxValues: 100_000 })).toEqual({ deep })
  })

  test('gives back what nests deepest', async () => {
    let deep: unknown = 'x'
    for (let level = 0; level < DEPTH; level++) deep = level % 2 === 0 ? [deep] : { a: deep }
    expect(decode(encode(deep))).toEqual(deep)
    for (const deeper of [encode({ a: deep }), encode([deep])]) expect(() => decode(deeper)).toThrow('nested too deep')
  })

  test.each<[string, unknown, string]>([
    ['a field is an element', { a: 'b' }, '<response><a>b</a></response>'],
    [
      'a list holds items',
      { a: ['b', 1] },
      '<response><a type="array"><item>b</item><item type="number">1</item></a></response>',
    ],
    [
      "what text can't tell has a type",
      { a: null, b: true, c: [], d: {}, e: '' },
      '<response><a type="null"/><b type="boolean">true</b><c type="array"/><d type="object"/><e/></response>',
    ],
    [
      'an object that looks like a list says that it is none',
      { item: 'x' },
      '<response type="object"><item>x</item></response>',
    ],
    [
      "a name that isn't XML's is an entry",
      { 'a b': 1, '': 2, 'x:y': 3, xmlish: 4 },
      '<response><entry name="a b" type="number">1</entry><entry name="" type="number">2</entry><entry name="x:y" type="number">3</entry><entry name="xmlish" type="number">4</entry></response>',
    ],
    [
      'a name that not every reader takes is one, too',
      { preț: 1, 㐀: 2, [`a${'b'.repeat(999)}`]: 3, [`a${'b'.repeat(1000)}`]: 4 },
      `<response><entry name="preț" type="number">1</entry><entry name="㐀" type="number">2</entry><a${'b'.repeat(999)} type="number">3</a${'b'.repeat(999)}><entry name="a${'b'.repeat(1000)}" type="number">4</entry></response>`,
    ],
    ['markup is written as references', { a: '<&>\r' }, '<response><a>&lt;&amp;&gt;&#13;</a></response>'],
    [
      'what XML forbids is escaped, and marked as such',
      { a: '\u0000\\', '\u0001': '\uffff' },
      '<response><a escaped="text">\\u0000\\\\</a><entry name="\\u0001" escaped="name text">\\uffff</entry></response>',
    ],
    ['a backslash alone is left alone', { a: 'C:\\temp\\u0041' }, '<response><a>C:\\temp\\u0041</a></response>'],
  ])('%s', async (_, value, expected) => {
    expect(line(encode(value))).toBe(expected)
    expect(decode(expected)).toEqual(value)
  })

  test.each<[string, string, unknown]>([
    [
      'without types: texts, fields and lists',
      '<x><a>1</a><b><c>d</c></b><e><item>f</item><item><g/></item></e></x>',
      { a: '1', b: { c: 'd' }, e: ['f', { g: '' }] },
    ],
    [
      'laid out over lines',
      '<?xml version="1.0"?>\n<!-- hello -->\n<x>\n  <a>1</a>\n  <b>\n    <item>2</item>\n  </b>\n</x>\n',
      { a: '1', b: ['2'] },
    ],
    ['CDATA and references', '<x><a><![CDATA[<b>&amp;]]> &lt;&#65;&#x1F600;&apos;</a></x>', { a: "<b>&amp; <A😀'" }],
    [
      'CDATA that speaks of a document type',
      '<x><a><![CDATA[<!DOCTYPE html>]]></a><!-- <!DOCTYPE x> --></x>',
      { a: '<!DOCTYPE html>' },
    ],
    [
      'names of all languages, and of any length',
      `<x><preț>1</preț><አማርኛ/><𠀀 y·z="1"/><a${'b'.repeat(1000)}/></x>`,
      { preț: '1', አማርኛ: '', 𠀀: '', [`a${'b'.repeat(1000)}`]: '' },
    ],
    ['references padded with zeros', '<x>&#00000000065;&#x000000042;</x>', 'AB'],
    [
      'instructions and comments, whatever is in them',
      '<?a "?><x><?b it\'s?><a>1<!-- <b> -->2<?c ">"?>3</a><?d?></x><!---->',
      { a: '123' },
    ],
    [
      'several elements of one name as a list, in their order',
      '<x><line>1</line><id>7</id><line><a>2</a></line><entry name="line" type="number">3</entry></x>',
      { line: ['1', { a: '2' }, 3], id: '7' },
    ],
    ['lists of lists', '<x><a><item>1</item></a><a><item>2</item><item>3</item></a></x>', { a: [['1'], ['2', '3']] }],
    [
      'several items of an object as its field',
      '<x><a>1</a><item>2</item><item>3</item></x>',
      { a: '1', item: ['2', '3'] },
    ],
    ["white space that XML doesn't know, as text", '<x><a>\u00A0</a><b>\u2003</b></x>', { a: '\u00A0', b: '\u2003' }],
    ['> in an attribute', '<x a="b>" b=\'"\'><c d = "1"\n/></x >', { c: '' }],
    ['line ends of any kind', '<x><a>1\r\n2\r3</a></x>', { a: '1\n2\n3' }],
    [
      'names that are dangerous elsewhere',
      '<x><__proto__><constructor>1</constructor></__proto__><prototype/></x>',
      JSON.parse('{"__proto__":{"constructor":"1"},"prototype":""}'),
    ],
    ['other attributes and namespaces', '<x xmlns="urn:x" id="7"><a lang="en">b</a></x>', { a: 'b' }],
    ['an explicit string', '<x><a type="string">5</a></x>', { a: '5' }],
    [
      'numbers and booleans with space around',
      '<x><a type="number"> 5 </a><b type="boolean">\ntrue\n</b><c type="null"> </c></x>',
      { a: 5, b: true, c: null },
    ],
    ['a root that is a list', '<x><item>1</item></x>', ['1']],
  ])('reads %s', (_, given, expected) => {
    expect(JSON.stringify(decode(given))).toBe(JSON.stringify(expected))
  })

  test.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['text', 'hello'],
    ['JSON', '{"a":1}'],
    ['an open element', '<a><b></a>'],
    ['two roots', '<a/><b/>'],
    ['text after the root', '<a/>x'],
    ['a document type', '<!DOCTYPE a><a/>'],
    ['a document type within', '<a><!DOCTYPE a></a>'],
    ['an entity declaration', '<!ENTITY x "y"><a/>'],
    ['an unknown entity', '<a>&nbsp;</a>'],
    ['a bare ampersand', '<a>a & b</a>'],
    ['a reference to what XML forbids', '<a>&#0;</a>'],
    ['a reference beyond Unicode', '<a>&#x110000;</a>'],
    ['a control character', '<a>\u0001</a>'],
    ['half a surrogate pair', '<a>\ud800</a>'],
    ['an attribute without value', '<a b/>'],
    ['an attribute twice', '<a b="1" b="2"/>'],
    ['an open comment', '<a/><!-- '],
    ['an open CDATA', '<a><![CDATA[</a>'],
    ['an open instruction', '<?xml <a/>'],
    ['an open tag', '<a'],
    ['another open tag', '<a/'],
    ['text beside elements', '<a>x<b/></a>'],
    ["space that isn't XML's beside elements", '<k>&#160;<a/></k>'],
    ['such space around the root', '\u00A0<a/>'],
    ['a document type that attributes hide', '<r a="<!--"><!DOCTYPE r><fluxName a="-->">D</fluxName></r>'],
    ['a document type behind a comment', '<!-- --><!doctype a><a/>'],
    ['< in an attribute', '<a b="<"/>'],
    ['an unknown entity in an attribute', '<a b="&nope;"/>'],
    ['an attribute without space before it', '<a b="1"c="2"/>'],
    ['an attribute without quotes', '<a b=1/>'],
    [']]> in text', '<a>]]></a>'],
    ['-- in a comment', '<a><!-- a -- b --></a>'],
    ['a comment that ends in --->', '<a><!-- ---></a>'],
    ['half a reference before a comment', '<a>&am<!-- -->p;</a>'],
    ["a declaration that isn't at the start", ' <?xml version="1.0"?><a/>'],
    ['a declaration within', '<a><?xml version="1.0"?></a>'],
    ['a declaration without version', '<?xml encoding="utf-8"?><a/>'],
    ['an instruction without name', '<a><? b?></a>'],
    ['CDATA outside of the root', '<a/><![CDATA[ ]]>'],
    ['elements that cross', '<a><b></a></b>'],
    ['a closing tag with attributes', '<a></a b="1">'],
    ['a name that begins with a digit', '<1a/>'],
    ['a space before a name', '< a/>'],
    ['an infinite number', '<a type="number">1e999</a>'],
    ["number and space that isn't XML's", '<a type="number">\u00A01</a>'],
    ['an unknown type', '<a type="date">1</a>'],
    ['a number that is none', '<a type="number">0x1</a>'],
    ['an empty number', '<a type="number"/>'],
    ['a boolean that is none', '<a type="boolean">yes</a>'],
    ['null with content', '<a type="null">x</a>'],
    ['a list with a field', '<a type="array"><b/></a>'],
    ['a list with text', '<a type="array">b</a>'],
    ['an object with text', '<a type="object">b</a>'],
    ['a number with elements', '<a type="number"><b/></a>'],
    ['a malformed escape', '<a escaped="text">\\x</a>'],
  ])('refuses %s', (_, given) => {
    let thrown: unknown
    try {
      decode(given)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(FluxError)
    expect(thrown).toMatchObject({ failure: { kind: 'malformed' } })
  })

  test.each([
    ['a tag that another one closes', '<a>\n  <b></c>\n</a>', 'not well-formed XML, at line 2, column 6'],
    ['a root that is not closed', '<a>\n<b/>', 'not well-formed XML, at line 2, column 5'],
    ['text after the root', '<a/>\n x', 'not well-formed XML, at line 2, column 2'],
    ['an attribute without a value', '<a>\n<b c/></a>', 'not well-formed XML, at line 2, column 3'],
    ['an attribute that is there twice', '<a b="1"\n b="2"/>', 'not well-formed XML, at line 1, column 9'],
    ['an unknown reference', '<a>\n<b>x &nbsp;</b></a>', 'reference that XML does not know, at line 2, column 6'],
    ['one in an attribute', '<a>\n<b c="x&d;"/></a>', 'reference that XML does not know, at line 2, column 8'],
    ['a comment without end', '<a>\n<!-- </a>', 'not well-formed XML, at line 2, column 5'],
    ['a control character', '<a>\n\u0001</a>', 'character that XML does not allow, at line 2, column 1'],
    ['a document type', '<!DOCTYPE a>\n<a/>', 'without a document type, at line 1, column 1'],
  ])('says where there is %s', (_, text, expected) => {
    expect(() => decode(text)).toThrow(expected)
  })

  test('of others may use our attributes for something else', () => {
    expect(
      decodeForeign(
        '<o><address type="home" name="a" escaped="yes">x</address><n type="number">many</n><b type="boolean"/><l type="array"><a/></l></o>',
      ),
    ).toEqual({ address: 'x', n: 'many', b: '', l: { a: '' } })
    expect(
      decodeForeign('<o><path escaped="text">C:\\temp</path><entry name="a\\b" escaped="name">1</entry></o>'),
    ).toEqual({ path: 'C:\\temp', 'a\\b': '1' })
    const ours = '<o><a type="number">1</a><b escaped="text">\\u0000</b><c type="array"/></o>'
    expect(decodeForeign(ours)).toEqual(decode(ours))
    expect(() => decodeForeign('<o type="object">x<a/></o>')).toThrow(FluxError)
  })

  test('of others comes with webhooks', async () => {
    const { body } = await decodeWebhookBody(
      Buffer.from('<o><address type="home">x</address></o>'),
      'application/xml',
      { maxBody: 1000, maxDepth: 64, maxValues: 100_000, maxParts: 10 },
    )
    expect(body).toEqual({ address: 'x' })
  })

  test('counts lists that are not written as such among what nests', () => {
    expect(decodeXml('<a><b/><b/></a>', { maxDepth: 2, maxValues: 100_000 })).toEqual({ b: ['', ''] })
    expect(() => decodeXml('<a><b/><b/></a>', { maxDepth: 1, maxValues: 100_000 })).toThrow('nested too deep')
    expect(() => decodeXml('<a><b><c/></b><b/></a>', { maxDepth: 2, maxValues: 100_000 })).toThrow('nested too deep')
  })

  test('refuses other encodings as such', () => {
    expect(() => decode('<?xml version="1.0" encoding="ISO-8859-1"?><a/>')).toThrow('must be in UTF-8')
    expect(decode('<?xml version="1.0" encoding="utf-8"?><a/>')).toBe('')
  })

  test.each([
    [
      'a bomb of entities',
      `<!DOCTYPE a [<!ENTITY a "ha">${Array.from({ length: 30 }, (_, i) => `<!ENTITY a${i} "&a;&a;">`).join('')}]><a>&a29;</a>`,
    ],
    ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
    ['100,000 levels', '<a>'.repeat(100_000) + '</a>'.repeat(100_000)],
    ['100,000 levels that never close', '<a>'.repeat(100_000)],
    ['500,000 open instructions', '<?'.repeat(500_000)],
    ['200,000 open comments', '<a>' + '<!--'.repeat(200_000)],
    ['100,000 open CDATA sections', '<a>' + '<![CDATA['.repeat(100_000)],
  ])('refuses %s at once', (_, given) => {
    expect(effortOf(() => expect(() => decode(given)).toThrow(FluxError))).toBeLessThan(50)
  })
})

describe('large XML', () => {
  test('with a reference that is none is refused before a million others are looked at', () => {
    const spent = ['&', '&', '&'].map((unit) => {
      const text = `<r>${unit.repeat(1_000_000 / unit.length)}</r>`
      const before = process.cpuUsage()
      expect(() => decodeForeign(text)).toThrow('reference')
      return process.cpuUsage(before).user / 1000
    })
    // Some 30 ms. To gather all of them first took 500, and 100 MB.
    expect(Math.min(...spent)).toBeLessThan(150)
  })
})
