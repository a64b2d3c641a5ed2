import { describe, expect, test } from 'vitest'
import { decodeJson } from '../../src/http/formats/json/decode.ts'

function detailOf(body: string): string {
  try {
    decodeJson(body, { maxDepth: 64, maxValues: 1000 })
    return 'it is JSON'
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

describe('a body that is not JSON', () => {
  test.each([
    ['{"a": 1,}', 'the body is not valid JSON: unexpected "}" at line 1, column 9'],
    ['{\n  "a": 1\n  "b": 2\n}', 'the body is not valid JSON: unexpected "\\"" at line 3, column 3'],
    ['{"a": [1, 2', 'the body is not valid JSON: unexpected end at line 1, column 12'],
    ["{'a': 1}", 'the body is not valid JSON: unexpected "\'" at line 1, column 2'],
    ['{"a": \u0000}', 'the body is not valid JSON: unexpected "\\u0000" at line 1, column 7'],
    ['\n', 'the body is empty'],
  ])('%j is told where', (body, detail) => {
    expect(detailOf(body)).toBe(detail)
  })

  test('is quoted by one character at most, however long it is', () => {
    const detail = detailOf(`{"password": "hunter2", "long": "${'x'.repeat(900_000)}" oops}`)
    expect(detail).toBe('the body is not valid JSON: unexpected "o" at line 1, column 900036')
  })
})
