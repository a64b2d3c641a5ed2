// definitions: JSON text as people write it into files; what is wrong with it is told by line and column.
import type { Json } from '../model/json.ts'

/** Nesting beyond which a file is refused: whoever walks it would overflow the stack. */
const MAX_DEPTH = 100

/**
 * Reads JSON in UTF-8, with or without a byte order mark.
 * @throws Error that says where the text goes wrong
 */
export function readJson(bytes: Uint8Array): Json {
  const text = decode(bytes)
  const { at, depth } = scan(text)
  if (depth > MAX_DEPTH) throw new Error(`nested deeper than ${MAX_DEPTH}`)
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch (error) {
    throw new Error(`not valid JSON: ${unexpected(text, at)}`, { cause: error })
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new Error('not text in UTF-8', { cause: error })
  }
}

function unexpected(text: string, at: number): string {
  const lines = text.slice(0, at).split(/\r\n|\r|\n/)
  const found = text.codePointAt(at)
  const what = found === undefined ? 'the end of the file' : JSON.stringify(String.fromCodePoint(found))
  return `unexpected ${what} at line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

const SPACE = /[ \t\r\n]*/y
const TEXT = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Follows the grammar of RFC 8259 as far as the text keeps to it; `depth` is the deepest nesting met. */
function scan(text: string): { at: number; depth: number } {
  const closers: ('}' | ']')[] = []
  let at = 0
  let depth = 0
  let expects: 'value' | 'key' | 'comma' = 'value'
  let opened = false
  const eat = (token: RegExp | string): boolean => {
    if (typeof token === 'string') {
      const found = text.startsWith(token, at)
      if (found) at += token.length
      return found
    }
    token.lastIndex = at
    const found = token.test(text)
    if (found) at = token.lastIndex
    return found
  }
  for (;;) {
    eat(SPACE)
    const closer = closers.at(-1)
    if (closer !== undefined && (expects === 'comma' || opened) && eat(closer)) {
      closers.pop()
      expects = 'comma'
      opened = false
    } else if (expects === 'comma') {
      if (closer === undefined || !eat(',')) return { at, depth }
      expects = closer === '}' ? 'key' : 'value'
    } else if (expects === 'key') {
      opened = false
      if (!eat(TEXT)) return { at, depth }
      eat(SPACE)
      if (!eat(':')) return { at, depth }
      expects = 'value'
    } else if (eat('{') || eat('[')) {
      closers.push(text[at - 1] === '{' ? '}' : ']')
      depth = Math.max(depth, closers.length)
      expects = text[at - 1] === '{' ? 'key' : 'value'
      opened = true
    } else {
      opened = false
      if (!eat(TEXT) && !eat(SCALAR)) return { at, depth }
      expects = 'comma'
    }
  }
}
