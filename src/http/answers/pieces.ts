// http: texts in pieces, small enough that others are served in between.

/** Characters of a piece, about: a millisecond at most. */
export const PIECE_CHARACTERS = 32_768

/**
 * Text that is made piece by piece, when the next one is asked for. A piece may be empty: it took a while to find out
 * what comes.
 */
export type TextPieces = Iterator<string, void>

/** A long text in parts that split no pair of surrogates. */
export function* slices(text: string): Generator<string, void> {
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = Math.min(text.length, start + PIECE_CHARACTERS)
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1
    yield text.slice(start, end)
  }
}

/** All of it at once: for small texts. */
export function joinPieces(pieces: TextPieces): string {
  let text = ''
  for (let next = pieces.next(); !next.done; next = pieces.next()) text += next.value
  return text
}
