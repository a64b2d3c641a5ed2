// model: scans JSON text by the grammar of RFC 8259 and finds the first error, in one pass and without recursion.

/** Callbacks for the parts of a text, in its order. Offsets count UTF-16 units. */
export interface JsonVisitor {
  /** A list or an object begins. */
  open(isList: boolean): void
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

const SPACE = /[ \n\r\t]*/y
const PLAIN = /[ !#-[\]-\uffff]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/**
 * Returns the offset of the first invalid character, the text's length if it ends too early, or -1 if it is valid JSON.
 */
export function scanJson(text: string, visitor?: JsonVisitor): number {
  const lists: boolean[] = []
  /** `first`: an item, or the end of the list or object that has just begun. `comma`: one, or the end. */
  let expects: 'item' | 'first' | 'comma' = 'item'
  for (let at = endOf(SPACE, text, 0); ; at = endOf(SPACE, text, at)) {
    const inList = lists.at(-1)
    if (expects !== 'item' && inList !== undefined && text[at] === (inList ? ']' : '}')) {
      lists.pop()
      visitor?.close()
      expects = 'comma'
      at += 1
      continue
    }
    if (expects === 'comma') {
      if (inList === undefined) return at === text.length ? -1 : at
      if (text[at] !== ',') return at
      expects = 'item'
      at += 1
      continue
    }
    if (inList === false) {
      const end = text[at] === '"' ? endOfText(text, at) : -1 - at
      if (end < 0) return -1 - end
      visitor?.key(at, text.slice(at, end))
      at = endOf(SPACE, text, end)
      if (text[at] !== ':') return at
      at = endOf(SPACE, text, at + 1)
    }
    visitor?.value(at)
    const isList = text[at] === '['
    if (isList || text[at] === '{') {
      visitor?.open(isList)
      lists.push(isList)
      expects = 'first'
      at += 1
    } else {
      const end = text[at] === '"' ? endOfText(text, at) : endOf(SCALAR, text, at)
      if (end <= at) return end < 0 ? -1 - end : at
      expects = 'comma'
      at = end
    }
  }
}

/** Returns the offset after the match of a sticky pattern, or `at` if there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** Returns the offset after the closing quote, or -1 minus the offset of an error. */
function endOfText(text: string, start: number): number {
  let end = endOf(PLAIN, text, start + 1)
  for (let after = endOf(ESCAPE, text, end); after > end; after = endOf(ESCAPE, text, end))
    end = endOf(PLAIN, text, after)
  if (text[end] === '"') return end + 1
  // An invalid escape is wrong after its backslash, or in the digits that follow.
  const escape = text[end] !== '\\' ? 0 : text[end + 1] === 'u' ? 2 : 1
  return -1 - Math.min(end + escape, text.length)
}

/** Line and column of an offset. Lines end in LF, CR LF or CR. No text is made of them: there may be a million. */
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

const [LF, CR] = [10, 13]

/** The character at the offset, quoted for a message; null at the end of the text. */
export function characterAt(text: string, offset: number): string | null {
  const found = text.codePointAt(offset)
  return found === undefined ? null : JSON.stringify(String.fromCodePoint(found))
}
