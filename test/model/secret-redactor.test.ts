// Values of secrets are hidden wherever they are written, and nothing else is changed.
import { describe, expect, test } from 'vitest'
import { argumentsWithSecrets, marksOf, storeReferences } from '../../src/model/secret-reference.ts'
import { SecretRedactor } from '../../src/model/secret-redactor.ts'
import type { JsonObject } from '../../src/model/json/value.ts'

const redactor = SecretRedactor.ofSecrets([
  's3cret-value',
  '12345678',
  'quo"te\nnewline',
  'value-and-more',
  "it's a+b (c)!",
  'größer-als',
  'short',
])

describe('a value is hidden', () => {
  test.each<[string, unknown]>([
    ['s3cret-value', '[redacted]'],
    ['Bearer s3cret-value!', 'Bearer [redacted]!'],
    ['s3cret-values3cret-value', '[redacted][redacted]'],
    ['s3cret-value-and-more', '[redacted]'],
    [JSON.stringify({ a: 'quo"te\nnewline' }), '{"a":"[redacted]"}'],
    [`?q=${encodeURIComponent('quo"te\nnewline')}`, '?q=[redacted]'],
    ...['', 'u', 'us', 'user:'].map((before): [string, unknown] => [
      Buffer.from(`${before}s3cret-value after`).toString('base64'),
      expect.stringMatching(/^[\w=]{0,8}\[redacted\][\w=]{6,12}$/),
    ]),
    [Buffer.from('a?>?>s3cret-value').toString('base64url'), expect.stringContaining('[redacted]')],
    [`?${new URLSearchParams({ q: "it's a+b (c)!" }).toString()}`, '?q=[redacted]'],
    [`/${encodeURI("it's a+b (c)!")}/x`, '/[redacted]/x'],
    [`?q=${encodeURIComponent('quo"te\nnewline').toLowerCase()}`, '?q=[redacted]'],
    [new URL("http://host/?q=it's a+b (c)!").href, 'http://host/?q=[redacted]'],
    [Buffer.from('größer-als').toString('latin1'), '[redacted]'],
    ['short', 'short'],
    ['s3cret-valu', 's3cret-valu'],
  ])('in the text %j', (text, shown) => expect(redactor.text(text)).toEqual(shown))

  test('in data, at all depths, also in keys and numbers', () => {
    const plain = { list: [1, 'x', null, { deep: true }] }
    expect(redactor.json({ plain, 's3cret-value': [{ a: 's3cret-value' }, 12345678, 123456789] })).toEqual({
      plain,
      '[redacted]': [{ a: '[redacted]' }, '[redacted]', 123456789],
    })
    expect(redactor.json(plain)).toBe(plain)
  })

  test('in errors', () => {
    const text = 'has s3cret-value'
    const shown = 'has [redacted]'
    expect(
      redactor.error({ message: text, type: text, className: text, realException: { name: [text] }, stack: text }),
    ).toEqual({ message: shown, type: shown, className: shown, realException: { name: [shown] }, stack: shown })
  })

  test('in errors, whose other fields stay', () => {
    const error = { message: 'm', type: 't', className: 'c', realException: null, retry: { afterMs: 5 } }
    expect(redactor.error(error)).toEqual(error)
  })

  test('where it overlaps with itself', () => {
    expect(SecretRedactor.of(['abcdabcd']).text('-abcdabcdabcd-')).toBe('-[redacted]-')
  })

  test('and nothing else, where a URL would drop most of it', () => {
    const odd = SecretRedactor.ofSecrets(['aaaaaaaa/../..', '\n\n\n\n\n\n\na'])
    expect(odd.text('a banana http://host/')).toBe('a banana http://host/')
  })

  test('but not if it has fewer than 8 characters', () => {
    expect(SecretRedactor.ofSecrets(['1234567', '']).isEmpty).toBe(true)
    expect(SecretRedactor.ofSecrets(['12345678']).text('12345678')).toBe('[redacted]')
  })
})

const word = (nr: number) => `word-number-${nr}`

describe('a text of a request is hidden', () => {
  const many = Array.from({ length: 1000 }, (_, nr) => word(nr + 100))

  test('as a whole, and within longer texts if it is one of the first 64', () => {
    const own = SecretRedactor.of(['short', ...many])
    expect(own.json([word(100), word(1099), `a ${word(163)} b`, `a ${word(164)} b`, word(99), 'short'])).toEqual([
      '[redacted]',
      '[redacted]',
      'a [redacted] b',
      `a ${word(164)} b`,
      word(99),
      'short',
    ])
  })

  test('in no other way: not in keys, not as a number, not encoded', () => {
    const own = SecretRedactor.of(['12345678', 'a/b c/d e'])
    const value = { '12345678': 12345678, text: encodeURIComponent('a/b c/d e') }
    expect(own.json(value)).toBe(value)
  })

  test('where others begin as it does', () => {
    const own = SecretRedactor.of(['abcdefgh', 'abcdefghij', 'abcdefghijkl-x', 'efghijkl', 'abc.*(+?'])
    expect(own.text('abcdefgh abcdefghij abcdefghijkl abc.*(+? abcd*')).toBe(
      '[redacted] [redacted] [redacted] [redacted] abcd*',
    )
  })

  const SIZE = 1 << 20
  const alike = Array.from({ length: 64 }, (_, nr) => `abcdefgh${'x'.repeat(150)}${nr}h`)
  /** What a search for each text in all would take longest with. */
  test.each<[string, readonly string[], string]>([
    ['one long text that ends otherwise', [`${'a'.repeat(8000)}b`], 'a'.repeat(SIZE)],
    ['the same with a gap', [`${'a'.repeat(8000)}b`], `${'a'.repeat(7990)}c`.repeat(SIZE / 8000)],
    ['one long text that begins otherwise', [`b${'a'.repeat(8000)}`], 'a'.repeat(SIZE)],
    ['64 that begin and end in the same way', alike, 'abcdefgh'.repeat(SIZE / 8)],
    ['the text itself', ['abcdefgh'], 'abcdefgh'.repeat(SIZE / 8)],
  ])('in 1 MiB, in some tens of ms: %s', (_, texts, text) => {
    const own = SecretRedactor.of(texts)
    const spent = [text.slice(0, SIZE / 8), text].map((part) => {
      const rounds = Array.from({ length: 3 }, () => {
        const before = process.cpuUsage()
        expect(own.text(part).length).toBeLessThanOrEqual(2 * SIZE)
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1000
      })
      return Math.min(...rounds)
    })
    // About 60 ms at most. A search for each took seconds.
    expect(Math.max(...spent)).toBeLessThan(400)
  })
})

describe('stored arguments', () => {
  const { KEY, OTHER } = marksOf(['KEY', 'OTHER'], 'f00')
  const args: JsonObject = {
    plain: ['<KEY>', { $secrets: 'user' }],
    whole: KEY ?? null,
    list: [{ text: `a ${String(KEY)} b ${String(OTHER)}` }],
    __proto__x: 1,
  }

  test('have marks, and get the values of their time', () => {
    const stored = storeReferences(args, 'f00')
    for (const [key, other] of [
      ['v1', '$&'],
      ['<f00:KEY>', ''],
    ] as const)
      expect(argumentsWithSecrets(stored, (name) => (name === 'KEY' ? key : other))).toEqual({
        ...args,
        whole: key,
        list: [{ text: `a ${key} b ${other}` }],
      })
    expect(stored).toEqual(storeReferences(args, 'f00'))
  })

  test('are not given without the secret', () => {
    const stored = storeReferences(args, 'f00')
    expect(() => argumentsWithSecrets(stored, (name) => (name === 'KEY' ? 'x' : null))).toThrow(
      'there is no secret OTHER',
    )
  })
})
