// model: scans JSON text by the grammar of RFC 8259 and finds the first error, in one pass and without recursion.

/** Callbacks for the parts of a text, in its order. Offsets count UTF-16 units. */
export interface JsonVisitor {
  /** A list or an object begins. */
  open(at: number, isList: boolean): void
  /** The key of the member that follows. `token` includes the quotes. */
  key(at: number, token: string): void
  /** A value begins: a member's, an element, or the whole. */
  value(at: number): void
  /** A list or an object ends. */
  close(): void
}

/** A position in a file. Both count from 1, columns in UTF-16 units. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/**
 * Returns the offset of the first invalid character, the text's length if it ends too early, or -1 if it is valid JSON.
 */
export function scanJson(text: string, visitor?: JsonVisitor): number {
  const lists: boolean[] = []
  let expects: 'value' | 'key' | 'comma' = 'value'
  let opened = false
  for (let at = skipSpace(text, 0); ; at = skipSpace(text, at)) {
    const inList = lists.at(-1)
    const code = text.charCodeAt(at)
    if (inList !== undefined && (expects === 'comma' || opened) && code === (inList ? CLOSE_LIST : CLOSE_OBJECT)) {
      lists.pop()
      visitor?.close()
      expects = 'comma'
      opened = false
      at += 1
    } else if (expects === 'comma') {
      if (inList === undefined) return at === text.length ? -1 : at
      if (code !== COMMA) return at
      expects = inList ? 'value' : 'key'
      at += 1
    } else if (expects === 'key') {
      opened = false
      const end = code === QUOTE ? endOfText(text, at) : -1 - at
      if (end < 0) return -1 - end
      visitor?.key(at, text.slice(at, end))
      at = skipSpace(text, end)
      if (text.charCodeAt(at) !== COLON) return at
      expects = 'value'
      at += 1
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      visitor?.value(at)
      visitor?.open(at, code === OPEN_LIST)
      lists.push(code === OPEN_LIST)
      expects = code === OPEN_LIST ? 'value' : 'key'
      opened = true
      at += 1
    } else {
      opened = false
      visitor?.value(at)
      const end = code === QUOTE ? endOfText(text, at) : endOfScalar(text, at)
      if (end < 0) return -1 - end
      expects = 'comma'
      at = end
    }
  }
}

/** Line and column of an offset. Lines end in LF, CR LF or CR. */
export function positionOf(text: string, offset: number): TextPosition {
  let [line, start] = [1, 0]
  for (let at = 0; at < offset; at += 1) {
    const code = text.charCodeAt(at)
    if (code !== LF && (code !== CR || text.charCodeAt(at + 1) === LF)) continue
    line += 1
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}

/** The character at the offset, quoted for a message; null at the end of the text. */
export function characterAt(text: string, offset: number): string | null {
  const found = text.codePointAt(offset)
  return found === undefined ? null : JSON.stringify(String.fromCodePoint(found))
}

const [TAB, LF, CR, SPACE, QUOTE, COMMA, COLON, BACKSLASH, LETTER_U] = [9, 10, 13, 32, 34, 44, 58, 92, 117]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]
const ESCAPES = '"\\/bfnrtu'
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const FOUR_DIGITS = /[\dA-Fa-f]{4}/y

function skipSpace(text: string, start: number): number {
  let at = start
  for (
    let code = text.charCodeAt(at);
    code === SPACE || code === LF || code === CR || code === TAB;
    code = text.charCodeAt(at)
  )
    at += 1
  return at
}

/** Returns the offset after the closing quote, or -1 minus the offset of an error. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < SPACE) return -1 - at
    if (code !== BACKSLASH) continue
    at += 1
    if (at === text.length || !ESCAPES.includes(text.charAt(at))) return -1 - at
    if (text.charCodeAt(at) !== LETTER_U) continue
    if (match(FOUR_DIGITS, text, at + 1) < 0) return -1 - (at + 1)
    at += 4
  }
  return -1 - text.length
}

function endOfScalar(text: string, start: number): number {
  const end = match(SCALAR, text, start)
  return end < 0 ? -1 - start : end
}

/** Returns the offset after the match of a sticky pattern, or -1 if there is none. */
function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}
