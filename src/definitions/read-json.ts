// definitions: JSON text as people write it into files; what is wrong with it is told by line and column.
import type { Json } from '../model/json.ts'

/** Nesting beyond which a file is refused: whoever walks it would overflow the stack. */
const MAX_DEPTH = 100

/** Repeated keys beyond which no more are told. */
const MAX_REPEATED = 20

export interface JsonText {
  /** Of a repeated key, the last value. */
  readonly value: Json
  /** JSON pointers (RFC 6901) of keys that stand more than once in their object. */
  readonly repeated: readonly string[]
}

/**
 * Reads JSON in UTF-8, with or without a byte order mark.
 * @throws Error that says where the text goes wrong
 */
export function readJson(bytes: Uint8Array): JsonText {
  const text = decode(bytes)
  const { at, depth, repeated } = scan(text)
  if (depth > MAX_DEPTH) throw new Error(`nested deeper than ${MAX_DEPTH}`)
  try {
    const value: Json = JSON.parse(text)
    return { value, repeated: [...repeated] }
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

/** An object or a list that is still open, and which of its parts is being read. */
interface Level { readonly closer: '}' | ']'; readonly keys: Set<string>; part: string | number }

const pointerOf = (levels: readonly Level[]) => levels.map(({ part }) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

function keyOf(token: string): string {
  const key: string = JSON.parse(token)
  return key
}

/** Follows the grammar of RFC 8259 as far as the text keeps to it; `depth` is the deepest nesting met. */
function scan(text: string): { at: number; depth: number; repeated: ReadonlySet<string> } {
  const levels: Level[] = []
  const repeated = new Set<string>()
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
    const level = levels.at(-1)
    if (level !== undefined && (expects === 'comma' || opened) && eat(level.closer)) {
      levels.pop()
      expects = 'comma'
      opened = false
    } else if (expects === 'comma') {
      if (level === undefined || !eat(',')) return { at, depth, repeated }
      expects = level.closer === '}' ? 'key' : 'value'
      if (typeof level.part === 'number') level.part += 1
    } else if (expects === 'key') {
      opened = false
      const start = at
      if (level === undefined || !eat(TEXT)) return { at, depth, repeated }
      level.part = keyOf(text.slice(start, at))
      if (level.keys.size === level.keys.add(level.part).size && repeated.size < MAX_REPEATED) repeated.add(pointerOf(levels))
      eat(SPACE)
      if (!eat(':')) return { at, depth, repeated }
      expects = 'value'
    } else if (eat('{') || eat('[')) {
      const isList = text[at - 1] === '['
      levels.push({ closer: isList ? ']' : '}', keys: new Set(), part: isList ? 0 : '' })
      depth = Math.max(depth, levels.length)
      expects = isList ? 'value' : 'key'
      opened = true
    } else {
      opened = false
      if (!eat(TEXT) && !eat(SCALAR)) return { at, depth, repeated }
      expects = 'comma'
    }
  }
}
