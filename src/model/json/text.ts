// model: JSON text measured before it is parsed, so that to refuse what is too deep or holds too much costs little.

export interface JsonLimits {
  /** Levels of nesting, the whole counted. */
  readonly maxDepth: number
  /** Values and names, at whatever depth, the whole counted. */
  readonly maxValues: number
}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  34, 92, 44, 58, 91, 93, 123, 125,
]

/**
 * Which of the limits the text passes; null: none. Of text that isn't JSON it may say anything. Linear in its length.
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

/** Where the string that begins there ends: its last quote, or the end of the text. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at
  }
  return text.length
}

/** Whether nothing but white space is left of the list or object that has begun. */
function closesAt(text: string, start: number): boolean {
  let at = start
  while (isSpace(text.charCodeAt(at))) at++
  const code = text.charCodeAt(at)
  return code === CLOSE_LIST || code === CLOSE_OBJECT
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9
