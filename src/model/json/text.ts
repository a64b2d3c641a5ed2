// model: measures JSON text before it is parsed, so that refusing a text that is too deep or too large is cheap.

export interface JsonLimits {
  /** Levels of nesting, including the outermost. */
  readonly maxDepth: number
  /** Number of values and names at all depths, including the whole value. */
  readonly maxValues: number
}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  34, 92, 44, 58, 91, 93, 123, 125,
]

/**
 * Returns the limit that the text exceeds; null if none. The result is meaningless for a text that is not JSON. The
 * time is linear in its length.
 */
export function excessOf(text: string, { maxDepth, maxValues }: JsonLimits): 'depth' | 'values' | null {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COMMA || code === COLON) values++
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth > maxDepth) return 'depth'
      if (!closesAt(text, at + 1)) values++
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--
    if (values > maxValues) return 'values'
  }
  return null
}

/** Index of the closing quote of the string that begins at `start`; the length of the text if there is none. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at
  }
  return text.length
}

const CLOSE = /[ \n\r\t]*[\]}]/y

/** Whether the list or object that has just been opened is empty. */
function closesAt(text: string, start: number): boolean {
  CLOSE.lastIndex = start
  return CLOSE.test(text)
}
