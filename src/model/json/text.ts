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
const EMPTY = /[ \n\r\t]*[\]}]/y

/**
 * Depth, lists and objects (`opened`), commas, names, and values with names of a text. The result is meaningless for a
 * text that is not JSON. The time is linear in its length.
 */
export function measureJson(text: string) {
  let [level, depth, opened, filled, commas, names] = [0, 0, 0, 0, 0, 0]
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case COMMA:
        commas += 1
        break
      case COLON:
        names += 1
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        opened += 1
        level += 1
        depth = Math.max(depth, level)
        EMPTY.lastIndex = at + 1
        if (!EMPTY.test(text)) filled += 1
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        level -= 1
    }
  }
  return { depth, opened, commas, names, values: 1 + filled + commas + names }
}

/** The limit that the text exceeds; null if none. */
export function excessOf(text: string, { maxDepth, maxValues }: JsonLimits): 'depth' | 'values' | null {
  const { depth, values } = measureJson(text)
  if (depth > maxDepth) return 'depth'
  return values > maxValues ? 'values' : null
}

/** Index of the closing quote of the string that begins at `start`; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at += 1
    else if (code === QUOTE) return at
  }
  return text.length
}
